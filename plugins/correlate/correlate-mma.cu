/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits on tensor cores, exact.
 *
 * With time and parts together as the depth, a row of A is (re_i, im_i, re_i', im_i', …) and
 *
 *     Σ re V = A · (re_j, im_j, …),   Σ im V = A · (~im_j, re_j, …) + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. Sums of up to
 * 65535 spectra fit 32 bits; the host gives a range at most 2^15. Sums kept between ranges have 64
 * bits.
 *
 * A unit of UNIT_I × UNIT_J warps sums a tile over a range of time; each warp sums WARP_I rows and
 * WARP_J columns of it. If tiles are small, a block has several units. Spectra are copied unchanged
 * through shared memory, [spectrum][input]; taking an input's two bytes as one element, ldmatrix
 * transposes 8 spectra of 8 inputs to the order of a fragment, [input][spectrum]. If time is in
 * blocks, they are in this order already.
 *
 * ci4 is expanded to 8 bits while loading: nibbles stay in the high bits, so values are 16 times as
 * large.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage), BLOCKS (of a
 * multiprocessor). */
#include "correlate-blocks.h"
#include "correlate-square.h"

constexpr int unit_warps = UNIT_I * UNIT_J;
constexpr int unit_threads = 32 * unit_warps;
constexpr int n_threads = unit_threads * N_UNITS;
constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* Rows begin in different banks: ldmatrix reads 16 bytes of each of 8 consecutive rows. */
constexpr int row_bytes = 2 * TILE + 16;
constexpr int side_bytes = DEPTH * row_bytes;
constexpr int unit_bytes = n_sides * side_bytes;
constexpr int stage_bytes = N_UNITS * unit_bytes;
/* Inputs that are loaded at once, 16 bytes. */
constexpr int vector = 8;
constexpr int n_vectors = TILE / vector;
constexpr int n_loads = (N_UNITS * n_sides * DEPTH * n_vectors + n_threads - 1) / n_threads;
/* From 16 inputs and from 16 spectra to the next ones in shared memory. */
constexpr bool has_blocks = BLOCK > 1;
constexpr int inputs_bytes = has_blocks ? 512 : 32,
              spectra_bytes = has_blocks ? TILE * 32 : 16 * row_bytes;
/* Fragments of 16 rows, and of 8 columns. */
constexpr int n_a = WARP_I / 16, n_b = WARP_J / 8;

static_assert(UNIT_I * WARP_I == TILE && UNIT_J * WARP_J == TILE, "square");
static_assert(DEPTH % 16 == 0 && row_bytes / 16 % 2 == 1 && n_b % 2 == 0, "in steps");

/* Products [A fragment][B fragment] and, for the rows of a thread, its share of Σ re_i. */
struct Products {
    int re[n_a][n_b][4], im[n_a][n_b][4];
    int rows[n_a][2];
};

/* ---- loading ---- */

/* Vector `index` of a stage: a spectrum of 8 inputs or, of blocks, half a block of one. */
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
    const int place = has_blocks ? source.row / 16 * spectra_bytes + source.m / 8 * 256 +
                                       source.row / 8 % 2 * 128 + source.m % 8 * 16
                                 : source.row * row_bytes + 2 * source.m;
    return source.u * unit_bytes + source.side * side_bytes + place;
}

__device__ inline const INPUT *
input_at(const CorrelatePiece &piece, const char *spectrum, int m)
{
    return (const INPUT *)(spectrum + m / N_POLS * piece.from_station +
                           m % N_POLS * piece.from_pol);
}

#if IS_NIBBLES
/* Elements in registers before they are stored in shared memory, 8 of them a vector. */
struct Fetched {
    Half at[n_loads];
};

__device__ inline Half
fetch_vector(const CorrelatePiece &piece, const Job &job, int m, int t)
{
#if BLOCK > 1
    return find_spectra(piece, job, m, t);
#else
    const char *from = job.voltages + t * piece.from_time;
    uint64 x = 0;
    if (t >= job.n)
        return {};
    if (piece.width >= 8 && m + vector <= n_inputs)
        x = *(const uint64 *)(from + m);
    else
        for (int e = 0; e < vector && m + e < n_inputs; e++)
            x |= (uint64)input_at(piece, from, m + e)->nibbles << 8 * e;
    return {{(unsigned)x, (unsigned)(x >> 32)}};
#endif
}

