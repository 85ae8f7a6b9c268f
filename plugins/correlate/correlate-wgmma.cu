/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of all pairs of inputs of 8 and 4 bits by matrix instructions of a warpgroup, exact.
 * With time and parts together as the depth, a row of A is (re_i, im_i, re_i', im_i', …) and
 *
 *     Σ re V = A · (re_j, im_j, …),   Σ im V = A · (~im_j, re_j, …) + Σ re_i,
 *
 * since ~x = −x − 1: the negative of −128 does not fit 8 bits. Sums of up to 65535 spectra fit 32
 * bits. The host gives a range at most 2^15, and open sums that it begins with fewer.
 *
 * A block stays on its multiprocessor and does one job after the other. Its producers copy spectra
 * to a stage as they are, [spectrum][input], some stages ahead, also those of the next job. Taking
 * an input's two bytes as one element, ldmatrix transposes 8 spectra of 8 inputs: the columns to
 * the registers of producers, which store both matrices of them, the rows to those of consumers,
 * from which products take them. Consumers are two warpgroups; each has half of the rows of a tile
 * of 128 inputs or, in smaller ones, a unit of its own. Producers go on to the next job while
 * consumers write the results of one.
 *
 * ci4 is expanded to 8 bits: nibbles stay in the high bits, so values are 16 times as large.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage). */
#include "cornerturn/warpgroup.h"
#include "correlate-bytes.h"
#include "correlate-copy.h"
#include "correlate-square.h"

constexpr int n_consumers = 256, n_producers = 256, n_threads = n_consumers + n_producers;
/* Registers of a thread, on average those of the launch. */
constexpr int consumer_registers = TILE == 128 ? 184 : 128,
              producer_registers = 256 - consumer_registers;

constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* The groups of a tile's inputs; each warpgroup has one of them as rows. */
constexpr int n_groups = TILE == 128 ? 2 : 1;
constexpr int group = TILE / n_groups;
constexpr int n_units = 2 / n_groups;

/* The spectra of the columns of a stage, then, if the rows are other inputs, theirs; spectra begin
 * in different banks. */
constexpr int pitch = 2 * TILE + 16;
constexpr int side_bytes = DEPTH * pitch;
/* Then the matrices of the columns, in pieces of 8 spectra of 8 inputs. The pieces of all inputs of
 * 8 spectra are one behind the other: for each group of inputs those of re V, then those of im V.
 */
constexpr int piece_spectra = 8, piece_bytes = 128;
constexpr int group_pieces = group / 8;
constexpr int slab_bytes = 2 * n_groups * group_pieces * piece_bytes;
constexpr int matrices_at = n_sides * side_bytes;
/* Then the nibbles, before they are expanded. */
constexpr int nibble_bytes = DEPTH * TILE;
constexpr int nibbles_at = matrices_at + DEPTH / piece_spectra * slab_bytes;
constexpr int unit_bytes = nibbles_at + (IS_NIBBLES ? n_sides * nibble_bytes : 0);
constexpr int stage_bytes = n_units * unit_bytes;

/* Teams of four warps have the steps of a unit in turn; each warp has 8 of 32 spectra. */
constexpr int unit_producers = n_producers / n_units;
constexpr int n_teams = unit_producers / 128;
constexpr int warp_step = 4 * piece_spectra;
/* The vectors of a spectrum, and the spectra that a warp copies at once. */
constexpr int n_vectors = TILE / n_copied;
constexpr int n_at_once = 32 / n_vectors;
/* The copies of a thread in 8 spectra, and in a step of one side. */
constexpr int n_copies = n_at_once < piece_spectra ? piece_spectra / n_at_once : 1;
constexpr int n_step_copies = DEPTH / warp_step * n_copies;
/* The steps that a team copies ahead of the one whose matrices it makes. */
constexpr int n_ahead = STAGES / 2 / n_teams;

static_assert(TILE == 128 || TILE == 64 || TILE == 32, "rows of warpgroups");
static_assert(DEPTH % warp_step == 0, "8 spectra for each warp");

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

/* Fetches sums that consumers go on with to the L2 cache. */
__device__ inline void
prefetch_open(const CorrelatePiece &piece, const Job &job, int thread)
{
    const char *open = (const char *)open_of(piece, job);
    constexpr int line = 128, n_bytes = (int)(tile_elements * sizeof(ct_ci32));
    for (int at = thread * line; at < n_bytes; at += unit_producers * line)
        ct_prefetch(open + at);
}

