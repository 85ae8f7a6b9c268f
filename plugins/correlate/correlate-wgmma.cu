/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits by matrix instructions of a warpgroup, exact.
 *
 * These multiply matrices in shared memory whose rows are contiguous along time. With the parts of
 * inputs as matrices [input][spectrum],
 *
 *     Σ re V =  re_i · re_j + im_i · im_j,
 *     Σ im V = ~im_j · re_i + re_j · im_i + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. The matrices of the columns are
 * stored one behind the other, ~im, re, im. So one instruction multiplies re_i by (~im, re), the
 * next im_i by (re, im), and both add to the same sums (im V, re V). Sums of up to 65535 spectra
 * fit 32 bits; the host gives a range at most 2^15. Sums kept between ranges have 64 bits.
 *
 * A block stays on its multiprocessor and does one job after the other. Its producers read
 * voltages, transpose them in registers and store them to the stages. Two warpgroups, the
 * consumers, multiply; each has 64 rows of a tile. If the tile has fewer inputs than 128, each has
 * a unit of its own. Producers go on to the next job while consumers write the results of one.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage). */
#include "cornerturn/warpgroup.h"
#include "correlate-bytes.h"
#include "correlate-square.h"

constexpr int n_consumers = 256, n_producers = 128, n_threads = n_consumers + n_producers;

constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* A tile is one or two groups of inputs along each side. Each warpgroup has one of the rows. */
constexpr int n_groups = TILE == 128 ? 2 : 1;
constexpr int group = TILE / n_groups;
constexpr int n_units = 2 / n_groups;

/* A slab is 16 spectra of all matrices of a unit, each a column of pieces of 8 inputs: ~im, re and
 * im of each group of columns; then, if the rows are other inputs, re and im of each group of
 * them. */
constexpr int slab = 16;
constexpr int n_slabs = DEPTH / slab;
constexpr int matrix_bytes = group * slab;
constexpr int slab_bytes = n_groups * matrix_bytes * (n_sides == 2 ? 5 : 3);
constexpr int unit_bytes = n_slabs * slab_bytes;
constexpr int stage_bytes = n_units * unit_bytes;
/* The distance between pieces of inputs. */
constexpr int piece_bytes = 8 * slab;

static_assert(TILE == 128 || TILE == 64 || TILE == 32, "rows of warpgroups");
static_assert(DEPTH % 64 == 0, "each thread adds up one slab of four");

struct Barriers {
    uint64 full[STAGES], empty[STAGES];
};

/* The stage in use, and how often all of them have been. */
struct Turn {
    int stage;
    unsigned parity;
};

__device__ inline void
advance(Turn &turn)
{
    turn.stage = turn.stage + 1 < STAGES ? turn.stage + 1 : 0;
    turn.parity ^= turn.stage == 0;
}

/* The steps of the jobs that a block does together. */
__device__ inline int
count_steps(const CorrelatePiece &piece, const Job &job)
{
    return ((n_units == 1 ? job.n : longest_range(piece)) + DEPTH - 1) / DEPTH;
}

/* ---- producers ---- */

/* Inputs in a word of 4 bytes, words of a spectrum on a side, and those of a stage. */
constexpr int word_inputs = IS_NIBBLES ? 4 : 2;
constexpr int n_words = TILE / word_inputs;
constexpr int unit_producers = n_producers / n_units;
constexpr int side_fetches = n_words * n_slabs;
/* The fetches of a thread that are in progress at once. */
constexpr int n_ahead = 4;

/* 16 spectra of a word. */
struct Fetched {
    unsigned at[slab];
};

/* The place of a fetch in its stage. */
struct Place16 {
    int side, slab, word;
    bool is_there;
};

__device__ inline Place16
find_fetch(int index, int n_fetches)
{
    return {index / side_fetches, index / n_words % n_slabs, index % n_words, index < n_fetches};
}

/* A word of one spectrum whose inputs are not contiguous, aligned or complete. */
__device__ inline unsigned
gather(const CorrelatePiece &piece, const char *spectrum, int m)
{
    unsigned word = 0;
    for (int e = 0; e < word_inputs && m + e < n_inputs; e++) {
        const INPUT *input = (const INPUT *)(spectrum + (m + e) / N_POLS * piece.from_station +
                                             (m + e) % N_POLS * piece.from_pol);
#if IS_NIBBLES
        word |= (unsigned)input->nibbles << 8 * e;
#else
        word |= ((unsigned)(uint8)input->re | (unsigned)(uint8)input->im << 8) << 16 * e;
#endif
    }
    return word;
}

