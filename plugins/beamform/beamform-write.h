/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of a vector's beams, as kernels of any instruction set leave them, are written to a block.
 */
#pragma once

#include "beamform.h"

#include <cornerturn/isa.h>
#include <string.h>

#define VECTOR_FLOATS (CT_VECTOR_BYTES / 4)

/* The pairs of complex elements in a vector. */
#define PAIRS (VECTOR_FLOATS / 4)

/* LOW_PAIRS and HIGH_PAIRS interleave the lower and upper halves of two vectors of complex
 * elements, PAIRS_LOW and PAIRS_HIGH those of pairs of them. LOW_HALVES and HIGH_HALVES put the
 * halves together. */
#if CT_VECTOR_BYTES == 64
#define LOW_PAIRS   0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23
#define HIGH_PAIRS  8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31
#define PAIRS_LOW   0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23
#define PAIRS_HIGH  8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31
#define LOW_HALVES  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define HIGH_HALVES 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#elif CT_VECTOR_BYTES == 32
#define LOW_PAIRS   0, 1, 8, 9, 2, 3, 10, 11
#define HIGH_PAIRS  4, 5, 12, 13, 6, 7, 14, 15
#define LOW_HALVES  0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_HALVES 4, 5, 6, 7, 12, 13, 14, 15
#else
#define LOW_PAIRS  0, 1, 4, 5
#define HIGH_PAIRS 2, 3, 6, 7
#endif

typedef gfloat Vector __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gfloat Unaligned __attribute__((vector_size(CT_VECTOR_BYTES), aligned(4), may_alias));

/* Writes a tile [time][pol][beam] of `room` complex beams to `n_times` times and `n_beams` beams.
 */
static inline void
write_tile(gsize n_pols, gsize room, const gfloat *tile, gsize n_times, gsize n_beams,
           guint8 *beams, const BeamformStrides *to)
{
    if (n_beams == VECTOR_FLOATS && n_pols == 2 && to->pol == 8 && to->across == 16) {
        for (gsize t = 0; t < n_times; t++, tile += 4 * VECTOR_FLOATS, beams += to->time) {
            const Vector *p = (const Vector *)tile;
            const Vector *q = p + 2;
            Unaligned *y = (Unaligned *)beams;
            y[0] = __builtin_shufflevector(p[0], q[0], LOW_PAIRS);
            y[1] = __builtin_shufflevector(p[0], q[0], HIGH_PAIRS);
            y[2] = __builtin_shufflevector(p[1], q[1], LOW_PAIRS);
            y[3] = __builtin_shufflevector(p[1], q[1], HIGH_PAIRS);
        }
        return;
    }
    if (to->across == 8) {
        for (gsize t = 0; t < n_times; t++)
            for (gsize p = 0; p < n_pols; p++)
                memcpy(beams + (gint64)p * to->pol + (gint64)t * to->time,
                       tile + (t * n_pols + p) * 2 * room, n_beams * 8);
        return;
    }
    for (gsize b = 0; b < n_beams; b++, beams += to->across)
        for (gsize t = 0; t < n_times; t++)
            for (gsize p = 0; p < n_pols; p++)
                memcpy(beams + (gint64)p * to->pol + (gint64)t * to->time,
                       tile + ((t * n_pols + p) * room + b) * 2, 8);
}

/* Transposes vectors of complex pairs, PAIRS of them, from consecutive rows of a tile. */
static inline void
transpose_pairs(const gfloat *tile, gsize row_floats, guint8 *to, gint64 to_stride)
{
    Vector y[PAIRS];
#pragma GCC unroll 4
    for (gsize k = 0; k < PAIRS; k++)
        y[k] = *(const Vector *)(tile + k * row_floats);
#if CT_VECTOR_BYTES == 64
    const Vector low = __builtin_shufflevector(y[0], y[1], PAIRS_LOW);
    const Vector high = __builtin_shufflevector(y[0], y[1], PAIRS_HIGH);
    const Vector next_low = __builtin_shufflevector(y[2], y[3], PAIRS_LOW);
    const Vector next_high = __builtin_shufflevector(y[2], y[3], PAIRS_HIGH);
    y[0] = __builtin_shufflevector(low, next_low, LOW_HALVES);
    y[1] = __builtin_shufflevector(low, next_low, HIGH_HALVES);
    y[2] = __builtin_shufflevector(high, next_high, LOW_HALVES);
    y[3] = __builtin_shufflevector(high, next_high, HIGH_HALVES);
#elif CT_VECTOR_BYTES == 32
    const Vector low = __builtin_shufflevector(y[0], y[1], LOW_HALVES);
    y[1] = __builtin_shufflevector(y[0], y[1], HIGH_HALVES);
    y[0] = low;
#endif
#pragma GCC unroll 4
    for (gsize k = 0; k < PAIRS; k++)
        *(Unaligned *)(to + (gint64)k * to_stride) = y[k];
}

/* The same of a tile [time][beam][pol] of two polarisations. */
static inline void
write_pairs(gsize room, const gfloat *tile, gsize n_times, gsize n_beams, guint8 *beams,
            const BeamformStrides *to)
{
    if (to->pol == 8 && to->time == 16 && n_beams % PAIRS == 0 && n_times % PAIRS == 0) {
        for (gsize b = 0; b < n_beams; b += PAIRS)
            for (gsize t = 0; t < n_times; t += PAIRS)
                transpose_pairs(tile + (t * room + b) * 4, room * 4,
                                beams + (gint64)b * to->across + (gint64)t * 16, to->across);
        return;
    }
    for (gsize b = 0; b < n_beams; b++, beams += to->across)
        for (gsize t = 0; t < n_times; t++) {
            const gfloat *pair = tile + (t * room + b) * 4;
            guint8 *y = beams + (gint64)t * to->time;
            if (to->pol == 8) {
                memcpy(y, pair, 16);
            } else {
                memcpy(y, pair, 8);
                memcpy(y + to->pol, pair + 2, 8);
            }
        }
}
