/* SPDX-License-Identifier: BSD-3-Clause */
/* The tiles in 16-bit integers, two spectra at a time, exact. ELEMENTS and ROTATE as in
 * correlate-real.h.
 *
 * Three products replace four: for a·conj(b), with
 *
 *     k0 = Σ a_re b_re,   k1 = Σ a_im b_im,   k2 = Σ (a_re + a_im)(b_re − b_im),
 *
 * re = k0 + k1 and im = k2 − k0 + k1. A panel holds a chunk of one block of inputs as [pair of
 * spectra][re, im, re + im, re − im][input][first, second], or with NEON as […][first,
 * second][input], since its instructions add a product of halves to each sum; a sum is k0, k1, k2.
 */

typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef guint32 Words __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gint16 Halves __attribute__((vector_size(CT_VECTOR_BYTES)));

#if defined(__ARM_NEON)
/* sum + the product of the first halves + that of the second ones, in every vector element. */
static inline Ints
add_products(Ints sum, Ints a, Ints b)
{
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return (Ints)vmlal_high_s16(vmlal_s16((int32x4_t)sum, vget_low_s16(x), vget_low_s16(y)), x, y);
}

/* Rows of a cell, at most four, and the products of one of them with all elements of b. */
typedef int16x8_t Rows;

static inline Rows
load_rows(const gint32 *panel, gsize first)
{
    return vld1q_s16((const gint16 *)panel + first);
}

static inline __attribute__((always_inline)) Ints
add_row(Ints sum, Rows rows, const gsize r, Ints b)
{
    const int16x8_t y = (int16x8_t)b;
#define ADD(r)                                                                                     \
    vmlal_high_laneq_s16(vmlal_laneq_s16((int32x4_t)sum, vget_low_s16(y), rows, r), y, rows, 4 + r)
    return (Ints)(r == 0 ? ADD(0) : r == 1 ? ADD(1) : r == 2 ? ADD(2) : ADD(3));
#undef ADD
}

static inline Ints
rotate_inputs(Ints x)
{
    return (Ints)__builtin_shufflevector((Halves)x, (Halves)x, 3, 0, 1, 2, 7, 4, 5, 6);
}

/* Two spectra of words (re, im) become [re, im][input][first, second], or here […][first,
 * second][input]. */
static inline void
pair_up(Words x, Words y, Halves *to)
{
    to[0] = __builtin_shufflevector((Halves)x, (Halves)y, 0, 2, 4, 6, 8, 10, 12, 14);
    to[1] = __builtin_shufflevector((Halves)x, (Halves)y, 1, 3, 5, 7, 9, 11, 13, 15);
}
#else
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

typedef const gint32 *Rows;

static inline Rows
load_rows(const gint32 *panel, gsize first)
{
    return panel + first;
}

static inline __attribute__((always_inline)) Ints
add_row(Ints sum, Rows rows, const gsize r, Ints b)
{
    return add_products(sum, (Ints){0} + rows[r], b);
}

static inline Ints
rotate_inputs(Ints x)
{
    return __builtin_shufflevector(x, x, ROTATE);
}

static inline void
pair_up(Words x, Words y, Halves *to)
{
    to[0] = (Halves)((x & 0xffff) | (y << 16));
    to[1] = (Halves)((x >> 16) | (y & 0xffff0000));
}
#endif

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
    for (gsize t = 0; t < n; t++, rows += 4 * ELEMENTS, columns += 4 * ELEMENTS) {
        const Rows a0 = load_rows(rows, first_row), a1 = load_rows(rows + ELEMENTS, first_row),
                   a2 = load_rows(rows + 2 * ELEMENTS, first_row);
#pragma GCC unroll 16
        for (gsize c = 0; c < width; c++) {
            const Ints *b = (const Ints *)(columns + c * panel);
            const Ints b0 = b[0], b1 = b[1], b3 = b[3];
#pragma GCC unroll 16
            for (gsize r = 0; r < height; r++) {
                k0[c][r] = add_row(k0[c][r], a0, r, b0);
                k1[c][r] = add_row(k1[c][r], a1, r, b1);
                k2[c][r] = add_row(k2[c][r], a2, r, b3);
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
            b0 = rotate_inputs(b0);
            b1 = rotate_inputs(b1);
            b3 = rotate_inputs(b3);
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
pack_pairs(const guint8 *spectra, gint64 stride, gsize n, gsize n_blocks, guint8 *panels,
           gsize panel_bytes, gsize first)
{
    for (gsize block = 0; block < n_blocks; block++) {
        Halves *to = (Halves *)(panels + block * panel_bytes) + 2 * first;
        const guint8 *from = spectra;
        for (gsize t = 0; t < n; t += 2, to += 4, from += 2 * stride) {
            pair_up(((const Words *)from)[block], ((const Words *)(from + stride))[block], to);
            to[2] = to[0] + to[1];
            to[3] = to[0] - to[1];
        }
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
