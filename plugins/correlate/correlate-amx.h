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
    PAIRS = CORRELATE_GROUP / 2,
    MATRIX_BYTES = PAIRS * CT_VECTOR_BYTES,
    GROUP_BYTES = N_MATRICES * MATRIX_BYTES
};

/* The inputs' rows of four pairs of spectra each, which are contiguous in `columns`. A lane of 16
 * bytes has four inputs of a pair in the columns, and four pairs of an input in the rows. */
static inline __attribute__((always_inline)) void
transpose_inputs(const guint8 *columns, gsize first, Words *rows)
{
    __m512i x[4];
#pragma GCC unroll 4
    for (gsize pair = 0; pair < 4; pair++) {
        const guint8 *lane = columns + pair * CT_VECTOR_BYTES + first * 4;
        x[pair] = _mm512_castsi128_si512(_mm_load_si128((const __m128i *)lane));
#define INSERT(n)                                                                                  \
    x[pair] = _mm512_inserti32x4(                                                                  \
        x[pair], _mm_load_si128((const __m128i *)(lane + 4 * n * CT_VECTOR_BYTES)), n);
        INSERT(1)
        INSERT(2)
        INSERT(3)
#undef INSERT
    }
    const __m512i a = _mm512_unpacklo_epi32(x[0], x[1]), b = _mm512_unpackhi_epi32(x[0], x[1]);
    const __m512i c = _mm512_unpacklo_epi32(x[2], x[3]), d = _mm512_unpackhi_epi32(x[2], x[3]);
    rows[0] = (Words)_mm512_unpacklo_epi64(a, c);
    rows[1] = (Words)_mm512_unpackhi_epi64(a, c);
    rows[2] = (Words)_mm512_unpacklo_epi64(b, d);
    rows[3] = (Words)_mm512_unpackhi_epi64(b, d);
}

/* Packs a group of a block; its columns' last terms are added to `end`. */
static inline void
pack_block(const guint8 *spectra, gint64 stride, gsize block, Words *matrices, __m512i *end)
{
    const __m512i imaginary = _mm512_set1_epi32(0x01000100);
    Words *columns = matrices + COLUMNS * PAIRS, *rows = matrices + ROWS * PAIRS;
    __m512i im = *end;
#pragma GCC unroll 16
    for (gsize k = 0; k < PAIRS; k++) {
        columns[k] = zip(spectra + 2 * (gint64)k * stride, stride, block);
        im = _mm512_dpbusd_epi32(im, imaginary, (__m512i)columns[k]);
    }
    *end = im;
#pragma GCC unroll 4
    for (gsize m = 0; m < INPUTS; m += 4) {
        transpose_inputs((const guint8 *)columns, m, rows + m);
#pragma GCC unroll 4
        for (gsize k = m; k < m + 4; k++)
            matrices[TURNED * PAIRS + k] = turn(rows[k], 0xff00ff00);
    }
}

static void
pack_bytes(const guint8 *spectra, gint64 stride, G_GNUC_UNUSED gsize n, gsize n_blocks,
           guint8 *panels, gsize panel_bytes, gsize first)
{
    for (gsize block = 0; block < n_blocks; block++) {
        guint8 *panel = panels + block * panel_bytes;
        if (first == 0)
            memset(panel, 0, CT_VECTOR_BYTES);
        pack_block(spectra, stride, block,
                   (Words *)(panel + CT_VECTOR_BYTES + first / CORRELATE_GROUP * GROUP_BYTES),
                   (__m512i *)panel);
    }
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
                         {SQUARES_BYTES, SQUARES_BYTES, SQUARES_BYTES},
                         NULL,
                         fold_bytes},
};
