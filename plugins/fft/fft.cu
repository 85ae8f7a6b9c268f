/* SPDX-License-Identifier: BSD-3-Clause */
/* Between blocks in any order of axes and transforms that lie one after another in scratch.
 *
 * Constants: ELEMENT, its type; LENGTH, samples of a transform; ROTATE, where sample 0 stands in
 * the block; SCALE, what samples are multiplied by; the axes of the batch: N_AXES, LENGTHS, slowest
 * first, and TIME_AXIS, whose length is an argument instead (N_AXES where there is none);
 * ALONG_BATCH, whether transforms that follow each other, not samples, are neighbours in the block.
 */
#include "cornerturn/kernel.h"

#define TILE      32
#define ROWS      8
#define N_TILES   ((LENGTH + TILE - 1) / TILE)
#define N_THREADS (TILE * ROWS)

/* Elements from one transform to the next along the axes, and from a sample to the next. */
struct Steps {
    int64 block[N_AXES], scratch[N_AXES];
    int64 sample;
};

/* A square of transforms and samples. */
struct Tile {
    uint32 first;           /* transform */
    uint32 n_transforms;    /* up to TILE */
    int sample;             /* the first */
    int64 *block, *scratch; /* [TILE] where the transforms begin */
};

__device__ inline Tile
find_tile(uint32 n_transforms, uint32 n_times, const Steps &steps, int64 *block, int64 *scratch)
{
    constexpr uint32 lengths[N_AXES] = {LENGTHS};
    const Tile tile = {blockIdx.x / N_TILES * TILE,
                       min(n_transforms - blockIdx.x / N_TILES * TILE, (uint32)TILE),
                       (int)(blockIdx.x % N_TILES) * TILE, block, scratch};

    if (threadIdx.y == 0) {
        uint32 rest = tile.first + threadIdx.x;
        int64 in_block = 0, in_scratch = 0;
#pragma unroll
        for (int axis = N_AXES - 1; axis >= 0; axis--) {
            const uint32 length = axis == TIME_AXIS ? n_times : lengths[axis];
            in_block += rest % length * steps.block[axis];
            in_scratch += rest % length * steps.scratch[axis];
            rest /= length;
        }
        block[threadIdx.x] = in_block;
        scratch[threadIdx.x] = in_scratch;
    }
    __syncthreads();
    return tile;
}

/* The place of sample `k` in the block. */
__device__ inline int64
rotated(int k)
{
    return k + ROTATE < LENGTH ? k + ROTATE : k + ROTATE - LENGTH;
}

__device__ inline float
scaled(float x)
{
    return x * (float)(SCALE);
}

__device__ inline double
scaled(double x)
{
    return x * (double)(SCALE);
}

__device__ inline ct_cf32
scaled(ct_cf32 x)
{
    return {scaled(x.re), scaled(x.im)};
}

__device__ inline ct_cf64
scaled(ct_cf64 x)
{
    return {scaled(x.re), scaled(x.im)};
}

/* The transform and the sample of a tile for row `i` of threads. Neighbouring threads have
 * neighbours of the block. */
#if ALONG_BATCH
#define TRANSFORM(i) threadIdx.x
#define SAMPLE(i)    (i)
#else
#define TRANSFORM(i) (i)
#define SAMPLE(i)    threadIdx.x
#endif

extern "C" __global__ void
__launch_bounds__(N_THREADS) fft_pack(const ELEMENT *block, ELEMENT *scratch, uint32 n_transforms,
                                      uint32 n_times, Steps steps)
{
    __shared__ ELEMENT squares[TILE][TILE + 1];
    __shared__ int64 in_block[TILE], in_scratch[TILE];
    const Tile tile = find_tile(n_transforms, n_times, steps, in_block, in_scratch);

    for (uint32 i = threadIdx.y; i < TILE; i += ROWS) {
        const uint32 b = TRANSFORM(i), k = SAMPLE(i);
        if (b < tile.n_transforms && tile.sample + k < LENGTH)
            squares[b][k] = scaled(block[in_block[b] + rotated(tile.sample + k) * steps.sample]);
    }
    __syncthreads();
    for (uint32 b = threadIdx.y; b < tile.n_transforms; b += ROWS)
        if (tile.sample + threadIdx.x < LENGTH)
            scratch[in_scratch[b] + tile.sample + threadIdx.x] = squares[b][threadIdx.x];
}

extern "C" __global__ void
__launch_bounds__(N_THREADS) fft_unpack(ELEMENT *block, const ELEMENT *scratch, uint32 n_transforms,
                                        uint32 n_times, Steps steps)
{
    __shared__ ELEMENT squares[TILE][TILE + 1];
    __shared__ int64 in_block[TILE], in_scratch[TILE];
    const Tile tile = find_tile(n_transforms, n_times, steps, in_block, in_scratch);

    for (uint32 b = threadIdx.y; b < tile.n_transforms; b += ROWS)
        if (tile.sample + threadIdx.x < LENGTH)
            squares[b][threadIdx.x] = scratch[in_scratch[b] + tile.sample + threadIdx.x];
    __syncthreads();
    for (uint32 i = threadIdx.y; i < TILE; i += ROWS) {
        const uint32 b = TRANSFORM(i), k = SAMPLE(i);
        if (b < tile.n_transforms && tile.sample + k < LENGTH)
            block[in_block[b] + rotated(tile.sample + k) * steps.sample] = scaled(squares[b][k]);
    }
}

/* Works in place, without scratch. */
extern "C" __global__ void
__launch_bounds__(N_THREADS)
    fft_scale(ELEMENT *block, uint32 n_transforms, uint32 n_times, Steps steps)
{
    __shared__ int64 in_block[TILE], in_scratch[TILE];
    const Tile tile = find_tile(n_transforms, n_times, steps, in_block, in_scratch);

    for (uint32 i = threadIdx.y; i < TILE; i += ROWS) {
        const uint32 b = TRANSFORM(i), k = SAMPLE(i);
        if (b < tile.n_transforms && tile.sample + k < LENGTH) {
            ELEMENT *x = &block[in_block[b] + (int64)(tile.sample + k) * steps.sample];
            *x = scaled(*x);
        }
    }
}