/* Reads the spectra from t on. */
__device__ inline void
fetch(const CorrelatePiece &piece, const Job &job, const Place16 &place, int t, Fetched &fetched)
{
    const int m = (place.side == 0 ? job.j : job.i) + place.word * word_inputs;
    const int n = place.is_there && m < n_inputs ? job.n - t : 0;
    const char *from = job.voltages + t * piece.from_time;
    if (piece.width >= 4 && n >= slab) {
        from += m * (int)sizeof(INPUT);
#pragma unroll
        for (int k = 0; k < slab; k++)
            fetched.at[k] = *(const unsigned *)(from + k * piece.from_time);
        return;
    }
#pragma unroll
    for (int k = 0; k < slab; k++) {
        fetched.at[k] = 0;
        if (k < n && piece.width >= 4)
            fetched.at[k] =
                *(const unsigned *)(from + k * piece.from_time + m * (int)sizeof(INPUT));
        else if (k < n)
            fetched.at[k] = gather(piece, from + k * piece.from_time, m);
    }
}

/* Turns 4 spectra of 4 bytes into 4 bytes of 4 spectra. */
__device__ inline void
transpose(const unsigned from[4], unsigned to[4])
{
    const unsigned low[2] = {pick_bytes(from[0], from[1], 0x5140),
                             pick_bytes(from[2], from[3], 0x5140)},
                   high[2] = {pick_bytes(from[0], from[1], 0x7362),
                              pick_bytes(from[2], from[3], 0x7362)};
    to[0] = pick_bytes(low[0], low[1], 0x5410);
    to[1] = pick_bytes(low[0], low[1], 0x7632);
    to[2] = pick_bytes(high[0], high[1], 0x5410);
    to[3] = pick_bytes(high[0], high[1], 0x7632);
}

/* The row of an input in the matrices: of 16 inputs first the even ones, then the odd ones. So a
 * thread has sums of two neighbours (polarisations), and threads store without conflicts. */
__device__ inline int
row_of(int m)
{
    return m / 16 * 16 + m % 2 * 8 + m / 2 % 8;
}

__device__ inline uint4
complement(uint4 x)
{
    return {~x.x, ~x.y, ~x.z, ~x.w};
}

/* Where re of a group of rows or columns is in a slab; im follows, and ~im of columns is before. */
__device__ inline int
place_of(int side, int g)
{
    return (side == 0 ? 3 * g + 1 : 3 * n_groups + 2 * g) * matrix_bytes;
}

/* Stores the parts of input m. */
__device__ inline void
store_input(char *matrices, int side, int m, const uint4 &re, const uint4 &im)
{
    char *to = matrices + place_of(side, m / group) + row_of(m % group) * slab;
    *(uint4 *)to = re;
    *(uint4 *)(to + matrix_bytes) = im;
    if (side == 0)
        *(uint4 *)(to - matrix_bytes) = complement(im);
}

