/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits by matrix instructions of a warpgroup, exact.
 *
 * These multiply 64 rows by 64 or 128 columns, matrices in shared memory that are contiguous along
 * time. In tiles of up to 64 inputs, the parts of inputs are rows and columns of their own, and one
 * instruction makes all four sums of a pair, re_i re_j, re_i im_j, im_i re_j and im_i im_j. Pieces
 * of re of 8 inputs and of their im alternate, so that one thread has all four.
 *
 * For tiles of 128 inputs there are no registers for four sums, only for those of V:
 *
 *     Σ re V =  re_i · re_j + im_i · im_j,
 *     Σ im V = ~im_j · re_i + re_j · im_i + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. The matrices of 64 columns are
 * stored one behind the other, ~im, re, im. So one instruction multiplies re_i by (~im, re), the
 * next im_i by (re, im), and both add to the same sums (im V, re V).
 *
 * Producers read voltages, transpose them in registers and store them to the stages.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large. */
#include "correlate-warpgroup.h"

/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = TILE == 128 ? 176 : 128,
              producer_registers = 256 - consumer_registers;

/* Whether all four sums of a pair are made. */
constexpr bool has_four = TILE < 128;

/* A slab is 16 spectra of all matrices of a unit, in pieces of a part of 8 inputs: those of the
 * columns, then, if the rows are other inputs, theirs. With four sums, re and im alternate; else
 * they are ~im, re and im of each group of columns, and re and im of each group of rows. */
constexpr int matrix_bytes = group * slab;
constexpr int columns_bytes = (has_four ? 2 : 3) * n_groups * matrix_bytes;
constexpr int slab_bytes = columns_bytes + (n_sides == 2 ? 2 * n_groups * matrix_bytes : 0);
constexpr int unit_bytes = n_slabs * slab_bytes;
constexpr int stage_bytes = n_units * unit_bytes;
/* The distance from re to im. */
constexpr int to_im = has_four ? piece_bytes : matrix_bytes;

/* ---- producers ---- */

/* Inputs in a word of 4 bytes; words of a spectrum on a side of a unit. */
constexpr int word_inputs = IS_NIBBLES ? 4 : 2;
constexpr int n_words = TILE / word_inputs;
/* Each thread transposes slabs of one word, of either side or of one side after the other. */
constexpr int side_producers = n_words * n_slabs;
constexpr bool takes_turns = side_producers == unit_producers;

static_assert(takes_turns || 2 * side_producers <= unit_producers, "a slab for each thread");

/* The slabs that a thread fetches ahead. */
constexpr int n_ahead = TILE == 128 ? 2 : 4;

/* A slab of a word. */
struct Fetched {
    unsigned at[slab];
};

/* The slabs that a thread fetches, one in every step or in every second one. */
struct Source {
    const char *from; /* of the next one */
    int n_left;       /* the job's spectra from there on; none if the input does not exist */
    int m;            /* its first input */
    int side, word;
};

__device__ inline Source
make_source(const CorrelatePiece &piece, const Job &job, int thread, int side, int first_step)
{
    Source source;
    const int t = first_step * DEPTH + thread / n_words % n_slabs * slab;
    source.side = side;
    source.word = thread % n_words;
    source.m = (side == 0 ? job.j : job.i) + source.word * word_inputs;
    source.from = job.voltages + t * piece.from_time;
    source.n_left = source.m < n_inputs ? job.n - t : 0;
    if (piece.width >= 4)
        source.from += source.m * (int)sizeof(INPUT);
    return source;
}

/* A word of one spectrum whose inputs are not contiguous, aligned or complete. */
__device__ __noinline__ unsigned
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

