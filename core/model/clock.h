/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks of streams: where one's ticks stand on another's. */
#pragma once

#include <cornerturn/tensor.h>

/* Tick t of the one clock is at tick t · num / den + seconds · rate_num / rate_den of the other. */
typedef struct {
    gint64 num, den;
    gint64 seconds; /* from the other's epoch to the one's */
    gint64 rate_num, rate_den;
} CtClockMap;

/* Relates the clock of `from` to that of `to`. Two streams without clock count the same ticks.
 * Returns NULL, or why the clocks do not relate. */
const char *ct_clock_map_init(CtClockMap *map, const CtStream *from, const CtStream *to);

/* The first tick of `to` that is not before tick `tick` of `from`; the least or the greatest number
 * where it is beyond. */
gint64 ct_clock_map(const CtClockMap *map, gint64 tick);

/* Ticks at which streams begin and end lie within ± this, so that differences of two never
 * overflow.
 */
#define CT_MAX_TICK ((gint64)1 << 62)

/* The tick at which the stream's last sample ends, CT_MAX_TICK where its length is not known; FALSE
 * where it begins or ends beyond CT_MAX_TICK. */
gboolean ct_stream_end(const CtStream *stream, gint64 *end);

/* Sums and products of what may be as large as numbers get: the nearest number where they are
 * beyond. */
static inline gint64
ct_saturating_add(gint64 a, gint64 b)
{
    gint64 sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? G_MININT64 : G_MAXINT64;
}

static inline gint64
ct_saturating_multiply(gint64 a, gint64 b)
{
    gint64 product;
    return !__builtin_mul_overflow(a, b, &product) ? product
           : (a < 0) != (b < 0)                    ? G_MININT64
                                                   : G_MAXINT64;
}
