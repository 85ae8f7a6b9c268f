/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops of delay: phases in double precision, reduced to a turn, rotated in single. */
#include "delay-kernels.h"

#include <string.h>

typedef gfloat Floats __attribute__((vector_size(CT_VECTOR_BYTES)));
typedef gint32 Ints __attribute__((vector_size(CT_VECTOR_BYTES)));
/* at any address */
typedef gfloat Unaligned
    __attribute__((vector_size(CT_VECTOR_BYTES), aligned(sizeof(gfloat)), may_alias));

enum { VECTOR_FLOATS = CT_VECTOR_BYTES / sizeof(gfloat), PIECE = 64 };

/* Swaps real and imaginary parts. */
static inline Floats
swap(Floats x)
{
#if CT_VECTOR_BYTES == 64
    return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif CT_VECTOR_BYTES == 32
    return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    return __builtin_shufflevector(x, x, 1, 0, 3, 2);
#endif
}

void
CT_ISA(delay_phasors)(gfloat *cosines, gfloat *sines, const gdouble *turns, gsize n)
{
    for (gsize i = 0; i < n; i++) {
        /* sums with 1.5 · 2⁵² and 1.5 · 2²³ round to whole turns and quarters */
        gdouble whole = (turns[i] + 0x1.8p52) - 0x1.8p52;
        gfloat quarters = (gfloat)(turns[i] - whole) * 4;
        gfloat rounded = (quarters + 0x1.8p23f) - 0x1.8p23f;
        gint32 quarter = (gint32)rounded;
        gfloat x = (quarters - rounded) * (gfloat)G_PI_2, square = x * x;
        gfloat s = square * -1.9515295891e-4f + 8.3321608736e-3f;
        s = (s * square - 1.6666654611e-1f) * square * x + x;
        gfloat c = square * 2.443315711809948e-5f - 1.388731625493765e-3f;
        c = (c * square + 4.166664568298827e-2f) * square * square - 0.5f * square + 1;
        gfloat sine = quarter & 1 ? c : s, cosine = quarter & 1 ? s : c;
        sine = quarter & 2 ? -sine : sine;
        cosine = (quarter + 1) & 2 ? -cosine : cosine;
        cosines[2 * i] = cosine;
        cosines[2 * i + 1] = cosine;
        sines[2 * i] = sine;
        sines[2 * i + 1] = -sine;
    }
}

void
CT_ISA(delay_rotate_row)(gfloat *y, const gfloat *x, const gfloat *cosines, const gfloat *sines,
                         gsize n)
{
    gsize i = 0;
    for (; i + VECTOR_FLOATS <= 2 * n; i += VECTOR_FLOATS) {
        Floats value = *(const Unaligned *)(x + i);
        *(Unaligned *)(y + i) = value * *(const Unaligned *)(cosines + i) +
                                swap(value) * *(const Unaligned *)(sines + i);
    }
    for (; i < 2 * n; i += 2) {
        gfloat re = x[i], im = x[i + 1];
        y[i] = re * cosines[i] + im * sines[i];
        y[i + 1] = im * cosines[i + 1] + re * sines[i + 1];
    }
}

/* Phasors are computed, and strided samples gathered, a piece at a time. */
void
CT_ISA(delay_rotate_series)(guint8 *y, gint64 y_stride, const guint8 *x, gint64 x_stride, gsize n,
                            gdouble turns, gdouble per_sample, gint64 since)
{
    enum { BYTES = 2 * sizeof(gfloat) };
    gfloat cosines[2 * PIECE], sines[2 * PIECE], in[2 * PIECE], out[2 * PIECE];
    gdouble piece[PIECE];
    for (gsize i = 0; i < n; i += PIECE) {
        gsize length = MIN(PIECE, n - i);
        if (i == 0 || per_sample != 0) {
            for (gsize k = 0; k < PIECE; k++)
                piece[k] = turns + (gdouble)(since + (gint64)(i + k)) * per_sample;
            CT_ISA(delay_phasors)(cosines, sines, piece, PIECE);
        }
        const guint8 *from = x + (gint64)i * x_stride;
        guint8 *to = y + (gint64)i * y_stride;
        for (gsize k = 0; x_stride != BYTES && k < length; k++)
            memcpy(&in[2 * k], from + (gint64)k * x_stride, BYTES);
        CT_ISA(delay_rotate_row)
        (y_stride == BYTES ? (gfloat *)to : out, x_stride == BYTES ? (const gfloat *)from : in,
         cosines, sines, length);
        for (gsize k = 0; y_stride != BYTES && k < length; k++)
            memcpy(to + (gint64)k * y_stride, &out[2 * k], BYTES);
    }
}

void
CT_ISA(delay_copy_series)(guint8 *y, gint64 y_stride, const guint8 *x, gint64 x_stride, gsize n)
{
    if (y_stride == sizeof(gfloat) && x_stride == sizeof(gfloat)) {
        memcpy(y, x, n * sizeof(gfloat));
        return;
    }
    for (gsize i = 0; i < n; i++)
        memcpy(y + (gint64)i * y_stride, x + (gint64)i * x_stride, sizeof(gfloat));
}
