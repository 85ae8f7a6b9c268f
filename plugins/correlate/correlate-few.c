/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of few inputs, with times in the elements of a vector.
 *
 * Spectrum t of a chunk is in vector element t modulo their number. Sums of a chunk are kept per
 * vector element, for every pair of inputs m ≥ c, and added up over the elements when the chunk is
 * complete. Sums of 4- and 8-bit integers are whole numbers below 2^24 in every element, so single
 * precision is exact; their running sums are 64-bit integers. */
#include "correlate-few.h"

#include <string.h>

#define VECTOR_FLOATS (CT_VECTOR_BYTES / 4)
#define N_STEPS       (CORRELATE_CHUNK / VECTOR_FLOATS)

typedef gfloat Vector __attribute__((vector_size(CT_VECTOR_BYTES)));

/* The sums of a channel: running ones [pair] and those of the current chunk. */
typedef struct {
    union {
        gfloat real[2];
        gint64 integer[2];
    } running;
    gfloat unused[12]; /* vectors start at cache lines */
    Vector current[2];
} Pair;

static gboolean
is_integer(const CorrelateShape *shape)
{
    return !ct_type_info(shape->input)->is_float;
}

gboolean
CT_ISA(correlate_few_shape)(CorrelateShape *shape)
{
    const gboolean reads = shape->input == CT_CI4 || shape->input == CT_CI8 ||
                           (shape->input == CT_CF32 && shape->output == CT_CF32);
    shape->is_few = reads && shape->n_inputs <= shape->tuning.few;
    if (shape->is_few) {
        shape->sums_bytes = shape->n_inputs * (shape->n_inputs + 1) / 2 * sizeof(Pair);
        shape->scratch_bytes = shape->n_inputs * N_STEPS * 2 * CT_VECTOR_BYTES;
    }
    return shape->is_few;
}

/* ---- accumulate ---- */

/* Copies one input's spectra begin … begin + n − 1 of a chunk, `stride` apart, to [step][re,
 * im][element]. The types differ in how a sample is read. */
#define PLACE(to, t) ((to) + (t) / VECTOR_FLOATS * 2 * VECTOR_FLOATS + (t) % VECTOR_FLOATS)

static void
pack_cf32(const guint8 *x, gint64 stride, gsize begin, gsize n, gfloat *to)
{
    for (gsize t = begin; t < begin + n; t++, x += stride) {
        PLACE(to, t)[0] = ((const gfloat *)x)[0];
        PLACE(to, t)[VECTOR_FLOATS] = ((const gfloat *)x)[1];
    }
}

static void
pack_ci8(const guint8 *x, gint64 stride, gsize begin, gsize n, gfloat *to)
{
    for (gsize t = begin; t < begin + n; t++, x += stride) {
        PLACE(to, t)[0] = ((const gint8 *)x)[0];
        PLACE(to, t)[VECTOR_FLOATS] = ((const gint8 *)x)[1];
    }
}

static void
pack_ci4(const guint8 *x, gint64 stride, gsize begin, gsize n, gfloat *to)
{
    for (gsize t = begin; t < begin + n; t++, x += stride) {
        PLACE(to, t)[0] = (gint8)*x >> 4;
        PLACE(to, t)[VECTOR_FLOATS] = (gint8)(*x << 4) >> 4;
    }
}

static void
pack(const CorrelateShape *shape, const guint8 *x, gint64 stride, gsize begin, gsize n, gfloat *to)
{
    memset(to, 0, N_STEPS * 2 * CT_VECTOR_BYTES);
    if (shape->input == CT_CF32)
        pack_cf32(x, stride, begin, n, to);
    else if (shape->input == CT_CI8)
        pack_ci8(x, stride, begin, n, to);
    else
        pack_ci4(x, stride, begin, n, to);
}

static void
sum_pair(const Vector *a, const Vector *b, gsize first, gsize last, Vector sum[2])
{
    Vector re = sum[0], im = sum[1];
    for (gsize step = first; step <= last; step++) {
        const Vector a_re = a[2 * step], a_im = a[2 * step + 1];
        const Vector b_re = b[2 * step], b_im = b[2 * step + 1];
        re += a_re * b_re;
        im += a_im * b_re;
        re += a_im * b_im;
        im -= a_re * b_im;
    }
    sum[0] = re;
    /* The imaginary part of an autocorrelation is exactly 0; fused multiply-adds would leave a
     * rounding error. */
    sum[1] = a == b ? (Vector){0} : im;
}