/* Byte b of each spectrum is that of `bytes`[b]. */
__device__ inline void
transpose_slab(const Fetched &fetched, uint4 bytes[4])
{
    unsigned turned[4][4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        transpose(&fetched.at[4 * k], turned[k]);
#pragma unroll
    for (int b = 0; b < 4; b++)
        bytes[b] = {turned[0][b], turned[1][b], turned[2][b], turned[3][b]};
}

__device__ inline uint4
high_nibbles(uint4 x, int shift)
{
    return {x.x << shift & 0xf0f0f0f0, x.y << shift & 0xf0f0f0f0, x.z << shift & 0xf0f0f0f0,
            x.w << shift & 0xf0f0f0f0};
}

__device__ inline void
store(const Fetched &fetched, const Place16 &place, char *unit)
{
    char *matrices = unit + place.slab * slab_bytes;
    uint4 bytes[4];
    if (!place.is_there)
        return;
    transpose_slab(fetched, bytes);
#pragma unroll
    for (int e = 0; e < word_inputs; e++) {
        const int m = place.word * word_inputs + e;
#if IS_NIBBLES
        store_input(matrices, place.side, m, high_nibbles(bytes[e], 0), high_nibbles(bytes[e], 4));
#else
        store_input(matrices, place.side, m, bytes[2 * e], bytes[2 * e + 1]);
#endif
    }
}

/* Fills the stages with the spectra of one job. */
__device__ inline void
produce(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *unit, Turn &turn)
{
    const int thread = threadIdx.x % unit_producers;
    const int n_fetches = job.i == job.j ? side_fetches : 2 * side_fetches;
    const int n_rounds = (n_fetches + unit_producers - 1) / unit_producers;
    const int n = count_steps(piece, job) * n_rounds;
    Fetched ahead[n_ahead];
    int next = 0, next_round = 0, round = 0;
    for (int at = -n_ahead; at < n; at += n_ahead) {
#pragma unroll
        for (int k = 0; k < n_ahead; k++) {
            if (at + k >= 0 && at + k < n) {
                const Place16 place = find_fetch(thread + round * unit_producers, n_fetches);
                if (round == 0)
                    ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
                store(ahead[k], place, unit + turn.stage * stage_bytes);
                if (++round == n_rounds) {
                    ct_wgmma_publish();
                    __syncwarp();
                    if (threadIdx.x % 32 == 0)
                        ct_phases_arrive(&barriers.full[turn.stage]);
                    advance(turn);
                    round = 0;
                }
            }
            if (at + k + n_ahead < n) {
                const Place16 place = find_fetch(thread + next_round * unit_producers, n_fetches);
                fetch(piece, job, place, next * DEPTH + place.slab * slab, ahead[k]);
                if (++next_round == n_rounds) {
                    next++;
                    next_round = 0;
                }
            }
        }
    }
}

/* ---- consumers ---- */

/* Sums of im V, then re V, of each group of columns, as ct_wgmma_s8 has them; and a thread's share
 * of Σ re_i. */
constexpr int n_sums = group / 2;

struct Products {
    int at[n_groups][2 * n_sums];
    int rows[2];
};

/* Multiplies 32 spectra by a group of columns. All matrices: re. */
__device__ inline void
multiply(uint64 rows, uint64 columns, int sums[2 * n_sums])
{
    ct_wgmma_s8<2 * group>(sums, rows, ct_wgmma_further(columns, -matrix_bytes));
    ct_wgmma_s8<2 * group>(sums, ct_wgmma_further(rows, matrix_bytes), columns);
}

/* Adds up re_i: a thread those of two rows and, of every 4 slabs, one. */
__device__ inline void
add_rows(const char *re, Products &products)
{
    const int lane = threadIdx.x % 32;
    const char *from = re + lane % 8 * slab + lane / 8 * slab_bytes;
#pragma unroll
    for (int s = 0; s < n_slabs; s += 4)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint4 x = *(const uint4 *)(from + s * slab_bytes + h * piece_bytes);
            products.rows[h] =
                add_bytes(x.x, add_bytes(x.y, add_bytes(x.z, add_bytes(x.w, products.rows[h]))));
        }
}

/* Σ re_i of the rows of the thread's sums. */
__device__ inline void
share_rows(Products &products)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 8);
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 16);
        products.rows[h] = __shfl_sync(~0u, products.rows[h], threadIdx.x % 32 / 4);
    }
}

__device__ inline void
release(Barriers &barriers, int stage)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.empty[stage]);
}

/* Multiplies the spectra of one job. `rows`, `columns`: the first re of the warpgroup and of the
 * unit in the first stage; `needs_all`: all groups of columns, not only the first. */
template <bool needs_all>
__device__ inline void
consume(int n_steps, Barriers &barriers, const char *columns, const char *rows, Turn &turn,
        Products &products)
{
    const char *warp_rows = rows + threadIdx.x % 128 / 32 * 2 * piece_bytes;
    const uint64 first_columns = ct_wgmma_matrix(columns, slab_bytes, piece_bytes);
    const uint64 first_rows = ct_wgmma_matrix(rows, slab_bytes, piece_bytes);
    int last = -1;
    for (int step = 0; step < n_steps; step++) {
        const int offset = turn.stage * stage_bytes;
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        ct_wgmma_begin();
#pragma unroll
        for (int s = 0; s < n_slabs; s += 2) {
            const uint64 re = ct_wgmma_further(first_rows, offset + s * slab_bytes);
            multiply(re, ct_wgmma_further(first_columns, offset + s * slab_bytes), products.at[0]);
        }
        if (n_groups == 2 && needs_all) {
#pragma unroll
            for (int s = 0; s < n_slabs; s += 2) {
                const uint64 re = ct_wgmma_further(first_rows, offset + s * slab_bytes);
                multiply(
                    re, ct_wgmma_further(first_columns, offset + s * slab_bytes + 3 * matrix_bytes),
                    products.at[n_groups - 1]);
            }
        }
        ct_wgmma_commit();
        add_rows(warp_rows + offset, products);
        ct_wgmma_wait<1>();
        if (last >= 0)
            release(barriers, last);
        last = turn.stage;
        advance(turn);
    }
    ct_wgmma_wait<0>();
    if (last >= 0)
        release(barriers, last);
#pragma unroll
    for (int k = 0; k < n_groups * 2 * n_sums; k++)
        ct_keep(products.at[k / (2 * n_sums)][k % (2 * n_sums)]);
}

