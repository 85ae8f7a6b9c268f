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

/* When a recording began: at a whole second from which samples are counted, or with its first
 * sample. */
typedef struct {
    gint64 second, rest; /* Unix seconds, and units of 1 / rate_num seconds */
    gint64 offset;       /* samples from then to the first one of the stream */
} UtcBeginning;

/* The beginning is the stream's epoch, if this is at most a day before the first sample and a whole
 * number of samples; else the second of the first sample, if that is such a number; else the first
 * sample itself. Without an epoch, only the offset is of use. */
static inline UtcBeginning
utc_beginning(const CtStream *stream)
{
    const gint64 start = stream->start, ticks = stream->ticks_per_sample;
    const gboolean is_counted = start >= 0 && start % ticks == 0;
    UtcBeginning beginning = {.second = stream->epoch, .offset = is_counted ? start / ticks : 0};
    if (stream->epoch == CT_NO_EPOCH)
        return beginning;
    gint64 second, rest;
    utc_second(stream, start, &second, &rest);
    if (is_counted && second - stream->epoch <= UTC_DAY)
        return beginning;
    const __int128 sample = (__int128)ticks * stream->rate_den;
    if (rest % sample == 0)
        return (UtcBeginning){.second = second, .offset = (gint64)(rest / sample)};
    return (UtcBeginning){.second = second, .rest = rest};
}
