/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading of voltages whose time is in blocks: 16 spectra of an input are contiguous. The half of a
 * block, as 8-bit integers (re, im, re, im, …), is 16 bytes of a row of a matrix. In shared memory,
 * the first halves of 8 inputs are contiguous, and so are the second ones.
 *
 * The first and the last block of a range may have spectra that do not belong to it. */
#pragma once

#include "correlate-bytes.h"
#include "correlate-device.h"

constexpr int half = 8;                               /* spectra */
constexpr int half_bytes = half * (int)sizeof(INPUT); /* in voltages */

struct alignas(half_bytes) Half {
    unsigned words[half_bytes / 4];
};

/* A thread's place among those that read the halves of inputs: two of them read a whole block. */
struct HalfPlace {
    int m;      /* input */
    int second; /* 1: the second half */
};

__device__ inline HalfPlace
find_half(int index)
{
    return {index / 2, index % 2};
}

/* The address of a half in the first block of a range. */
__device__ inline const char *
half_at(const CorrelatePiece &piece, const char *voltages, int m, int second)
{
    return voltages + m / N_POLS * piece.from_station + m % N_POLS * piece.from_pol +
           second * half_bytes;
}

/* A half that is not aligned. */
__device__ __noinline__ Half
gather_half(const char *from)
{
    Half x = {};
    for (int k = 0; k < half_bytes; k++)
        x.words[k / 4] |= (unsigned)(uint8)from[k] << k % 4 * 8;
    return x;
}

__device__ inline Half
read_half(const CorrelatePiece &piece, const char *from)
{
    return piece.width >= half_bytes ? *(const Half *)from : gather_half(from);
}

/* Keeps the spectra first … last − 1; the others become 0. */
__device__ inline Half
keep_spectra(Half x, int first, int last)
{
    constexpr int n = 4 / (int)sizeof(INPUT), bits = 32 / n;
#pragma unroll
    for (int k = 0; k < half; k++)
        if (k < first || k >= last)
            x.words[k / n] &= ~((0xffffffffu >> (32 - bits)) << k % n * bits);
    return x;
}

/* The half of input m that begins `t` spectra after the first block of the job's range. */
__device__ inline Half
find_spectra(const CorrelatePiece &piece, const Job &job, int m, int t)
{
    const int first = find_lead(piece, job) - t, last = first + job.n;
    if (m >= n_inputs || job.n == 0 || first >= half || last <= 0)
        return {};
    const char *from = half_at(piece, job.voltages, m, t / half % 2) + t / BLOCK * piece.from_time;
    return keep_spectra(read_half(piece, from), first, last);
}

/* The half as 8-bit integers; nibbles become the high ones. */
__device__ inline uint4
widen(const Half &x)
{
#if IS_NIBBLES
    const unsigned re[2] = {x.words[0] & 0xf0f0f0f0, x.words[1] & 0xf0f0f0f0},
                   im[2] = {x.words[0] << 4 & 0xf0f0f0f0, x.words[1] << 4 & 0xf0f0f0f0};
    return {pick_bytes(re[0], im[0], 0x5140), pick_bytes(re[0], im[0], 0x7362),
            pick_bytes(re[1], im[1], 0x5140), pick_bytes(re[1], im[1], 0x7362)};
#else
    return {x.words[0], x.words[1], x.words[2], x.words[3]};
#endif
}
