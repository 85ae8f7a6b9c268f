/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks of streams: converting ticks of one clock to ticks of another. */
#pragma once

#include <cornerturn/tensor.h>

/* Tick t of clock `from` is tick t · num / den + seconds · rate_num / rate_den of clock `to`. */
typedef struct {
    gint64 num, den;
    gint64 seconds; /* the epoch of `from` minus that of `to` */
    gint64 rate_num, rate_den;
} CtClockMap;

/* Relates the clock of `from` to that of `to`. Two streams without a clock count the same ticks.
 * Returns NULL, or a text that says why the clocks cannot be related. */
const char *ct_clock_map_init(CtClockMap *map, const CtStream *from, const CtStream *to);

/* The first tick of `to` that is not before tick `tick` of `from`, clamped to the range of
 * gint64. */
gint64 ct_clock_map(const CtClockMap *map, gint64 tick);

/* The ticks at which streams begin and end lie within ± this, so that the difference of two never
 * overflows. */
#define CT_MAX_TICK ((gint64)1 << 62)

/* Sets *end to the tick at which the stream's last sample ends, or to CT_MAX_TICK if the length is
 * not known. Returns FALSE if the stream begins or ends beyond ± CT_MAX_TICK. */
gboolean ct_stream_end(const CtStream *stream, gint64 *end);

/* Saturating arithmetic: a result that overflows becomes the nearest gint64. */
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
