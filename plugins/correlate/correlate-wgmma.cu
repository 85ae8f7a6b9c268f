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
 * Sums of up to 65535 spectra fit 32 bits. The host gives a range at most 2^15, and open sums that
 * it begins with fewer.
 *
 * A block stays on its multiprocessor and does one job after the other. Its producers read
 * voltages, transpose them in registers and store them to the stages. Two warpgroups, the
 * consumers, multiply; each has half of the rows of a tile or, in tiles of 32 inputs, a unit of its
 * own. Producers go on to the next job while consumers write the results of one.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage). */
#include "cornerturn/warpgroup.h"
#include "correlate-bytes.h"
#include "correlate-square.h"

constexpr int n_consumers = 256, n_producers = 256, n_threads = n_consumers + n_producers;
/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = TILE == 128 ? 176 : 128,
              producer_registers = 256 - consumer_registers;

constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* The groups of a tile's inputs; each warpgroup has one of them as rows. */
constexpr int n_groups = TILE == 32 ? 1 : 2;
constexpr int group = TILE / n_groups;
constexpr int n_units = 2 / n_groups;
/* Whether all four sums of a pair are made. */
constexpr bool has_four = TILE < 128;

/* A slab is 16 spectra of all matrices of a unit, in pieces of a part of 8 inputs: those of the
 * columns, then, if the rows are other inputs, theirs. With four sums, re and im alternate; else
 * they are ~im, re and im of each group of columns, and re and im of each group of rows. */
constexpr int slab = 16;
constexpr int n_slabs = DEPTH / slab;
constexpr int piece_bytes = 8 * slab;
constexpr int matrix_bytes = group * slab;
constexpr int columns_bytes = (has_four ? 2 : 3) * n_groups * matrix_bytes;
constexpr int slab_bytes = columns_bytes + (n_sides == 2 ? 2 * n_groups * matrix_bytes : 0);
constexpr int unit_bytes = n_slabs * slab_bytes;
constexpr int stage_bytes = n_units * unit_bytes;
/* The distance from re to im. */
constexpr int to_im = has_four ? piece_bytes : matrix_bytes;

static_assert(TILE == 128 || TILE == 64 || TILE == 32, "rows of warpgroups");
static_assert(DEPTH % 64 == 0, "a thread adds up one slab of four");

typedef CtStageBarriers<STAGES> Barriers;
typedef CtStageTurn<STAGES> Turn;

/* Blocks do jobs in rounds; one that has had a tile on the diagonal, which costs less, does not get
 * the same in every round. */
__device__ inline unsigned
count_jobs(const CorrelatePiece &piece)
{
    return (unsigned)n_tiles * N_ITEMS * piece.n_ranges;
}

__device__ inline unsigned
count_rounds(const CorrelatePiece &piece)
{
    return (count_jobs(piece) + n_units * gridDim.x - 1) / (n_units * gridDim.x);
}

/* The number of the jobs, `n_units` of them, that this block does in a round. */
__device__ inline unsigned
find_turn(unsigned round)
{
    return round * gridDim.x + (blockIdx.x + round) % gridDim.x;
}

/* The steps of the jobs that a block does together. */
__device__ inline int
count_steps(const CorrelatePiece &piece, const Job &job)
{
    return ((n_units == 1 ? job.n : longest_range(piece)) + DEPTH - 1) / DEPTH;
}

/* Whether the sums of 32 bits of an integration are continued: a piece that does this has no other
 * integration. Those of parts are added up elsewhere. */
__device__ inline bool
goes_on(const CorrelatePiece &piece)
{
    return piece.adds_open && !piece.parts;
}

/* ---- producers ---- */

/* Inputs in a word of 4 bytes; words of a spectrum on a side of a unit. */
constexpr int word_inputs = IS_NIBBLES ? 4 : 2;
constexpr int n_words = TILE / word_inputs;
/* Each thread transposes slabs of one word, of either side or of one side after the other. */
constexpr int unit_producers = n_producers / n_units;
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

/* Fetches sums that consumers go on with to the L2 cache. */
__device__ inline void
prefetch_open(const CorrelatePiece &piece, const Job &job, int thread)
{
    const char *open = (const char *)open_of(piece, job);
    constexpr int line = 128, n_bytes = (int)(tile_elements * sizeof(ct_ci32));
    for (int at = thread * line; at < n_bytes; at += unit_producers * line)
        ct_prefetch(open + at);
}

/* Fills the stages with the spectra of one job, from two sources in turn: those of both sides, or
 * those of even and odd steps. */
