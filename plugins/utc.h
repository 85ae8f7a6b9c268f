/* SPDX-License-Identifier: BSD-3-Clause */
/* The UTC of a stream's ticks in days and seconds, as headers of files have it. */
#pragma once

#include <cornerturn/stage.h>

enum { UTC_DAY = 86400, UTC_UNIX_MJD = 40587 };

/* The whole Unix second of a tick of a stream that knows its UTC, and the rest of it, in units of
 * 1 / rate_num seconds. Both are exact. */
static inline void
utc_second(const CtStream *stream, gint64 tick, gint64 *second, gint64 *rest)
{
    const __int128 ticks = (__int128)tick * stream->rate_den;
    __int128 whole = ticks / stream->rate_num, left = ticks % stream->rate_num;
    if (left < 0) {
        whole--;
        left += stream->rate_num;
    }
    *second = (gint64)(whole + stream->epoch);
    *rest = (gint64)left;
}

/* The whole MJD of a Unix second, and the second of that day. */
static inline void
utc_day(gint64 unix_second, gint64 *day, gint64 *second)
{
    *day = unix_second / UTC_DAY;
    *second = unix_second % UTC_DAY;
    if (*second < 0) {
        --*day;
        *second += UTC_DAY;
    }
    *day += UTC_UNIX_MJD;
}
