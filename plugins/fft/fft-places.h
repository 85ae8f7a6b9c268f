/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of transforms in a firing's blocks, for host and kernels. */
#pragma once

enum { FFT_PLACES_AXES = 8 };

/* The axes of the batch, slowest first; strides in bytes. */
typedef struct {
    long long in[FFT_PLACES_AXES], out[FFT_PLACES_AXES];
    long long step_in, step_out; /* from a sample of a transform to the next */
    unsigned length[FFT_PLACES_AXES];
    unsigned n_axes;
    unsigned n_transforms, n_tiles;
} FftPlaces;
