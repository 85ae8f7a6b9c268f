/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of two inputs, x and y: a station of two polarisations.
 *
 * A vector holds the spectra of several items, (x re, x im, y re, y im) each. Its products with
 * itself and with two of its orders are summed per vector element:
 *
 *     (x re, x im, y re, y im):  x re², x im², y re², y im²
 *     (y re, y im, x re, x im):  the terms of Re x y*, twice
 *     (y im, y re, x im, x re):  −, + those of Im x y*, and again
 *
 * Sums of 8-bit integers are whole numbers below 2^24 in every element, so single precision is
 * exact; their running sums are 64-bit integers. */
#include "correlate-two.h"

#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define VECTOR_FLOATS (CT_VECTOR_BYTES / 4)
#define VECTOR_ITEMS  (VECTOR_FLOATS / 4)

typedef gfloat Vector __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gfloat Unaligned
    __attribute__((vector_size(CT_VECTOR_BYTES), aligned(sizeof(gfloat)), may_alias));
typedef gfloat Quad __attribute__((vector_size(16), may_alias));
typedef gfloat UnalignedQuad __attribute__((vector_size(16), aligned(sizeof(gfloat)), may_alias));

enum { SQUARES, REAL, IMAGINARY, N_SUMS };
/* The parts of the visibilities. */
enum { XX, YY, XY_RE, XY_IM, N_PARTS };

/* The sums of an item: those of the current chunk, and running ones. Items begin at cache lines. */
typedef struct {
    Quad current[N_SUMS];
    union {
        gfloat real[N_PARTS];
        gint64 integer[N_PARTS];
    } running;
} __attribute__((aligned(64))) Sums;

gboolean
CT_ISA(correlate_two_shape)(CorrelateShape *shape)
{
    const gboolean reads =
        shape->input == CT_CI8 || (shape->input == CT_CF32 && shape->output == CT_CF32);
    const gboolean is_two = reads && shape->n_inputs == 2 && shape->tuning.few >= 2;
    if (is_two) {
        shape->sums_bytes = sizeof(Sums);
        shape->scratch_bytes = 0;
    }
    return is_two;
}

/* ---- accumulate ---- */

#if VECTOR_FLOATS == 16
#define ORDER(a, b, c, d)                                                                          \
    a, b, c, d, 4 + a, 4 + b, 4 + c, 4 + d, 8 + a, 8 + b, 8 + c, 8 + d, 12 + a, 12 + b, 12 + c,    \
        12 + d
#elif VECTOR_FLOATS == 8
#define ORDER(a, b, c, d) a, b, c, d, 4 + a, 4 + b, 4 + c, 4 + d
#else
#define ORDER(a, b, c, d) a, b, c, d
#endif

static inline void
add_products(Vector x, Vector *sums)
{
    sums[SQUARES] += x * x;
    sums[REAL] += x * __builtin_shufflevector(x, x, ORDER(2, 3, 0, 1));
    sums[IMAGINARY] += x * __builtin_shufflevector(x, x, ORDER(3, 2, 1, 0));
}

/* The spectra of one time. */
typedef struct {
    CtType type;
    gsize bytes; /* of an input */
    gint64 time_stride, item_stride, input_stride;
    gboolean pairs; /* the inputs of an item are contiguous … */
    gboolean items; /* … and items are */
} Reader;

static inline Vector
convert(CtType type, const guint8 *from)
{
    if (type == CT_CF32)
        return (Vector) * (const Unaligned *)from;
#if VECTOR_ITEMS == 4
    return (Vector)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)from)));
#elif VECTOR_ITEMS == 2
    return (Vector)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)from)));
#else
    const gint8 *x = (const gint8 *)from;
    return (Vector){x[0], x[1], x[2], x[3]};
#endif
}

/* A vector of contiguous quads at a stride. */
static inline Vector
join(const guint8 *from, gint64 stride)
{
    const UnalignedQuad *x[4] = {(const void *)from, (const void *)(from + stride),
                                 (const void *)(from + 2 * stride),
                                 (const void *)(from + 3 * stride)};
#if VECTOR_ITEMS == 4
    const __m512 low = _mm512_insertf32x4(_mm512_castps128_ps512((__m128)*x[0]), (__m128)*x[1], 1);
    return (Vector)_mm512_insertf32x4(_mm512_insertf32x4(low, (__m128)*x[2], 2), (__m128)*x[3], 3);
#elif VECTOR_ITEMS == 2
    return (Vector)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)*x[0]), (__m128)*x[1], 1);
#else
    return *x[0];
#endif
}

/* n items, at most a vector of them; the others are 0. */
static inline Vector
gather(const Reader *reader, const guint8 *voltages, gsize n)
{
    guint8 line[CT_VECTOR_BYTES] = {0};
    for (gsize k = 0; k < n; k++)
        for (gsize m = 0; m < 2; m++)
            memcpy(line + (2 * k + m) * reader->bytes,
                   voltages + (gint64)k * reader->item_stride + (gint64)m * reader->input_stride,
                   reader->bytes);
    return convert(reader->type, line);
}

static inline Vector
load(const Reader *reader, const guint8 *voltages, gsize n)
{
    if (n == VECTOR_ITEMS && reader->items)
        return convert(reader->type, voltages);
    if (n == VECTOR_ITEMS && reader->pairs && reader->type == CT_CF32)
        return join(voltages, reader->item_stride);
    return gather(reader, voltages, n);
}

