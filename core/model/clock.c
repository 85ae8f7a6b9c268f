/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks of streams: their rates, and converting ticks of one clock to ticks of another. */
#include "clock.h"

static gint64
common_divisor(gint64 a, gint64 b)
{
    while (b) {
        const gint64 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a / b · c / d in lowest terms. FALSE if 63 bits do not hold it. */
static gboolean
multiply(gint64 a, gint64 b, gint64 c, gint64 d, gint64 *num, gint64 *den)
{
    const gint64 g = common_divisor(a, d), h = common_divisor(c, b);
    return !__builtin_mul_overflow(a / g, c / h, num) && !__builtin_mul_overflow(b / h, d / g, den);
}

gboolean
ct_stream_set_rate(CtStream *stream, gint64 numerator, gint64 denominator, gint64 ticks)
{
    const gint64 g = common_divisor(numerator, denominator);
    if (!multiply(numerator / g, denominator / g, ticks, 1, &stream->rate_num, &stream->rate_den))
        return FALSE;
    stream->ticks_per_sample = ticks;
    return TRUE;
}

const char *
ct_clock_map_init(CtClockMap *map, const CtStream *from, const CtStream *to)
{
    CtClockMap read = {.num = 1, .den = 1, .rate_num = 1, .rate_den = 1};
    if ((from->rate_num == 0) != (to->rate_num == 0))
        return "only one has a sample rate";
    if ((from->epoch == CT_NO_EPOCH) != (to->epoch == CT_NO_EPOCH))
        return "only one has an epoch";
    if (from->epoch != CT_NO_EPOCH && __builtin_sub_overflow(from->epoch, to->epoch, &read.seconds))
        return "their epochs are too far apart";
    if (from->rate_num == 0 && read.seconds != 0)
        return "their epochs differ, and neither has a sample rate";
    if (from->rate_num > 0) {
        read.rate_num = to->rate_num;
        read.rate_den = to->rate_den;
        if (!multiply(from->rate_den, from->rate_num, to->rate_num, to->rate_den, &read.num,
                      &read.den))
            return "the ratio of their ticks is no fraction of 63 bits";
    }
    *map = read;
    return NULL;
}

/* x = quotient · d + rest, 0 ≤ rest < d. */
static __int128
divide_down(__int128 x, gint64 d, gint64 *rest)
{
    __int128 quotient = x / d;
    quotient -= x % d < 0;
    *rest = (gint64)(x - quotient * d);
    return quotient;
}

gint64
ct_clock_map(const CtClockMap *map, gint64 tick)
{
    /* The whole ticks and the remainders of both terms; all are below 2¹²⁷. */
    gint64 rests[2];
    const __int128 whole =
        divide_down((__int128)tick * map->num, map->den, &rests[0]) +
        divide_down((__int128)map->seconds * map->rate_num, map->rate_den, &rests[1]);
    const unsigned __int128 rest = (unsigned __int128)rests[0] * (guint64)map->rate_den +
                                   (unsigned __int128)rests[1] * (guint64)map->den;
    const unsigned __int128 one = (unsigned __int128)map->den * (guint64)map->rate_den;
    const __int128 there = whole + (rest > 0) + (rest > one);
    return (gint64)CLAMP(there, (__int128)G_MININT64, (__int128)G_MAXINT64);
}

gboolean
ct_stream_end(const CtStream *stream, gint64 *end)
{
    const gint time = ct_stream_axis(stream, "time");
    const gint64 length = time < 0 ? 1 : stream->axes[time].length;
    gint64 ticks;
    *end = CT_MAX_TICK;
    return stream->start >= -CT_MAX_TICK && stream->start <= CT_MAX_TICK &&
           (length < 0 ||
            (!__builtin_mul_overflow(length, stream->ticks_per_sample, &ticks) &&
             !__builtin_add_overflow(stream->start, ticks, end) && *end <= CT_MAX_TICK));
}

gboolean
ct_stream_second(const CtStream *stream, gint64 tick, gint64 *second, gint64 *rest)
{
    *second = *rest = 0;
    if (stream->rate_num == 0 || stream->epoch == CT_NO_EPOCH)
        return FALSE;
    /* Before the epoch, the second before. */
    const __int128 found =
        stream->epoch + divide_down((__int128)tick * stream->rate_den, stream->rate_num, rest);
    if (found <= G_MININT64 || found >= G_MAXINT64)
        *rest = 0;
    else
        *second = (gint64)found;
    return found > G_MININT64 && found < G_MAXINT64;
}

void
ct_utc_day(gint64 unix_second, gint64 *day, gint64 *second)
{
    enum { DAY = 86400, UNIX_MJD = 40587 };
    *day = (gint64)divide_down(unix_second, DAY, second) + UNIX_MJD;
}

char *
ct_stream_utc(const CtStream *stream, gint64 tick)
{
    gint64 unix_second, rest;
    g_autoptr(GDateTime) start = ct_stream_second(stream, tick, &unix_second, &rest)
                                     ? g_date_time_new_from_unix_utc(unix_second)
                                     : NULL;
    if (!start)
        return NULL;
    /* Whole seconds apart, so that nanoseconds survive. */
    g_autofree char *second = g_date_time_format(start, "%Y-%m-%dT%H:%M:%S");
    return g_strdup_printf("%s.%09" G_GINT64_FORMAT "Z", second,
                           (gint64)((__int128)rest * 1000000000 / stream->rate_num));
}

gboolean
ct_stream_tick_at(const CtStream *stream, const CtUtc *utc, gint64 *tick)
{
    gint64 seconds, rests[2];
    if (stream->rate_num == 0 || stream->epoch == CT_NO_EPOCH ||
        __builtin_sub_overflow(utc->seconds, stream->epoch, &seconds))
        return FALSE;
    /* Of the whole seconds, ticks and a rest in units of 1 / rate_den; of the fraction, such units
     * and a rest, which makes one more of them: what is sought is not before it. */
    const __int128 whole =
        divide_down((__int128)seconds * stream->rate_num, stream->rate_den, &rests[0]);
    const __int128 units =
        divide_down((__int128)utc->numerator * stream->rate_num, utc->denominator, &rests[1]) +
        rests[0] + (rests[1] > 0);
    const __int128 found = whole + (units + stream->rate_den - 1) / stream->rate_den;
    if (found < -CT_MAX_TICK || found > CT_MAX_TICK)
        return FALSE;
    *tick = (gint64)found;
    return TRUE;
}
