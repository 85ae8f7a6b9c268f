/* SPDX-License-Identifier: BSD-3-Clause */
/* The axes that the threads of the filter's kernels are spread over. Host and kernels include this
 * file. */
#pragma once

enum { FIR_AXES = 12 };

/* The axes that threads are spread over, slowest first, and time; strides in bytes. */
typedef struct {
    long long in[FIR_AXES], out[FIR_AXES];
    long long sample, output; /* strides along time */
    long long n_outputs;      /* of the firing */
    long long chunk;          /* outputs of a chunk; chunks are slower than all axes */
    unsigned length[FIR_AXES];
    unsigned n_axes;
    unsigned phase;    /* the axis that counts phases */
    unsigned time;     /* the one that counts N_TIMES outputs side by side; n_axes: no axis does */
    unsigned rotation; /* of the firing's first output, in phases */
} FirAxes;
