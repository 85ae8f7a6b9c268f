/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles in 16-bit integers, two spectra at a time, exact. ELEMENTS and ROTATE as in
 * correlate-real.h.
 *
 * Three products replace four: for a·conj(b), with
 *
 *     k0 = Σ a_re b_re,   k1 = Σ a_im b_im,   k2 = Σ (a_re + a_im)(b_re − b_im),
 *
 * re = k0 + k1 and im = k2 − k0 + k1. A panel holds a chunk of one block of inputs as [pair of
 * spectra][re, im, re + im, re − im][input][first, second]; a sum is k0, k1, k2. */

typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef guint32 Words __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gint16 Halves __attribute__((vector_size(CT_VECTOR_BYTES)));

/* sum + the product of the first halves + that of the second ones, in every vector element. */
static inline Ints
add_products(Ints sum, Ints a, Ints b)
{
#if defined(__AVX512BW__)
    return sum + (Ints)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return sum + (Ints)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
    return sum + (Ints)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    return sum + ((Ints)((Words)a << 16) >> 16) * ((Ints)((Words)b << 16) >> 16) +
           (a >> 16) * (b >> 16);
#endif
}

static inline __attribute__((always_inline)) void
sum_cell_pairs(gsize n, const gint32 *restrict rows, const gint32 *restrict columns,
               gsize panel_bytes, void *const *sums, gsize first_row, const gsize height,
               const gsize width)
{
    const gsize panel = panel_bytes / sizeof(gint32);
    Ints k0[CORRELATE_WIDEST][CORRELATE_HIGHEST], k1[CORRELATE_WIDEST][CORRELATE_HIGHEST],
        k2[CORRELATE_WIDEST][CORRELATE_HIGHEST];
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++)
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++)
            k0[c][r] = k1[c][r] = k2[c][r] = (Ints){0};
    rows += first_row;
    for (gsize t = 0; t < n; t++, rows += 4 * ELEMENTS, columns += 4 * ELEMENTS) {
#pragma GCC unroll 16
        for (gsize c = 0; c < width; c++) {
            const Ints *b = (const Ints *)(columns + c * panel);
            const Ints b0 = b[0], b1 = b[1], b3 = b[3];
#pragma GCC unroll 16
            for (gsize r = 0; r < height; r++) {
                k0[c][r] = add_products(k0[c][r], (Ints){0} + rows[r], b0);
                k1[c][r] = add_products(k1[c][r], (Ints){0} + rows[ELEMENTS + r], b1);
                k2[c][r] = add_products(k2[c][r], (Ints){0} + rows[2 * ELEMENTS + r], b3);
            }
        }
    }
#pragma GCC unroll 16
    for (gsize c = 0; c < width; c++) {
        Ints *tile = (Ints *)sums[c] + 3 * first_row;
#pragma GCC unroll 16
        for (gsize r = 0; r < height; r++) {
            tile[3 * r] = k0[c][r];
            tile[3 * r + 1] = k1[c][r];
            tile[3 * r + 2] = k2[c][r];
        }
    }
}

#define SQUARE(height, width)                                                                      \
    static void square_##height##x##width##_pairs(gsize n, const void *rows, const void *columns,  \
                                                  gsize panel_bytes, gsize n_rows,                 \
                                                  void *const *sums, G_GNUC_UNUSED gboolean keep)  \
    {                                                                                              \
        for (gsize r = 0; r < n_rows; r += MIN(height, ELEMENTS))                                  \
            sum_cell_pairs(n, rows, columns, panel_bytes, sums, r, MIN(height, ELEMENTS), width);  \
    }
CORRELATE_CELLS(SQUARE)
#undef SQUARE

static void
diagonal_pairs(gsize n, const void *panel, void *sum, gboolean keep)
{
    (void)keep;
    Ints k0[ELEMENTS / 2 + 1], k1[ELEMENTS / 2 + 1], k2[ELEMENTS / 2 + 1];
    Ints *tile = sum;
    const Ints *a = panel;
#pragma GCC unroll 16
    for (gsize d = 0; d <= ELEMENTS / 2; d++)
        k0[d] = k1[d] = k2[d] = (Ints){0};
    for (gsize t = 0; t < n; t++, a += 4) {
        Ints b0 = a[0], b1 = a[1], b3 = a[3];
        k0[0] = add_products(k0[0], a[0], b0);
        k1[0] = add_products(k1[0], a[1], b1);
        k2[0] = add_products(k2[0], a[2], b3);
#pragma GCC unroll 16
        for (gsize d = 1; d <= ELEMENTS / 2; d++) {
            b0 = __builtin_shufflevector(b0, b0, ROTATE);
            b1 = __builtin_shufflevector(b1, b1, ROTATE);
            b3 = __builtin_shufflevector(b3, b3, ROTATE);
            k0[d] = add_products(k0[d], a[0], b0);
            k1[d] = add_products(k1[d], a[1], b1);
            k2[d] = add_products(k2[d], a[2], b3);
        }
    }
#pragma GCC unroll 16
    for (gsize d = 0; d <= ELEMENTS / 2; d++) {
        tile[3 * d] = k0[d];
        tile[3 * d + 1] = k1[d];
        tile[3 * d + 2] = k2[d];
    }
}

static void
pack_pairs(const void *first, const void *second, gsize n_blocks, guint8 *panels, gsize panel_bytes,
           gsize step)
{
    const Words *x = first;
    const Words *y = second;
    for (gsize block = 0; block < n_blocks; block++) {
        Halves *to = (Halves *)(panels + block * panel_bytes) + 4 * step;
        to[0] = (Halves)((x[block] & 0xffff) | (y[block] << 16));
        to[1] = (Halves)((x[block] >> 16) | (y[block] & 0xffff0000));
        to[2] = to[0] + to[1];
        to[3] = to[0] - to[1];
    }
}

/* Adds a chunk's sums to the running ones. */
static void
fold_pairs(gsize n_rows, const void *chunk, void *running, gboolean first)
{
    const gint32 *restrict from = chunk;
    gint64 *restrict to = running;
    for (gsize row = 0; row < n_rows; row++, from += 3 * ELEMENTS, to += 2 * ELEMENTS)
        for (gsize element = 0; element < ELEMENTS; element++) {
            const gint64 k0 = from[element];
            const gint64 k1 = from[ELEMENTS + element];
            const gint64 k2 = from[2 * ELEMENTS + element];
            to[element] = (first ? 0 : to[element]) + k0 + k1;
            to[ELEMENTS + element] = (first ? 0 : to[ELEMENTS + element]) + k2 - k0 + k1;
        }
}
