/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums the parts of integrations in the order of time. The other kernels do this in one block where
 * whole integrations are enough work for the device.
 *
 * Further constants: PART (element type of parts), EXACT. */
#include "correlate-device.h"

/* Loads in progress at once. */
constexpr int n_ahead = 16;

struct Sum {
    SUM re, im;
};

#if EXACT
typedef ct_ci64 Kept;
#else
typedef PART Kept;
#endif

__device__ inline void
add(Sum &sum, PART part)
{
    sum.re += (SUM)part.re;
    sum.im += (SUM)part.im;
}

/* Adds `n` parts of an element from `first` on, `step` apart. */
__device__ inline void
add_parts(Sum &sum, const PART *first, int64 step, int n)
{
    for (; n >= n_ahead; n -= n_ahead, first += n_ahead * step) {
        PART part[n_ahead];
#pragma unroll
        for (int k = 0; k < n_ahead; k++)
            part[k] = first[k * step];
#pragma unroll
        for (int k = 0; k < n_ahead; k++)
            add(sum, part[k]);
    }
    for (; n > 0; n--, first += step)
        add(sum, *first);
}

/* Each thread handles an element of the matrix and an integration. */
extern "C" __global__ void
correlate_fold(const CorrelatePiece piece, const int n_integrations)
{
    const int64 n_elements = N_ITEMS * n_tiles * tile_elements;
    const int64 index = (int64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n_elements * n_integrations)
        return;
    const int integration = (int)(index / n_elements);
    const int64 element = index % n_elements;
    const Tile tile = find_tile((int)(element / tile_elements % n_tiles));
    const Tile inner = find_element((int)(element % tile_elements));
    const int m = tile.i + inner.i, c = tile.j + inner.j;
    if (m < c || m >= n_inputs)
        return;

    /* The piece's first part is that of the chunk in which the piece begins. */
    const int64 n_chunks = chunks_of_integration(piece), begun = piece.done / piece.chunk;
    const int64 first = integration * n_chunks - begun, next = first + n_chunks;
    const int begin = first > 0 ? (int)first : 0;
    const int end = smaller(next, piece.n_ranges);
    const Range range = find_integration(piece, integration);
    const bool due = is_due(piece, range);
    const PART *parts = (const PART *)piece.parts + element;
    Kept *kept = (Kept *)piece.sums + element;

    Sum sum = {0, 0};
#if EXACT
    if (piece.adds_sums)
        sum = {kept->re, kept->im};
    if (piece.adds_open)
        add(sum, ((const PART *)piece.open)[element]);
    add_parts(sum, parts + begin * n_elements, n_elements, end - begin);
#else
    const int64 last = range.position + (range.end - range.begin);
    const bool is_open = !due && last % piece.chunk != 0;
    if (range.position >= piece.chunk)
        sum = {kept->re, kept->im};
    add_parts(sum, parts + begin * n_elements, n_elements, end - begin - is_open);
    if (is_open)
        ((PART *)piece.open)[element] = parts[(end - 1) * n_elements];
#endif
    if (due)
        write_product(piece,
                      (char *)piece.visibilities +
                          find_item(piece, (int)(element / tile_elements / n_tiles)).to +
                          integration * piece.to_time,
                      m, c, sum.re, sum.im);
    else
        *kept = {sum.re, sum.im};
}
