/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions of contiguous numbers, of one instruction set. */
#pragma once

#include <cornerturn/isa.h>
#include <cornerturn/tensor.h>

/* Converts n numbers (parts of complex ones; of ci4, pairs of parts). */
typedef void (*ConvertRun)(const void *from, void *to, gsize n);

/* Consecutive steps, NULL for none: a type without arithmetic of its own is converted through one
 * that has it. */
typedef struct {
    ConvertRun unpack; /* f16 to f32, ci4 to i8 */
    ConvertRun run;
    ConvertRun pack; /* f64 to f16, i8 to ci4 */
} ConvertSteps;

/* The steps for elements, or parts, of the two types; both complex or both real. */
ConvertSteps CT_ISA(convert_steps)(CtType from, CtType to);
