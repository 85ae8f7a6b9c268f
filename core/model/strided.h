/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain walks over strided blocks, for the little that the core itself moves: histories, what is
 * invalid, what is not written yet. Transposes are a plugin's. */
#pragma once

#include <cornerturn/stage.h>

/* Copies element by element; both blocks have the same axes and lengths (those of `from`). */
void ct_strided_copy(const CtBlock *to, const CtBlock *from);
/* Sets every byte of every element to `byte`. */
void ct_strided_fill(const CtBlock *block, guint8 byte);
