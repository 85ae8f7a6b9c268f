/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of the correlator on tensor cores, common to its arithmetics.
 *
 * A unit of UNIT_I × UNIT_J warps sums a tile over a range of time; each warp sums WARP_I rows and
 * WARP_J columns of it. If tiles are small, a block has several units. Spectra are copied unchanged
 * through shared memory, [spectrum][input], except that ci4 is expanded to 8 bits. If time is in
 * blocks, which only inputs of 8 and 4 bits have, shared memory is as correlate-blocks.h says.
 *
 * Further constants: IS_NIBBLES, IS_LIMBS (of ci16), EXACT, STAGES, DEPTH (spectra of a stage),
 * BLOCKS (of a multiprocessor). */
#pragma once

#include "correlate-square.h"

constexpr int unit_warps = UNIT_I * UNIT_J;
constexpr int unit_threads = 32 * unit_warps;
constexpr int n_threads = unit_threads * N_UNITS;
constexpr int n_sides = n_tiles > 1 ? 2 : 1;
/* An input has so many bytes in shared memory. */
constexpr int input_bytes = IS_NIBBLES ? 2 : sizeof(INPUT);
/* Rows begin in different banks. Of two bytes an input, ldmatrix reads 16 bytes of each of 8
 * consecutive rows; of more, eight threads read up to 8 words of each of 4 rows. */
constexpr int row_bytes = input_bytes * TILE + (input_bytes == 2 ? 16 : 32);
constexpr int side_bytes = DEPTH * row_bytes;
constexpr bool has_blocks = BLOCK > 1;
constexpr int unit_bytes = n_sides * side_bytes;
constexpr int stage_bytes = N_UNITS * unit_bytes;
/* Fragments of 16 rows, and of 8 columns. */
constexpr int n_a = WARP_I / 16, n_b = WARP_J / 8;

static_assert(!has_blocks || (BLOCK == 16 && input_bytes == 2 && EXACT), "bytes have blocks");
static_assert(UNIT_I * WARP_I == TILE && UNIT_J * WARP_J == TILE, "square");

/* From the first spectrum of a side to spectrum t, the first of its block if time is in blocks. */
__device__ inline int
spectrum_offset(int t)
{
    return has_blocks ? t / BLOCK * (TILE * 2 * BLOCK) : t * row_bytes;
}
