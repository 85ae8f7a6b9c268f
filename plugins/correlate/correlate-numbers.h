/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetics for all types of voltages. */
#include "correlate-arithmetic.h"

#define EVENS_2  0, 2
#define EVENS_4  0, 2, 4, 6
#define EVENS_8  0, 2, 4, 6, 8, 10, 12, 14
#define EVENS_16 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODDS_2   1, 3
#define ODDS_4   1, 3, 5, 7
#define ODDS_8   1, 3, 5, 7, 9, 11, 13, 15
#define ODDS_16  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31

#if CT_VECTOR_BYTES == 64
#define ELEMENTS_32 16
#define ELEMENTS_64 8
#define ROTATE_32   ROTATE_16
#define ROTATE_64   ROTATE_8
#define EVENS_32    EVENS_16
#define EVENS_64    EVENS_8
#define ODDS_32     ODDS_16
#define ODDS_64     ODDS_8
#elif CT_VECTOR_BYTES == 32
#define ELEMENTS_32 8
#define ELEMENTS_64 4
#define ROTATE_32   ROTATE_8
#define ROTATE_64   ROTATE_4
#define EVENS_32    EVENS_8
#define EVENS_64    EVENS_4
#define ODDS_32     ODDS_8
#define ODDS_64     ODDS_4
#else
#define ELEMENTS_32 4
#define ELEMENTS_64 2
#define ROTATE_32   ROTATE_4
#define ROTATE_64   ROTATE_2
#define EVENS_32    EVENS_4
#define EVENS_64    EVENS_2
#define ODDS_32     ODDS_4
#define ODDS_64     ODDS_2
#endif

#define REAL     float
#define ELEMENTS ELEMENTS_32
#define ROTATE   ROTATE_32
#define EVENS    EVENS_32
#define ODDS     ODDS_32
#define NAME(x)  x##_f32
#include "correlate-real.h"

#define REAL     double
#define ELEMENTS ELEMENTS_64
#define ROTATE   ROTATE_64
#define EVENS    EVENS_64
#define ODDS     ODDS_64
#define NAME(x)  x##_f64
#include "correlate-real.h"

#define ELEMENTS ELEMENTS_32
#define ROTATE   ROTATE_32
#include "correlate-pairs.h"

#define SUM      float
#define OPEN     SUM
#define ELEMENTS ELEMENTS_32
#define OUT      float
#define NAME(x)  x##_f32
#include "correlate-row.h"
#undef SUM
#undef OPEN
#undef ELEMENTS

#define SUM      double
#define OPEN     SUM
#define ELEMENTS ELEMENTS_64
#define OUT      float
#define NAME(x)  x##_f64_f32
#include "correlate-row.h"
#define OUT     double
#define NAME(x) x##_f64_f64
#include "correlate-row.h"
#undef SUM
#undef OPEN
#undef ELEMENTS

#define SUM      gint64
#define OPEN     SUM
#define ELEMENTS ELEMENTS_32
#define OUT      float
#define NAME(x)  x##_pairs_f32
#include "correlate-row.h"
#define OUT     double
#define NAME(x) x##_pairs_f64
#include "correlate-row.h"
#define OUT     gint64
#define NAME(x) x##_pairs_i64
#include "correlate-row.h"
#undef SUM
#undef OPEN
#undef ELEMENTS

#define SUM      gint64
#define OPEN     SUM
#define ELEMENTS ELEMENTS_64
#define OUT      float
#define NAME(x)  x##_exact_f32
#include "correlate-row.h"
#define OUT     double
#define NAME(x) x##_exact_f64
#include "correlate-row.h"
#define OUT     gint64
#define NAME(x) x##_exact_i64
#include "correlate-row.h"
#undef SUM
#undef OPEN
#undef ELEMENTS

