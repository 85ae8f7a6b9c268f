/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs on tensor cores, in tiles: loads, and the loop over time. The
 * products are those of a header for each arithmetic, which defines
 *
 *   group          the spectra that are multiplied at once
 *   Products       what a thread holds of them
 *   find_rows, find_columns   where a thread begins to read a side of a stage
 *   begin_range, multiply, finish_range
 *
 * and, in floating point, add_chunk. */
#if !EXACT
#include "correlate-mma-floats.h"
#elif IS_LIMBS
#include "correlate-mma-limbs.h"
#else
#include "correlate-mma-bytes.h"
#endif
#include "correlate-copy.h"

/* Inputs that are loaded at once: 16 bytes in shared memory. */
constexpr int vector = 16 / input_bytes;
constexpr int n_vectors = TILE / vector;
constexpr int n_loads = (N_UNITS * n_sides * DEPTH * n_vectors + n_threads - 1) / n_threads;

static_assert(DEPTH % group == 0, "in steps");

/* ---- loading ---- */

/* Vector `index` of a stage: a spectrum of some inputs or, of blocks, half a block of one. */
struct Source {
    int u, side, row, m; /* m: its first input in the tile; row: its first spectrum */
    bool is_there;
};

__device__ inline Source
find_source(const Job *jobs, int index)
{
    Source source;
#if BLOCK > 1
    const HalfPlace place = find_half(index % (2 * TILE));
    source.m = place.m;
    source.row = index / (2 * TILE) * BLOCK % DEPTH + place.second * half;
#else
    source.m = index % n_vectors * vector;
    source.row = index / n_vectors % DEPTH;
#endif
    source.side = index / (n_vectors * DEPTH) % n_sides;
    source.u = N_UNITS == 1 ? 0 : index / (n_vectors * DEPTH * n_sides);
    source.is_there = index < N_UNITS * n_sides * DEPTH * n_vectors &&
                      (source.side == 0 || jobs[source.u].i != jobs[source.u].j);
    return source;
}

__device__ inline int
stage_offset(const Source &source)
{
    const int place = has_blocks ? spectrum_offset(source.row) + source.m / 8 * 256 +
                                       source.row / 8 % 2 * 128 + source.m % 8 * 16
                                 : source.row * row_bytes + input_bytes * source.m;
    return source.u * unit_bytes + source.side * side_bytes + place;
}

#if IS_NIBBLES
/* Elements in registers before they are stored in shared memory, 8 of them a vector. */
struct Fetched {
    uint64 at[n_loads];
};

#if BLOCK > 1
__device__ inline uint64
fetch_vector(const CorrelatePiece &piece, const Job &job, int m, int t)
{
    const Half x = find_spectra(piece, job, m, t);
    return (uint64)x.words[1] << 32 | x.words[0];
}
#else
__device__ inline uint64
fetch_vector(const CorrelatePiece &piece, const Job &job, int m, int t)
{
    const char *from = job.voltages + t * piece.from_time;
    uint64 x = 0;
    if (piece.width >= 8 && m + vector <= n_inputs)
        x = *(const uint64 *)(from + m);
    else
        for (int e = 0; e < vector && m + e < n_inputs; e++)
            x |= (uint64)input_at(piece, from, m + e)->nibbles << 8 * e;
    return x;
}
#endif

__device__ inline void
fetch(const CorrelatePiece &piece, const Job *jobs, Fetched &fetched, int t)
{
#pragma unroll
    for (int k = 0; k < n_loads; k++) {
        const Source source = find_source(jobs, k * n_threads + threadIdx.x);
        const Job &job = jobs[source.u];
        const int m = (source.side == 0 ? job.i : job.j) + source.m;
        fetched.at[k] = 0;
        if (source.is_there && (has_blocks || t + source.row < job.n))
            fetched.at[k] = fetch_vector(piece, job, m, t + source.row);
    }
}

__device__ inline void
store(const Job *jobs, const Fetched &fetched, char *stage)
{
#pragma unroll
    for (int k = 0; k < n_loads; k++) {
        const Source source = find_source(jobs, k * n_threads + threadIdx.x);
        if (source.is_there)
            *(uint4 *)(stage + stage_offset(source)) =
                widen({{(unsigned)fetched.at[k], (unsigned)(fetched.at[k] >> 32)}});
    }
}
#elif BLOCK > 1
/* Copies a half of a block. */
__device__ inline void
copy(const CorrelatePiece &piece, const Job &job, char *to, int m, int t)
{
    const int first = find_lead(piece, job) - t;
    if (m < n_inputs && first <= 0 && first + job.n >= half && piece.width >= half_bytes)
        ct_cp_async16(to,
                      half_at(piece, job.voltages, m, t / half % 2) + t / BLOCK * piece.from_time);
    else
        *(uint4 *)to = widen(find_spectra(piece, job, m, t));
}
#endif

#if !IS_NIBBLES
/* The copies of a thread in each DEPTH spectra, if a block has one unit and voltages are aligned:
 * the same inputs of every `row_step`th spectrum, from both sides. */
constexpr int row_step = n_threads / n_vectors;

static_assert(N_UNITS > 1 || DEPTH % row_step == 0, "whole rows");

struct Loader {
    const char *from[2]; /* the first of the next spectra to be loaded */
    unsigned bytes[2];   /* 0: no such input */
    int64 apart;         /* between the spectra that the thread copies */
    int first, n_whole;  /* steps that are full, and copied this way */
    bool is_square;      /* both sides of the tile have the same inputs */
};

