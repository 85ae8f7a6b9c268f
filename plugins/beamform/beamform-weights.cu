/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantises weights for the other kernels; a warp quantises those of one beam.
 *
 * Sets are numbered [pol][axes that the weights have]. They become
 *
 *   numbers    cf32 [set][beam][station], the level times the scale
 *   fragments  [set][eight beams][step][product][thread of a warp] of two words, from which the
 *              thread makes the registers of a in a product of a warp (cornerturn/kernel.h). With
 *              them come the scales, [set][beam]
 *
 * A step are two products: 32 stations of integers, or 16 of half precision. The words of thread
 * 4g + t are levels of beam g, one for each half of the depth of the product: of stations 2t and
 * 2t + 1 of eight, or of one of them in half precision. Beams and stations beyond
 * the last are zero.
 *
 * Compiled with WEIGHTS_AS, IS_FRAGMENTS, N_BEAMS and ROWS (with those beyond the last),
 * N_STATIONS, N_STEPS, N_SETS and N_POLS of the weights, N_AXES and LENGTHS of their other axes. */
#include "beamform-quantise.h"

/* Bytes between neighbours. */
struct Strides {
    int64 beam, station, pol, axes[N_AXES + 1];
};

static constexpr int n_threads = 256;
static constexpr int step_stations = WEIGHTS_AS == BEAMFORM_CI8 ? 32 : 16;

/* The weights of one beam, and their scale. */
struct Beam {
    const uint8 *from;
    int64 station;
    int n_stations;
    float scale;

    __device__ ct_cf32
    weight(int s) const
    {
        return *(const ct_cf32 *)(from + s * station);
    }
    __device__ ct_cf32
    levels(int s) const
    {
        if (s >= n_stations)
            return {0, 0};
        const ct_cf32 w = weight(s);
        return {beamform_level(WEIGHTS_AS, w.re, scale), beamform_level(WEIGHTS_AS, w.im, scale)};
    }
};

__device__ inline unsigned
find_largest(const Beam &beam)
{
    unsigned largest = 0;
    for (int s = (int)threadIdx.x % 32; s < beam.n_stations; s += 32) {
        const ct_cf32 w = beam.weight(s);
        const unsigned re = beamform_size(w.re), im = beamform_size(w.im);
        const unsigned size = re > im ? re : im;
        largest = size > largest ? size : largest;
    }
    return __reduce_max_sync(~0u, largest);
}

/* Word k of thread 4g + t of a warp for a step. */
__device__ inline unsigned
make_word(const Beam &beam, int step, int t, int k)
{
    if (WEIGHTS_AS == BEAMFORM_CF16) {
        const ct_cf32 w = beam.levels(step * step_stations + k / 2 * 8 + 2 * t + k % 2);
        return ct_float_to_half(w.re) | (unsigned)ct_float_to_half(w.im) << 16;
    }
    const ct_cf32 a = beam.levels(step * step_stations + k * 8 + 2 * t);
    const ct_cf32 b = beam.levels(step * step_stations + k * 8 + 2 * t + 1);
    return (uint8)(int8)a.re | (unsigned)(uint8)(int8)a.im << 8 |
           (unsigned)(uint8)(int8)b.re << 16 | (unsigned)(uint8)(int8)b.im << 24;
}

extern "C" __global__ void
__launch_bounds__(n_threads)
    beamform_weights(const uint8 *from, uint8 *to, float *scales, Strides strides)
{
    const int row = (int)(blockIdx.x * (n_threads / 32) + threadIdx.x / 32);
    const int lane = (int)threadIdx.x % 32, b = row % ROWS, set = row / ROWS;
    if (set >= N_SETS * N_POLS)
        return;
    constexpr int lengths[N_AXES + 1] = {LENGTHS};
    int rest = set % N_SETS;
    from += b * strides.beam + set / N_SETS * strides.pol;
#pragma unroll
    for (int a = 0; a < N_AXES; a++) {
        from += rest % lengths[a] * strides.axes[a];
        rest /= lengths[a];
    }
    Beam beam = {from, strides.station, b < N_BEAMS ? N_STATIONS : 0, 0};
    beam.scale = beamform_scale(WEIGHTS_AS, find_largest(beam));
#if IS_FRAGMENTS
    if (lane == 0)
        scales[row] = beam.scale;
    uint2 *fragments = (uint2 *)to + ((int64)set * (ROWS / 8) + b / 8) * N_STEPS * 64;
    for (int k = lane; k < 8 * N_STEPS; k += 32) {
        const int t = k % 4, product = k / 4 % 2, step = k / 8;
        fragments[(step * 2 + product) * 32 + b % 8 * 4 + t] = {
            make_word(beam, step, t, 2 * product), make_word(beam, step, t, 2 * product + 1)};
    }
#else
    ct_cf32 *numbers = (ct_cf32 *)to + (int64)row * N_STATIONS;
    for (int s = lane; s < N_STATIONS; s += 32) {
        const ct_cf32 w = beam.levels(s);
        numbers[s] = {w.re * beam.scale, w.im * beam.scale};
    }
#endif
}