__device__ inline void
fetch(const CorrelatePiece &piece, const Job *jobs, Fetched &fetched, int t)
{
#pragma unroll
    for (int k = 0; k < n_loads; k++) {
        const Source source = find_source(jobs, k * n_threads + threadIdx.x);
        const Job &job = jobs[source.u];
        const int m = (source.side == 0 ? job.i : job.j) + source.m;
        fetched.at[k] = {};
        if (source.is_there)
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
            *(uint4 *)(stage + stage_offset(source)) = widen(fetched.at[k]);
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
#else
/* Copies spectrum t of 8 inputs from m on, none beyond the last. */
__device__ inline void
copy(const CorrelatePiece &piece, const Job &job, char *to, int m, int t)
{
    const char *from = job.voltages + t * piece.from_time;
    const int n = t < job.n ? smaller(vector, n_inputs - m) : 0;
    if (piece.width == 16) {
        ct_cp_async16_zfill(to, n > 0 ? from + 2 * m : job.voltages, n > 0 ? 16 : 0);
    } else if (piece.width == 8) {
#pragma unroll
        for (int k = 0; k < vector; k += 4)
            ct_cp_async8_zfill(to + 2 * k, n > k ? from + 2 * (m + k) : job.voltages,
                               n > k ? 8 : 0);
    } else if (piece.width == 4) {
#pragma unroll
        for (int k = 0; k < vector; k += 2)
            ct_cp_async4_zfill(to + 2 * k, n > k ? from + 2 * (m + k) : job.voltages,
                               n > k ? 4 : 0);
    } else {
        for (int k = 0; k < vector; k++)
            ((INPUT *)to)[k] = n > k ? *input_at(piece, from, m + k) : INPUT();
    }
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
    int n_whole;         /* steps that are full, and copied this way */
    bool is_square;      /* both sides of the tile have the same inputs */
};

__device__ inline Loader
make_loader(const CorrelatePiece &piece, const Job &job)
{
    Loader loader;
    const int m = threadIdx.x % n_vectors * vector;
    for (int side = 0; side < 2; side++) {
        const int first = side == 0 ? job.i : job.j;
        loader.bytes[side] = first + m < n_inputs ? 16 : 0;
        loader.from[side] = job.voltages;
        if (loader.bytes[side])
            loader.from[side] += 2 * (first + m) + threadIdx.x / n_vectors * piece.from_time;
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
    if (!has_blocks && step < loader.n_whole) {
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

/* ---- multiplying ---- */

/* Four matrices of 8 inputs and 8 spectra. */
__device__ inline void
load_matrices(unsigned registers[4], const char *row)
{
    if (has_blocks)
        ct_ldmatrix4(registers, row);
    else
        ct_ldmatrix4_transposed(registers, row);
}

/* The row of 16 inputs and 16 spectra that a thread reads: matrices go along inputs first, then
 * along spectra (for A), or the reverse (for B). */
__device__ inline int
thread_row(bool inputs_first)
{
    const int lane = threadIdx.x % 32;
    const int of_inputs = inputs_first ? lane / 8 % 2 : lane / 16,
              of_spectra = inputs_first ? lane / 16 : lane / 8 % 2;
    return has_blocks ? of_inputs * 256 + of_spectra * 128 + lane % 8 * 16
                      : (lane % 8 + of_spectra * 8) * row_bytes + of_inputs * 16;
}

/* Multiplies 16 spectra. `rows` and `columns`: the thread's row of the first matrices. */
__device__ inline void
multiply(const char *rows, const char *columns, Products &products)
{
    unsigned a[n_a][4], b[n_b / 2][4];
#pragma unroll
    for (int e = 0; e < n_a; e++)
        load_matrices(a[e], rows + inputs_bytes * e);
#pragma unroll
    for (int f = 0; f < n_b / 2; f++)
        load_matrices(b[f], columns + inputs_bytes * f);
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            products.rows[e][k % 2] = add_even_bytes(a[e][k], products.rows[e][k % 2]);
#pragma unroll
    for (int f = 0; f < n_b; f++) {
        const unsigned *plain = &b[f / 2][f % 2 * 2];
        const unsigned turned[2] = {pick_bytes(plain[0], 0, 0x2301) ^ 0x00ff00ff,
                                    pick_bytes(plain[1], 0, 0x2301) ^ 0x00ff00ff};
#pragma unroll
        for (int e = 0; e < n_a; e++) {
            ct_mma_s8(products.re[e][f], a[e], plain);
            ct_mma_s8(products.im[e][f], a[e], turned);
        }
    }
}

/* ---- sums ---- */

/* Adds up Σ re_i over the threads of a warp that share rows. */
__device__ inline void
share_rows(Products &products)
{
#pragma unroll
    for (int e = 0; e < n_a; e++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            products.rows[e][half] += __shfl_xor_sync(~0u, products.rows[e][half], 1);
            products.rows[e][half] += __shfl_xor_sync(~0u, products.rows[e][half], 2);
        }
}

/* Writes the products of A fragment e to 16 rows of shared memory that only this warp uses; the
 * rows of neighbouring threads are half of the banks apart. */
constexpr int shared_row_bytes = 8 * WARP_J + 64;
constexpr int shared_rows_bytes = 16 * shared_row_bytes;

__device__ inline void
share_fragment(const Products &products, int e, char *rows)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = products.rows[e][half];
        char *to = rows + (8 * half + lane / 4) * shared_row_bytes + lane % 4 * 16;
#pragma unroll
        for (int f = 0; f < n_b; f++) {
            const int *re = &products.re[e][f][2 * half], *im = &products.im[e][f][2 * half];
            *(int4 *)(to + f * 64) = {re[0], im[0] + row, re[1], im[1] + row};
        }
    }
}

/* Ends a range for a fragment. */
__device__ inline void
finish_fragment(const CorrelatePiece &piece, const Job &job, int first_row, int first_column, int e,
                const char *rows)
{
#pragma unroll 1
    for (int k = threadIdx.x % 32; k < 8 * (WARP_J / 2); k += 32) {
        const int g = k / (WARP_J / 2), column = k % (WARP_J / 2) * 2;
        const char *from = rows + 2 * g * shared_row_bytes + column * 8;
        const int4 upper = *(const int4 *)from, lower = *(const int4 *)(from + shared_row_bytes);
        const int i = first_row + 16 * e + 2 * g, j = first_column + column;
        finish_square(piece, job, i, j, upper, lower);
    }
}

/* ---- the kernel ---- */

extern "C" __global__ void
__launch_bounds__(n_threads, BLOCKS) correlate_mma(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Job jobs[N_UNITS];

    char *shared = (char *)shared_vectors;
    const int u = N_UNITS == 1 ? 0 : threadIdx.x / unit_threads;
    const int warp = threadIdx.x % unit_threads / 32;
    const int first_row = warp / UNIT_J * WARP_I, first_column = warp % UNIT_J * WARP_J;
    const Job &job = jobs[u];
    if (threadIdx.x % unit_threads == 0)
        jobs[u] = find_job(piece, blockIdx.x * N_UNITS + u);
    __syncthreads();

    /* Whether any of the warp's products is needed; all units of a block run the same loop. */
    const bool is_busy = job.is_there && job.i + first_row < n_inputs &&
                         job.j + first_column < job.i + first_row + WARP_I;
    const int n_steps = (count_read(piece, job, N_UNITS == 1) + DEPTH - 1) / DEPTH;
    int row_offset = u * unit_bytes + first_row / 16 * inputs_bytes + thread_row(true);
    int column_offset = u * unit_bytes + (job.i == job.j ? 0 : side_bytes) +
                        first_column / 16 * inputs_bytes + thread_row(false);
    ct_keep(row_offset);
    ct_keep(column_offset);
    Products products = {};

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
            for (int t = 16; t < DEPTH; t += 16)
                multiply(rows + t / 16 * spectra_bytes, columns + t / 16 * spectra_bytes, products);
        }
#if IS_NIBBLES
        if (step + 1 < n_steps)
            store(jobs, fetched, shared + writing);
#endif
        writing = reading;
        reading = reading + stage_bytes < STAGES * stage_bytes ? reading + stage_bytes : 0;
    }
    __syncthreads();
    if (!is_busy)
        return;

    share_rows(products);
    char *rows = shared + threadIdx.x / 32 * shared_rows_bytes;
#pragma unroll
    for (int e = 0; e < n_a; e++) {
        share_fragment(products, e, rows);
        __syncwarp();
        finish_fragment(piece, job, first_row, first_column, e, rows);
        __syncwarp();
    }
}