/* Adds whole numbers in double precision to 64-bit sums. */
static void
fold_exact(gsize n_rows, const void *chunk, void *running, gboolean first)
{
    const gdouble *from = chunk;
    gint64 *to = running;
    for (gsize k = 0; k < 2 * n_rows * ELEMENTS_64; k++)
        to[k] = (first ? 0 : to[k]) + (gint64)from[k];
}

static const Arithmetic arithmetics[] = {
    [CORRELATE_F32] = {ELEMENTS_32, 8, 1, 2 * CT_VECTOR_BYTES, 0, 2 * CT_VECTOR_BYTES, 4,
                       CORRELATE_CHUNK, NULL, NULL, pack_f32, SQUARES(f32), diagonal_f32, fold_f32},
    [CORRELATE_F64] = {ELEMENTS_64, 16, 1, 2 * CT_VECTOR_BYTES, 0, 2 * CT_VECTOR_BYTES, 8,
                       CORRELATE_CHUNK, NULL, NULL, pack_f64, SQUARES(f64), diagonal_f64, fold_f64},
    [CORRELATE_PAIRS] = {ELEMENTS_32, 4, 2, 4 * CT_VECTOR_BYTES, 0, 3 * CT_VECTOR_BYTES, 8, 0, NULL,
                         NULL, pack_pairs, SQUARES(pairs), diagonal_pairs, fold_pairs},
    [CORRELATE_EXACT] = {ELEMENTS_64, 16, 1, 2 * CT_VECTOR_BYTES, 0, 2 * CT_VECTOR_BYTES, 8, 0,
                         NULL, NULL, pack_f64, SQUARES(f64), diagonal_f64, fold_exact},
};

/* ---- types ---- */

static void
read_cf32_f64(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gdouble *)to)[k] = ((const gfloat *)from)[k];
}

static void
read_ci16_f64(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gdouble *)to)[k] = ((const gint16 *)from)[k];
}

static void
read_ci8_i16(const void *from, gsize n, void *to)
{
    for (gsize k = 0; k < 2 * n; k++)
        ((gint16 *)to)[k] = ((const gint8 *)from)[k];
}

static void
read_ci4_i16(const void *from, gsize n, void *to)
{
    const gint8 *bytes = from;
    gint16 *x = to;
    for (gsize k = 0; k < n; k++) {
        x[2 * k] = bytes[k] >> 4;
        x[2 * k + 1] = (gint8)((guint8)bytes[k] << 4) >> 4;
    }
}

static const Choice choices[] = {
    {CT_CF32, CT_CF32, CORRELATE_F32, NULL, row_f32},
    {CT_CF32, CT_CF64, CORRELATE_F64, read_cf32_f64, row_f64_f64},
    {CT_CF64, CT_CF32, CORRELATE_F64, NULL, row_f64_f32},
    {CT_CF64, CT_CF64, CORRELATE_F64, NULL, row_f64_f64},
    {CT_CI4, CT_CF32, CORRELATE_PAIRS, read_ci4_i16, row_pairs_f32},
    {CT_CI4, CT_CF64, CORRELATE_PAIRS, read_ci4_i16, row_pairs_f64},
    {CT_CI4, CT_CI64, CORRELATE_PAIRS, read_ci4_i16, row_pairs_i64},
    {CT_CI8, CT_CF32, CORRELATE_PAIRS, read_ci8_i16, row_pairs_f32},
    {CT_CI8, CT_CF64, CORRELATE_PAIRS, read_ci8_i16, row_pairs_f64},
    {CT_CI8, CT_CI64, CORRELATE_PAIRS, read_ci8_i16, row_pairs_i64},
    {CT_CI16, CT_CF32, CORRELATE_EXACT, read_ci16_f64, row_exact_f32},
    {CT_CI16, CT_CF64, CORRELATE_EXACT, read_ci16_f64, row_exact_f64},
    {CT_CI16, CT_CI64, CORRELATE_EXACT, read_ci16_f64, row_exact_i64},
};
