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

/* The tick at which the stream's last sample ends; FALSE where 63 bits do not hold it. G_MAXINT64
 * where the length is not known. */
gboolean ct_stream_end(const CtStream *stream, gint64 *end);
