/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter on the GPU, y[t][(p + n) mod P] = Σ_k h[k][p] · x[t·H + k·P + p], if
 * neighbours in the output are neighbours in the input. n is the number of the window's first
 * sample if windows are rotated, else 0.
 *
 * If H divides P, N_TIMES is P / H (SLIDING): a thread reads each sample once and adds it to the
 * sums under way. Otherwise it reads all samples of every output, out of the caches. The other
 * constants are in fir-window.h. */
#include "fir-window.h"

/* Vectors are dense and aligned in the input, or gathered. */
template <bool dense>
__device__ inline void
load_vector(Samples &samples, const uint8 *from, const FirAxes &axes)
{
    if constexpr (dense)
        load(samples, from);
    else
        gather(samples, from, axes.in[axes.n_axes - 1]);
}

#if SLIDING
template <bool dense>
__device__ inline void
filter(const Place &place, const FirAxes &axes, const Taps &taps, uint32 phase, int n_outputs,
       bool dense_out)
{
    const int64 step_in = axes.sample * N_CHANNELS, step_out = axes.output * N_TIMES;
    /* The first outputs lack samples and are not written. */
    const int n_rows = n_outputs + N_TAPS - 1;
    const uint8 *in = place.in;
    uint8 *out = place.out - (N_TAPS - 1) * step_out;
    Samples ahead[AHEAD] = {};
    Sums sums;

#pragma unroll
    for (int i = 0; i < AHEAD; i++, in += step_in)
        if (i < n_rows)
            load_vector<dense>(ahead[i], in, axes);
    for (int row = 0; row < n_rows; row += AHEAD) {
        Samples samples[AHEAD];
        Outputs made[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++, in += step_in) {
            samples[i] = ahead[i];
            if (row + i + AHEAD < n_rows)
                load_vector<dense>(ahead[i], in, axes);
        }
        sums.add(made, samples, taps);
#pragma unroll
        for (int i = 0; i < AHEAD; i++, out += step_out)
            if (row + i >= N_TAPS - 1 && row + i < n_rows)
                store(axes, out, phase, made[i], dense_out);
    }
}
#else
template <bool dense>
__device__ inline void
filter(const Place &place, const FirAxes &axes, const Taps &taps, uint32 phase, int n_outputs,
       bool dense_out)
{
    const int64 tap = axes.sample * N_CHANNELS;
    const int64 step_in = axes.sample * HOP * N_TIMES, step_out = axes.output * N_TIMES;
    const uint8 *in = place.in;
    uint8 *out = place.out;

    for (; n_outputs > 0; n_outputs--, in += step_in, out += step_out) {
        Outputs made = {};
        taps.forget();
#pragma unroll
        for (int k = 0; k < N_TAPS; k++) {
            Samples samples;
            load_vector<dense>(samples, in + k * tap, axes);
#pragma unroll
            for (int i = 0; i < VECTOR; i++)
                made.item[i] = multiply_add(taps.get(k, i), ct_load<float>(samples.vector.item[i]),
                                            made.item[i]);
        }
        store(axes, out, phase, made, dense_out);
        phase = around(phase + ROTATION_STEP);
    }
}
#endif

/* Threads stand along the axes, the last one in vectors, and then along chunks. `dense`: vectors
 * are dense and aligned in both blocks. `dense_out`: they are in the output. */
extern "C" __global__ void
__launch_bounds__(THREADS, MIN_BLOCKS)
    fir_rows(const uint8 *__restrict__ in, uint8 *__restrict__ out, const float *__restrict__ taps,
             FirAxes axes, uint32 n_threads, int32 dense, int32 dense_out)
{
    const uint32 thread = blockIdx.x * THREADS + threadIdx.x;
    const uint32 last = axes.n_axes - 1, n_vectors = axes.length[last] / VECTOR;
    Place place = {in, out, 0, 0};

    if (thread >= n_threads)
        return;
    place.move(axes, last, thread % n_vectors * VECTOR);
    const uint32 chunk = place.move_outside(axes, 1, thread / n_vectors);
    const int n_outputs = count_outputs(axes, chunk, place.time);
    const uint32 phase = place.rotated(axes, chunk);
    __shared__ TapGroups groups;
    const Taps own(taps, place.phase, groups);
    if (dense)
        filter<true>(place, axes, own, phase, n_outputs, true);
    else
        filter<false>(place, axes, own, phase, n_outputs, dense_out);
}