/* Reads a slab, and goes on by some steps. */
__device__ inline void
fetch(const CorrelatePiece &piece, Source &source, int n_steps, Fetched &fetched)
{
    constexpr int packed = n_inputs * (int)sizeof(INPUT);
    if (piece.width >= 4 && piece.from_time == packed && source.n_left >= slab) {
#pragma unroll
        for (int k = 0; k < slab; k++)
            fetched.at[k] = *(const unsigned *)(source.from + k * packed);
    } else {
        const char *from = source.from;
#pragma unroll
        for (int k = 0; k < slab; k++, from += piece.from_time) {
            fetched.at[k] = 0;
            if (k < source.n_left)
                fetched.at[k] =
                    piece.width >= 4 ? *(const unsigned *)from : gather(piece, from, source.m);
        }
    }
    source.from += n_steps * DEPTH * piece.from_time;
    source.n_left -= n_steps * DEPTH;
}

/* The order in which a thread stores the inputs of its words. Rows of 8 inputs are in different
 * banks, and so the threads that store together store different ones of them: an input of word w is
 * stored in turn e if it has the number e ^ order_of(w). */
__device__ inline int
order_of(int word)
{
    return IS_NIBBLES ? word / 2 % 4 : word / 4 % 2;
}

/* The bytes that a thread picks in two steps, first a pair, then one of it. The bytes of a word are
 * the inputs of ci4 or, of two inputs, re, im, re, im. */
struct Picks {
    unsigned pairs[2], bytes[2];
};

__device__ inline Picks
make_picks(int word)
{
    const bool swaps_pairs = IS_NIBBLES ? order_of(word) & 2 : order_of(word) & 1;
    const bool swaps_bytes = IS_NIBBLES && (order_of(word) & 1);
    return {{swaps_pairs ? 0x7362u : 0x5140u, swaps_pairs ? 0x5140u : 0x7362u},
            {swaps_bytes ? 0x7632u : 0x5410u, swaps_bytes ? 0x5410u : 0x7632u}};
}

/* Turns 4 spectra of 4 bytes into 4 bytes, in the order of the picks, of 4 spectra. */
__device__ inline void
transpose(const unsigned from[4], const Picks &picks, unsigned to[4])
{
#pragma unroll
    for (int p = 0; p < 2; p++) {
        const unsigned first = pick_bytes(from[0], from[1], picks.pairs[p]),
                       last = pick_bytes(from[2], from[3], picks.pairs[p]);
        to[2 * p] = pick_bytes(first, last, picks.bytes[0]);
        to[2 * p + 1] = pick_bytes(first, last, picks.bytes[1]);
    }
}

__device__ inline uint4
complement(uint4 x)
{
    return {~x.x, ~x.y, ~x.z, ~x.w};
}

/* The place of re of input m of a side in a slab. */
__device__ inline int
place_of(int side, int m)
{
    const int first = side == 0 ? 0 : columns_bytes;
    if (has_four)
        return first + m / 8 * 2 * piece_bytes + m % 8 * slab;
    return first + m / group * (side == 0 ? 3 : 2) * matrix_bytes + (side == 0 ? matrix_bytes : 0) +
           m % group * slab;
}

/* Stores the parts of input m. */
__device__ inline void
store_input(char *matrices, int side, int m, const uint4 &re, const uint4 &im)
{
    char *to = matrices + place_of(side, m);
    *(uint4 *)to = re;
    *(uint4 *)(to + to_im) = im;
    if (!has_four && side == 0)
        *(uint4 *)(to - matrix_bytes) = complement(im);
}

