/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums that begin at the same times on every day. */
#include "cornerturn/kit/align.h"

/* Of UTC as Unix time counts it. */
#define DAY G_GINT64_CONSTANT(86400)

typedef __int128 Wide;

static Wide
common_divisor(Wide a, Wide b)
{
    while (b) {
        const Wide rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The divisors of n next to `wanted`, below and above it; those above 10⁷ whose counterparts are so
 * too are not found. */
static void
find_divisors(gint64 n, gint64 wanted, gint64 *below, gint64 *above)
{
    *below = 1;
    *above = n;
    for (gint64 d = 1; d <= 10000000 && d <= n / d; d++) {
        const gint64 pair[] = {d, n / d};
        for (guint i = 0; n % d == 0 && i < 2; i++) {
            if (pair[i] <= wanted)
                *below = MAX(*below, pair[i]);
            if (pair[i] >= wanted)
                *above = MIN(*above, pair[i]);
        }
    }
}

static gboolean
check_length(const CtNode *node, const char *align, const char *length, Wide num, Wide den,
             GError **error)
{
    const gint64 hop = node->footprint.hop;
    const gdouble samples = (gdouble)num / (gdouble)den;
    const gdouble seconds = (gdouble)hop * DAY / samples;
    if (den != 1 || num > G_MAXINT64)
        return ct_params_error(
            node->params, align, error,
            "wants a stream of which a day has a whole number of samples, but it "
            "has %.15g: no sums begin at the same times on every day",
            samples);
    if (num % hop == 0)
        return TRUE;
    gint64 below, above;
    find_divisors((gint64)num, hop, &below, &above);
    return ct_params_error(node->params, length, error,
                           "wants sums of which a day has a whole number, for '%s', but is given "
                           "%" G_GINT64_FORMAT " samples, %.9g s: the nearest lengths that fit are "
                           "%" G_GINT64_FORMAT " and %" G_GINT64_FORMAT,
                           align, hop, seconds, below, above);
}

gboolean
ct_sum_align(CtNode *node, const char *align, const char *length, GError **error)
{
    const CtStream *in = &node->inputs[0];
    if (in->rate_num == 0 || in->epoch == CT_NO_EPOCH)
        return ct_params_error(node->params, align, error,
                               "wants a stream whose UTC is known: 'start' of the graph's "
                               "'observation' gives it");
    /* A sample has `sample` units of 1 / rate_num seconds. */
    const Wide sample = (Wide)in->ticks_per_sample * in->rate_den;
    const Wide day = (Wide)DAY * in->rate_num, common = common_divisor(day, sample);
    if (!check_length(node, align, length, day / common, sample / common, error))
        return FALSE;
    /* Midnights are whole multiples of a day from the epoch of Unix time. */
    Wide late = ((Wide)in->start * in->rate_den + (Wide)in->epoch * in->rate_num) % day;
    late += late < 0 ? day : 0;
    if (late % sample != 0)
        return ct_params_error(node->params, align, error,
                               "wants a stream with a sample at midnight UTC, but the nearest one "
                               "begins %.9g s later",
                               (gdouble)(late % sample) / (gdouble)in->rate_num);
    const gint64 hop = node->footprint.hop, position = (gint64)(late / sample % hop);
    node->footprint.offset = position > 0 ? hop - position : 0;
    return TRUE;
}