/* ---- producers ---- */

/* The first spectrum of this warp. */
__device__ inline int
warp_spectrum()
{
    return threadIdx.x / 32 % 4 * piece_spectra;
}

/* The first spectrum and the inputs that this thread copies; some threads may have none. */
__device__ inline int
copied_spectrum()
{
    return warp_spectrum() + threadIdx.x % 32 / n_vectors;
}

__device__ inline int
copied_input()
{
    return threadIdx.x % n_vectors * n_copied;
}

__device__ inline bool
is_copying()
{
    return n_at_once <= piece_spectra || (int)threadIdx.x % 32 / n_vectors < piece_spectra;
}

/* What is copied next. */
struct Loader {
    Job job;
    unsigned round; /* of the next job */
    int step, n_steps;
    Turn turn;
};

__device__ inline void
begin_job(const CorrelatePiece &piece, Loader &loader, unsigned index)
{
    loader.job = find_job(piece, index);
    loader.step = 0;
    loader.n_steps = count_steps(piece, loader.job);
    if (goes_on(piece) && loader.job.is_there)
        prefetch_open(piece, loader.job, threadIdx.x % unit_producers);
}

/* Goes on to the next job that has spectra. FALSE after the last one. */
__device__ inline bool
find_step(const CorrelatePiece &piece, Loader &loader, int u)
{
    while (loader.step == loader.n_steps) {
        if (loader.round == count_rounds(piece))
            return false;
        const unsigned k = find_turn(loader.round++);
        if (k * n_units < count_jobs(piece))
            begin_job(piece, loader, k * n_units + u);
    }
    return true;
}

/* Starts the copies of a step to a stage. */
__device__ inline void
load(const CorrelatePiece &piece, const Loader &loader, char *unit)
{
    constexpr int to_pitch = IS_NIBBLES ? TILE : pitch;
    constexpr int to_side = IS_NIBBLES ? nibble_bytes : side_bytes;
    const Job &job = loader.job;
    if (!is_copying())
        return;
#pragma unroll
    for (int side = 0; side < n_sides; side++) {
        const int m = (side == 0 ? job.j : job.i) + copied_input();
        if (side == 1 && job.i == job.j)
            continue;
#pragma unroll
        for (int first = 0; first < DEPTH; first += warp_step) {
            int t = first + copied_spectrum();
            char *to = unit + (IS_NIBBLES ? nibbles_at : 0) + side * to_side + t * to_pitch +
                       copied_input() * (int)sizeof(INPUT);
            t += loader.step * DEPTH;
            if (piece.width < 16) {
#pragma unroll 1
                for (int k = 0; k < n_copies; k++, t += n_at_once, to += n_at_once * to_pitch)
                    copy(piece, job, to, m, t);
                continue;
            }
            const char *from = job.voltages + t * piece.from_time + m * (int)sizeof(INPUT);
#pragma unroll
            for (int k = 0; k < n_copies; k++, t += n_at_once, from += n_at_once * piece.from_time)
                ct_cp_async16_zfill(to + k * n_at_once * to_pitch, from,
                                    t < job.n && m < n_inputs ? 16 : 0);
        }
    }
}

#if IS_NIBBLES
/* The nibbles of 4 inputs as 8 bytes. */
__device__ inline void
expand_word(unsigned x, unsigned &first, unsigned &second)
{
    const unsigned re = x & 0xf0f0f0f0, im = x << 4 & 0xf0f0f0f0;
    first = pick_bytes(re, im, 0x5140);
    second = pick_bytes(re, im, 0x7362);
}

/* Expands what this thread has copied. */
__device__ inline void
expand(char *unit)
{
    if (!is_copying())
        return;
    const char *from = unit + nibbles_at + copied_spectrum() * TILE + copied_input();
    char *to = unit + copied_spectrum() * pitch + 2 * copied_input();
#pragma unroll 1
    for (int k = 0; k < n_sides * n_step_copies; k++) {
        const int side = k / n_step_copies,
                  t = k % n_step_copies / n_copies * warp_step + k % n_copies * n_at_once;
        const uint4 x = *(const uint4 *)(from + side * nibble_bytes + t * TILE);
        uint4 bytes[2];
        expand_word(x.x, bytes[0].x, bytes[0].y);
        expand_word(x.y, bytes[0].z, bytes[0].w);
        expand_word(x.z, bytes[1].x, bytes[1].y);
        expand_word(x.w, bytes[1].z, bytes[1].w);
        uint4 *at = (uint4 *)(to + side * side_bytes + t * pitch);
        at[0] = bytes[0];
        at[1] = bytes[1];
    }
}
#endif

