/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the kernels of the correlator: positions of tiles, items and integrations,
 * and writing of visibilities.
 *
 * Constants of the compilation: N_STATIONS, N_POLS, N_ITEMS, TILE (inputs), SQUARE (of sums),
 * BLOCK (spectra of a block of time; 1: time has no blocks), INPUT, SUM (float, double, int64),
 * OUTPUT (element types), SCALE_BITS (sums are 2^SCALE_BITS times too large), CHUNK (of
 * floating-point sums). */
#pragma once

#include "cornerturn/kernel.h"
#include "correlate-piece.h"

constexpr int n_inputs = N_STATIONS * N_POLS;
constexpr int n_tile_rows = (n_inputs + TILE - 1) / TILE;
constexpr int n_tiles = n_tile_rows * (n_tile_rows + 1) / 2;
constexpr int64 tile_elements = (int64)TILE * TILE;

__device__ inline int
smaller(int64 a, int64 b)
{
    return (int)(a < b ? a : b);
}

/* ---- tiles and items ---- */

struct Tile {
    int i, j; /* inputs of the first row and the first column */
};

/* The index in memory of row i, column j of a tile's sums, and the reverse. */
__device__ inline int
element_at(int i, int j)
{
    return (i / SQUARE * (TILE / SQUARE) + j / SQUARE) * SQUARE * SQUARE + i % SQUARE * SQUARE +
           j % SQUARE;
}

__device__ inline Tile
find_element(int index)
{
    const int square = index / (SQUARE * SQUARE), n = TILE / SQUARE;
    return {square / n * SQUARE + index / SQUARE % SQUARE, square % n * SQUARE + index % SQUARE};
}

__device__ inline Tile
find_tile(int index)
{
    int row = 0;
    for (; index > row; row++)
        index -= row + 1;
    return {row * TILE, index * TILE};
}

struct Place {
    int64 from, to; /* bytes */
};

__device__ inline Place
find_item(const CorrelatePiece &piece, int item)
{
    Place place = {0, 0};
    for (int a = piece.n_axes; a-- > 0;) {
        const int length = (int)piece.axes[a].length;
        const int i = item % length;
        item /= length;
        place.from += i * piece.axes[a].from;
        place.to += i * piece.axes[a].to;
    }
    return place;
}

/* ---- time ---- */

/* The spectra of a piece that are summed together: those of an integration, or of a chunk of
 * one. */
struct Range {
    int begin, end;  /* in the piece */
    int integration; /* counted from the piece's first */
    int64 position;  /* of the first spectrum in its integration */
};

__device__ inline Range
find_integration(const CorrelatePiece &piece, int k)
{
    const int64 first = k * piece.integration - piece.done;
    Range range;
    range.begin = first < 0 ? 0 : (int)first;
    range.end = smaller(first + piece.integration, piece.n_spectra);
    range.integration = k;
    range.position = range.begin - first;
    return range;
}

__device__ inline int64
chunks_of_integration(const CorrelatePiece &piece)
{
    return (piece.integration + piece.chunk - 1) / piece.chunk;
}

__device__ inline Range
find_chunk(const CorrelatePiece &piece, int k)
{
    const int64 n_chunks = chunks_of_integration(piece);
    const int64 chunk = piece.done / piece.chunk + k;
    Range range = find_integration(piece, (int)(chunk / n_chunks));
    const int64 start = range.integration * piece.integration - piece.done;
    const int64 first = start + chunk % n_chunks * piece.chunk;
    range.end = smaller(first + piece.chunk, range.end);
    if (first > range.begin)
        range.begin = (int)first;
    range.position = range.begin - start;
    return range;
}

/* The range of a block; it may be looked up in a table. */
__device__ inline Range
find_range(const CorrelatePiece &piece, int k)
{
    return piece.parts ? find_chunk(piece, k) : find_integration(piece, k);
}

/* The most spectra of a range of this piece. */
__device__ inline int
longest_range(const CorrelatePiece &piece)
{
    const int n = smaller(piece.integration, piece.n_spectra);
    return piece.parts ? smaller(piece.chunk, n) : n;
}

/* Whether an integration is due after this range, its last one here. */
__device__ inline bool
is_due(const CorrelatePiece &piece, const Range &range)
{
    return piece.ended || range.position + (range.end - range.begin) == piece.integration;
}

