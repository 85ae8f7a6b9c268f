/* SPDX-License-Identifier: BSD-3-Clause */
/* The polyphase filter on the GPU where neighbours in the output are none in the input (phases of
 * stations that lie side by side): samples turn on their way through shared memory, in the narrow
 * type that they have.
 *
 * A block takes a tile of TILE_READ elements of the axis before the last, dense in the input, by
 * TILE_WRITE of the last one, dense in the output. Hops divide N_CHANNELS, and windows slide as in
 * fir.cu. The other constants are in fir-window.h. */
#include "fir-window.h"

#define TILE_COLUMNS (TILE_WRITE / VECTOR)
/* Keeps vectors aligned, and puts neighbours along the axis that is read into different banks. */
#define PADDING (VECTOR * sizeof(IN) < 4 ? 4 / sizeof(IN) : VECTOR)

typedef Words<sizeof(IN)> Sample;
typedef Sample Tile[AHEAD][TILE_READ][TILE_WRITE + PADDING];

/* A thread's part of the tile: one element of the axis that is read, by VECTOR elements of the last
 * axis, TILE_COLUMNS apart, in AHEAD rows. */
struct Reader {
    uint32 read, write;
    int n_here;            /* of the VECTOR ones */
    const uint8 *from;     /* the next row */
    int64 step, step_here; /* to the next row; along the last axis */
    Sample samples[AHEAD][VECTOR];

    __device__ void
    fetch(int n_rows)
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++, from += step)
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                if (i < n_rows && v < n_here)
                    samples[i][v] = *(const Sample *)(from + v * step_here);
    }

    __device__ void
    deliver(Tile &tile) const
    {
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                tile[i][read][write + v * TILE_COLUMNS] = samples[i][v];
    }
};

/* Blocks stand along tiles of the axis that is read, then of the last one, then along the other
 * axes, then along chunks. `dense_out`: vectors are dense and aligned in the output. */
extern "C" __global__ void
__launch_bounds__(THREADS, MIN_BLOCKS)
    fir_tiles(const uint8 *__restrict__ in, uint8 *__restrict__ out, const float *__restrict__ taps,
              FirAxes axes, int32 dense_out)
{
    __shared__ alignas(16) Tile tile;
    const uint32 write_axis = axes.n_axes - 1, read_axis = axes.n_axes - 2;
    const uint32 n_write = axes.length[write_axis], n_read = axes.length[read_axis];
    const uint32 write_tiles = (n_write + TILE_WRITE - 1) / TILE_WRITE;
    const uint32 read_tiles = (n_read + TILE_READ - 1) / TILE_READ;
    uint32 left = blockIdx.x;
    Place place = {in, out, 0, 0};

    const uint32 first_read = left % read_tiles * TILE_READ;
    left /= read_tiles;
    const uint32 first_write = left % write_tiles * TILE_WRITE;
    const uint32 chunk = place.move_outside(axes, 2, left / write_tiles);
    const int n_outputs = count_outputs(axes, chunk, place.time);
    const int n_rows = n_outputs + N_TAPS - 1;

    const uint32 read = threadIdx.x % TILE_READ, write = threadIdx.x / TILE_READ;
    const int n_inside = ((int)(n_write - first_write - write) + TILE_COLUMNS - 1) / TILE_COLUMNS;
    Reader reader = {read, write, first_read + read < n_read ? n_inside : 0};
    reader.from = place.in + (first_read + read) * axes.in[read_axis] +
                  (first_write + write) * axes.in[write_axis];
    reader.step = axes.sample * N_CHANNELS;
    reader.step_here = axes.in[write_axis] * TILE_COLUMNS;

    /* A thread beyond the axes does the same as the tile's first thread, but writes nothing. */
    const uint32 row = threadIdx.x / TILE_COLUMNS, column = threadIdx.x % TILE_COLUMNS * VECTOR;
    const bool writes = first_read + row < n_read && first_write + column < n_write;
    place.move(axes, read_axis, first_read + (writes ? row : 0));
    place.move(axes, write_axis, first_write + (writes ? column : 0));
    const uint32 phase = place.rotated(axes, chunk);
    __shared__ TapGroups groups;
    const Taps own(taps, place.phase, groups);
    const int64 step_out = axes.output * N_TIMES;
    uint8 *to = place.out - (N_TAPS - 1) * step_out;
    Sums sums;

    reader.fetch(n_rows);
    for (int t = 0; t < n_rows; t += AHEAD) {
        Samples samples[AHEAD];
        Outputs made[AHEAD];
        /* No thread reads the previous rows any more. */
        __syncthreads();
        reader.deliver(tile);
        __syncthreads();
        reader.fetch(n_rows - t - AHEAD);
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            load(samples[i], (const uint8 *)&tile[i][row][column]);
        sums.add(made, samples, own);
#pragma unroll
        for (int i = 0; i < AHEAD; i++, to += step_out)
            if (writes && t + i >= N_TAPS - 1 && t + i < n_rows)
                store(axes, to, phase, made[i], dense_out);
    }
}