__device__ inline void
produce(const CorrelatePiece &piece, const Job &job, Barriers &barriers, char *unit, Turn &turn)
{
    const int thread = threadIdx.x % unit_producers;
    const int n_steps = count_steps(piece, job);
    const bool is_square = job.i == job.j, has_two = takes_turns && !is_square;
    const bool is_busy = takes_turns || thread < (is_square ? 1 : 2) * side_producers;
    const int side = takes_turns ? 0 : thread / side_producers;
    const int n = has_two ? 2 * n_steps : n_steps, apart = has_two ? 1 : 2;
    const Picks picks = make_picks(thread % n_words);
    char *slabs = unit + thread / n_words % n_slabs * slab_bytes;
    Source sources[2] = {make_source(piece, job, thread, side, 0),
                         make_source(piece, job, thread, has_two ? 1 : side, has_two ? 0 : 1)};
    Fetched ahead[n_ahead];
#pragma unroll
    for (int k = 0; k < n_ahead; k++)
        if (k < n && is_busy)
            fetch(piece, sources[k % 2], apart, ahead[k]);
    if (goes_on(piece) && job.is_there)
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
                ct_wgmma_publish();
                __syncwarp();
                if (threadIdx.x % 32 == 0)
                    ct_phases_arrive(&barriers.full[turn.stage]);
                turn.advance();
            }
        }
    }
}

/* ---- consumers ---- */

/* The sums of a thread, as ct_wgmma_s8 has them: of columns of re and im in turn, 8 of each; or,
 * for each group of columns, of im V, then of re V. And, for the latter, its share of Σ re_i. */
constexpr int n_sums = TILE, n_group_sums = group / 2;
constexpr bool is_cf32 = sizeof(OUTPUT) == sizeof(ct_cf32);
/* The inputs that a thread has in its warp's rows, 8 apart. */
constexpr int n_thread_rows = has_four ? 1 : 2;
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

__device__ inline void
release(Barriers &barriers, int stage)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.empty[stage]);
}

/* Multiplies the spectra of one job. `rows`, `columns`: the first re of the warpgroup and of the
 * unit in the first stage. */
