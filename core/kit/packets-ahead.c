/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading recordings of packets without an index of all their packets. */
#include "packets-ahead-private.h"

#include <stdlib.h>
#include <string.h>

const CtAheadSizes ct_ahead_sizes = {.part = 1024,
                                     .context = 256,
                                     .least = 1 << 16,
                                     .context_bytes = 4 << 20,
                                     .head_bytes = 8 << 20,
                                     .lead_bytes = 64 << 20};

CtAhead *
ct_ahead_alloc(CtPackets *packets, const CtAheadOf *of, gint64 max_gap, const CtAheadSizes *sizes)
{
    CtAhead *ahead = g_new0(CtAhead, 1);
    packets->n_lanes = of->n_lanes;
    packets->n_samples = of->n_samples;
    packets->lane_begin = g_renew(guint, packets->lane_begin, of->n_lanes + 1);
    memset(packets->lane_begin, 0, (of->n_lanes + 1) * sizeof *packets->lane_begin);
    ahead->packets = packets;
    ahead->sizes = *sizes;
    ahead->max_gap = max_gap;
    ahead->place = of->place;
    ahead->recording = of->recording;
    ahead->ends = of->ends;
    ahead->latest = G_MININT64;
    ahead->stop = G_MAXINT64;
    ahead->n_tracks = of->is_chain ? 1 : of->n_files;
    ahead->tracks = g_new0(CtAheadTrack, ahead->n_tracks);
    for (guint i = 0; i < ahead->n_tracks; i++)
        ahead->tracks[i] = (CtAheadTrack){
            .chain = {.scans = &of->scans[i], .n_scans = of->is_chain ? of->n_files : 1},
            .raw = g_array_new(FALSE, FALSE, sizeof(CtPacket)),
            .safe = G_MININT64,
        };
    ahead->ready = g_new0(GArray *, of->n_lanes);
    for (guint i = 0; i < of->n_lanes; i++)
        ahead->ready[i] = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    return ahead;
}

void
ct_ahead_free(CtAhead *ahead)
{
    if (!ahead)
        return;
    for (guint i = 0; i < ahead->n_tracks; i++)
        g_array_unref(ahead->tracks[i].raw);
    for (guint i = 0; i < ahead->packets->n_lanes; i++)
        g_array_unref(ahead->ready[i]);
    g_free(ahead->tracks);
    g_free(ahead->ready);
    g_free(ahead->pipes);
    g_free(ahead);
}

/* ---- parts ---- */

CtPackets *
ct_ahead_arrange(const CtAhead *ahead, gconstpointer raw, guint n, gint64 begin, gint64 end,
                 const gint64 *range, GError **error)
{
    g_autoptr(CtPackets) some = ct_packets_new();
    g_array_append_vals(some->packets, raw, n);
    g_array_append_vals(some->files, ahead->packets->files->data, ahead->packets->files->len);
    some->overlap = ahead->packets->overlap;
    some->owned[0] = begin;
    some->owned[1] = end;
    if (!ct_packets_arrange_part(some, ahead->packets->n_lanes, ahead->packets->n_samples,
                                 ahead->max_gap, range, error))
        return NULL;
    return g_steal_pointer(&some);
}

gboolean
ct_ahead_scan(const CtAhead *ahead, CtPacketChain *chain, CtPackets *packets, GArray *to,
              guint most, GError **error)
{
    guint kept = to->len;
    if (!ct_packet_chain_more(chain, packets, to, most, error))
        return FALSE;
    for (guint i = kept; ahead->place && i < to->len; i++) {
        CtPacket packet = g_array_index(to, CtPacket, i);
        if (ahead->place(ahead->recording, &packet, packets->counts))
            g_array_index(to, CtPacket, kept++) = packet;
    }
    if (ahead->place)
        g_array_set_size(to, kept);
    return TRUE;
}

