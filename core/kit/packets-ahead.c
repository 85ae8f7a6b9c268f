/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading long files of packets without an index of all their packets. */
#include "packets-ahead.h"

#include <string.h>

const CtAheadSizes ct_ahead_sizes = {.part = 1024, .context = 256, .least = 1 << 16};

typedef struct {
    CtPacketScan *scan; /* not owned */
    GArray *raw;        /* CtPacket in the order of the file: the context before the next part, the
                           part, and the context after it */
    guint n_before;     /* packets of the context before the part */
    GArray *ready;      /* CtPacket, arranged, by stamp */
    gint64 safe;        /* packets with samples before this one are ready, or are mistimed */
} Lane;

struct CtAhead {
    CtPackets *packets;
    CtAheadSizes sizes;
    gint64 max_gap;
    guint n_lanes;
    Lane *lanes;
    gint64 range[2]; /* first and end of all samples, once is_ranged */
    gboolean is_ranged;
    gint64 end;          /* of the samples that are read */
    gint64 begin, given; /* the samples of the range that are read, and those before this one that
                            were loaded */
    gint64 used;         /* packets that are ready, or were */
    gboolean is_counted; /* missing packets are */
};

void
ct_ahead_free(CtAhead *ahead)
{
    if (!ahead)
        return;
    for (guint i = 0; i < ahead->n_lanes; i++) {
        g_array_unref(ahead->lanes[i].raw);
        g_array_unref(ahead->lanes[i].ready);
    }
    g_free(ahead->lanes);
    g_free(ahead);
}

/* Arranges n packets of one file, and counts those at the offsets begin … end − 1. */
static CtPackets *
arrange(const CtAhead *ahead, gconstpointer raw, guint n, gint64 begin, gint64 end, GError **error)
{
    g_autoptr(CtPackets) some = ct_packets_new();
    g_array_append_vals(some->packets, raw, n);
    g_array_append_vals(some->files, ahead->packets->files->data, ahead->packets->files->len);
    some->overlap = ahead->packets->overlap;
    some->owned[0] = begin;
    some->owned[1] = end;
    if (!ct_packets_arrange_part(some, ahead->n_lanes, ahead->packets->n_samples, ahead->max_gap,
                                 ahead->is_ranged ? ahead->range : NULL, error))
        return NULL;
    return g_steal_pointer(&some);
}

/* ---- the range ---- */

/* Finds the range of samples of a file from its first and its last packets. FALSE without an error
 * if these do not tell it. */
