/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that the filter's kernels share: the places of threads, vectors of samples, and the
 * sums of windows that slide.
 *
 * A thread makes VECTOR neighbouring series of outputs over a chunk of time. Its sums run over
 * k = 0, 1, … by fused multiply-adds, wherever the stream was cut. Constants of the compilation:
 *   IN, OUT        types of samples and outputs
 *   N_TAPS, N_CHANNELS, HOP
 *   N_TIMES        outputs that are made side by side by different threads
 *   VECTOR         elements of a thread along the last axis, dense in the output
 *   SIDE           how many of them lie side by side, the next ones a part of the axis further on;
 *                  if it is not defined: all
 *   PHASES_APART   whether that axis is phase: then each of them has coefficients of its own
 *   SPARES_CONVERSIONS
 *                  whether every other byte becomes a number in another way than by a conversion,
 *                  which takes a register; 0 if it is not defined
 *   AHEAD          rows that are read before they are needed, and then filtered together
 *   TAPS_SHARED    whether coefficients are in shared memory
 *   TAPS_FAR       whether they are read where they are used; 0 if it is not defined
 *   THREADS        of a block
 *   MIN_BLOCKS     blocks that shall fit a multiprocessor */
#pragma once

#include "cornerturn/kernel.h"
#include "fir-axes.h"

#define N_SETS (PHASES_APART ? VECTOR : 1)

#ifndef SIDE
#define SIDE VECTOR
#endif
#ifndef SPARES_CONVERSIONS
#define SPARES_CONVERSIONS 0
#endif
#define N_SIDES (VECTOR / SIDE)
/* The place of element i of a thread, from that of its first on. */
#define OFFSET(i) ((i) % SIDE + (i) / SIDE * (N_CHANNELS / N_SIDES))

/* Whether windows are rotated, and by how many more phases a thread's next output is rotated.
 * Windows that slide are not rotated. */
#define ROTATES       (HOP % N_CHANNELS != 0)
#define ROTATION_STEP ((uint32)((int64)(HOP % N_CHANNELS) * N_TIMES % N_CHANNELS))

/* Elements side by side in memory. They are read and written at once if they are aligned. */
template <typename T> struct alignas(VECTOR * sizeof(T)) Vector {
    T item[VECTOR];
};
typedef Vector<OUT> Outputs;

/* Samples as they are read, in whole registers. They are unpacked where they are used. */
template <int bytes> struct alignas(bytes) Words {
    uint32 word[bytes / 4];
};
template <> struct Words<2> {
    uint16 word;
};
template <> struct Words<1> {
    uint8 word;
};
union Samples {
    Words<VECTOR * sizeof(IN)> words;
    Words<SIDE * sizeof(IN)> sides[N_SIDES];
    Vector<IN> vector;
};

__device__ inline void
load(Samples &samples, const uint8 *from)
{
#pragma unroll
    for (int i = 0; i < N_SIDES; i++)
        samples.sides[i] =
            *(const Words<SIDE * sizeof(IN)> *)(from + OFFSET(i * SIDE) * sizeof(IN));
}

/* The byte in bits 8 to 15 as a number: the mantissa of 2²³ + 256 · (byte + 128) has its bits. That
 * takes no more instructions than a shift and a conversion, which a few units make. */
__device__ inline float
second_byte(uint32 word)
{
    /* The compiler does not know that the grid has one row, so this is in a register, and both
     * operations are one instruction. */
    const int base = 0x4b007fff + (int)gridDim.y;
    const float shifted = __int_as_float((int)(word & 0xff00) ^ base);
    return fmaf(shifted, 1.0f / 256, -32768.0f - 128);
}

/* Byte i of some words as a number. */
template <int n>
__device__ inline float
byte_of(const Words<n> &words, int i)
{
    const bool is_second = SPARES_CONVERSIONS && i % 2 == 1;
    int own = (int)(words.word[i / 4] >> (i % 4 - is_second) * 8);
    asm("" : "+r"(own)); /* else words are taken apart with more instructions */
    return is_second ? second_byte((uint32)own) : (float)(int8)own;
}

__device__ inline float
byte_of(const Words<2> &words, int i)
{
    return (float)(int8)(words.word >> i * 8);
}

__device__ inline float
byte_of(const Words<1> &words, int)
{
    return (float)(int8)words.word;
}

/* Sample i. */
template <typename Item>
__device__ inline ct_complex<float>
unpack(const Samples &samples, int i, const Item &item)
{
    return ct_load<float>(item);
}

__device__ inline ct_complex<float>
unpack(const Samples &samples, int i, const ct_ci8 &)
{
    return {byte_of(samples.words, 2 * i), byte_of(samples.words, 2 * i + 1)};
}

