/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells into which a kernel folds spectra, or those that it writes together. Host and kernels
 * include this file. */
#pragma once

enum { PFB_MERGE_THREADS = 256 };

/* All cells of the spectra of a firing. */
typedef struct {
    void *states;      /* [cell][series][channel] if a hop has several cells */
    long long step;    /* of hops, or of blocks of time, in the output, in bytes */
    long long channel; /* of channels, if time comes in blocks */
    unsigned of_chunk; /* cells */
    unsigned n_series;
    unsigned aligned; /* if time comes in blocks: whether these begin at multiples of 16 bytes */
} PfbCells;
