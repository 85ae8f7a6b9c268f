/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of strided copies: kernels of one instruction set. */
#pragma once
#include "transpose-kernels.h"

#include <cornerturn/isa.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE   static inline __attribute__((always_inline))
#define N_NARROW (CT_VECTOR_BYTES / 16) /* narrow vectors in a wide one */
#define LINE     64

typedef uint8_t Narrow1 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint8_t Wide1 __attribute__((vector_size(CT_VECTOR_BYTES), aligned(1), may_alias));

/* One tile of n_a by n_b elements: (a, b) moves from in_a[a] + in_b[b] to out_a[a] + out_b[b]. In
 * runs of `segment` elements from each multiple of it, in_a is contiguous; out_b is contiguous,
 * except for transpose_copy. */
typedef struct {
    size_t n_a, n_b, segment;
    const ptrdiff_t *in_a, *in_b, *out_a, *out_b;
    ptrdiff_t next; /* from this tile's input to the next one's */
} Tile;

INLINE Narrow1
load_narrow(const uint8_t *from)
{
    return *(const Narrow1 *)from;
}

/* Prefetches a line of the input that is read later, into the second cache: in the first one, lines
 * of many rows would drive each other out, and few can be on their way to it. */
INLINE void
fetch(const uint8_t *from)
{
    __builtin_prefetch(from, 0, 2);
}

/* Copies n bytes as at most two overlapping words, or in pieces of 16 bytes of which the last two
 * overlap. */
INLINE void
copy_run(uint8_t *to, const uint8_t *from, size_t n)
{
    if (n >= 16) {
        for (size_t i = 0; i + 16 < n; i += 16)
            *(Narrow1 *)(to + i) = load_narrow(from + i);
        *(Narrow1 *)(to + n - 16) = load_narrow(from + n - 16);
    } else if (n >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
    }
}

/* Transposes elements of 1, 2, 4, 8 or 16 bytes. Reads up to 16 bytes from the first of any
 * columns, and writes up to 16 bytes from the first of any rows, columns in rising order: excess
 * bytes are overwritten later, or are beyond the last column. */
void CT_ISA(transpose_turn)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element);
/* The same if rows of a vector are contiguous in the input and segments are short; FALSE if there
 * is no kernel for them. */
bool CT_ISA(transpose_unzip)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element);
/* The same if columns of a segment are contiguous in the output and rows are few. */
bool CT_ISA(transpose_zip)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element);
/* Copies elements of any length one by one. */
void CT_ISA(transpose_copy)(const Tile *tile, const uint8_t *in, uint8_t *out, size_t element);

/* Bytes of a pack, of a run in the stage before it is streamed, and of the stage: the run, a chunk
 * that is added to it, and a row aside. */
#define PACK_BYTES       (TRANSPOSE_TILE_BYTES * 3 / 2 - 16 * 1024)
#define PACK_RUN_BYTES   3072
#define PACK_STAGE_BYTES (PACK_RUN_BYTES + 2 * 16 * TRANSPOSE_MAX_B + 17 * LINE)

/* A tile of long rows and columns is packed before it is turned: its input is copied in the order
 * in which it is turned, each line once. So rows need not stay in the caches, where those at
 * distances of a power of two share a few sets. While a tile is turned, the next one is packed. */
typedef enum { PACK_TO_OUTPUT, PACK_TO_STAGE, PACK_TO_LINES } PackWay;
typedef struct {
    const uint8_t *in, *then; /* of the next tile and the one after it; NULL: there is none */
    uint8_t *pack, *next;     /* of this tile, and of the next one */
    uint8_t *stage;           /* PACK_STAGE_BYTES */
    PackWay way; /* stores to the output; to the stage, from which it is streamed; streamed vectors
                    of whole lines */
} Packing;

/* Whether tiles of this form can be packed, in PACK_BYTES. */
bool CT_ISA(transpose_can_pack)(const Tile *tile, size_t element);
/* Packs the tile packing->in. */
void CT_ISA(transpose_pack)(const Tile *tile, const Packing *packing, uint8_t *pack,
                            size_t element);
/* Turns packing->pack, and packs the next tile. */
void CT_ISA(transpose_turn_pack)(const Tile *tile, const Packing *packing, uint8_t *out,
                                 size_t element);
