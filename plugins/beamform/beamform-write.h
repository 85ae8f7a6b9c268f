/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of a vector's beams, as kernels of any instruction set leave them, are written to a block.
 */
#pragma once

#include "beamform.h"

#include <cornerturn/isa.h>
#include <string.h>

#define VECTOR_FLOATS (CT_VECTOR_BYTES / 4)

/* LOW_PAIRS and HIGH_PAIRS interleave the lower and upper halves of two vectors of complex
 * elements. */
#if CT_VECTOR_BYTES == 64
#define LOW_PAIRS  0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23
#define HIGH_PAIRS 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31
#elif CT_VECTOR_BYTES == 32
#define LOW_PAIRS  0, 1, 8, 9, 2, 3, 10, 11
#define HIGH_PAIRS 4, 5, 12, 13, 6, 7, 14, 15
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

/* The same of a tile [time][beam][pol] of two polarisations. */
static inline void
write_pairs(gsize room, const gfloat *tile, gsize n_times, gsize n_beams, guint8 *beams,
            const BeamformStrides *to)
{
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
