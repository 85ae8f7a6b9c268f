/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of folding behind the beamformer on matrix units, if hops have several cells. Compiled
 * with the definitions of the kernel that has folded them, and MERGE_THREADS of a block. */
#include "beamform-matrix.h"

/* Merges the cells of hops, of n_times times together. Threads: [hop][element][beam][pol]. */
extern "C" __global__ void
__launch_bounds__(MERGE_THREADS) beamform_merge(const State *states, uint8 *y, int n_times,
                                                Strides strides, const CtEpilogueSettings settings)
{
    constexpr int64 of_cell = (int64)n_elements * ROWS * N_POLS;
    const int64 thread = (int64)blockIdx.x * MERGE_THREADS + threadIdx.x;
    const int hop = (int)(thread / of_cell), i = (int)(thread % of_cell);
    const int beam = i / N_POLS % ROWS, pol = i % N_POLS;
    const int64 left = n_times - hop * (int64)CT_EPILOGUE_HOP;
    if (left <= 0 || beam >= N_BEAMS)
        return;
    const int32 n = left < CT_EPILOGUE_HOP ? (int32)left : (int32)CT_EPILOGUE_HOP;
    const State *from = states + hop * (int64)n_cells * of_cell + i;
    const Tile tile = find_tile(i / N_POLS / ROWS * beam_tiles, 1, strides);
    CtEpilogue epilogue(settings);
    State sum = *from;
    for (int cell = 1; cell * CELL < n; cell++)
        epilogue.merge(sum, from[cell * of_cell]);
    epilogue.give(y + tile.y + hop * strides.y_time + beam * strides.y_beam +
                      pol * sizeof(CtStored<ct_cf32>),
                  sum, n);
}
