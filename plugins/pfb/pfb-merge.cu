/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of folding behind pfb.cu, if hops have several cells. The constants of the compilation
 * are those of pfb.cu. */
#include "fir-window.h"
#include "pfb-cells.h"

#include <cornerturn/kit/epilogue-kernel.h>

/* Merges the cells of hops. Threads: [hop][series][channel]. */
extern "C" __global__ void
__launch_bounds__(PFB_MERGE_THREADS) pfb_merge(uint8 *__restrict__ out, FirAxes axes,
                                               PfbCells cells, const CtEpilogueSettings settings)
{
    typedef CtEpilogue::State State;
    const uint32 thread = blockIdx.x * PFB_MERGE_THREADS + threadIdx.x;
    const uint32 channel = thread % OUT_CHANNELS, series = thread / OUT_CHANNELS % cells.n_series;
    const uint32 hop = thread / OUT_CHANNELS / cells.n_series;
    const int64 left = axes.n_outputs - (int64)hop * (N_CELLS * CELL);
    if (left <= 0)
        return;
    const int32 n = left < N_CELLS * CELL ? (int32)left : N_CELLS * CELL;
    const State *from = (const State *)cells.states +
                        ((int64)hop * N_CELLS * cells.n_series + series) * OUT_CHANNELS + channel;
    CtEpilogue epilogue(settings);
    Place place = {nullptr, out, 0, 0};
    place.move_outside(axes, 0, series);
    uint8 *to = place.out + hop * cells.step + channel * sizeof(CtStored<ct_cf32>);
    State sum = *from;
    for (int cell = 1; cell * CELL < n; cell++)
        epilogue.merge(sum, from[(int64)cell * cells.n_series * OUT_CHANNELS]);
    epilogue.give(to, sum, n);
}