/* Makes the matrices of the columns from the warp's spectra. */
__device__ inline void
make_matrices(char *unit)
{
    const int lane = threadIdx.x % 32;
    const char *from = unit + (warp_spectrum() + lane % 8) * pitch + lane / 8 * 16;
    char *to = unit + matrices_at + warp_spectrum() / piece_spectra * slab_bytes + lane * 16;
#pragma unroll
    for (int t = 0; t < DEPTH; t += warp_step)
#pragma unroll
        for (int p = 0; p < TILE / 8; p += 4) {
            char *at = to + t / piece_spectra * slab_bytes +
                       (p / group_pieces * 2 * group_pieces + p % group_pieces) * piece_bytes;
            unsigned plain[4], turned[4];
            ct_ldmatrix4_transposed(plain, from + t * pitch + p * 16);
#pragma unroll
            for (int k = 0; k < 4; k++)
                turned[k] = pick_bytes(plain[k], 0, 0x2301) ^ 0x00ff00ff;
            ct_stmatrix4(plain, at);
            ct_stmatrix4(turned, at + group_pieces * piece_bytes);
        }
}

/* Completes a stage whose copies have been waited for. */
__device__ inline void
complete(Barriers &barriers, char *unit, int stage)
{
    char *here = unit + stage * stage_bytes;
#if IS_NIBBLES
    expand(here);
#endif
    __syncwarp();
    make_matrices(here);
    ct_wgmma_publish();
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.full[stage]);
}

__device__ inline void
run_producers(const CorrelatePiece &piece, Barriers &barriers, char *stages)
{
    const int thread = threadIdx.x - n_consumers, team = thread / 128 % n_teams;
    const int u = n_units == 1 ? 0 : thread / unit_producers;
    char *unit = stages + u * unit_bytes;
    Loader loader = {};
    int stage = team, n_loaded = 0;
    for (int k = 0; find_step(piece, loader, u); k++, loader.step++, advance(loader.turn)) {
        if (k % n_teams != team)
            continue;
        ct_phases_wait(&barriers.empty[loader.turn.stage], loader.turn.parity ^ 1);
        load(piece, loader, unit + loader.turn.stage * stage_bytes);
        ct_cp_async_commit();
        if (n_loaded < n_ahead) {
            n_loaded++;
            continue;
        }
        ct_cp_async_wait<n_ahead>();
        complete(barriers, unit, stage);
        stage = (stage + n_teams) % STAGES;
    }
    ct_cp_async_wait<0>();
    for (; n_loaded > 0; n_loaded--, stage = (stage + n_teams) % STAGES)
        complete(barriers, unit, stage);
}

/* ---- consumers ---- */

/* The sums of a thread, as ct_wgmma_s8 has them: for each group of columns of re V, then of im V;
 * and its share of Σ re_i. */
constexpr int n_sums = TILE, n_group_sums = group / 2;
/* The depth of a product in spectra. */
constexpr int product_spectra = 16;
constexpr int n_products = DEPTH / product_spectra;

struct Products {
    int at[n_sums];
    int rows[2];
};

/* Where the sum of a thread's row h and column 8 block + x is: re V, and im V. */
__device__ inline int
re_at(int block, int h, int x)
{
    return block / group_pieces * 2 * n_group_sums + block % group_pieces * 4 + 2 * h + x;
}

__device__ inline int
im_at(int block, int h, int x)
{
    return re_at(block, h, x) + n_group_sums;
}

__device__ inline ct_ci32
find_sum(const Products &products, int block, int h, int x)
{
    return {products.at[re_at(block, h, x)], products.at[im_at(block, h, x)] + products.rows[h]};
}

/* The rows of a stage in the registers of a thread. */
struct Rows {
    unsigned at[n_products][4];
};