__device__ inline void
transpose_slab(const Fetched &fetched, const Picks &picks, uint4 bytes[4])
{
    unsigned turned[4][4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        transpose(&fetched.at[4 * k], picks, turned[k]);
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

/* `slabs`: the thread's slab of a stage. */
__device__ inline void
store(const Fetched &fetched, const Source &source, const Picks &picks, char *slabs)
{
    const int order = order_of(source.word);
    uint4 bytes[4];
    transpose_slab(fetched, picks, bytes);
#pragma unroll
    for (int e = 0; e < word_inputs; e++) {
        const int m = source.word * word_inputs + (e ^ order);
#if IS_NIBBLES
        store_input(slabs, source.side, m, high_nibbles(bytes[e], 0), high_nibbles(bytes[e], 4));
#else
        store_input(slabs, source.side, m, bytes[2 * e], bytes[2 * e + 1]);
#endif
    }
}

/* Fills the stages with the spectra of one job, from two sources in turn: those of both sides, or
 * those of even and odd steps. */
__device__ inline void
produce(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *stages, int u,
        Turn &turn)
{
    const int thread = threadIdx.x % unit_producers;
    const int n_steps = count_steps(piece, job);
    const bool is_square = job.i == job.j, has_two = takes_turns && !is_square;
    const bool is_busy = takes_turns || thread < (is_square ? 1 : 2) * side_producers;
    const int side = takes_turns ? 0 : thread / side_producers;
    const int n = has_two ? 2 * n_steps : n_steps, apart = has_two ? 1 : 2;
    const Picks picks = make_picks(thread % n_words);
    char *slabs = stages + u * unit_bytes + thread / n_words % n_slabs * slab_bytes;
    Source sources[2] = {make_source(piece, job, thread, side, 0),
                         make_source(piece, job, thread, has_two ? 1 : side, has_two ? 0 : 1)};
    Fetched ahead[n_ahead];
#pragma unroll
    for (int k = 0; k < n_ahead; k++)
        if (k < n && is_busy)
            fetch(piece, sources[k % 2], apart, ahead[k]);
    if (goes_on(piece, job) && job.is_there)
        prefetch_open(piece, job, thread);
    for (int at = 0; at < n; at += 2 * n_ahead) {
#pragma unroll
        for (int k = 0; k < 2 * n_ahead; k++) {
            if (at + k >= n)
                break;
            if (k % 2 == 0 || !has_two)
                ct_phases_wait(&barriers.empty[turn.stage], turn.parity ^ 1);
            if (is_busy)
                store(ahead[k % n_ahead], sources[k % 2], picks, slabs + turn.stage * stage_bytes);
            if (at + k + n_ahead < n && is_busy)
                fetch(piece, sources[(k + n_ahead) % 2], apart, ahead[k % n_ahead]);
            if (k % 2 == 1 || !has_two) {
                publish(barriers, turn.stage);
                turn.advance();
            }
        }
    }
}

/* ---- consumers ---- */

/* The sums of a thread, as ct_wgmma_s8 has them: of columns of re and im in turn, 8 of each; or,
 * for each group of columns, of im V, then of re V. And, for the latter, its share of Σ re_i. */
constexpr int n_sums = TILE, n_group_sums = group / 2;
/* The inputs that a thread has in its warp's rows. */
constexpr int n_thread_rows = has_four ? 1 : 2, row_distance = 8;
constexpr int warp_rows = 8 * n_thread_rows;

struct Products {
    int at[n_sums];
    int rows[2];
};

/* Multiplies two slabs. Both matrices: the first re. `needs_all`: all columns, not only those of
 * the first group. */
template <bool needs_all>
__device__ inline void
multiply(uint64 rows, uint64 columns, int *sums)
{
    if (has_four) {
        ct_wgmma_s8<needs_all ? 2 * TILE : 2 * group>(sums, rows, columns);
        return;
    }
    const uint64 im = ct_wgmma_further(rows, matrix_bytes);
#pragma unroll
    for (int g = 0; g < (needs_all ? n_groups : 1); g++) {
        const uint64 re = ct_wgmma_further(columns, 3 * g * matrix_bytes);
        ct_wgmma_s8<2 * group>(sums + 2 * g * n_group_sums, rows,
                               ct_wgmma_further(re, -matrix_bytes));
        ct_wgmma_s8<2 * group>(sums + 2 * g * n_group_sums, im, re);
    }
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

/* Multiplies the spectra of one job. `rows`, `columns`: the first re of the warpgroup and of the
 * unit in the first stage. */
template <bool needs_all>
__device__ inline void
multiply_stages(int n_steps, Barriers &barriers, const char *columns, const char *rows, Turn &turn,
                Products &products)
{
    const char *summed = rows + threadIdx.x % 128 / 32 * 2 * piece_bytes;
    const uint64 first_columns = ct_wgmma_matrix(columns, slab_bytes, piece_bytes);
    const uint64 first_rows = ct_wgmma_matrix(rows, slab_bytes, piece_bytes);
    int last = -1;
    for (int step = 0; step < n_steps; step++) {
        const int offset = turn.stage * stage_bytes;
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        ct_wgmma_begin();
#pragma unroll
        for (int s = 0; s < n_slabs; s += 2)
            multiply<needs_all>(ct_wgmma_further(first_rows, offset + s * slab_bytes),
                                ct_wgmma_further(first_columns, offset + s * slab_bytes),
                                products.at);
        ct_wgmma_commit();
        if (!has_four)
            add_rows(summed + offset, products);
        ct_wgmma_wait<1>();
        if (last >= 0)
            release(barriers, last);
        last = turn.stage;
        turn.advance();
    }
    ct_wgmma_wait<0>();
    if (last >= 0)
        release(barriers, last);
#pragma unroll
    for (int k = 0; k < n_sums; k++)
        ct_keep(products.at[k]);
}

__device__ inline void
consume(int n_steps, Barriers &barriers, const char *stages, int u, bool is_square, bool needs_all,
        int first, Turn &turn, Products &products)
{
    const char *unit = stages + u * unit_bytes;
    const char *rows = unit + place_of(is_square ? 0 : 1, first), *columns = unit + place_of(0, 0);
    if (needs_all)
        multiply_stages<true>(n_steps, barriers, columns, rows, turn, products);
    else
        multiply_stages<false>(n_steps, barriers, columns, rows, turn, products);
    if (!has_four)
        share_rows(products);
}

/* The places of re of a thread's row h and column 8 block + x in its sums, and of im; to these are
 * added im im and the negative of re im, if all four sums are made. */
__device__ inline int
im_at(int block, int h, int x)
{
    constexpr int blocks = group / 8;
    return has_four ? 8 * block + 2 + x
                    : block / blocks * 2 * n_group_sums + block % blocks * 4 + 2 * h + x;
}

__device__ inline int
re_at(int block, int h, int x)
{
    return im_at(block, h, x) + (has_four ? -2 : n_group_sums);
}

/* The sum of row h of the thread and column 8 block + x; wraps around before it is complete. */
__device__ inline ct_ci32
find_sum(const Products &products, int block, int h, int x)
{
    const unsigned re = (unsigned)products.at[re_at(block, h, x)],
                   im = (unsigned)products.at[im_at(block, h, x)];
    if (!has_four)
        return {(int)re, (int)im + products.rows[h]};
    return {(int)(re + (unsigned)products.at[8 * block + 6 + x]),
            (int)(im - (unsigned)products.at[8 * block + 4 + x])};
}

/* The sums of row h and two neighbours, (re, im, re, im). */
__device__ inline int4
find_pair(const Products &products, int block, int h)
{
    const ct_ci32 first = find_sum(products, block, h, 0), second = find_sum(products, block, h, 1);
    return {first.re, first.im, second.re, second.im};
}

__device__ inline void
set_pair(Products &products, int block, int h, int4 pair)
{
    products.at[re_at(block, h, 0)] = pair.x;
    products.at[im_at(block, h, 0)] = pair.y;
    products.at[re_at(block, h, 1)] = pair.z;
    products.at[im_at(block, h, 1)] = pair.w;
}

#define CORRELATE_KERNEL correlate_wgmma
#include "correlate-warpgroup-end.h"