static gfloat
add_elements(Vector terms)
{
    gfloat sum = 0;
    for (gsize element = 0; element < VECTOR_FLOATS; element++)
        sum += terms[element];
    return sum;
}

static void
fold(const CorrelateShape *shape, Pair *pair, gboolean first)
{
    for (gsize part = 0; part < 2; part++) {
        const gfloat sum = add_elements(pair->current[part]);
        if (is_integer(shape))
            pair->running.integer[part] = (first ? 0 : pair->running.integer[part]) + (gint64)sum;
        else
            pair->running.real[part] = first ? sum : pair->running.real[part] + sum;
    }
}

void
CT_ISA(correlate_few_accumulate)(const CorrelateShape *shape, const guint8 *voltages,
                                 gint64 time_stride, gint64 station_stride, gint64 pol_stride,
                                 gsize n, gsize done, void *sums, void *scratch)
{
    const gsize panel = N_STEPS * 2 * VECTOR_FLOATS;
    gfloat *panels = scratch;
    while (n > 0) {
        const gsize begun = is_integer(shape) ? 0 : done % CORRELATE_CHUNK;
        const gsize length = MIN(n, CORRELATE_CHUNK - begun);
        const gboolean whole = is_integer(shape) || begun + length == CORRELATE_CHUNK;
        for (gsize m = 0; m < shape->n_inputs; m++)
            pack(shape,
                 voltages + (gint64)(m / shape->n_pols) * station_stride +
                     (gint64)(m % shape->n_pols) * pol_stride,
                 time_stride, begun, length, panels + m * panel);
        Pair *pair = sums;
        for (gsize m = 0; m < shape->n_inputs; m++)
            for (gsize c = 0; c <= m; c++, pair++) {
                if (begun == 0)
                    pair->current[0] = pair->current[1] = (Vector){0};
                sum_pair((const Vector *)(panels + m * panel), (const Vector *)(panels + c * panel),
                         begun / VECTOR_FLOATS, (begun + length - 1) / VECTOR_FLOATS,
                         pair->current);
                if (whole)
                    fold(shape, pair, done == begun);
            }
        n -= length;
        done += length;
        voltages += (gint64)length * time_stride;
    }
}

/* ---- flush ---- */

static void
write_part(const CorrelateShape *shape, const Pair *pair, gsize done, gsize part, gboolean negate,
           guint8 *to)
{
    if (is_integer(shape)) {
        const gint64 sum = negate ? -pair->running.integer[part] : pair->running.integer[part];
        if (shape->output == CT_CI64)
            ((gint64 *)to)[part] = sum;
        else if (shape->output == CT_CF64)
            ((gdouble *)to)[part] = sum;
        else
            ((gfloat *)to)[part] = sum;
        return;
    }
    gfloat sum = done < CORRELATE_CHUNK ? 0 : pair->running.real[part];
    if (done % CORRELATE_CHUNK > 0)
        sum += add_elements(pair->current[part]);
    ((gfloat *)to)[part] = negate ? -sum : sum;
}

void
CT_ISA(correlate_few_flush)(const CorrelateShape *shape, const void *sums, gsize done,
                            guint8 *visibilities, gint64 baseline_stride, gint64 p_stride,
                            gint64 q_stride)
{
    const Pair *pairs = sums;
    const gsize n_pols = shape->n_pols;
    for (gsize i = 0; i < shape->n_stations; i++)
        for (gsize j = 0; j <= i; j++, visibilities += baseline_stride)
            for (gsize p = 0; p < n_pols; p++)
                for (gsize q = 0; q < n_pols; q++) {
                    const gsize m = i * n_pols + p;
                    const gsize c = j * n_pols + q;
                    const gsize below = MAX(m, c);
                    const Pair *pair = &pairs[below * (below + 1) / 2 + MIN(m, c)];
                    guint8 *to = visibilities + (gint64)p * p_stride + (gint64)q * q_stride;
                    write_part(shape, pair, done, 0, FALSE, to);
                    write_part(shape, pair, done, 1, m < c, to);
                }
}
