/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of voltages to shared memory as they are, 16 bytes of a spectrum, where time has no
 * blocks; those that the piece before has left come from its memory. */
#pragma once

#include "correlate-device.h"

/* Inputs that are copied at once. */
constexpr int copied = 16 / (int)sizeof(INPUT);

/* ---- voltages left over from the piece before, in floating point ---- */

/* The first spectra of a job that are not in the block but among these. */
__device__ inline int
count_left(const CorrelatePiece &piece, const Job &job)
{
    return job.range.begin == 0 ? piece.n_left : 0;
}

/* The inputs of one of them. */
__device__ inline const INPUT *
left_of(const CorrelatePiece &piece, const Job &job, int t)
{
    return (const INPUT *)piece.left + (job.tile / n_tiles * CHUNK + t) * n_inputs;
}

#if BLOCK == 1
/* ---- copies ---- */

/* Copies `bytes` at once. */
template <int bytes>
__device__ inline void
copy_pieces(const char *none, char *to, const char *from, int n)
{
    constexpr int n_each = bytes / sizeof(INPUT);
#pragma unroll
    for (int k = 0; k < copied; k += n_each) {
        const char *piece = n > k ? from + k * (int)sizeof(INPUT) : none;
        if constexpr (bytes == 8)
            ct_cp_async8_zfill(to + k * (int)sizeof(INPUT), piece, n > k ? bytes : 0);
        else
            ct_cp_async4_zfill(to + k * (int)sizeof(INPUT), piece, n > k ? bytes : 0);
    }
}

/* Copies spectrum t of some inputs from m on, none beyond the last. */
__device__ inline void
copy(const CorrelatePiece &piece, const Job &job, char *to, int m, int t)
{
    const char *from = job.voltages + t * piece.from_time;
    const int n = t < job.n ? smaller(copied, n_inputs - m) : 0;
    if (!EXACT && t < count_left(piece, job)) {
        const INPUT *left = left_of(piece, job, t) + m;
        for (int k = 0; k < copied; k++)
            ((INPUT *)to)[k] = n > k ? left[k] : INPUT();
    } else if (piece.width == 16) {
        ct_cp_async16_zfill(to, n > 0 ? from + m * (int)sizeof(INPUT) : job.voltages,
                            n > 0 ? 16 : 0);
    } else if (piece.width == 8) {
        copy_pieces<8>(job.voltages, to, from + m * (int)sizeof(INPUT), n);
    } else if (piece.width == 4 && sizeof(INPUT) <= 4) {
        copy_pieces<4>(job.voltages, to, from + m * (int)sizeof(INPUT), n);
    } else {
        for (int k = 0; k < copied; k++)
            ((INPUT *)to)[k] = n > k ? *input_at(piece, from, m + k) : INPUT();
    }
}
#endif
