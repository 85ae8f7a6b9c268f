/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated sky in single precision: a thread makes two samples that share random numbers.
 *
 * Constants: ELEMENT, the type; IS_COMPLEX; LIMIT, the largest value of an integer type, 0 for a
 * float; KEY_0, KEY_1, the seed; N_SUBBANDS, N_STATIONS, N_POLS, N_SOURCES, N_TONES; LEAST, the
 * smallest whole delay, TAPS and BEFORE as in generate-model.h. For each of the axes SUBBAND,
 * STATION and POL: …_INNER, whether it is faster than time in memory, and …_STEP, the number of
 * series of that side for a step along it; N_INNER, N_OUTER, the series of either side. */
#include "cornerturn/kernel.h"

#define N_THREADS 256

typedef ct_cf32 Complex;

/* A pair of samples, the even one first. */
struct Pair {
    Complex even, odd;
};

/* The delay of a source at a station in a subband, see generate-model.h; the rotation includes the
 * amplitude. */
struct Delay {
    float taps[TAPS];
    Complex rotation;
    int whole; /* in addition to LEAST */
    int n_taps;
};

/* Noise of power amplitude² from two random words. */
__device__ inline Complex
noise_of(uint32 radius_bits, uint32 angle_bits, float amplitude)
{
    /* 23 and 24 bits, exact */
    const float u = (float)(int)((radius_bits >> 9 << 1) | 1) * 0x1p-24f;
    const float turns = (float)(int)(angle_bits >> 8) * 0x1p-24f;
    const float radius = sqrtf(-logf(u)) * amplitude;
    float sine, cosine;

    sincospif(2 * turns, &sine, &cosine);
    return {radius * cosine, radius * sine};
}

/* Samples 2 · pair and 2 · pair + 1 of a series: Philox4x32-10. */
__device__ inline Pair
noise(int64 pair, uint32 series, uint32 kind, float amplitude)
{
    uint32 c0 = (uint32)pair, c1 = (uint32)((uint64)pair >> 32), c2 = series, c3 = kind;

#pragma unroll
    for (uint32 round = 0; round < 10; round++) {
        const uint64 a = (uint64)c0 * 0xd2511f53u, b = (uint64)c2 * 0xcd9e8d57u;
        c0 = (uint32)(b >> 32) ^ c1 ^ (KEY_0 + round * 0x9e3779b9u);
        c1 = (uint32)b;
        c2 = (uint32)(a >> 32) ^ c3 ^ (KEY_1 + round * 0xbb67ae85u);
        c3 = (uint32)a;
    }
    return {noise_of(c0, c1, amplitude), noise_of(c2, c3, amplitude)};
}

