/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of warpgroups share this before they multiply: threads, tiles, stages and jobs.
 *
 * A block stays on its multiprocessor and does one job after the other. Its producers fill the
 * stages. Two warpgroups, the consumers, multiply; each has half of the inputs of a tile as rows
 * or, in tiles of 32 inputs, a unit of its own. Producers go on to the next job while consumers
 * write the results of one. In floating point, producers only start copies, and are one warpgroup.
 *
 * Integer sums of up to 65535 spectra fit 32 bits. The host gives a range at most 2^15, and open
 * sums that it begins with fewer.
 *
 * Further constants: IS_NIBBLES, STAGES, DEPTH (spectra of a stage). */
#pragma once

#include "cornerturn/warpgroup.h"
#include "correlate-bytes.h"
#include "correlate-square.h"

constexpr int n_consumers = 256, n_producers = EXACT ? 256 : 128;
constexpr int n_threads = n_consumers + n_producers;

constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* The groups of a tile's inputs; each warpgroup has one of them as rows. */
constexpr int n_groups = TILE == 32 ? 1 : 2;
constexpr int group = TILE / n_groups;
constexpr int n_units = 2 / n_groups;
constexpr int unit_producers = n_producers / n_units;

/* A slab is 16 spectra of a unit. Matrices are in pieces of 16 bytes of 8 rows. */
constexpr int slab = 16;
constexpr int n_slabs = DEPTH / slab;
constexpr int piece_bytes = 8 * slab;

static_assert(TILE == 128 || TILE == 64 || TILE == 32, "rows of warpgroups");
static_assert(DEPTH % 64 == 0, "slabs are added up by fours, or multiplied by twos");

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

/* The number of the jobs, `n_units` of them, that this block does in a round: four places before
 * those of the last one. */
__device__ inline unsigned
find_turn(unsigned round)
{
    const unsigned back = 4 * round % gridDim.x;
    return round * gridDim.x + (blockIdx.x + gridDim.x - back) % gridDim.x;
}

/* The steps of the jobs that a block does together. */
__device__ inline int
count_steps(const CorrelatePiece &piece, const Job &job)
{
    return (count_read(piece, job, n_units == 1) + DEPTH - 1) / DEPTH;
}

#if EXACT
/* Whether the sums of 32 bits of an integration are continued: a piece that does this has no other
 * integration. Those of parts are added up elsewhere. */
__device__ inline bool
goes_on(const CorrelatePiece &piece, const Job &)
{
    return piece.adds_open && !piece.parts;
}

/* Sums of a range, and those of two neighbours as they are in memory, (re, im, re, im). */
typedef ct_ci32 Part;
typedef int4 Pair;

constexpr int alignment = 16;

/* The memory of the open sums of a job, which later pieces continue. */
__device__ inline Part *
kept_of(const CorrelatePiece &piece, const Job &job)
{
    return open_of(piece, job);
}

/* The first of a thread's columns. */
__device__ inline int
thread_column()
{
    return threadIdx.x % 4 * 2;
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
#else
/* The same of running sums: each range begins with whole chunks. */
__device__ inline bool
goes_on(const CorrelatePiece &piece, const Job &job)
{
    return job.range.position > 0 && !piece.parts;
}

typedef ct_cf32 Part;
typedef float4 Pair;

constexpr int alignment = 1024;

__device__ inline Part *
kept_of(const CorrelatePiece &piece, const Job &job)
{
    return (Part *)piece.sums + job.tile * tile_elements;
}
#endif

/* ---- stages ---- */

/* Makes a stage visible to consumers. Every thread arrives for itself, so that racecheck can follow
 * what is ordered. */
__device__ inline void
publish(Barriers &barriers, int stage)
{
    ct_wgmma_publish();
    ct_phases_arrive(&barriers.full[stage]);
}

__device__ inline void
release(Barriers &barriers, int stage)
{
    ct_phases_arrive(&barriers.empty[stage]);
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
