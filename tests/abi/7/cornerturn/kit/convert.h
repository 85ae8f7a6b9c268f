/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of contiguous elements from type to type, in the steps that the processor does best.
 *
 * Integers are clipped; floating-point numbers are rounded once, half to even, and clipped; NaN
 * becomes the integer 0. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* Converts n numbers: parts of complex ones, or pairs of parts where a side is ci4. */
typedef void (*CtConvertStep)(const void *from, void *to, gsize n);

/* A type without arithmetic of its own is converted through one that has it. */
typedef struct {
    CtConvertStep unpack; /* f16 to f32, ci4 to i8; NULL: nothing to unpack */
    CtConvertStep run;    /* NULL: nothing else to do */
    CtConvertStep pack;   /* f32 or f64 to f16, i8 to ci4; NULL: nothing to pack */
    gsize n_parts;        /* of an element */
    gsize n_unpack;       /* numbers that `unpack` counts for an element */
    gsize n_pack;         /* numbers that `pack` counts for an element */
    guint64 reserved[2];  /* 0 */
} CtConvert;

/* The steps from elements, or parts, of one type to those of another, both real or both complex. */
CT_EXPORT CtConvert ct_convert_steps(CtIsa isa, CtType from, CtType to);

/* The scratch that ct_convert needs for n elements. */
#define CT_CONVERT_SCRATCH(n) (2 * (gsize)(n)*16)

/* Converts n elements. `scratch` has CT_CONVERT_SCRATCH(n) bytes. */
CT_EXPORT void ct_convert(const CtConvert *convert, const void *from, void *to, gsize n,
                          guint8 *scratch);

G_END_DECLS
