/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums along time on a GPU, in double precision.
 *
 * A sum is cut into cells of CELL samples, the last one short, counted from the sum's first sample.
 * A thread adds up a cell of one number in the order of time; a cell that a firing leaves
 * unfinished is carried to the next firing. If a sum has more than one cell, cell j is then added
 * to partial sum j modulo N_PARTIALS, in the order of time, and the partial sums are added up when
 * the sum is complete. So the order of all additions is fixed, wherever the stream is cut.
 *
 * Numbers are real and imaginary parts of elements of all axes but time, in the input's order;
 * those inside time, the fast ones, are contiguous.
 *
 * Compiled with
 *   NUMBER PARTS         float or double; 1, or 2 for complex elements
 *   INTEGRATION CELL     samples of a sum, of a cell
 *   AVERAGES             1: sums are divided by the number of valid samples
 *   N_FAST N_NUMBERS     numbers inside time; all of them
 *   N_AXES LENGTHS STEPS the axes but time, and the step of the lane along each
 *   N_PARTIALS           partial sums of cells
 *   IS_STAGED            1: cells may be staged in shared memory */
#include "cornerturn/kernel.h"

static constexpr int64 integration = INTEGRATION;
static constexpr uint32 n_cells_of_sum = (uint32)((integration + CELL - 1) / CELL);
static constexpr int sum_threads = 256, row_threads = 256, stage_threads = 128;

/* A firing; `position` samples of its first sum came before it. */
struct Firing {
    int64 position;
    int32 n_samples;
    uint32 first_cell;       /* its first cell, counted in its sum */
    uint32 n_cells;          /* cells that it adds to */
    uint32 n_complete;       /* … and of these, cells that it completes */
    uint32 ended;            /* unfinished sums are complete */
    uint32 n_lanes;          /* of validity */
    int64 in_time, out_time; /* strides */
    int64 in[N_AXES + 1], out[N_AXES + 1];
};

struct Place {
    int64 in, out;
    uint32 lane;
};

/* The position of a number. */
__device__ inline Place
find_place(const Firing &firing, uint32 number)
{
    constexpr uint32 lengths[N_AXES + 1] = {LENGTHS}, steps[N_AXES + 1] = {STEPS};
    const uint32 part = number % PARTS;
    uint32 element = number / PARTS;
    Place place = {(int64)(part * sizeof(NUMBER)), (int64)(part * sizeof(NUMBER)), 0};
#pragma unroll
    for (int a = N_AXES; a-- > 0;) {
        const uint32 i = element % lengths[a];
        element /= lengths[a];
        place.in += i * firing.in[a];
        place.out += i * firing.out[a];
        place.lane += i * steps[a];
    }
    return place;
}

/* Writes sum `sum` of the firing. */
__device__ inline void
write_sum(const Firing &firing, uint8 *y, const uint32 *counts, uint32 sum, const Place &place,
          double value)
{
    if (AVERAGES) {
        const uint32 n = counts[sum * firing.n_lanes + place.lane];
        value = n > 0 ? value / n : 0;
    }
    *(NUMBER *)(y + sum * firing.out_time + place.out) = (NUMBER)value;
}

/* The samples of a cell in a firing. */
struct Cell {
    uint32 sum;
    int32 begin, end; /* samples */
    bool is_continued, is_complete;
};

__device__ inline Cell
find_cell(const Firing &firing, uint32 cell)
{
    const uint32 sum = (firing.first_cell + cell) / n_cells_of_sum;
    const uint32 j = (firing.first_cell + cell) % n_cells_of_sum;
    const int64 begin = sum * integration + (int64)j * CELL - firing.position;
    const int64 last = (sum + 1) * integration - firing.position;
    const int64 end = begin + CELL < last ? begin + CELL : last;
    return {sum, begin < 0 ? 0 : (int32)begin,
            end < firing.n_samples ? (int32)end : firing.n_samples, begin < 0,
            end <= firing.n_samples || firing.ended != 0};
}

