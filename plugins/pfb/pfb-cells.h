/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells into which a kernel folds spectra. Host and kernels include this file. */
#pragma once

enum { PFB_MERGE_THREADS = 256 };

/* All cells of the spectra of a firing. */
typedef struct {
    void *states;      /* [cell][series][channel] if a hop has several cells */
    long long step;    /* of hops in the output, in bytes */
    unsigned of_chunk; /* cells */
    unsigned n_series;
} PfbCells;
