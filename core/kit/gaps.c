/* SPDX-License-Identifier: BSD-3-Clause */
/* The invalid samples of a whole stream, as runs along time. */
#include <cornerturn/kit/gaps.h>
#include <cornerturn/stage.h>
#include <string.h>

struct CtGaps {
    gint64 n_lanes;
    GArray **lanes;  /* [n_lanes] of CtGap; NULL: none yet */
    gint64 *invalid; /* [n_lanes] samples */
};

CtGaps *
ct_gaps_new(gint64 n_lanes, GError **error)
{
    g_autofree GArray **lanes = CT_TABLE(GArray *, n_lanes, "lanes", error);
    gint64 *invalid = lanes ? CT_TABLE(gint64, n_lanes, "lanes", error) : NULL;
    if (!invalid)
        return NULL;
    CtGaps *self = g_new(CtGaps, 1);
    *self = (CtGaps){n_lanes, g_steal_pointer(&lanes), invalid};
    return self;
}

void
ct_gaps_clear(CtGaps *gaps)
{
    for (gint64 lane = 0; lane < gaps->n_lanes; lane++)
        g_clear_pointer(&gaps->lanes[lane], g_array_unref);
    memset(gaps->invalid, 0, (gsize)gaps->n_lanes * sizeof *gaps->invalid);
}

void
ct_gaps_free(CtGaps *gaps)
{
    if (!gaps)
        return;
    ct_gaps_clear(gaps);
    g_free(gaps->lanes);
    g_free(gaps->invalid);
    g_free(gaps);
}

gint64
ct_gaps_n_lanes(const CtGaps *gaps)
{
    return gaps->n_lanes;
}

gboolean
ct_gaps_add(CtGaps *gaps, gint64 lane, gint64 first, gint64 n)
{
    if (first < 0 || n < 1 || n > G_MAXINT64 - first)
        return FALSE;
    if (!gaps->lanes[lane])
        gaps->lanes[lane] = g_array_new(FALSE, FALSE, sizeof(CtGap));
    GArray *lane_gaps = gaps->lanes[lane];
    CtGap *last = lane_gaps->len ? &g_array_index(lane_gaps, CtGap, lane_gaps->len - 1) : NULL;
    if (last && first < last->first + last->n)
        return FALSE;
    gaps->invalid[lane] += n;
    if (last && first == last->first + last->n) {
        last->n += n;
        return TRUE;
    }
    const CtGap gap = {first, n};
    g_array_append_val(lane_gaps, gap);
    return TRUE;
}

void
ct_gaps_add_block(CtGaps *gaps, const CtBlock *block)
{
    const gsize n = (gsize)block->n_samples;
    for (gint64 lane = 0; block->validity && lane < gaps->n_lanes; lane++) {
        const guint8 *valid = block->validity + lane * block->validity_stride;
        for (gsize t = 0; t < n;) {
            const guint8 *gap = memchr(valid + t, 0, n - t);
            if (!gap)
                break;
            const guint8 *after = memchr(gap, 1, n - (gsize)(gap - valid));
            const gsize begin = (gsize)(gap - valid), end = after ? (gsize)(after - valid) : n;
            ct_gaps_add(gaps, lane, block->index + (gint64)begin, (gint64)(end - begin));
            t = end;
        }
    }
}

const CtGap *
ct_gaps_of_lane(const CtGaps *gaps, gint64 lane, gsize *n)
{
    const GArray *of_lane = gaps->lanes[lane];
    *n = of_lane ? of_lane->len : 0;
    return of_lane ? (const CtGap *)(gpointer)of_lane->data : NULL;
}

const gint64 *
ct_gaps_invalid(const CtGaps *gaps)
{
    return gaps->invalid;
}

/* The first of `n` runs that ends after sample `at`, by bisection. */
static gsize
first_after(const CtGap *gaps, gsize n, gint64 at)
{
    gsize low = 0, high = n;
    while (low < high) {
        const gsize middle = low + (high - low) / 2;
        if (gaps[middle].first + gaps[middle].n <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

gboolean
ct_gaps_has(const CtGaps *gaps, gint64 lane, gint64 first, gint64 n)
{
    gsize n_gaps;
    const CtGap *of_lane = ct_gaps_of_lane(gaps, lane, &n_gaps);
    const gsize i = first_after(of_lane, n_gaps, first);
    return i < n_gaps && of_lane[i].first < first + n;
}

gboolean
ct_gaps_apply(const CtGaps *gaps, gint64 first, gint64 n, guint8 *validity, gint64 stride)
{
    gboolean any = FALSE;
    for (gint64 lane = 0; lane < gaps->n_lanes; lane++) {
        gsize n_gaps;
        const CtGap *of_lane = ct_gaps_of_lane(gaps, lane, &n_gaps);
        for (gsize i = first_after(of_lane, n_gaps, first);
             i < n_gaps && of_lane[i].first < first + n; i++) {
            const gint64 begin = MAX(of_lane[i].first, first);
            const gint64 end = MIN(of_lane[i].first + of_lane[i].n, first + n);
            memset(validity + lane * stride + (begin - first), 0, (gsize)(end - begin));
            any = TRUE;
        }
    }
    return any;
}