/* Memory from which cells are continued, and to which they are written. */
struct Cells {
    const double *before; /* [number]: carried from the last firing */
    double *after;
    double *cells; /* [cell][number] */
    uint8 *y;
    const uint32 *counts; /* [sum][lane], for averages */

    __device__ double
    begin(const Cell &cell, uint32 number) const
    {
        return cell.is_continued ? before[number] : 0;
    }
    __device__ void
    end(const Firing &firing, const Cell &cell, uint32 i, uint32 number, const Place &place,
        double value) const
    {
        if (!cell.is_complete)
            after[number] = value;
        else if (n_cells_of_sum == 1)
            write_sum(firing, y, counts, cell.sum, place, value);
        else
            cells[(int64)i * N_NUMBERS + number] = value;
    }
};

/* Adds n numbers, `stride` bytes apart. */
__device__ inline double
add_up(double sum, const uint8 *x, int64 stride, int32 n)
{
    constexpr int side = 8;
    int32 i = 0;
    for (; i + side <= n; i += side, x += side * stride) {
        NUMBER numbers[side];
#pragma unroll
        for (int k = 0; k < side; k++)
            numbers[k] = *(const NUMBER *)(x + k * stride);
#pragma unroll
        for (int k = 0; k < side; k++)
            sum += numbers[k];
    }
    for (; i < n; i++, x += stride)
        sum += *(const NUMBER *)x;
    return sum;
}

/* Threads: [slow number][cell][fast number]. */
extern "C" __global__ void
__launch_bounds__(row_threads) integrate_rows(const uint8 *x, Cells cells, Firing firing)
{
    const uint32 thread = blockIdx.x * row_threads + threadIdx.x;
    const uint32 i = thread / N_FAST % firing.n_cells, slow = thread / N_FAST / firing.n_cells;
    const uint32 number = slow * N_FAST + thread % N_FAST;
    if (number >= N_NUMBERS)
        return;
    const Cell cell = find_cell(firing, i);
    const Place place = find_place(firing, number);
    const double sum = add_up(cells.begin(cell, number), x + place.in + cell.begin * firing.in_time,
                              firing.in_time, cell.end - cell.begin);
    cells.end(firing, cell, i, number, place, sum);
}

#if IS_STAGED
/* The index of number i of a contiguous run in shared memory, padded so that threads that are a
 * cell apart use different banks. */
__device__ inline uint32
stage_place(uint32 i)
{
    return i + i / 32;
}

__device__ inline void
send_number(float *to, const float *from)
{
    ct_cp_async4(to, from);
}

__device__ inline void
send_number(double *to, const double *from)
{
    ct_cp_async8(to, from);
}

/* Used for few fast numbers: a block adds up one contiguous run of memory for each slow number,
 * staged in shared memory. A block has `block_cells` cells of `block_groups` slow numbers. */
extern "C" __global__ void
__launch_bounds__(stage_threads) integrate_stage(const uint8 *x, Cells cells, Firing firing,
                                                 uint32 block_cells, uint32 block_groups)
{
    constexpr uint32 room = stage_threads / N_FAST * N_FAST * CELL;
    constexpr uint32 n_groups = N_NUMBERS / N_FAST;
    __shared__ NUMBER stage[room + room / 32 + 1];
    const uint32 n_spans = (firing.n_cells + block_cells - 1) / block_cells;
    const uint32 first_cell = blockIdx.x % n_spans * block_cells;
    const uint32 first_group = blockIdx.x / n_spans * block_groups;
    const uint32 last_cell = first_cell + block_cells < firing.n_cells
                                 ? first_cell + block_cells - 1
                                 : firing.n_cells - 1;
    const int32 begin = find_cell(firing, first_cell).begin;
    const int32 end = find_cell(firing, last_cell).end;
    const uint32 stretch = block_cells * CELL * N_FAST;
    for (uint32 g = 0; g < block_groups && first_group + g < n_groups; g++) {
        const Place place = find_place(firing, (first_group + g) * N_FAST);
        const NUMBER *from = (const NUMBER *)(x + place.in + begin * firing.in_time);
        for (uint32 i = threadIdx.x; i < (uint32)(end - begin) * N_FAST; i += stage_threads)
            send_number(&stage[stage_place(g * stretch + i)], from + i);
    }
    ct_cp_async_commit();
    ct_cp_async_wait<0>();
    __syncthreads();

    const uint32 fast = threadIdx.x % N_FAST;
    const uint32 i = first_cell + threadIdx.x / N_FAST % block_cells;
    const uint32 g = threadIdx.x / N_FAST / block_cells;
    if (g >= block_groups || first_group + g >= n_groups || i > last_cell)
        return;
    const uint32 number = (first_group + g) * N_FAST + fast;
    const Cell cell = find_cell(firing, i);
    const uint32 base = g * stretch + fast;
    double sum = cells.begin(cell, number);
#pragma unroll 8
    for (int32 t = cell.begin - begin; t < cell.end - begin; t++)
        sum += stage[stage_place(base + (uint32)t * N_FAST)];
    cells.end(firing, cell, i, number, find_place(firing, number), sum);
}
#endif