__device__ inline Loader
make_loader(const CorrelatePiece &piece, const Job &job)
{
    Loader loader;
    const int m = threadIdx.x % n_vectors * vector;
    loader.first = EXACT ? 0 : (count_left(piece, job) + DEPTH - 1) / DEPTH;
    for (int side = 0; side < 2; side++) {
        const int first = side == 0 ? job.i : job.j;
        loader.bytes[side] = first + m < n_inputs ? 16 : 0;
        loader.from[side] = job.voltages;
        if (loader.bytes[side])
            loader.from[side] += input_bytes * (first + m) +
                                 (threadIdx.x / n_vectors + loader.first * DEPTH) * piece.from_time;
    }
    loader.apart = row_step * piece.from_time;
    loader.n_whole = N_UNITS == 1 && !has_blocks && piece.width == 16 ? job.n / DEPTH : 0;
    loader.is_square = job.i == job.j;
    return loader;
}

/* Starts the copies of a step's spectra to a stage; called for one step after the other. */
__device__ inline void
load(const CorrelatePiece &piece, const Job *jobs, Loader &loader, char *stage, int step)
{
    if (!has_blocks && step >= loader.first && step < loader.n_whole) {
        char *to = stage + threadIdx.x / n_vectors * row_bytes + threadIdx.x % n_vectors * 16;
#pragma unroll
        for (int side = 0; side < n_sides; side++) {
            if (side == 1 && loader.is_square)
                continue;
#pragma unroll
            for (int r = 0; r < DEPTH; r += row_step) {
                ct_cp_async16_zfill(to + side * side_bytes + r * row_bytes, loader.from[side],
                                    loader.bytes[side]);
                loader.from[side] += loader.apart;
            }
        }
        return;
    }
#pragma unroll 1
    for (int k = 0; k < n_loads; k++) {
        const Source source = find_source(jobs, k * n_threads + threadIdx.x);
        const Job &job = jobs[source.u];
        if (source.is_there)
            copy(piece, job, stage + stage_offset(source),
                 (source.side == 0 ? job.i : job.j) + source.m, step * DEPTH + source.row);
    }
}
#endif

/* ---- the kernel ---- */

extern "C" __global__ void
__launch_bounds__(n_threads, BLOCKS) correlate_mma(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Job jobs[N_UNITS];

    char *shared = (char *)shared_vectors;
    const int u = N_UNITS == 1 ? 0 : threadIdx.x / unit_threads;
    const int warp = threadIdx.x % unit_threads / 32, lane = threadIdx.x % 32;
    const int first_row = warp / UNIT_J * WARP_I, first_column = warp % UNIT_J * WARP_J;
    const Job &job = jobs[u];
    if (threadIdx.x % unit_threads == 0)
        jobs[u] = find_job(piece, blockIdx.x * N_UNITS + u);
    __syncthreads();

    /* Whether any of the warp's products is needed; all units of a block run the same loop. */
    const bool is_busy = job.is_there && job.i + first_row < n_inputs &&
                         job.j + first_column < job.i + first_row + WARP_I;
    const int n_steps = (count_read(piece, job, N_UNITS == 1) + DEPTH - 1) / DEPTH;
    int row_offset = u * unit_bytes + find_rows(lane, first_row);
    int column_offset =
        u * unit_bytes + (job.i == job.j ? 0 : side_bytes) + find_columns(lane, first_column);
    ct_keep(row_offset);
    ct_keep(column_offset);
    Products products;
    begin_range(piece, job, first_row, first_column, products);

#if IS_NIBBLES
    Fetched fetched;
    fetch(piece, jobs, fetched, 0);
    store(jobs, fetched, shared);
#else
    Loader loader = make_loader(piece, job);
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < n_steps)
            load(piece, jobs, loader, shared + s * stage_bytes, s);
        ct_cp_async_commit();
    }
#endif
    int reading = 0, writing = (STAGES - 1) * stage_bytes;
    for (int step = 0; step < n_steps; step++) {
#if IS_NIBBLES
        __syncthreads();
        if (step + 1 < n_steps)
            fetch(piece, jobs, fetched, (step + 1) * DEPTH);
#else
        ct_cp_async_wait<STAGES - 2>();
        __syncthreads();
#endif
        const char *rows = shared + reading + row_offset,
                   *columns = shared + reading + column_offset;
        if (is_busy)
            multiply(rows, columns, products);
#if !IS_NIBBLES
        /* Loads are issued here, while tensor cores are busy. */
        if (step + STAGES - 1 < n_steps)
            load(piece, jobs, loader, shared + writing, step + STAGES - 1);
        ct_cp_async_commit();
#endif
        if (is_busy) {
#pragma unroll
            for (int t = group; t < DEPTH; t += group)
                multiply(rows + spectrum_offset(t), columns + spectrum_offset(t), products);
        }
#if !EXACT
        if (is_busy && (step + 1) * DEPTH % CHUNK == 0)
            add_chunk(products);
#endif
#if IS_NIBBLES
        if (step + 1 < n_steps)
            store(jobs, fetched, shared + writing);
#endif
        writing = reading;
        reading = reading + stage_bytes < STAGES * stage_bytes ? reading + stage_bytes : 0;
    }
    __syncthreads();
    if (is_busy)
        finish_range(piece, job, first_row, first_column, products, shared);
}
