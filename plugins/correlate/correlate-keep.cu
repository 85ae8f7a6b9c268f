/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the voltages of a chunk that a piece leaves unfinished, for the next piece to sum. */
#include "correlate-device.h"

/* Each thread copies an input of a spectrum of an item: `n` spectra, from spectrum `first` of
 * `voltages` on, become those of the chunk from `to` on. */
extern "C" __global__ void
correlate_keep(const CorrelatePiece piece, const int first, const int n, const int to)
{
    const int64 index = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= (int64)N_ITEMS * n * n_inputs)
        return;
    const int m = (int)(index % n_inputs), t = (int)(index / n_inputs % n);
    const int item = (int)(index / n_inputs / n);
    const char *spectrum =
        (const char *)piece.voltages + find_item(piece, item).from + (first + t) * piece.from_time;
    ((INPUT *)piece.left)[((int64)item * CHUNK + to + t) * n_inputs + m] =
        *input_at(piece, spectrum, m);
}