__device__ inline Complex
multiply(Complex a, Complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ inline void
add(Complex &sum, Complex x)
{
    sum.re += x.re;
    sum.im += x.im;
}

#if N_SOURCES > 0
/* The sources' signals: pairs first_pair … of [source][subband][pol][2 · n_pairs]. `correlations`:
 * ρ and √(1 − ρ²) of each. */
extern "C" __global__ void
__launch_bounds__(N_THREADS) generate_sources(Complex *signals, const Complex *correlations,
                                              int64 first_pair, uint32 n_pairs)
{
    const uint32 pair = blockIdx.x * N_THREADS + threadIdx.x;
    const float unit = IS_COMPLEX ? 1 : 1.41421356237309505f;

    if (pair >= n_pairs)
        return;
    for (uint32 i = blockIdx.y; i < N_SOURCES * N_SUBBANDS; i += gridDim.y) {
        Pair first = {};
        for (uint32 pol = 0; pol < N_POLS; pol++) {
            const uint32 series = i * N_POLS + pol;
            Pair x = noise(first_pair + pair, series, 1, unit);
            if (pol == 0) {
                first = x;
            } else {
                const Complex rho = correlations[i / N_SUBBANDS];
                x.even = {rho.re * first.even.re + rho.im * x.even.re,
                          rho.re * first.even.im + rho.im * x.even.im};
                x.odd = {rho.re * first.odd.re + rho.im * x.odd.re,
                         rho.re * first.odd.im + rho.im * x.odd.im};
            }
            Complex *signal = signals + (uint64)series * 2 * n_pairs + 2 * pair;
            signal[0] = x.even;
            signal[1] = x.odd;
        }
    }
}
#endif

/* ---- elements ---- */

/* Rounds half to even and clips, never to the lowest value. */
__device__ inline float
level(float x, bool &clipped)
{
    const float rounded = rintf(x), limited = fminf(fmaxf(rounded, -LIMIT), LIMIT);

    clipped |= limited != rounded;
    return limited;
}

__device__ inline void
set(ct_ci4 &x, Complex value)
{
    x.nibbles = (uint8)((uint32)(int)value.re << 4 | ((uint32)(int)value.im & 15));
}

__device__ inline void
set(ct_cf16 &x, Complex value)
{
    x = {ct_float_to_half(value.re), ct_float_to_half(value.im)};
}

__device__ inline void
set(ct_f16 &x, Complex value)
{
    x = {ct_float_to_half(value.re)};
}

/* u8 has its zero in the middle. */
__device__ inline void
set(ct_u8 &x, Complex value)
{
    x = (uint8)((int)value.re + 128);
}

__device__ inline void
set(ct_u32 &x, Complex value)
{
    x = (uint32)(int)value.re + 0x80000000u;
}

#define DEFINE_SET(type, part)                                                                     \
    __device__ inline void set(type &x, Complex value)                                             \
    {                                                                                              \
        x = {(part)value.re, (part)value.im};                                                      \
    }
DEFINE_SET(ct_ci8, int8)
DEFINE_SET(ct_ci16, int16)
DEFINE_SET(ct_ci32, int32)
DEFINE_SET(ct_ci64, int64)
DEFINE_SET(ct_cf32, float)
DEFINE_SET(ct_cf64, double)

#define DEFINE_SET_REAL(type)                                                                      \
    __device__ inline void set(type &x, Complex value)                                             \
    {                                                                                              \
        x = (type)value.re;                                                                        \
    }
DEFINE_SET_REAL(ct_i8)
DEFINE_SET_REAL(ct_i16)
DEFINE_SET_REAL(ct_i32)
DEFINE_SET_REAL(ct_i64)
DEFINE_SET_REAL(ct_f32)
DEFINE_SET_REAL(ct_f64)

/* Returns whether a part was clipped. */
__device__ inline bool
store(ELEMENT *x, Complex value)
{
    bool clipped = false;

    if (LIMIT > 0)
        value = {level(value.re, clipped), IS_COMPLEX ? level(value.im, clipped) : 0};
    set(*x, value);
    return clipped;
}

/* ---- the samples ---- */

/* Strides in bytes. */
struct Strides {
    int64 time, subband, station, pol;
};

struct Tables {
    const float *noise;     /* [station] amplitude; the scale is included in all amplitudes here */
    const Delay *delays;    /* [source][subband][station] */
    const Complex *signals; /* written by generate_sources */
    const uint64 *increments; /* [tone][subband] */
    const Complex *gains;     /* [tone][subband][station] */
};

/* Samples `first` … first + n − 1 of the endless stream; the sources' signals begin at first_signal
 * and have n_signals samples. */
extern "C" __global__ void
__launch_bounds__(N_THREADS)
    generate_samples(uint8 *block, Strides strides, Tables tables, int64 first, int64 n,
                     int64 first_signal, int64 n_signals, uint64 *n_clipped)
{
    const int64 first_pair = first >> 1, n_pairs = ((first + n - 1) >> 1) - first_pair + 1;
    const uint64 i = (uint64)blockIdx.x * N_THREADS + threadIdx.x;
    const uint32 inner = (uint32)(i % N_INNER);
    const int64 pair = first_pair + (int64)(i / N_INNER), t = 2 * pair;
    __shared__ uint32 n_clipped_here;
    uint32 count = 0;

    if (threadIdx.x == 0)
        n_clipped_here = 0;
    __syncthreads();
    for (uint32 outer = blockIdx.y; outer < N_OUTER; outer += gridDim.y) {
        if (pair >= first_pair + n_pairs)
            break;
        const uint32 b = (SUBBAND_INNER ? inner : outer) / SUBBAND_STEP % N_SUBBANDS;
        const uint32 s = (STATION_INNER ? inner : outer) / STATION_STEP % N_STATIONS;
        const uint32 p = (POL_INNER ? inner : outer) / POL_STEP % N_POLS;
        const uint32 seen = b * N_STATIONS + s;
        Pair x = noise(pair, seen * N_POLS + p, 0, tables.noise[s]);

#if N_SOURCES > 0
        for (uint32 source = 0; source < N_SOURCES; source++) {
            const Delay *delay = &tables.delays[source * N_SUBBANDS * N_STATIONS + seen];
            const Complex *z =
                tables.signals + ((uint64)(source * N_SUBBANDS + b) * N_POLS + p) * n_signals;
            z += t - first_signal - LEAST - delay->whole + (delay->n_taps > 1 ? BEFORE : 0);
            Complex even = {0, 0}, odd = {0, 0}, next = z[1];
            for (int k = 0; k < delay->n_taps; k++) {
                const Complex now = z[-k];
                const float tap = delay->taps[k];
                odd.re += tap * next.re;
                odd.im += tap * next.im;
                even.re += tap * now.re;
                even.im += tap * now.im;
                next = now;
            }
            add(x.even, multiply(even, delay->rotation));
            add(x.odd, multiply(odd, delay->rotation));
        }
#endif
#if N_TONES > 0
        for (uint32 tone = 0; tone < N_TONES; tone++) {
            const uint64 increment = tables.increments[tone * N_SUBBANDS + b];
            const Complex gain = tables.gains[tone * N_SUBBANDS * N_STATIONS + seen];
            /* the upper 32 bits in half turns, −1 to 1 */
            const int phase = (int)(uint32)(increment * (uint64)t >> 32);
            const int next = (int)(uint32)(increment * (uint64)(t + 1) >> 32);
            Complex even, odd;
            sincospif((float)phase * 0x1p-31f, &even.im, &even.re);
            sincospif((float)next * 0x1p-31f, &odd.im, &odd.re);
            add(x.even, multiply(even, gain));
            add(x.odd, multiply(odd, gain));
        }
#endif
        uint8 *at = block + (t - first) * strides.time + b * strides.subband + s * strides.station +
                    p * strides.pol;
        if (t >= first)
            count += store((ELEMENT *)at, x.even);
        if (t + 1 < first + n)
            count += store((ELEMENT *)(at + strides.time), x.odd);
    }
    if (count > 0)
        atomicAdd(&n_clipped_here, count);
    __syncthreads();
    if (threadIdx.x == 0 && n_clipped_here > 0)
        atomicAdd(n_clipped, (uint64)n_clipped_here);
}