__device__ inline ct_complex<float>
unpack(const Samples &samples, int i, const ct_i8 &)
{
    return {byte_of(samples.words, i), 0};
}

__device__ inline ct_complex<float>
unpack(const Samples &samples, int i)
{
    return unpack(samples, i, samples.vector.item[i]);
}

/* Reads samples that lie `apart` bytes apart. */
__device__ inline void
gather(Samples &samples, const uint8 *from, int64 apart)
{
#pragma unroll
    for (int i = 0; i < VECTOR; i++)
        samples.vector.item[i] = *(const IN *)(from + OFFSET(i) * apart);
}

/* `phase` modulo N_CHANNELS. It is less than 2 · N_CHANNELS. */
__device__ inline uint32
around(uint32 phase)
{
    return phase < N_CHANNELS ? phase : phase - N_CHANNELS;
}

/* Writes outputs along the last axis. `dense`: they lie side by side and aligned. If windows are
 * rotated, `to` is the place of the first phase, and the outputs are of the phases from `phase` on.
 */
__device__ inline void
store(const FirAxes &axes, uint8 *to, uint32 phase, const Outputs &outputs, bool dense)
{
    const int64 apart = axes.out[axes.n_axes - 1];

#if ROTATES
    if (PHASES_APART && phase % VECTOR != 0) {
#pragma unroll
        for (int i = 0; i < VECTOR; i++)
            *(OUT *)(to + around(phase + i) * apart) = outputs.item[i];
        return;
    }
    to += phase * axes.out[axes.phase];
#endif
    if (dense) {
        *(Outputs *)to = outputs;
    } else {
#pragma unroll
        for (int i = 0; i < VECTOR; i++)
            *(OUT *)(to + i * apart) = outputs.item[i];
    }
}

/* h · x + sum, rounded once. */
__device__ inline ct_cf32
multiply_add(float h, ct_complex<float> x, ct_cf32 sum)
{
    return {fmaf(h, x.re, sum.re), fmaf(h, x.im, sum.im)};
}

__device__ inline ct_f32
multiply_add(float h, ct_complex<float> x, ct_f32 sum)
{
    return fmaf(h, x.re, sum);
}

/* The place of a thread. */
struct Place {
    const uint8 *in;
    uint8 *out;
    uint32 phase, time;

    __device__ void
    move(const FirAxes &axes, uint32 axis, uint32 index)
    {
        in += index * axes.in[axis];
        if (!ROTATES || axis != axes.phase)
            out += index * axes.out[axis];
        phase = axis == axes.phase ? index : phase;
        time = axis == axes.time ? index : time;
    }

    /* Moves along all axes but the last `n_left`, by `left`, the index without those. Returns the
     * chunk. */
    __device__ uint32
    move_outside(const FirAxes &axes, uint32 n_left, uint32 left)
    {
        for (uint32 axis = axes.n_axes - n_left; axis-- > 0; left /= axes.length[axis])
            move(axes, axis, left % axes.length[axis]);
        in += left * axes.chunk * HOP * axes.sample;
        out += left * axes.chunk * axes.output;
        return left;
    }

    /* The rotated phase of the first output. All moves have been made. */
    __device__ uint32
    rotated(const FirAxes &axes, uint32 chunk) const
    {
        const uint32 first = (uint32)((chunk * axes.chunk + time) % N_CHANNELS);
        const uint32 rotation = (uint32)((uint64)first * (HOP % N_CHANNELS) % N_CHANNELS);
        return ROTATES ? around(around(rotation + axes.rotation) + phase) : phase;
    }
};

/* Outputs of a thread in a chunk. */
__device__ inline int
count_outputs(const FirAxes &axes, uint32 chunk, uint32 time)
{
    const int64 left = axes.n_outputs - chunk * axes.chunk;
    const int64 n = (left < axes.chunk ? left : axes.chunk) - time;

    return n <= 0 ? 0 : (int)((n + N_TIMES - 1) / N_TIMES);
}

struct alignas(16) TapGroup {
    float tap[4];
};
/* The coefficients of a block in shared memory; a thread uses its column alone. */
typedef TapGroup TapGroups[TAPS_SHARED ? (N_TAPS + 3) / 4 : 1][N_SETS][TAPS_SHARED ? THREADS : 1];

/* The coefficients of a thread, in registers. Many of them are in shared memory instead or, if that
 * is too small, stay where they are. */
#if TAPS_SHARED
struct Taps {
    TapGroup *own;

