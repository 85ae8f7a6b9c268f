/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of contiguous inputs of a spectrum to shared memory, asynchronous where they are
 * aligned. */
#pragma once

#include "correlate-device.h"

/* Inputs that are copied at once, 16 bytes. */
constexpr int n_copied = 16 / (int)sizeof(INPUT);

__device__ inline const INPUT *
input_at(const CorrelatePiece &piece, const char *spectrum, int m)
{
    return (const INPUT *)(spectrum + m / N_POLS * piece.from_station +
                           m % N_POLS * piece.from_pol);
}

/* Copies spectrum t of the inputs from m on, none beyond the last. */
__device__ inline void
copy(const CorrelatePiece &piece, const Job &job, char *to, int m, int t)
{
    constexpr int bytes = (int)sizeof(INPUT);
    const char *spectrum = job.voltages + t * piece.from_time, *from = spectrum + m * bytes;
    const int n = t < job.n ? smaller(n_copied, n_inputs - m) : 0;
    if (piece.width == 16) {
        ct_cp_async16_zfill(to, n > 0 ? from : job.voltages, n > 0 ? 16 : 0);
    } else if (piece.width == 8) {
#pragma unroll
        for (int at = 0; at < 16; at += 8)
            ct_cp_async8_zfill(to + at, n * bytes > at ? from + at : job.voltages,
                               n * bytes > at ? 8 : 0);
    } else if (piece.width == 4) {
#pragma unroll
        for (int at = 0; at < 16; at += 4)
            ct_cp_async4_zfill(to + at, n * bytes > at ? from + at : job.voltages,
                               n * bytes > at ? 4 : 0);
    } else {
#pragma unroll 1
        for (int e = 0; e < n_copied; e++)
            ((INPUT *)to)[e] = n > e ? *input_at(piece, spectrum, m + e) : INPUT();
    }
}