static gboolean
find_range(CtAhead *ahead, CtPacketScan *scan, gint64 *first, gint64 *end, GError **error)
{
    const guint n = ahead->sizes.part + ahead->sizes.context;
    const gint64 count = ct_packet_scan_count(scan);
    g_autoptr(CtPackets) counts = ct_packets_new(); /* that nobody wants */
    g_autoptr(GArray) raw = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    CtPacket packet;
    GError *failure = NULL;
    if (!ct_packet_scan_peek(scan, 0, &packet, error))
        return FALSE;
    ct_packet_scan_seek(scan);
    gboolean good = ct_packet_scan_more(scan, counts, raw, n, &failure);
    g_autoptr(CtPackets) head = good ? arrange(ahead, raw->data, raw->len, 0, 0, &failure) : NULL;
    g_array_set_size(raw, 0);
    if (head && ct_packet_scan_peek_after(scan, count - n, &packet, &failure)) {
        ct_packet_scan_seek(scan);
        good = ct_packet_scan_more(scan, counts, raw, G_MAXUINT, &failure);
    }
    g_autoptr(CtPackets) tail =
        good && raw->len > 0 ? arrange(ahead, raw->data, raw->len, 0, 0, &failure) : NULL;
    /* Back to the beginning. */
    if (!failure && ct_packet_scan_peek(scan, 0, &packet, &failure))
        ct_packet_scan_seek(scan);
    if (failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (!tail || head->packets->len == 0 || tail->packets->len == 0)
        return FALSE;
    *first = head->first;
    *end = tail->end;
    /* The packets that are missing at least. */
    const gint64 missing = (*end - *first) / ahead->packets->n_samples - count;
    return *end > *first && missing <= ahead->max_gap / ahead->packets->n_samples;
}

CtAhead *
ct_ahead_new(CtPackets *packets, CtPacketScan *const *scans, guint n_lanes, gint64 n_samples,
             gint64 max_gap, const CtAheadSizes *sizes, GError **error)
{
    g_autoptr(CtAhead) ahead = g_new0(CtAhead, 1);
    gint64 last_first = G_MININT64, first_end = G_MAXINT64;
    for (guint i = 0; i < n_lanes; i++)
        if (ct_packet_scan_count(scans[i]) <= sizes->least ||
            ct_packet_scan_count(scans[i]) <= sizes->part + sizes->context)
            return NULL;
    packets->n_lanes = n_lanes;
    packets->n_samples = n_samples;
    packets->first = G_MAXINT64;
    packets->end = G_MININT64;
    packets->lane_begin = g_renew(guint, packets->lane_begin, n_lanes + 1);
    memset(packets->lane_begin, 0, (n_lanes + 1) * sizeof *packets->lane_begin);
    ahead->packets = packets;
    ahead->sizes = *sizes;
    ahead->max_gap = max_gap;
    ahead->n_lanes = n_lanes;
    ahead->lanes = g_new0(Lane, n_lanes);
    for (guint i = 0; i < n_lanes; i++)
        ahead->lanes[i] = (Lane){
            .scan = scans[i],
            .raw = g_array_new(FALSE, FALSE, sizeof(CtPacket)),
            .ready = g_array_new(FALSE, FALSE, sizeof(CtPacket)),
            .safe = G_MININT64,
        };
    for (guint i = 0; i < n_lanes; i++) {
        gint64 first, end;
        if (!find_range(ahead, scans[i], &first, &end, error))
            return NULL;
        packets->first = MIN(packets->first, first);
        packets->end = MAX(packets->end, end);
        last_first = MAX(last_first, first);
        first_end = MIN(first_end, end);
    }
    if (last_first - first_end > max_gap)
        return NULL;
    ahead->range[0] = packets->first;
    ahead->range[1] = packets->end;
    ahead->is_ranged = TRUE;
    ahead->begin = ahead->given = packets->first;
    ahead->end = packets->end;
    return g_steal_pointer(&ahead);
}

/* ---- parts ---- */

static gint
compare_ready(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    if (x->stamp != y->stamp)
        return x->stamp < y->stamp ? -1 : 1;
    return x->joins != y->joins ? (x->joins > y->joins ? -1 : 1)
                                : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Adds the packets of a part to those that are ready. */
static void
take(CtAhead *ahead, Lane *lane, const CtPackets *some)
{
    guint64 *counts = ahead->packets->counts;
    for (guint i = 0; i < CT_PACKETS_N_COUNTS; i++)
        counts[i] += i == CT_PACKETS_MISSING ? 0 : some->counts[i];
    for (guint i = 0; i < some->packets->len; i++) {
        const CtPacket *packet = &g_array_index(some->packets, CtPacket, i);
        if (packet->offset < some->owned[0] || packet->offset >= some->owned[1])
            continue;
        if (packet->stamp + ahead->packets->n_samples + ahead->packets->overlap <= ahead->begin)
            continue;
        if (ahead->given > ahead->begin && packet->stamp < ahead->given) {
            counts[CT_PACKETS_MISTIMED]++;
            continue;
        }
        g_array_append_vals(lane->ready, packet, 1);
        ahead->used++;
    }
    g_array_sort(lane->ready, compare_ready);
    guint kept = 0;
    for (guint i = 0; i < lane->ready->len; i++) {
        const CtPacket packet = g_array_index(lane->ready, CtPacket, i);
        if (kept > 0 && g_array_index(lane->ready, CtPacket, kept - 1).stamp == packet.stamp) {
            counts[CT_PACKETS_DUPLICATE]++;
            ahead->used--;
        } else
            g_array_index(lane->ready, CtPacket, kept++) = packet;
    }
    g_array_set_size(lane->ready, kept);
}

/* Finds and arranges the next part of a file. */
static gboolean
next_part(CtAhead *ahead, Lane *lane, GError **error)
{
    const guint context = ahead->sizes.context;
    const guint wanted = lane->n_before + ahead->sizes.part + context;
    if (lane->raw->len < wanted &&
        !ct_packet_scan_more(lane->scan, ahead->packets, lane->raw, wanted - lane->raw->len, error))
        return FALSE;
    const CtPacket *raw = (const CtPacket *)lane->raw->data;
    const gboolean is_last = ct_packet_scan_is_over(lane->scan) && lane->raw->len <= wanted;
    const guint end = is_last ? lane->raw->len : lane->n_before + ahead->sizes.part;
    if (end > lane->n_before) {
        g_autoptr(CtPackets) some =
            arrange(ahead, raw, lane->raw->len, raw[lane->n_before].offset,
                    end < lane->raw->len ? raw[end].offset : G_MAXINT64, error);
        if (!some)
            return FALSE;
        take(ahead, lane, some);
        /* Not the latest stamp: some may be wrong. */
        if (some->packets->len > 2 * context)
            lane->safe = MAX(
                lane->safe,
                g_array_index(some->packets, CtPacket, some->packets->len - 1 - 2 * context).stamp);
    }
    if (is_last)
        lane->safe = G_MAXINT64;
    lane->n_before = MIN(end, context);
    g_array_remove_range(lane->raw, 0, end - lane->n_before);
    return TRUE;
}

typedef enum { EARLY, LATE, UNKNOWN } Time;

/* Whether packet `i`, if there is one, is before sample `early`. A stamp outside the range says
 * nothing. */
static gboolean
compare_at(const CtAhead *ahead, CtPacketScan *scan, gint64 i, gint64 early, Time *is,
           GError **error)
{
    GError *failure = NULL;
    CtPacket packet;
    const gboolean found = ct_packet_scan_peek(scan, i, &packet, &failure) &&
                           packet.stamp >= ahead->range[0] && packet.stamp < ahead->range[1];
    *is = !found ? UNKNOWN : packet.stamp < early ? EARLY : LATE;
    if (failure)
        g_propagate_error(error, failure);
    return !failure;
}

/* Finds a packet before sample `early`, so that those before it are too: the last that is known,
 * among those where headers must be. Where a clock was wrong, late packets may be before one that
 * says it is early: so some before what is found are looked at, ever farther ones. */
static gboolean
find_early(const CtAhead *ahead, CtPacketScan *scan, gint64 early, gint64 *found, GError **error)
{
    gint64 low = 0, high = ct_packet_scan_count(scan);
    Time is;
    for (gint64 step = 1; step <= low || high - low > 1;) {
        if (high - low > 1) {
            const gint64 middle = low + (high - low) / 2;
            if (!compare_at(ahead, scan, middle, early, &is, error))
                return FALSE;
            *(is == EARLY ? &low : &high) = middle;
            step = 1;
            continue;
        }
        if (!compare_at(ahead, scan, low - step, early, &is, error))
            return FALSE;
        if (is == LATE) {
            high = low - step;
            low = 0;
        }
        step *= 2;
    }
    *found = low;
    return TRUE;
}

gboolean
ct_ahead_cut(CtAhead *ahead, gint64 first, gint64 end, GError **error)
{
    const gint64 early = first - ahead->sizes.context * ahead->packets->n_samples;
    if (first <= ahead->packets->first && end >= ahead->packets->end)
        return TRUE;
    ahead->begin = ahead->given = MAX(first, ahead->packets->first);
    ahead->end = MIN(end, ahead->packets->end);
    for (guint i = 0; i < ahead->n_lanes; i++) {
        CtPacketScan *scan = ahead->lanes[i].scan;
        GError *failure = NULL;
        CtPacket packet;
        gint64 low;
        if (!find_early(ahead, scan, early, &low, error))
            return FALSE;
        if (ct_packet_scan_peek(scan, low, &packet, &failure) && low > 0)
            ct_packet_scan_seek(scan);
        if (!failure)
            continue;
        g_propagate_error(error, failure);
        return FALSE;
    }
    return TRUE;
}

/* Drops the packets of a lane before sample `begin`, and appends the others to all that are
 * ready. */
static void
publish(CtAhead *ahead, guint i, gint64 begin)
{
    GArray *ready = ahead->lanes[i].ready;
    const gint64 n = ahead->packets->n_samples + ahead->packets->overlap;
    guint gone = 0;
    /* The one before the first tells where that begins. */
    while (gone + 1 < ready->len && g_array_index(ready, CtPacket, gone + 1).stamp + n <= begin)
        gone++;
    g_array_remove_range(ready, 0, gone);
    ahead->packets->lane_begin[i] = ahead->packets->packets->len;
    g_array_append_vals(ahead->packets->packets, ready->data, ready->len);
}

/* What lanes lack at the end. Packets of the sender's marks are counted wherever they were read. */
static void
count_missing(CtAhead *ahead)
{
    CtPackets *packets = ahead->packets;
    const gint64 size = packets->n_samples;
    const gint64 begin = (ahead->begin - packets->first) / size * size;
    const gint64 overlap = ahead->end == packets->end ? packets->overlap : 0;
    const gint64 n = MAX(ahead->end - packets->first - begin - overlap, 0);
    const guint64 wanted = (guint64)((n + size - 1) / size) * packets->n_lanes;
    guint64 given = (guint64)ahead->used + packets->counts[CT_PACKETS_FLAGGED];
    for (guint i = 0; i < packets->packets->len; i++)
        given -= g_array_index(packets->packets, CtPacket, i).stamp >= ahead->end;
    packets->counts[CT_PACKETS_MISSING] = wanted - MIN(wanted, given);
    ahead->is_counted = TRUE;
}

gboolean
ct_ahead_load(CtAhead *ahead, gint64 begin, gint64 end, GError **error)
{
    for (guint i = 0; i < ahead->n_lanes; i++)
        while (ahead->lanes[i].safe < end)
            if (!next_part(ahead, &ahead->lanes[i], error))
                return FALSE;
    g_array_set_size(ahead->packets->packets, 0);
    for (guint i = 0; i < ahead->n_lanes; i++)
        publish(ahead, i, begin);
    ahead->packets->lane_begin[ahead->n_lanes] = ahead->packets->packets->len;
    ahead->given = end;
    if (end >= ahead->end && !ahead->is_counted)
        count_missing(ahead);
    return TRUE;
}