/* Passes the stages of a job of which this warpgroup needs nothing. */
__device__ inline void
skip(int n_steps, Barriers &barriers, Turn &turn)
{
    for (int step = 0; step < n_steps; step++, advance(turn)) {
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        release(barriers, turn.stage);
    }
}

/* Ends the range of a job. `first_row`: of the warpgroup. */
__device__ inline void
finish(const CorrelatePiece &piece, const Job &job, int first_row, Products &products)
{
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x % 128 / 32 * 16;
    const int i = first_row + warp_row + lane / 4 * 2;
    share_rows(products);
    if (warp_row >= group || job.i + i >= n_inputs)
        return;
#pragma unroll
    for (int block = 0; block < TILE / 16; block++)
#pragma unroll
        for (int x = 0; x < 2; x++) {
            const int j = 16 * block + lane % 4 * 4 + 2 * x;
            if (job.j + j > job.i + i)
                continue;
            const int *im = &products.at[block * 16 / group][block * 16 % group / 2 + x],
                      *re = im + n_sums;
            const int upper = products.rows[0], lower = products.rows[1];
            finish_square(piece, job, i, j, {re[0], im[0] + upper, re[4], im[4] + upper},
                          {re[2], im[2] + lower, re[6], im[6] + lower});
        }
}

/* ---- the kernel ---- */

__device__ inline void
run_consumers(const CorrelatePiece &piece, Job *jobs, Barriers &barriers, char *stages)
{
    const int g = n_groups == 1 ? 0 : threadIdx.x / 128;
    const int u = n_units == 1 ? 0 : threadIdx.x / 128;
    const char *unit = stages + u * unit_bytes;
    /* In shared memory, a job needs no registers while products are summed. */
    Job &job = jobs[threadIdx.x / 32];
    Turn turn = {0, 0};
    for (unsigned k = blockIdx.x; k * n_units < (unsigned)n_tiles * N_ITEMS * piece.n_ranges;
         k += gridDim.x) {
        Products products = {};
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            job = find_job(piece, k * n_units + u);
        __syncwarp();
        const bool is_square = job.i == job.j;
        const int n_steps = count_steps(piece, job);
        const char *columns = unit + place_of(0, 0), *rows = unit + place_of(is_square ? 0 : 1, g);
        if (!job.is_there || job.i + g * group >= n_inputs) {
            skip(n_steps, barriers, turn);
            continue;
        }
        if (is_square && g == 0)
            consume<false>(n_steps, barriers, columns, rows, turn, products);
        else
            consume<true>(n_steps, barriers, columns, rows, turn, products);
        finish(piece, job, g * group, products);
    }
}

__device__ inline void
run_producers(const CorrelatePiece &piece, Barriers &barriers, char *stages)
{
    const int u = n_units == 1 ? 0 : (threadIdx.x - n_consumers) / unit_producers;
    Turn turn = {0, 0};
    for (unsigned k = blockIdx.x; k * n_units < (unsigned)n_tiles * N_ITEMS * piece.n_ranges;
         k += gridDim.x)
        produce(piece, find_job(piece, k * n_units + u), barriers, stages + u * unit_bytes, turn);
}

extern "C" __global__ void
__launch_bounds__(n_threads, 1) correlate_wgmma(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Barriers barriers;
    __shared__ Job jobs[n_consumers / 32];

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            ct_phases_begin(&barriers.full[s], n_producers / 32);
            ct_phases_begin(&barriers.empty[s], n_consumers / 32);
        }
    __syncthreads();
    if (threadIdx.x < n_consumers)
        run_consumers(piece, jobs, barriers, (char *)shared_vectors);
    else
        run_producers(piece, barriers, (char *)shared_vectors);
}
