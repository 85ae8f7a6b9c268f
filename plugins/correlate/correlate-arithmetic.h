/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of the sums of a pair in the tiles, and the functions and sizes of an arithmetic,
 * which correlate-kernels.c uses. */
#pragma once

#include "correlate-kernels.h"

/* Whether tiles on the diagonal are squares, too. */
#if defined(__AMX_INT8__)
#define CORRELATE_FULL_DIAGONAL 1
#else
#define CORRELATE_FULL_DIAGONAL 0
#endif

/* The most spectra that are packed at once. */
#define CORRELATE_GROUP 32

/* The largest cells that are summed in registers: rows, and vectors of columns. */
#define CORRELATE_HIGHEST     8
#define CORRELATE_WIDEST      2
#define CORRELATE_CELLS(each) each(2, 1) each(4, 1) each(8, 1) each(2, 2) each(4, 2) each(8, 2)

#define ROTATE_2  1, 0
#define ROTATE_4  3, 0, 1, 2
#define ROTATE_8  7, 0, 1, 2, 3, 4, 5, 6
#define ROTATE_16 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14

/* The tiles of a channel: for each block J its diagonal tile, then the squares of the blocks below
 * it. */
typedef struct {
    gsize n_elements; /* of a vector: the inputs of a block */
    gsize n_blocks;
} Tiles;

static inline gsize
diagonal_rows(gsize n_elements)
{
    return CORRELATE_FULL_DIAGONAL ? n_elements : n_elements / 2 + 1;
}

/* The number of rows [re, im][element] in front of the tile of blocks I ≥ J. */
static inline gsize
tile_row(const Tiles *tiles, gsize block_i, gsize block_j)
{
    const gsize diagonal = diagonal_rows(tiles->n_elements);
    const gsize squares = block_j * tiles->n_blocks - block_j * (block_j + 1) / 2;
    const gsize before = block_j * diagonal + squares * tiles->n_elements;
    return block_i == block_j ? before
                              : before + diagonal + (block_i - block_j - 1) * tiles->n_elements;
}

/* The position of a sum: index of its real part; the imaginary one follows `n_elements` later. */
typedef struct {
    gsize index;
    gboolean conjugate; /* the stored sum is the conjugate */
} Place;

/* The position of input m times conj(input c). */
static inline Place
locate(const Tiles *tiles, gsize m, gsize c)
{
    const gsize n_elements = tiles->n_elements;
    const gsize above = MIN(m, c);
    const gsize below = MAX(m, c);
    const gsize block_i = below / n_elements;
    const gsize block_j = above / n_elements;
    gboolean conjugate = m < c;
    gsize row = below % n_elements;
    gsize element = above % n_elements;
    if (block_i == block_j && !CORRELATE_FULL_DIAGONAL) {
        const gsize distance = row - element;
        if (distance <= n_elements / 2) {
            element = row;
            row = distance;
        } else {
            row = n_elements - distance;
            conjugate = !conjugate;
        }
    }
    return (Place){(tile_row(tiles, block_i, block_j) + row) * 2 * n_elements + element, conjugate};
}

/* Sums products of rows of one panel with the columns of other panels, each `panel_bytes` further,
 * into a tile each. */
typedef void (*Square)(gsize n_steps, const void *rows, const void *columns, gsize panel_bytes,
                       gsize n_rows, void *const *sums, gboolean keep);

/* [height][width] of a cell. */
#define SQUARES(name)                                                                              \
    {                                                                                              \
        {square_2x1_##name, square_2x2_##name}, {square_4x1_##name, square_4x2_##name},            \
        {                                                                                          \
            square_8x1_##name, square_8x2_##name                                                   \
        }                                                                                          \
    }

/* The functions and sizes of an arithmetic. The tiles take a step at once: one spectrum, or a
 * pair. */
typedef struct {
    gsize n_elements;     /* of a vector */
    gsize input_bytes;    /* of a complex input as pack reads it */
    gsize step_spectra;   /* spectra of a step */
    gsize step_bytes;     /* of a step in a panel */
    gsize head_bytes;     /* of a panel, in front of its steps */
    gsize tile_row_bytes; /* of a row of a chunk's tile */
    gsize sum_bytes;      /* of a real running sum */
    gsize chunk;          /* spectra of a chunk that is continued by further calls; 0: each pass is
                             one */
    /* Before and after the thread sums; NULL: nothing. */
    void (*begin)(void);
    void (*end)(void);
    /* Packs spectra, `stride` bytes apart, from number `first` of a pass on into the panels: n of
     * CORRELATE_GROUP, the others are 0. They are padded with zeros to whole blocks. */
    void (*pack)(const guint8 *spectra, gint64 stride, gsize n, gsize n_blocks, guint8 *panels,
                 gsize panel_bytes, gsize first);
    Square squares[3][CORRELATE_WIDEST];
    /* NULL: `squares` sum the full diagonal, too. */
    void (*diagonal)(gsize n_steps, const void *panel, void *sum, gboolean keep);
    void (*fold)(gsize n_rows, const void *chunk, void *running, gboolean first);
} Arithmetic;

typedef struct {
    CtType input;
    CtType output;
    CorrelateArithmetic arithmetic;
    void (*read)(const void *from, gsize n, void *to); /* n complex; NULL: no conversion */
    /* Writes input m times those before it, from running sums and those of an unfinished chunk;
     * NULL: there are none. `line` has room for a whole last block. */
    void (*row)(gsize n_blocks, const void *sums, const void *open, gsize m, gsize n_columns,
                void *line);
} Choice;
