/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles in matrices of bytes, 32 spectra at a time, exact. The instruction adds to a matrix of
 * 16 by 16 sums the products of 16 rows and 16 columns of 64 bytes, both signed. The bytes of a row
 * are contiguous; those of a column are in groups of four, one below the other.
 *
 * For x of a row and y of a column,
 *
 *     Re V = Σ (re, im)·y
 *     Im V = Σ (im, ~re)·y + Σ im of y
 *
 * The sums of a column begin with its last term. A panel holds a pass of one block of inputs: the
 * columns' last terms, and for every 16 pairs of spectra three matrices: [pair][input] for columns,
 * and [input][pair] for rows, as they are and turned. */

#include "correlate-bytes-host.h"

enum { COLUMNS, ROWS, TURNED, N_MATRICES };
enum {
    PAIRS = CORRELATE_GROUP,
    MATRIX_BYTES = PAIRS * CT_VECTOR_BYTES,
    GROUP_BYTES = N_MATRICES * MATRIX_BYTES
};

static void
pack_bytes(const void *first, const void *second, gsize n_blocks, guint8 *panels, gsize panel_bytes,
           gsize step)
{
    guint8 *to = panels + CT_VECTOR_BYTES + step / PAIRS * GROUP_BYTES + COLUMNS * MATRIX_BYTES +
                 step % PAIRS * CT_VECTOR_BYTES;
    for (gsize block = 0; block < n_blocks; block++)
        *(Words *)(to + block * panel_bytes) = zip(first, second, block);
}

/* Orders of the elements of two vectors: the blocks of `n` elements with odd numbers in one have
 * changed places with those with even numbers in the other. */
#define SWAP_1_LOW  0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define SWAP_1_HIGH 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#define SWAP_2_LOW  0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define SWAP_2_HIGH 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define SWAP_4_LOW  0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define SWAP_4_HIGH 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define SWAP_8_LOW  0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define SWAP_8_HIGH 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31