static gint
compare_ready(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    if (x->stamp != y->stamp)
        return x->stamp < y->stamp ? -1 : 1;
    if (x->joins != y->joins)
        return x->joins > y->joins ? -1 : 1;
    return x->file != y->file ? (x->file < y->file ? -1 : 1)
                              : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Keeps the first of packets in order that claim the same samples. */
static void
drop_claimed(CtAhead *ahead, GArray *ready)
{
    guint kept = 0;
    for (guint i = 0; i < ready->len; i++) {
        const CtPacket packet = g_array_index(ready, CtPacket, i);
        if (kept > 0 && g_array_index(ready, CtPacket, kept - 1).stamp == packet.stamp) {
            ahead->packets->counts[CT_PACKETS_DUPLICATE]++;
            ahead->used--;
        } else
            g_array_index(ready, CtPacket, kept++) = packet;
    }
    g_array_set_size(ready, kept);
}

static gboolean
is_owned(const CtPackets *some, const CtPacket *packet)
{
    const gint64 at = ct_packets_position(some, packet);
    return at >= some->owned[0] && at < some->owned[1];
}

/* Adds the packets of a part in one lane to those that are ready. */
static void
take_lane(CtAhead *ahead, const CtPackets *some, guint lane)
{
    GArray *ready = ahead->ready[lane];
    const gint64 n = ahead->packets->n_samples + ahead->packets->overlap;
    const guint before = ready->len;
    for (guint i = some->lane_begin[lane]; i < some->lane_begin[lane + 1]; i++) {
        const CtPacket *packet = &g_array_index(some->packets, CtPacket, i);
        if (!is_owned(some, packet))
            continue;
        if (packet->stamp + n <= ahead->begin)
            continue;
        if (ahead->given > ahead->begin && packet->stamp < ahead->given) {
            ahead->packets->counts[CT_PACKETS_MISTIMED]++;
            continue;
        }
        g_array_append_vals(ready, packet, 1);
        ahead->used++;
    }
    if (ready->len == before)
        return;
    g_array_sort(ready, compare_ready);
    drop_claimed(ahead, ready);
}

/* The latest stamp of the packets of a part itself. */
static void
find_latest(CtAhead *ahead, const CtPackets *some, const GArray *packets)
{
    for (guint i = 0; packets && i < packets->len; i++) {
        const CtPacket *packet = &g_array_index(packets, CtPacket, i);
        if (is_owned(some, packet))
            ahead->latest = MAX(ahead->latest, packet->stamp);
    }
}

/* Adds the packets of a part to those that are ready. */
static void
take(CtAhead *ahead, const CtPackets *some)
{
    guint64 *counts = ahead->packets->counts;
    for (guint i = 0; i < CT_PACKETS_N_COUNTS; i++)
        counts[i] += i == CT_PACKETS_MISSING ? 0 : some->counts[i];
    for (guint lane = 0; lane < some->n_lanes; lane++)
        take_lane(ahead, some, lane);
    find_latest(ahead, some, some->packets);
    find_latest(ahead, some, some->flagged);
}

static gint
compare_stamps(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* The sorted stamps of packets. */
static GArray *
sort_stamps(const GArray *packets, const GArray *more, gint64 least)
{
    GArray *stamps = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (guint i = 0; i < packets->len + (more ? more->len : 0); i++) {
        const CtPacket *packet = i < packets->len
                                     ? &g_array_index(packets, CtPacket, i)
                                     : &g_array_index(more, CtPacket, i - packets->len);
        if (packet->stamp >= least)
            g_array_append_val(stamps, packet->stamp);
    }
    g_array_sort(stamps, compare_stamps);
    return stamps;
}

/* The part tells that packets before a stamp have come: not before the latest, as some stamps may
 * be wrong. */
static void
find_safe(const CtAhead *ahead, CtAheadTrack *track, const CtPackets *some)
{
    const guint n = 2 * ahead->sizes.context;
    g_autoptr(GArray) stamps = sort_stamps(some->packets, some->flagged, G_MININT64);
    if (stamps->len > n)
        track->safe = MAX(track->safe, g_array_index(stamps, gint64, stamps->len - 1 - n));
}

/* The range of a pipe's samples that its next packets may have: nobody knows yet which stretch of
 * time has the most packets, so it is the one that goes on from what is there. */
static void
find_range(const CtAhead *ahead, const CtAheadTrack *track, gint64 *range)
{
    const gint64 n = ahead->packets->n_samples;
    const gint64 back = (ahead->sizes.part + 2 * (gint64)ahead->sizes.context) * n;
    range[0] = ahead->packets->first;
    if (track->safe != G_MININT64)
        range[0] = MAX(range[0], track->safe - back);
    g_autoptr(GArray) stamps = sort_stamps(track->raw, NULL, range[0]);
    gint64 last = MAX(ahead->latest, ahead->packets->first);
    for (guint i = 0; i < stamps->len; i++) {
        const gint64 stamp = g_array_index(stamps, gint64, i);
        if (stamp - last > ahead->max_gap + n)
            break;
        last = MAX(last, stamp);
    }
    range[1] = last + 1;
}

gboolean
ct_ahead_next_part(CtAhead *ahead, CtAheadTrack *track, gboolean *waits, GError **error)
{
    const guint context = ahead->sizes.context;
    const guint wanted = track->n_before + ahead->sizes.part + context;
    gint64 range[2] = {ahead->range[0], ahead->range[1]};
    *waits = FALSE;
    while (track->raw->len < wanted && !ct_packet_chain_is_over(&track->chain) && !*waits) {
        if (!ct_ahead_scan(ahead, &track->chain, ahead->packets, track->raw,
                           wanted - track->raw->len, error))
            return FALSE;
        *waits = ct_packet_chain_waits(&track->chain);
    }
    if (*waits)
        return TRUE;
    const CtPacket *raw = (const CtPacket *)track->raw->data;
    const gboolean is_last = ct_packet_chain_is_over(&track->chain) && track->raw->len <= wanted;
    const guint end = is_last ? track->raw->len : track->n_before + ahead->sizes.part;
    if (!ahead->is_ranged)
        find_range(ahead, track, range);
    if (end > track->n_before) {
        g_autoptr(CtPackets) some = ct_ahead_arrange(
            ahead, raw, MIN(track->raw->len, wanted),
            ct_packets_position(ahead->packets, &raw[track->n_before]),
            end < track->raw->len ? ct_packets_position(ahead->packets, &raw[end]) : G_MAXINT64,
            range, error);
        if (!some)
            return FALSE;
        take(ahead, some);
        find_safe(ahead, track, some);
    }
    if (is_last)
        track->safe = G_MAXINT64;
    track->n_before = MIN(end, context);
    g_array_remove_range(track->raw, 0, end - track->n_before);
    return TRUE;
}

/* ---- loading ---- */

/* Drops the packets of a lane before sample `begin`, and appends the others to all that are
 * ready. */
static void
publish(CtAhead *ahead, guint i, gint64 begin)
{
    GArray *ready = ahead->ready[i];
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
    CtPackets *packets = ahead->packets;
    gboolean waits;
    /* ct_ahead_wait() has done this for pipes. */
    for (guint i = 0; i < ahead->n_tracks && !ahead->pipes; i++)
        while (ahead->tracks[i].safe < end)
            if (!ct_ahead_next_part(ahead, &ahead->tracks[i], &waits, error))
                return FALSE;
    g_array_set_size(packets->packets, 0);
    for (guint i = 0; i < packets->n_lanes; i++)
        publish(ahead, i, begin);
    packets->lane_begin[packets->n_lanes] = packets->packets->len;
    ahead->given = end;
    if (end >= MIN(ahead->end, ahead->stop) && !ahead->is_counted)
        count_missing(ahead);
    return TRUE;
}