/* Adds complete cells to the partial sums. Blocks: [sum][numbers], threads: [partial
 * sum][number]. */
extern "C" __global__ void
__launch_bounds__(sum_threads)
    integrate_sums(const double *cells, const double *before, double *after, uint8 *y,
                   const uint32 *counts, Firing firing)
{
    constexpr uint32 block_numbers = sum_threads / N_PARTIALS;
    constexpr uint32 n_chunks = (N_NUMBERS + block_numbers - 1) / block_numbers;
    __shared__ double sums[sum_threads];
    const uint32 sum = blockIdx.x / n_chunks, partial = threadIdx.x / block_numbers;
    const uint32 number = blockIdx.x % n_chunks * block_numbers + threadIdx.x % block_numbers;
    const bool is_number = number < N_NUMBERS;

    /* The cells of this sum, counted in it. */
    const int64 first = (int64)sum * n_cells_of_sum;
    const int64 last = (int64)firing.first_cell + firing.n_complete - first;
    const uint32 begin = sum == 0 ? firing.first_cell : 0;
    const uint32 end = last < n_cells_of_sum ? (uint32)last : n_cells_of_sum;
    double value = 0;
    if (is_number) {
        value = begin > 0 ? before[partial * N_NUMBERS + number] : 0;
        const double *from = cells + (first - firing.first_cell) * N_NUMBERS + number;
#pragma unroll 4
        for (uint32 j = begin + (partial + N_PARTIALS - begin % N_PARTIALS) % N_PARTIALS; j < end;
             j += N_PARTIALS)
            value += from[(int64)j * N_NUMBERS];
    }
    if ((sum + 1) * integration > firing.position + firing.n_samples && !firing.ended) {
        if (is_number)
            after[partial * N_NUMBERS + number] = value;
        return;
    }
    sums[threadIdx.x] = value;
    for (uint32 half = N_PARTIALS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (partial < half)
            sums[threadIdx.x] += sums[threadIdx.x + half * block_numbers];
    }
    if (is_number && partial == 0)
        write_sum(firing, y, counts, sum, find_place(firing, number), sums[threadIdx.x]);
}

/* Strides of the weights. */
struct Weights {
    int64 time;
    int64 axes[N_AXES + 1];
};

/* Writes the counts of valid samples for the port `weights`. Threads: [sum][lane]. */
extern "C" __global__ void
__launch_bounds__(row_threads) integrate_weights(const uint32 *counts, uint8 *weights, uint32 n,
                                                 uint32 n_lanes, Weights strides)
{
    constexpr uint32 lengths[N_AXES + 1] = {LENGTHS}, steps[N_AXES + 1] = {STEPS};
    const uint32 thread = blockIdx.x * row_threads + threadIdx.x;
    if (thread >= n)
        return;
    weights += thread / n_lanes * strides.time;
#pragma unroll
    for (int a = 0; a < N_AXES; a++)
        if (steps[a] > 0)
            weights += thread % n_lanes / steps[a] % lengths[a] * strides.axes[a];
    *(uint32 *)weights = counts[thread];
}