/* Adds `length` spectra of n items, at most a vector of them, to the sums of a chunk. */
static inline __attribute__((always_inline)) void
add_spectra(const Reader *reader, const guint8 *voltages, gsize length, gsize n, gboolean first,
            Sums *sums)
{
    Vector x[N_SUMS];
    Quad elements[N_SUMS][VECTOR_ITEMS] = {0};
    for (gsize k = 0; k < N_SUMS; k++) {
        for (gsize item = 0; item < n && !first; item++)
            elements[k][item] = sums[item].current[k];
        memcpy(&x[k], elements[k], sizeof x[k]);
    }
    for (gsize t = 0; t < length; t++, voltages += reader->time_stride)
        add_products(load(reader, voltages, n), x);
    for (gsize k = 0; k < N_SUMS; k++) {
        memcpy(elements[k], &x[k], sizeof x[k]);
        for (gsize item = 0; item < n; item++)
            sums[item].current[k] = elements[k][item];
    }
}

static inline void
add_elements(const Sums *sums, gfloat *parts)
{
    const Quad squares = sums->current[SQUARES], re = sums->current[REAL];
    const Quad im = sums->current[IMAGINARY];
    parts[XX] = squares[0] + squares[1];
    parts[YY] = squares[2] + squares[3];
    parts[XY_RE] = re[0] + re[1];
    parts[XY_IM] = im[1] - im[0];
}

static void
fold(const CorrelateShape *shape, Sums *sums, gboolean first)
{
    gfloat parts[N_PARTS];
    add_elements(sums, parts);
    for (gsize k = 0; k < N_PARTS; k++)
        if (shape->input == CT_CF32)
            sums->running.real[k] = first ? parts[k] : sums->running.real[k] + parts[k];
        else
            sums->running.integer[k] = (first ? 0 : sums->running.integer[k]) + (gint64)parts[k];
}

void
CT_ISA(correlate_two_accumulate)(const CorrelateShape *shape, const CorrelateItems *items,
                                 const guint8 *voltages, gint64 time_stride, gint64 station_stride,
                                 gint64 pol_stride, gsize n, gsize done, void *sums)
{
    const gint64 bytes = ct_type_info(shape->input)->bytes;
    const gint64 input_stride = shape->n_pols == 2 ? pol_stride : station_stride;
    const gboolean pairs = input_stride == bytes;
    const Reader reader = {
        .type = shape->input,
        .bytes = (gsize)bytes,
        .time_stride = time_stride,
        .item_stride = items->stride,
        .input_stride = input_stride,
        .pairs = pairs,
        .items = pairs && items->stride == 2 * bytes,
    };
    while (n > 0) {
        const gsize begun = done % CORRELATE_CHUNK;
        const gsize length = MIN(n, CORRELATE_CHUNK - begun);
        done += length;
        for (gsize item = 0; item < items->n; item += VECTOR_ITEMS) {
            Sums *to = (Sums *)sums + item;
            const guint8 *from = voltages + (gint64)item * items->stride;
            const gsize together = MIN(VECTOR_ITEMS, items->n - item);
            if (together == VECTOR_ITEMS)
                add_spectra(&reader, from, length, VECTOR_ITEMS, begun == 0, to);
            else
                add_spectra(&reader, from, length, together, begun == 0, to);
            for (gsize k = 0; k < together && done % CORRELATE_CHUNK == 0; k++)
                fold(shape, to + k, done == CORRELATE_CHUNK);
        }
        n -= length;
        voltages += (gint64)length * time_stride;
    }
}

/* ---- flush ---- */

static inline void
write_part(const CorrelateShape *shape, const Sums *sums, gsize done, const gfloat *open, gint k,
           gboolean negate, guint8 *to)
{
    if (shape->input == CT_CF32) {
        const gfloat sum = (done < CORRELATE_CHUNK ? 0 : sums->running.real[k]) + open[k];
        *(gfloat *)to = negate ? -sum : sum;
        return;
    }
    gint64 sum = (done < CORRELATE_CHUNK ? 0 : sums->running.integer[k]) + (gint64)open[k];
    if (negate)
        sum = -sum;
    if (shape->output == CT_CI64)
        *(gint64 *)to = sum;
    else if (shape->output == CT_CF64)
        *(gdouble *)to = (gdouble)sum;
    else
        *(gfloat *)to = (gfloat)sum;
}

void
CT_ISA(correlate_two_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                            guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                            gint64 q_stride)
{
    const gsize bytes = ct_type_info(shape->output)->bytes;
    gfloat open[N_PARTS] = {0};
    if (done % CORRELATE_CHUNK > 0)
        add_elements(sums, open);
    /* x x*, y x*, y y*, and of one station x y*. */
    guint8 *const xx = visibilities;
    guint8 *const yx = visibilities + (shape->n_pols == 2 ? p_stride : baseline_stride);
    guint8 *const yy =
        visibilities + (shape->n_pols == 2 ? p_stride + q_stride : 2 * baseline_stride);
    memset(xx, 0, bytes);
    memset(yy, 0, bytes);
    write_part(shape, sums, done, open, XX, FALSE, xx);
    write_part(shape, sums, done, open, YY, FALSE, yy);
    write_part(shape, sums, done, open, XY_RE, FALSE, yx);
    write_part(shape, sums, done, open, XY_IM, TRUE, yx + bytes / 2);
    if (shape->n_pols == 2) {
        write_part(shape, sums, done, open, XY_RE, FALSE, visibilities + q_stride);
        write_part(shape, sums, done, open, XY_IM, FALSE, visibilities + q_stride + bytes / 2);
    }
}