    __device__
    Taps(const float *taps, uint32 phase, TapGroups &groups)
        : own(&groups[0][0][threadIdx.x])
    {
        for (int k = 0; k < N_TAPS; k++)
            for (int i = 0; i < N_SETS; i++)
                group(k, i).tap[k % 4] = taps[(int64)k * N_CHANNELS + phase + OFFSET(i)];
    }

    __device__ TapGroup &
    group(int k, int i) const
    {
        return own[(k / 4 * N_SETS + i % N_SETS) * THREADS];
    }

    __device__ float
    get(int k, int i) const
    {
        return group(k, i).tap[k % 4];
    }

    /* From here on, coefficients are read again, not kept in registers. */
    __device__ void
    forget() const
    {
        asm volatile("" ::: "memory");
    }

    __device__ void
    await()
    {
    }
};
#elif TAPS_FAR
struct Taps {
    const float *own;

    __device__
    Taps(const float *taps, uint32 phase, TapGroups &)
        : own(taps + phase)
    {
    }

    __device__ float
    get(int k, int i) const
    {
        return own[(int64)k * N_CHANNELS + OFFSET(i % N_SETS)];
    }

    __device__ void
    forget() const
    {
        asm volatile("" ::: "memory");
    }

    __device__ void
    await()
    {
    }
};
#else
struct Taps {
    float tap[N_TAPS][N_SETS];

    __device__
    Taps(const float *taps, uint32 phase, TapGroups &)
    {
#pragma unroll
        for (int k = 0; k < N_TAPS; k++)
#pragma unroll
            for (int i = 0; i < N_SETS; i++)
                tap[k][i] = taps[(int64)k * N_CHANNELS + phase + OFFSET(i)];
    }

    __device__ float
    get(int k, int i) const
    {
        return tap[k][i % N_SETS];
    }

    __device__ void
    forget() const
    {
    }

    __device__ void
    await()
    {
#pragma unroll
        for (int k = 0; k < N_TAPS; k++)
#pragma unroll
            for (int i = 0; i < N_SETS; i++)
                ct_await(tap[k][i]);
    }
};
#endif

/* The outputs under way. Windows that are N_TIMES outputs apart share all of their rows of
 * N_CHANNELS samples but one. item[j] is the sum of the jth output from here on, over the rows so
 * far. */
struct Sums {
    OUT item[N_TAPS - 1 + (N_TAPS == 1)][VECTOR] = {};

    /* Adds AHEAD rows, which complete as many outputs. A row is the last one in the window of the
     * first output, the last but one in the window of the next output, and so on. */
    __device__ void
    add(Outputs (&made)[AHEAD], const Samples (&samples)[AHEAD], const Taps &taps)
    {
        taps.forget();
#pragma unroll
        for (int i = 0; i < VECTOR; i++) {
            ct_complex<float> x[AHEAD];
#pragma unroll
            for (int row = 0; row < AHEAD; row++)
                x[row] = unpack(samples[row], i);
#pragma unroll
            for (int j = 0; j < AHEAD + N_TAPS - 1; j++) {
                OUT sum = {};
                if (j < N_TAPS - 1)
                    sum = item[j][i];
#pragma unroll
                for (int row = 0; row < AHEAD; row++)
                    if (row <= j && j < row + N_TAPS)
                        sum = multiply_add(taps.get(N_TAPS - 1 - j + row, i), x[row], sum);
                if (j < AHEAD)
                    made[j].item[i] = sum;
                else
                    item[j - AHEAD][i] = sum;
            }
        }
    }
};

/* The samples before the next row. They take fewer registers than sums if they have few bytes, and
 * are converted more often: each row for AHEAD outputs at a time. Outputs are the same numbers. */
struct Windows {
    Samples before[N_TAPS - 1 + (N_TAPS == 1)] = {};

    /* Completes the outputs of AHEAD rows for element i. */
    __device__ void
    filter(OUT (&made)[AHEAD], const Samples (&samples)[AHEAD], const Taps &taps, int i) const
    {
        constexpr int n = N_TAPS - 1;
        ct_complex<float> x[n + AHEAD];
#pragma unroll
        for (int row = 0; row < n + AHEAD; row++)
            x[row] = unpack(row < n ? before[row] : samples[row - n], i);
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            made[j] = {};
#pragma unroll
            for (int k = 0; k < N_TAPS; k++)
                made[j] = multiply_add(taps.get(k, i), x[j + k], made[j]);
        }
    }

    /* Goes on by AHEAD rows. */
    __device__ void
    move(const Samples (&samples)[AHEAD])
    {
        constexpr int n = N_TAPS - 1;
#pragma unroll
        for (int row = 0; row < n; row++)
            before[row] = row + AHEAD < n ? before[row + AHEAD] : samples[row + AHEAD - n];
    }
};