/* ---- the work of a unit of threads ---- */

struct Job {
    bool is_there;
    int n;      /* spectra of its range; 0: the range does not exist */
    int i, j;   /* inputs of the first row and first column of its tile */
    int number; /* of its range */
    Range range;
    int64 tile;           /* index in matrices */
    const char *voltages; /* of the item, at the range's first spectrum */
    char *visibilities;   /* of the item and the integration */
};

/* Jobs are in the order [range][item][tile]. */
__device__ inline Job
find_job(const CorrelatePiece &piece, unsigned index)
{
    Job job;
    job.is_there = index < (unsigned)n_tiles * N_ITEMS * piece.n_ranges;
    if (!job.is_there)
        index = 0;
    const int item = (int)(index / n_tiles % N_ITEMS);
    const Tile tile = find_tile((int)(index % n_tiles));
    const Place place = find_item(piece, item);
    job.i = tile.i;
    job.j = tile.j;
    job.number = (int)(index / n_tiles / N_ITEMS);
    job.range = find_range(piece, job.number);
    job.n = job.is_there ? job.range.end - job.range.begin : 0;
    job.tile = (int64)item * n_tiles + index % n_tiles;
    job.voltages =
        (const char *)piece.voltages + place.from +
        (BLOCK == 1 ? job.range.begin : (piece.lead + job.range.begin) / BLOCK) * piece.from_time;
    job.visibilities =
        (char *)piece.visibilities + place.to + job.range.integration * piece.to_time;
    return job;
}

/* Input m of a spectrum. */
__device__ inline const INPUT *
input_at(const CorrelatePiece &piece, const char *spectrum, int m)
{
    return (const INPUT *)(spectrum + m / N_POLS * piece.from_station +
                           m % N_POLS * piece.from_pol);
}

/* The spectra in front of a job's range in its first block of time. */
__device__ inline int
find_lead(const CorrelatePiece &piece, const Job &job)
{
    return BLOCK == 1 ? 0 : (piece.lead + job.range.begin) % BLOCK;
}

/* The spectra from there to the last one of the job or, if units go on together, of any. */
__device__ inline int
count_read(const CorrelatePiece &piece, const Job &job, bool is_alone)
{
    return is_alone ? find_lead(piece, job) + job.n : BLOCK - 1 + longest_range(piece);
}

/* The index of a job's part, if integrations are divided. */
__device__ inline int64
part_of(const Job &job)
{
    return ((int64)job.number * N_ITEMS * n_tiles + job.tile) * tile_elements;
}

/* ---- visibilities ---- */

__device__ inline ct_cf32
element(ct_cf32, float re, float im)
{
    return {re, im};
}

__device__ inline ct_cf32
element(ct_cf32, double re, double im)
{
    return {(float)re, (float)im};
}

__device__ inline ct_cf64
element(ct_cf64, double re, double im)
{
    return {re, im};
}

/* Integers are rounded once. */
__device__ inline ct_cf32
element(ct_cf32, int64 re, int64 im)
{
    return {(float)(re >> SCALE_BITS), (float)(im >> SCALE_BITS)};
}

__device__ inline ct_cf64
element(ct_cf64, int64 re, int64 im)
{
    return {(double)(re >> SCALE_BITS), (double)(im >> SCALE_BITS)};
}

__device__ inline ct_ci64
element(ct_ci64, int64 re, int64 im)
{
    return {re >> SCALE_BITS, im >> SCALE_BITS};
}

/* Writes the product of input m and conj(input c) if m ≥ c and both exist; for the polarisations of
 * one station, also the product in the other order. `to`: of the item and the integration. */
__device__ inline void
write_product(const CorrelatePiece &piece, char *to, int m, int c, SUM re, SUM im)
{
    if (m < c || m >= n_inputs)
        return;
    const int i = m / N_POLS, p = m % N_POLS, j = c / N_POLS, q = c % N_POLS;
    to += (int64)(i * (i + 1) / 2 + j) * piece.to_baseline;
    *(OUTPUT *)(to + p * piece.to_p + q * piece.to_q) = element(OUTPUT(), re, m == c ? (SUM)0 : im);
    if (i == j && p != q)
        *(OUTPUT *)(to + q * piece.to_p + p * piece.to_q) = element(OUTPUT(), re, -im);
}
