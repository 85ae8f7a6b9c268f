/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of tests: their sizes, and parts of them. */
#pragma once

#include <cornerturn/stage.h>

/* The bytes from the first element of a block to its last; 0: it has none. */
gsize ct_block_span(const CtBlock *block);
/* Samples `first` to `first` + n − 1 of a block; if time is blocked, `first` must begin a block. */
CtBlock ct_block_slice(const CtBlock *block, const CtLayout *layout, gint64 first, gint64 n);
/* A block of `n_samples` without data, in a concrete layout, with `padding` elements after each row
 * of each axis; strides of axes outside time are multiples of `alignment`. Returns its bytes. */
gsize ct_block_padded(CtBlock *block, const CtLayout *layout, const CtStream *stream,
                      gint64 n_samples, gsize padding, gint64 alignment);
/* The samples of a block of time in memory; 1: the layout has none. */
gint64 ct_block_granule(const CtLayout *layout);
