/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading long files of packets part by part: the range of their samples, and finding where a part
 * of the time begins. */
#include "packets-ahead-private.h"

/* ---- the range ---- */

/* Arranges the packets at an end of a track, from packet number `from` on; NULL without an error if
 * there are none. */
static CtPackets *
arrange_end(const CtAhead *ahead, CtPacketChain *chain, gint64 from, GError **error)
{
    g_autoptr(CtPackets) counts = ct_packets_new(); /* that nobody wants */
    g_autoptr(GArray) raw = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    const guint most = from <= 0 ? ahead->n_ends : G_MAXUINT;
    if (!ct_packet_chain_seek(chain, from, error) ||
        !ct_ahead_scan(ahead, chain, counts, raw, most, error) || raw->len == 0)
        return NULL;
    return ct_ahead_arrange(ahead, raw->data, raw->len, 0, 0, NULL, error);
}

/* Finds the range of samples of a track from its first and its last packets. FALSE without an error
 * if these do not tell it. */
static gboolean
find_range(const CtAhead *ahead, CtPacketChain *chain, gint64 *first, gint64 *end, GError **error)
{
    const gint64 count = ct_packet_chain_count(chain);
    GError *failure = NULL;
    g_autoptr(CtPackets) head = arrange_end(ahead, chain, 0, &failure);
    g_autoptr(CtPackets) tail =
        head ? arrange_end(ahead, chain, count - ahead->n_ends, &failure) : NULL;
    if (!failure)
        ct_packet_chain_seek(chain, 0, &failure);
    if (failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (!tail || head->packets->len == 0 || tail->packets->len == 0)
        return FALSE;
    *first = head->first;
    *end = tail->end;
    return *end > *first;
}

/* Whether so few packets of a file, which is one lane, are missing that no pause is too long. */
static gboolean
has_no_pause(const CtAhead *ahead, const CtAheadTrack *track, gint64 first, gint64 end)
{
    const gint64 n = ahead->packets->n_samples;
    return (end - first) / n - ct_packet_chain_count(&track->chain) <= ahead->max_gap / n;
}

/* The sizes for so many lanes in one file. */
static CtAheadSizes
fit_sizes(const CtAheadSizes *sizes, const CtAheadOf *of)
{
    const guint most = 1 << 24, n = of->is_chain ? MIN(of->n_lanes, most) : 1;
    CtAheadSizes fit = *sizes;
    fit.context = MIN(sizes->context, most / n) * n;
    fit.part = MIN(sizes->part, most / n) * n;
    return fit;
}

CtAhead *
ct_ahead_new(CtPackets *packets, const CtAheadOf *of, gint64 max_gap, const CtAheadSizes *sizes,
             GError **error)
{
    const CtAheadSizes fit = fit_sizes(sizes, of);
    gint64 last_first = G_MININT64, first_end = G_MAXINT64;
    g_autoptr(CtAhead) ahead = ct_ahead_alloc(packets, of, max_gap, &fit);
    ahead->n_ends = sizes->part + fit.context;
    for (guint i = 0; i < ahead->n_tracks; i++) {
        const gint64 count = ct_packet_chain_count(&ahead->tracks[i].chain);
        if (count <= sizes->least || count <= ahead->n_ends)
            return NULL;
    }
    packets->first = G_MAXINT64;
    packets->end = G_MININT64;
    for (guint i = 0; i < ahead->n_tracks; i++) {
        CtAheadTrack *track = &ahead->tracks[i];
        gint64 first, end;
        if (!find_range(ahead, &track->chain, &first, &end, error) ||
            (!of->is_chain && !has_no_pause(ahead, track, first, end)))
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

/* So many packets are looked at, at most, for one that says the time: others are damaged, or of
 * lanes that are not read. */
enum { LOOKS = 64 };

/* Whether packet `i`, or the first one after it that tells, is before sample `early`. A stamp
 * outside the range says nothing. */
static gboolean
compare_at(const CtAhead *ahead, const CtPacketChain *chain, gint64 i, gint64 early, Time *is,
           GError **error)
{
    guint64 counts[CT_PACKETS_N_COUNTS] = {0}; /* that nobody wants */
    GError *failure = NULL;
    *is = UNKNOWN;
    for (guint k = 0; k < LOOKS && *is == UNKNOWN && !failure; k++) {
        CtPacket packet;
        if (!ct_packet_chain_peek(chain, i + k, &packet, &failure))
            break;
        if ((!ahead->place || ahead->place(ahead->recording, &packet, counts)) &&
            packet.lane < ahead->packets->n_lanes && packet.stamp >= ahead->range[0] &&
            packet.stamp < ahead->range[1])
            *is = packet.stamp < early ? EARLY : LATE;
    }
    if (failure)
        g_propagate_error(error, failure);
    return !failure;
}

/* Finds a packet before sample `early`, so that those before it are too: the last that is known,
 * among those where headers must be. Where a clock was wrong, late packets may be before one that
 * says it is early: so some before what is found are looked at, ever farther ones. */
static gboolean
find_early(const CtAhead *ahead, const CtPacketChain *chain, gint64 early, gint64 *found,
           GError **error)
{
    gint64 low = 0, high = ct_packet_chain_count(chain);
    Time is;
    for (gint64 step = 1; step <= low || high - low > 1;) {
        if (high - low > 1) {
            const gint64 middle = low + (high - low) / 2;
            if (!compare_at(ahead, chain, middle, early, &is, error))
                return FALSE;
            *(is == EARLY ? &low : &high) = middle;
            step = 1;
            continue;
        }
        if (!compare_at(ahead, chain, low - step, early, &is, error))
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
        CtPacketChain *chain = &ahead->tracks[i].chain;
        GError *failure = NULL;
        gint64 low;
        if (!find_early(ahead, chain, early, &low, error) ||
            (!ct_packet_chain_seek(chain, low, &failure) && failure)) {
            if (failure)
                g_propagate_error(error, failure);
            return FALSE;
        }
    }
    return TRUE;
}