#define SWAP(n)                                                                                    \
    _Pragma("GCC unroll 16") for (gsize k = 0; k < PAIRS; k++)                                     \
    {                                                                                              \
        if (k & n)                                                                                 \
            continue;                                                                              \
        const Words low = x[k], high = x[k + n];                                                   \
        x[k] = __builtin_shufflevector(low, high, SWAP_##n##_LOW);                                 \
        x[k + n] = __builtin_shufflevector(low, high, SWAP_##n##_HIGH);                            \
    }

static void
finish_bytes(void *panel, gsize first_step, gsize n)
{
    const __m512i imaginary = _mm512_set1_epi32(0x01000100);
    Words *matrices =
        (Words *)((guint8 *)panel + CT_VECTOR_BYTES + first_step / PAIRS * GROUP_BYTES);
    Words x[PAIRS];
    __m512i im = first_step > 0 ? *(const __m512i *)panel : _mm512_setzero_si512();
    for (gsize k = n; k < PAIRS; k++)
        matrices[COLUMNS * PAIRS + k] = (Words){0};
#pragma GCC unroll 16
    for (gsize k = 0; k < PAIRS; k++) {
        x[k] = matrices[COLUMNS * PAIRS + k];
        im = _mm512_dpbusd_epi32(im, imaginary, (__m512i)x[k]);
    }
    SWAP(8)
    SWAP(4)
    SWAP(2)
    SWAP(1)
#pragma GCC unroll 16
    for (gsize k = 0; k < PAIRS; k++) {
        matrices[ROWS * PAIRS + k] = x[k];
        matrices[TURNED * PAIRS + k] = turn(x[k], 0xff00ff00);
    }
    *(__m512i *)panel = im;
}

/* Loads the sums of a tile: those of the chunk so far, or what they begin with. */
#define LOAD_SUMS(re, im, sum, end)                                                                \
    if (keep) {                                                                                    \
        add_terms(sum, end);                                                                       \
        _tile_loadd(re, sum, 2 * CT_VECTOR_BYTES);                                                 \
        _tile_loadd(im, (const guint8 *)(sum) + CT_VECTOR_BYTES, 2 * CT_VECTOR_BYTES);             \
    } else {                                                                                       \
        _tile_zero(re);                                                                            \
        _tile_loadd(im, end, 0);                                                                   \
    }
#define STORE_SUMS(re, im, sum)                                                                    \
    _tile_stored(re, sum, 2 * CT_VECTOR_BYTES);                                                    \
    _tile_stored(im, (guint8 *)(sum) + CT_VECTOR_BYTES, 2 * CT_VECTOR_BYTES);

/* Adds the columns' last terms to the sums so far. */
static inline void
add_terms(void *sum, const void *end)
{
    Ints *tile = sum;
    for (gsize row = 0; row < INPUTS; row++)
        tile[2 * row + 1] += *(const Ints *)end;
}

static gsize
count_groups(gsize n_steps)
{
    return (n_steps + PAIRS - 1) / PAIRS;
}

#define LOAD_MATRIX(tile, group, matrix)                                                           \
    _tile_loadd(tile, (group) + (matrix)*MATRIX_BYTES, CT_VECTOR_BYTES)

static void
square_1_bytes(gsize n, const void *rows, const void *columns, G_GNUC_UNUSED gsize panel_bytes,
               G_GNUC_UNUSED gsize n_rows, void *const *sums, gboolean keep)
{
    const guint8 *x = (const guint8 *)rows + CT_VECTOR_BYTES;
    const guint8 *y = (const guint8 *)columns + CT_VECTOR_BYTES;
    LOAD_SUMS(0, 1, sums[0], columns)
    for (gsize k = count_groups(n); k > 0; k--, x += GROUP_BYTES, y += GROUP_BYTES) {
        LOAD_MATRIX(6, y, COLUMNS);
        LOAD_MATRIX(4, x, ROWS);
        _tile_dpbssd(0, 4, 6);
        LOAD_MATRIX(5, x, TURNED);
        _tile_dpbssd(1, 5, 6);
    }
    STORE_SUMS(0, 1, sums[0])
}

static void
square_2_bytes(gsize n, const void *rows, const void *columns, gsize panel_bytes,
               G_GNUC_UNUSED gsize n_rows, void *const *sums, gboolean keep)
{
    const guint8 *x = (const guint8 *)rows + CT_VECTOR_BYTES;
    const guint8 *y = (const guint8 *)columns + CT_VECTOR_BYTES;
    LOAD_SUMS(0, 1, sums[0], columns)
    LOAD_SUMS(2, 3, sums[1], (const guint8 *)columns + panel_bytes)
    for (gsize k = count_groups(n); k > 0; k--, x += GROUP_BYTES, y += GROUP_BYTES) {
        LOAD_MATRIX(6, y, COLUMNS);
        LOAD_MATRIX(4, x, ROWS);
        _tile_dpbssd(0, 4, 6);
        LOAD_MATRIX(5, x, TURNED);
        _tile_dpbssd(1, 5, 6);
        LOAD_MATRIX(7, y + panel_bytes, COLUMNS);
        _tile_dpbssd(2, 4, 7);
        _tile_dpbssd(3, 5, 7);
    }
    STORE_SUMS(0, 1, sums[0])
    STORE_SUMS(2, 3, sums[1])
}

/* All tiles have 16 rows of 64 bytes. */
static void
begin_tiles(void)
{
    static const struct {
        guint8 palette, start_row, reserved[14];
        guint16 row_bytes[16];
        guint8 rows[16];
    } tiles = {.palette = 1,
               .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
               .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&tiles);
}

static void
end_tiles(void)
{
    _tile_release();
}

#define SQUARES_BYTES                                                                              \
    {                                                                                              \
        square_1_bytes, square_2_bytes                                                             \
    }
static const Arithmetic arithmetics[] = {
    [CORRELATE_BYTES] = {INPUTS,
                         2,
                         2,
                         GROUP_BYTES / PAIRS,
                         CT_VECTOR_BYTES,
                         2 * CT_VECTOR_BYTES,
                         8,
                         BYTES_CHUNK,
                         begin_tiles,
                         end_tiles,
                         pack_bytes,
                         finish_bytes,
                         {SQUARES_BYTES, SQUARES_BYTES, SQUARES_BYTES},
                         NULL,
                         fold_bytes,
                         row_bytes},
};
