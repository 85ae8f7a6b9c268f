/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the correlator on a device, for its files. */
#pragma once

#include "correlate-piece.h"
#include "correlate-tile.h"
#include "correlate.h"

/* Threads of a block in the kernels with one thread per element. */
#define ELEMENT_THREADS 256

typedef struct {
    Correlate *correlate;
    CtDevice *device;
    CorrelateTile tile;
    const ArithmeticInfo *arithmetic;     /* of the tile */
    gint64 n_inputs, n_tiles, n_elements; /* n_elements: of a matrix */
    CtKernel *products, *keep, *fold, *weights;
    gint chunk;         /* of a part; 0: integrations are not divided */
    gint64 most_ranges; /* the most ranges of a piece */
    gpointer sums, open, left;
    gint64 n_summed, n_open; /* integers: spectra of the unfinished integration in each of them */
    gint64 n_lanes, n_groups, n_alike, n_pairs;
    gpointer counts[2]; /* before and after a firing, alternating */
    guint turn;
    guint32 *bits; /* [lane][word], on the host */
} CorrelateDevice;

static inline gint64
divide_up(gint64 n, gint64 by)
{
    return (n + by - 1) / by;
}

static inline gint64
stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

static inline gboolean
launch(const CtWork *work, const CtKernel *kernel, gint64 n_blocks, guint n_threads, gsize shared,
       gpointer *arguments, GError **error)
{
    const CtLaunch launch = {
        .grid = {(guint)n_blocks, 1, 1}, .block = {n_threads, 1, 1}, .shared_bytes = shared};
    return ct_queue_launch(work->queue, kernel, &launch, arguments, error);
}

/* Sums the spectra of a firing. */
gboolean ct_correlate_pieces(CorrelateDevice *self, const CtWork *work, GError **error);