__device__ inline void
add_rows(const Rows &rows, Products &products)
{
#pragma unroll
    for (int k = 0; k < n_products; k++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            products.rows[r % 2] = add_even_bytes(rows.at[k][r], products.rows[r % 2]);
}

/* Adds up Σ re_i over the threads that share rows. */
__device__ inline void
share_rows(Products &products)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 1);
        products.rows[h] += __shfl_xor_sync(~0u, products.rows[h], 2);
    }
}

__device__ inline void
release(Barriers &barriers, int stage)
{
    __syncwarp();
    if (threadIdx.x % 32 == 0)
        ct_phases_arrive(&barriers.empty[stage]);
}

/* Starts the products of a stage. `from`: the thread's row of the first matrices of the rows.
 * `needs_all`: all columns, not only those of the first group. */
template <bool needs_all>
__device__ inline void
multiply(const char *from, uint64 columns, Rows &rows, Products &products)
{
#pragma unroll
    for (int k = 0; k < n_products; k++)
        ct_ldmatrix4_transposed(rows.at[k], from + k * product_spectra * pitch);
    ct_wgmma_begin();
#pragma unroll
    for (int k = 0; k < n_products; k++)
#pragma unroll
        for (int g = 0; g < (needs_all ? n_groups : 1); g++)
            ct_wgmma_s8<2 * group>(
                products.at + 2 * g * n_group_sums, rows.at[k],
                ct_wgmma_further(columns, k * product_spectra / piece_spectra * slab_bytes +
                                              g * 2 * group_pieces * piece_bytes));
    ct_wgmma_commit();
}

/* Multiplies the spectra of one job. `side`, `row`: of the warp's rows. While one warpgroup waits
 * for its products and reads the next rows, tensor cores have those of the other. */
template <bool needs_all>
__device__ inline void
consume(int n_steps, Barriers &barriers, const char *unit, int side, int row, Turn &turn,
        Products &products)
{
    const int lane = threadIdx.x % 32;
    const char *from =
        unit + side * side_bytes + (lane % 8 + lane / 16 * 8) * pitch + 2 * row + lane / 8 % 2 * 16;
    const uint64 columns = ct_wgmma_matrix(unit + matrices_at, slab_bytes, piece_bytes);
    Rows rows;
    products.rows[0] = products.rows[1] = 0;
    for (int step = 0; step < n_steps; step++, advance(turn)) {
        const int offset = turn.stage * stage_bytes;
        ct_phases_wait(&barriers.full[turn.stage], turn.parity);
        multiply<needs_all>(from + offset, ct_wgmma_further(columns, offset), rows, products);
        add_rows(rows, products);
        ct_wgmma_wait<0>();
        release(barriers, turn.stage);
    }
#pragma unroll
    for (int k = 0; k < n_sums; k++)
        ct_keep(products.at[k]);
    share_rows(products);
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

/* ---- the ends of jobs ---- */

constexpr bool is_cf32 = sizeof(OUTPUT) == sizeof(ct_cf32);

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
        for (int h = 0; h < 2; h++) {
            int4 pair = {0, 0, 0, 0};
            if (block < n_blocks)
                pair = *place_pair(first, block, h);
            products.at[re_at(block, h, 0)] = pair.x;
            products.at[im_at(block, h, 0)] = pair.y;
            products.at[re_at(block, h, 1)] = pair.z;
            products.at[im_at(block, h, 1)] = pair.w;
        }
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
    for (int h = 0; h < 2; h++) {
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
        for (int h = 0; h < 2; h++)
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
        for (int h = 0; h < 2; h++)
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
        const int n_blocks = (is_above ? group : TILE) / 8;
        /* Tiles of 32 inputs are half of the rows of a warpgroup. */
        const int warp_row = threadIdx.x % 128 / 32 * 16, row = first + warp_row % group;
        const bool has_rows = warp_row < group;
        Products products;
        load_pairs(place_pairs(open_of(piece, job), row), goes_on(piece) && has_rows ? n_blocks : 0,
                   products);
        if (is_above)
            consume<false>(n_steps, barriers, unit, is_square ? 0 : 1, row, turn, products);
        else
            consume<true>(n_steps, barriers, unit, is_square ? 0 : 1, row, turn, products);
        if (has_rows)
            finish(piece, job, offset, row, n_blocks, products);
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
            ct_phases_begin(&barriers.full[s], n_producers / n_teams / 32);
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