template <bool needs_all>
__device__ inline void
consume(int n_steps, Barriers &barriers, const char *columns, const char *rows, Turn &turn,
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

/* Passes the stages of a job of which this warpgroup needs nothing. */
__device__ inline void
skip(int n_steps, Barriers &barriers, Turn &turn)
{
    for (int step = 0; step < n_steps; step++, turn.advance()) {
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        release(barriers, turn.stage);
    }
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

/* The place in open sums, or in parts, of a thread's pair in the first block and group of rows;
 * threads of a warp have neighbouring places. `row`: the warp's first. */
constexpr int block_elements = SQUARE * SQUARE, row_elements = TILE * SQUARE;

static_assert(SQUARE == 8, "as the sums of a warp");

__device__ inline int4 *
place_pairs(ct_ci32 *tile, int row)
{
    return (int4 *)(tile + element_at(row, 0)) + threadIdx.x % 32;
}

__device__ inline int4 *
place_pair(int4 *first, int block, int h)
{
    return first + (block * block_elements + h * row_elements) / 2;
}

/* Begins with the sums of as many blocks, or with zero. Without branches: ptxas lets products wait
 * for one another where others than they write their registers. */
__device__ inline void
load_pairs(int4 *first, int n_blocks, Products &products)
{
    products = {};
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++) {
            int4 pair = {0, 0, 0, 0};
            if (block < n_blocks)
                pair = *place_pair(first, block, h);
            products.at[re_at(block, h, 0)] = pair.x;
            products.at[im_at(block, h, 0)] = pair.y;
            products.at[re_at(block, h, 1)] = pair.z;
            products.at[im_at(block, h, 1)] = pair.w;
        }
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

__device__ inline float4
scaled(int4 x)
{
    return {(float)(x.x >> SCALE_BITS), (float)(x.y >> SCALE_BITS), (float)(x.z >> SCALE_BITS),
            (float)(x.w >> SCALE_BITS)};
}

/* Writes visibilities of one range, rounded from 32 bits: most are. `offset`: of the job's in the
 * piece's. Threads that share a baseline or have neighbouring ones write together. */
__device__ inline void
write_rounded(const CorrelatePiece &piece, const Job &job, int64 offset, int row, int column,
              const Products &products)
{
#pragma unroll
    for (int h = 0; h < n_thread_rows; h++) {
        const int m = job.i + row + 8 * h, i = m / 2, n = i - (job.j + column) / 2;
        char *to = (char *)piece.visibilities + offset + m % 2 * piece.to_p +
                   ((int64)i * (i + 1) / 2 + (job.j + column) / 2) * piece.to_baseline;
        const int n_blocks = m >= n_inputs || n < 0 ? 0 : n / 4 + 1;
#pragma unroll
        for (int block = 0; block < TILE / 8; block++, to += 4 * piece.to_baseline)
            if (block < n_blocks)
                *(float4 *)to = scaled(find_pair(products, block, h));
    }
}

/* Stores sums as parts, or until the integration goes on. */
__device__ inline void
store_pairs(int4 *first, int n_blocks, const Products &products)
{
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++)
            if (block < n_blocks)
                *place_pair(first, block, h) = find_pair(products, block, h);
}

/* Ends the range of a job. `warp_row`: the warp's first. */
__device__ inline void
finish(const CorrelatePiece &piece, const Job &job, int64 offset, int warp_row, int n_blocks,
       const Products &products)
{
    const int lane = threadIdx.x % 32;
    const int row = warp_row + lane / 4, column = lane % 4 * 2;
    const bool due = is_due(piece, job.range);
    if (piece.parts || (!due && piece.keeps_open)) {
        ct_ci32 *tile = piece.parts ? (ct_ci32 *)piece.parts + part_of(job) : open_of(piece, job);
        store_pairs(place_pairs(tile, warp_row), n_blocks, products);
        return;
    }
    if (is_cf32 && N_POLS == 2 && piece.are_packed && due && !piece.adds_sums) {
        write_rounded(piece, job, offset, row, column, products);
        return;
    }
#pragma unroll
    for (int block = 0; block < TILE / 8; block++)
#pragma unroll
        for (int h = 0; h < n_thread_rows; h++)
            if (block < n_blocks)
                finish_pair(piece, job, row + 8 * h, column + 8 * block,
                            find_pair(products, block, h));
}

/* ---- the kernel ---- */

__device__ inline void
run_consumers(const CorrelatePiece &piece, Job *jobs, int64 *offsets, Barriers &barriers,
              char *stages)
{
    const int g = n_groups == 1 ? 0 : threadIdx.x / 128;
    const int u = n_units == 1 ? 0 : threadIdx.x / 128;
    const char *unit = stages + u * unit_bytes;
    /* In shared memory, a job needs no registers while products are summed. */
    Job &job = jobs[threadIdx.x / 32];
    int64 &offset = offsets[threadIdx.x / 32];
    Turn turn = {0, 0};
    for (unsigned round = 0; round < count_rounds(piece); round++) {
        const unsigned k = find_turn(round);
        if (k * n_units >= count_jobs(piece))
            continue;
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            job = find_job(piece, k * n_units + u);
            offset = job.visibilities - (const char *)piece.visibilities;
        }
        __syncwarp();
        const bool is_square = job.i == job.j, is_above = is_square && n_groups == 2 && g == 0;
        const int n_steps = count_steps(piece, job), first = g * group;
        if (!job.is_there || job.i + first >= n_inputs) {
            skip(n_steps, barriers, turn);
            continue;
        }
        const char *rows = unit + place_of(is_square ? 0 : 1, first),
                   *columns = unit + place_of(0, 0);
        const int n_blocks = (is_above ? group : TILE) / 8;
        const int warp_row = first + threadIdx.x % 128 / 32 * warp_rows;
        Products products;
        load_pairs(place_pairs(open_of(piece, job), warp_row), goes_on(piece) ? n_blocks : 0,
                   products);
        if (is_above)
            consume<false>(n_steps, barriers, columns, rows, turn, products);
        else
            consume<true>(n_steps, barriers, columns, rows, turn, products);
        if (!has_four)
            share_rows(products);
        finish(piece, job, offset, warp_row, n_blocks, products);
    }
}

__device__ inline void
run_producers(const CorrelatePiece &piece, Barriers &barriers, char *stages)
{
    const int u = n_units == 1 ? 0 : (threadIdx.x - n_consumers) / unit_producers;
    Turn turn = {0, 0};
    for (unsigned round = 0; round < count_rounds(piece); round++) {
        const unsigned k = find_turn(round);
        if (k * n_units < count_jobs(piece))
            produce(piece, find_job(piece, k * n_units + u), barriers, stages + u * unit_bytes,
                    turn);
    }
}

extern "C" __global__ void
__launch_bounds__(n_threads, 1) correlate_wgmma(const CorrelatePiece piece)
{
    extern __shared__ uint4 shared_vectors[];
    __shared__ Barriers barriers;
    __shared__ Job jobs[n_consumers / 32];
    __shared__ int64 offsets[n_consumers / 32];

    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            ct_phases_begin(&barriers.full[s], n_producers / 32);
            ct_phases_begin(&barriers.empty[s], n_consumers / 32);
        }
    __syncthreads();
    if (threadIdx.x < n_consumers) {
        ct_registers_take<consumer_registers>();
        run_consumers(piece, jobs, offsets, barriers, (char *)shared_vectors);
    } else {
        ct_registers_give<producer_registers>();
        run_producers(piece, barriers, (char *)shared_vectors);
    }
}
