/* SPDX-License-Identifier: BSD-3-Clause */
/* Simple loops over strided blocks, for the data that the core itself copies or clears: histories,
 * invalid samples, samples that are not written yet. Plugins do the transposes. */
#pragma once

#include <cornerturn/stage.h>

/* Copies element by element; both blocks have the same axes and lengths (those of `from`). */
void ct_strided_copy(const CtBlock *to, const CtBlock *from);
/* Sets every byte of every element to `byte`. */
void ct_strided_fill(const CtBlock *block, guint8 byte);
