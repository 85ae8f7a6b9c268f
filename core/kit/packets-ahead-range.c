/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading long files of packets part by part: the range of their samples, and finding where a part
 * of the time begins. */
#include "packets-ahead-private.h"

/* ---- the range ---- */

/* Finds the range of samples of a file from its first and its last packets. FALSE without an error
 * if these do not tell it. */
static gboolean
find_range(const CtAhead *ahead, CtPacketScan *scan, gint64 *first, gint64 *end, GError **error)
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
    gboolean good = ct_ahead_scan(ahead, scan, counts, raw, n, &failure);
    g_autoptr(CtPackets) head =
        good ? ct_ahead_arrange(ahead, raw->data, raw->len, 0, 0, NULL, &failure) : NULL;
    g_array_set_size(raw, 0);
    if (head && ct_packet_scan_peek_after(scan, count - n, &packet, &failure)) {
        ct_packet_scan_seek(scan);
        good = ct_ahead_scan(ahead, scan, counts, raw, G_MAXUINT, &failure);
    }
    g_autoptr(CtPackets) tail =
        good && raw->len > 0 ? ct_ahead_arrange(ahead, raw->data, raw->len, 0, 0, NULL, &failure)
                             : NULL;
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
ct_ahead_new(CtPackets *packets, const CtAheadOf *of, gint64 max_gap, const CtAheadSizes *sizes,
             GError **error)
{
    gint64 last_first = G_MININT64, first_end = G_MAXINT64;
    for (guint i = 0; i < of->n_tracks; i++)
        if (ct_packet_scan_count(of->scans[i]) <= sizes->least ||
            ct_packet_scan_count(of->scans[i]) <= sizes->part + sizes->context)
            return NULL;
    g_autoptr(CtAhead) ahead = ct_ahead_alloc(packets, of, max_gap, sizes);
    packets->first = G_MAXINT64;
    packets->end = G_MININT64;
    for (guint i = 0; i < of->n_tracks; i++) {
        gint64 first, end;
        if (!find_range(ahead, of->scans[i], &first, &end, error))
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

/* ---- a part of the time ---- */

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
    if (ahead->pipes)
        return TRUE;
    for (guint i = 0; i < ahead->n_tracks; i++) {
        CtPacketScan *scan = ahead->tracks[i].scan;
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
