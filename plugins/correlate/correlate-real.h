/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles in floating point. Included once per precision, with
 *
 *     REAL      float, double
 *     ELEMENTS  elements of a vector
 *     ROTATE    indices that move every element of a vector up by one
 *     EVENS, ODDS  indices that separate real and imaginary parts of two vectors
 *     NAME(x)   the name of x in this precision
 *
 * A panel holds a chunk of one block of inputs as [t][re, im][input]. */

typedef REAL NAME(Vector) __attribute__((vector_size(ELEMENTS * sizeof(REAL))));
typedef REAL NAME(Unaligned)
    __attribute__((vector_size(ELEMENTS * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

/* sum[r][re, im][column] over n spectra of row r0 + r of one panel and the columns of others,
 * `height` rows and `width` panels in registers at once. */
static inline __attribute__((always_inline)) void
NAME(sum_cell)(gsize n, const REAL *restrict rows, const REAL *restrict columns, gsize panel_bytes,
               void *const *sums, gsize first_row, gboolean keep, const gsize height,
               const gsize width)
{
    const gsize panel = panel_bytes / sizeof(REAL);
    NAME(Vector) re[CORRELATE_WIDEST][CORRELATE_HIGHEST], im[CORRELATE_WIDEST][CORRELATE_HIGHEST];
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++) {
        const NAME(Vector) *tile = (const NAME(Vector) *)sums[c] + 2 * first_row;
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            re[c][r] = keep ? tile[2 * r] : (NAME(Vector)){0};
            im[c][r] = keep ? tile[2 * r + 1] : (NAME(Vector)){0};
        }
    }
    rows += first_row;
    for (gsize t = 0; t < n; t++, rows += 2 * ELEMENTS, columns += 2 * ELEMENTS) {
#pragma GCC unroll 16
        for (gsize c = 0; c < width; c++) {
            const NAME(Vector) b_re = *(const NAME(Vector) *)(columns + c * panel);
            const NAME(Vector) b_im = *(const NAME(Vector) *)(columns + c * panel + ELEMENTS);
#pragma GCC unroll 16
            for (gsize r = 0; r < height; r++) {
                const REAL a_re = rows[r];
                const REAL a_im = rows[ELEMENTS + r];
                re[c][r] += a_re * b_re;
                im[c][r] += a_im * b_re;
                re[c][r] += a_im * b_im;
                im[c][r] -= a_re * b_im;
            }
        }
    }
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++) {
        NAME(Vector) *tile = (NAME(Vector) *)sums[c] + 2 * first_row;
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            tile[2 * r] = re[c][r];
            tile[2 * r + 1] = im[c][r];
        }
    }
}

#define SQUARE(height, width)                                                                      \
    static void NAME(square_##height##x##width)(gsize n, const void *rows, const void *columns,    \
                                                gsize panel_bytes, gsize n_rows,                   \
                                                void *const *sums, gboolean keep)                  \
    {                                                                                              \
        for (gsize r = 0; r < n_rows; r += MIN(height, ELEMENTS))                                  \
            NAME(sum_cell)                                                                         \
        (n, rows, columns, panel_bytes, sums, r, keep, MIN(height, ELEMENTS), width);              \
    }
CORRELATE_CELLS(SQUARE)
#undef SQUARE

static void
NAME(diagonal)(gsize n, const void *panel, void *sum, gboolean keep)
{
    NAME(Vector) re[ELEMENTS / 2 + 1], im[ELEMENTS / 2 + 1];
    NAME(Vector) *tile = sum;
    const NAME(Vector) *a = panel;
#pragma GCC unroll 16
    for (gsize d = 0; d <= ELEMENTS / 2; d++) {
        re[d] = keep ? tile[2 * d] : (NAME(Vector)){0};
        im[d] = keep ? tile[2 * d + 1] : (NAME(Vector)){0};
    }
    for (gsize t = 0; t < n; t++, a += 2) {
        NAME(Vector) b_re = a[0];
        NAME(Vector) b_im = a[1];
        re[0] += a[0] * b_re;
        re[0] += a[1] * b_im;
#pragma GCC unroll 16
        for (gsize d = 1; d <= ELEMENTS / 2; d++) {
            b_re = __builtin_shufflevector(b_re, b_re, ROTATE);
            b_im = __builtin_shufflevector(b_im, b_im, ROTATE);
            re[d] += a[0] * b_re;
            im[d] += a[1] * b_re;
            re[d] += a[1] * b_im;
            im[d] -= a[0] * b_im;
        }
    }
#pragma GCC unroll 16
    for (gsize d = 0; d <= ELEMENTS / 2; d++) {
        tile[2 * d] = re[d];
        tile[2 * d + 1] = im[d];
    }
}

static void
NAME(pack)(const guint8 *spectra, gint64 stride, gsize n, gsize n_blocks, guint8 *panels,
           gsize panel_bytes, gsize first)
{
    for (gsize block = 0; block < n_blocks; block++) {
        NAME(Vector) *to = (NAME(Vector) *)(panels + block * panel_bytes) + 2 * first;
        const guint8 *from = spectra;
        for (gsize t = 0; t < n; t++, to += 2, from += stride) {
            const NAME(Unaligned) *x = (const NAME(Unaligned) *)from + 2 * block;
            to[0] = __builtin_shufflevector(x[0], x[1], EVENS);
            to[1] = __builtin_shufflevector(x[0], x[1], ODDS);
        }
    }
}

/* Adds a chunk's sums to the running ones. */
static void
NAME(fold)(gsize n_rows, const void *chunk, void *running, gboolean first)
{
    const REAL *restrict from = chunk;
    REAL *restrict to = running;
    for (gsize k = 0; k < 2 * n_rows * ELEMENTS; k++)
        to[k] = first ? from[k] : to[k] + from[k];
}

#undef REAL
#undef ELEMENTS
#undef ROTATE
#undef EVENS
#undef ODDS
#undef NAME
