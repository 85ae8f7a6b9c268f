/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles in bytes, two spectra at a time, exact. An instruction adds, in every element of 32
 * bits, four products of an unsigned byte and a signed one.
 *
 * Rows are signed and columns unsigned, u = x + 128. For x of a row and y of a column,
 *
 *     Re V = Σ (re, im)·u(y) − 128 Σ (re + im)
 *     Im V = Σ (im, ~re)·u(y) − 128 Σ (im + ~re) + Σ im of y
 *
 * where the terms behind the products belong to one input. Sums begin with them, so they cost
 * nothing in the loops. A panel holds a pass of one block of inputs as [pair of spectra][signed,
 * turned, unsigned][input][re, im, re, im], and in front of these the terms of its inputs. */

#include "correlate-bytes-host.h"

#if CT_VECTOR_BYTES == 64
#define ROTATE ROTATE_16
#else
#define ROTATE ROTATE_8
#endif

enum { SIGNED, TURNED, UNSIGNED, N_VECTORS };
/* In front of the pairs: what the sums of rows begin with, and what those of columns add. */
enum { ROW_RE, ROW_IM, COLUMN_IM, N_TERMS };

/* sum + products of four bytes, `u` unsigned, in every vector element. */
static inline Ints
add_bytes(Ints sum, Ints u, Ints x)
{
#if CT_VECTOR_BYTES == 64
    return (Ints)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)u, (__m512i)x);
#else
    return (Ints)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)u, (__m256i)x);
#endif
}

/* Packs n spectra of a block to x, and adds their terms. */
static inline void
pack_block(const guint8 *spectra, gint64 stride, gsize n, gsize block, Ints *terms, Ints *x)
{
    const Ints real = (Ints){0} + 0x00010001, imaginary = (Ints){0} + 0x01000100;
    Ints re = {0}, im = {0};
    for (gsize t = 0; t < n; t += 2, x += N_VECTORS) {
        const Words pair = zip(spectra + (gint64)t * stride, stride, block);
        x[SIGNED] = (Ints)pair;
        x[TURNED] = (Ints)turn(pair, 0xff00ff00);
        x[UNSIGNED] = (Ints)(pair ^ 0x80808080);
        re = add_bytes(re, real, (Ints)pair);
        im = add_bytes(im, imaginary, (Ints)pair);
    }
    terms[ROW_RE] -= 128 * (re + im);
    terms[ROW_IM] -= 128 * (im - re - 2 * (gint32)((n + 1) / 2));
    terms[COLUMN_IM] += im;
}

static void
pack_bytes(const guint8 *spectra, gint64 stride, gsize n, gsize n_blocks, guint8 *panels,
           gsize panel_bytes, gsize first)
{
    for (gsize block = 0; block < n_blocks; block++) {
        Ints *terms = (Ints *)(panels + block * panel_bytes);
        if (first == 0)
            memset(terms, 0, N_TERMS * CT_VECTOR_BYTES);
        pack_block(spectra, stride, n, block, terms, terms + N_TERMS + first / 2 * N_VECTORS);
    }
}

static inline __attribute__((always_inline)) void
sum_cell_bytes(gsize n, const gint32 *restrict rows, const gint32 *restrict columns,
               gsize panel_bytes, void *const *sums, gsize first_row, gboolean keep,
               const gsize height, const gsize width)
{
    const gsize panel = panel_bytes / sizeof(gint32), step = N_VECTORS * INPUTS;
    Ints re[CORRELATE_WIDEST][CORRELATE_HIGHEST], im[CORRELATE_WIDEST][CORRELATE_HIGHEST];
    rows += first_row;
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++) {
        const Ints *tile = (const Ints *)sums[c] + 2 * first_row;
        const Ints add = *(const Ints *)(columns + c * panel + COLUMN_IM * INPUTS);
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            re[c][r] = (keep ? tile[2 * r] : (Ints){0}) + rows[ROW_RE * INPUTS + r];
            im[c][r] = (keep ? tile[2 * r + 1] : (Ints){0}) + rows[ROW_IM * INPUTS + r] + add;
        }
    }
    rows += N_TERMS * INPUTS;
    columns += N_TERMS * INPUTS;
    for (gsize t = 0; t < n; t++, rows += step, columns += step) {
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            const Ints x = (Ints){0} + rows[r], turned = (Ints){0} + rows[TURNED * INPUTS + r];
#pragma GCC unroll 16
            for (gsize c = 0; c < width; c++) {
                const Ints u = *(const Ints *)(columns + c * panel + UNSIGNED * INPUTS);
                re[c][r] = add_bytes(re[c][r], u, x);
                im[c][r] = add_bytes(im[c][r], u, turned);
            }
        }
    }
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++) {
        Ints *tile = (Ints *)sums[c] + 2 * first_row;
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            tile[2 * r] = re[c][r];
            tile[2 * r + 1] = im[c][r];
        }
    }
}

#define SQUARE(height, width)                                                                      \
    static void square_##height##x##width##_bytes(gsize n, const void *rows, const void *columns,  \
                                                  gsize panel_bytes, gsize n_rows,                 \
                                                  void *const *sums, gboolean keep)                \
    {                                                                                              \
        for (gsize r = 0; r < n_rows; r += height)                                                 \
            sum_cell_bytes(n, rows, columns, panel_bytes, sums, r, keep, height, width);           \
    }
CORRELATE_CELLS(SQUARE)
#undef SQUARE

static void
diagonal_bytes(gsize n, const void *panel, void *sum, gboolean keep)
{
    Ints re[INPUTS / 2 + 1], im[INPUTS / 2 + 1];
    Ints *tile = sum;
    const Ints *terms = panel, *x = terms + N_TERMS;
    Ints add = terms[COLUMN_IM];
#pragma GCC unroll 16
    for (gsize d = 0; d <= INPUTS / 2; d++) {
        re[d] = (keep ? tile[2 * d] : (Ints){0}) + terms[ROW_RE];
        im[d] = (keep ? tile[2 * d + 1] : (Ints){0}) + terms[ROW_IM] + add;
        add = __builtin_shufflevector(add, add, ROTATE);
    }
    for (gsize t = 0; t < n; t++, x += N_VECTORS) {
        Ints u = x[UNSIGNED];
#pragma GCC unroll 16
        for (gsize d = 0; d <= INPUTS / 2; d++) {
            re[d] = add_bytes(re[d], u, x[SIGNED]);
            im[d] = add_bytes(im[d], u, x[TURNED]);
            u = __builtin_shufflevector(u, u, ROTATE);
        }
    }
#pragma GCC unroll 16
    for (gsize d = 0; d <= INPUTS / 2; d++) {
        tile[2 * d] = re[d];
        tile[2 * d + 1] = im[d];
    }
}

static const Arithmetic arithmetics[] = {
    [CORRELATE_BYTES] = {INPUTS, 2, 2, N_VECTORS *CT_VECTOR_BYTES, N_VECTORS *CT_VECTOR_BYTES,
                         2 * CT_VECTOR_BYTES, 8, BYTES_CHUNK, NULL, NULL, pack_bytes,
                         SQUARES(bytes), diagonal_bytes, fold_bytes},
};
