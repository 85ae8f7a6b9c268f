/* SPDX-License-Identifier: BSD-3-Clause */
/* Arranges the packets of files in time: drops packets with wrong stamps and counts missing
 * ones. */
#include "packets-private.h"

#include <string.h>

static CtPacket *
packet_at(const CtPackets *packets, guint i)
{
    return &g_array_index(packets->packets, CtPacket, i);
}

/* Counts a packet, unless it is one of those that are there only for the decisions on others. */
static void
count(CtPackets *packets, guint i, CtPacketCount reason)
{
    const gint64 at = ct_packets_position(packets, packet_at(packets, i));
    if (packets->owned[1] == 0 || (at >= packets->owned[0] && at < packets->owned[1]))
        packets->counts[reason]++;
}

/* Drops a packet whose stamp is wrong. */
static void
drop(CtPackets *packets, guint i)
{
    packet_at(packets, i)->lane = G_MAXUINT32;
    count(packets, i, CT_PACKETS_MISTIMED);
}

static void
remove_dropped(CtPackets *packets)
{
    guint kept = 0;
    for (guint i = 0; i < packets->packets->len; i++)
        if (packet_at(packets, i)->lane != G_MAXUINT32)
            *packet_at(packets, kept++) = *packet_at(packets, i);
    g_array_set_size(packets->packets, kept);
}

/* Drops the packets of lanes that are not read. */
static void
drop_stray(CtPackets *packets)
{
    for (guint i = 0; i < packets->packets->len; i++)
        if (packet_at(packets, i)->lane >= packets->n_lanes) {
            packet_at(packets, i)->lane = G_MAXUINT32;
            count(packets, i, CT_PACKETS_STRAY);
        }
    remove_dropped(packets);
}

static gint
compare_stamps(gconstpointer a, gconstpointer b)
{
    const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

static gint
compare_places(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    return x->lane != y->lane ? (x->lane < y->lane ? -1 : 1) : compare_stamps(&x->stamp, &y->stamp);
}

/* Orders packets by lane, by stamp, by credibility, and by place in the files. Among packets that
 * claim the same samples, the first is the one to keep. */
static gint
compare_packets(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    const gint places = compare_places(a, b);
    if (places != 0)
        return places;
    if (x->joins != y->joins)
        return x->joins > y->joins ? -1 : 1;
    if (x->flagged != y->flagged)
        return x->flagged ? 1 : -1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Sets `joins` of each packet: how many of its neighbours in the lane, in the order of the files,
 * directly precede or follow it in time. Returns the number of packets with no such neighbour. */
static guint
count_joins(CtPackets *packets)
{
    guint n_alone = packets->packets->len;
    g_autofree gint64 *last = g_new(gint64, packets->n_lanes); /* [lane] previous, or −1 */
    for (guint i = 0; i < packets->n_lanes; i++)
        last[i] = -1;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket *packet = packet_at(packets, i);
        CtPacket *before = last[packet->lane] >= 0 ? packet_at(packets, last[packet->lane]) : NULL;
        packet->joins = before && before->stamp + packets->n_samples == packet->stamp;
        n_alone -= packet->joins;
        if (packet->joins > 0 && before->joins++ == 0)
            n_alone--;
        last[packet->lane] = i;
    }
    return n_alone;
}

/* Orders packets by lane and stamp; those with joins come before those without. */
static gint
compare_claims(gconstpointer a, gconstpointer b)
{
    const CtPacket *x = a, *y = b;
    const gint places = compare_places(a, b);
    return places != 0 ? places : (x->joins == 0) - (y->joins == 0);
}

/* Whether a packet with joins (`joins` 1) or without (`joins` 0) claims a stamp. */
static gboolean
is_claimed(const GArray *sorted, guint32 lane, gint64 stamp, guint32 joins)
{
    const CtPacket claim = {.lane = lane, .stamp = stamp, .joins = joins};
    return bsearch(&claim, sorted->data, sorted->len, sizeof claim, compare_claims) != NULL;
}

/* Whether exactly one packet is missing between `before` and `after`, `packet` claims another time
 * than that gap, and no other packet claims the gap. A packet that came late, or that changed
 * places with another one, leaves no such gap. */
static gboolean
is_misplaced(const CtPackets *packets, const GArray *sorted, gint64 before, gint64 packet,
             gint64 after)
{
    const gint64 n = packets->n_samples, stamp = packet_at(packets, packet)->stamp;
    const gint64 room = packet_at(packets, before)->stamp + n;
    const guint32 lane = packet_at(packets, after)->lane;
    return room + n == packet_at(packets, after)->stamp && stamp != room && stamp != room - n &&
           stamp != room + n && !is_claimed(sorted, lane, room, 0) &&
           !is_claimed(sorted, lane, room, 1);
}

/* Drops the packets that are misplaced in the order of the files. A packet without joins is ignored
 * if a packet with joins claims the same stamp. */
static void
drop_misplaced(CtPackets *packets)
{
    if (count_joins(packets) == 0)
        return;
    g_autoptr(GArray) sorted = g_array_copy(packets->packets);
    g_array_sort(sorted, compare_claims);
    g_autofree gint64 *before = g_new(gint64, 2 * packets->n_lanes); /* [lane][2] previous, or −1 */
    for (guint i = 0; i < 2 * packets->n_lanes; i++)
        before[i] = -1;
    for (guint i = 0; i < packets->packets->len; i++) {
        const CtPacket *packet = packet_at(packets, i);
        gint64 *last = &before[2 * packet->lane];
        if (packet->joins == 0 && is_claimed(sorted, packet->lane, packet->stamp, 1))
            continue;
        if (last[1] >= 0 && is_misplaced(packets, sorted, last[1], last[0], i))
            drop(packets, last[0]);
        last[1] = last[0];
        last[0] = i;
    }
    remove_dropped(packets);
}

/* Finds the stretch of time with the most packets and no gap above `max_gap`, of those in `range`
 * if there is one: [first, end) of stamps. */
static void
find_longest_run(const GArray *packets, gint64 max_gap, const gint64 *range, gint64 *first,
                 gint64 *end)
{
    g_autofree gint64 *stamps = g_new(gint64, packets->len + 1);
    guint n = 0;
    for (guint i = 0; i < packets->len; i++) {
        const gint64 stamp = g_array_index(packets, CtPacket, i).stamp;
        if (!range || (stamp >= range[0] && stamp < range[1]))
            stamps[n++] = stamp;
    }
    qsort(stamps, n, sizeof *stamps, compare_stamps);
    guint longest = 0;
    for (guint begin = 0; begin < n;) {
        guint i = begin + 1;
        while (i < n && stamps[i] - stamps[i - 1] <= max_gap)
            i++;
        if (i - begin > longest) {
            longest = i - begin;
            *first = stamps[begin];
            *end = stamps[i - 1] + 1;
        }
        begin = i;
    }
}

/* Drops the packets outside that stretch of time, and counts those that are out of order. */
static void
drop_mistimed(CtPackets *packets)
{
    g_autofree gint64 *latest = g_new(gint64, packets->n_lanes);
    for (guint i = 0; i < packets->n_lanes; i++)
        latest[i] = G_MININT64;
    for (guint i = 0; i < packets->packets->len; i++) {
        const CtPacket *packet = packet_at(packets, i);
        if (packet->stamp < packets->first || packet->stamp >= packets->end) {
            drop(packets, i);
            continue;
        }
        if (packet->stamp < latest[packet->lane])
            count(packets, i, CT_PACKETS_REORDERED);
        latest[packet->lane] = MAX(latest[packet->lane], packet->stamp);
    }
    remove_dropped(packets);
}

/* Sets *same to whether two packets have the same contents after their headers. */
static gboolean
compare_contents(const CtPackets *packets, const CtPacket *a, const CtPacket *b, gboolean *same,
                 GError **error)
{
    guint8 bytes[2][4096];
    const CtPacket *const pair[] = {a, b};
    const CtScannedFile *first = &g_array_index(packets->files, CtScannedFile, a->file);
    *same = TRUE;
    for (gsize at = first->header_bytes; at < first->bytes && *same; at += sizeof bytes[0]) {
        const gsize n = MIN(sizeof bytes[0], first->bytes - at);
        for (guint i = 0; i < 2; i++) {
            const CtScannedFile *file =
                &g_array_index(packets->files, CtScannedFile, pair[i]->file);
            if (!ct_file_read(file->path, file->fd, pair[i]->offset + (gint64)at, bytes[i], n,
                              error))
                return FALSE;
        }
        *same = memcmp(bytes[0], bytes[1], n) == 0;
    }
    return TRUE;
}

/* Packets begin … end − 1, in order, claim the same samples. Keeps the first and drops the others;
 * drops the first too if an equally credible one has other contents. */
static gboolean
decide_claims(CtPackets *packets, guint begin, guint end, GError **error)
{
    gboolean same = TRUE;
    for (guint i = begin + 1; i < end && same; i++)
        if (packet_at(packets, i)->joins == packet_at(packets, begin)->joins &&
            !compare_contents(packets, packet_at(packets, begin), packet_at(packets, i), &same,
                              error))
            return FALSE;
    if (!same)
        drop(packets, begin);
    for (guint i = begin + 1; i < end; i++) {
        packet_at(packets, i)->lane = G_MAXUINT32;
        count(packets, i, same ? CT_PACKETS_DUPLICATE : CT_PACKETS_MISTIMED);
    }
    return TRUE;
}

/* The packets are in order. Keeps at most one of those that claim the same samples. */
static gboolean
drop_doubled(CtPackets *packets, GError **error)
{
    const guint n = packets->packets->len;
    for (guint begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        while (end < n && compare_places(packet_at(packets, begin), packet_at(packets, end)) == 0)
            end++;
        if (end > begin + 1 && !decide_claims(packets, begin, end, error))
            return FALSE;
    }
    remove_dropped(packets);
    return TRUE;
}

/* The first packet of the lane, from `begin` on, that has joins; `begin` if none has. */
static guint
first_joined(const CtPackets *packets, guint begin)
{
    const guint lane = packet_at(packets, begin)->lane;
    for (guint i = begin; i < packets->packets->len && packet_at(packets, i)->lane == lane; i++)
        if (packet_at(packets, i)->joins > 0)
            return i;
    return begin;
}

/* The packets are in order, and no two claim the same samples. Drops those that overlap others or
 * are off the grid. A packet with joins sets the grid; one without is compared with the grid of the
 * last before it that has joins or, at the beginning of a lane, of the first after it. */
static void
drop_off_grid(CtPackets *packets)
{
    const gint64 n = packets->n_samples;
    gint64 grid = 0, last = -1; /* a stamp; the index of the last packet kept in the lane */
    guint lane = G_MAXUINT32;
    for (guint i = 0; i < packets->packets->len; i++) {
        const CtPacket *packet = packet_at(packets, i);
        if (packet->lane != lane) {
            lane = packet->lane;
            last = -1;
            grid = packet_at(packets, first_joined(packets, i))->stamp;
        }
        if (packet->joins > 0)
            grid = packet->stamp;
        const CtPacket *before = last >= 0 ? packet_at(packets, last) : NULL;
        const gboolean overlaps = before && packet->stamp - before->stamp < n;
        if ((packet->stamp - grid) % n != 0 ||
            (overlaps && (packet->joins == 0 || before->joins > 0))) {
            drop(packets, i);
            continue;
        }
        if (overlaps)
            drop(packets, last);
        last = i;
    }
    remove_dropped(packets);
}

/* In packets: a first or last packet without joins is dropped if it is farther than this from the
 * next packet of its lane. */
enum { LONE_DISTANCE = 16 };

static gboolean
is_lone(const CtPackets *packets, guint i, guint next)
{
    const gint64 distance = packet_at(packets, i)->stamp - packet_at(packets, next)->stamp;
    return packet_at(packets, i)->joins == 0 && ABS(distance) > LONE_DISTANCE * packets->n_samples;
}

/* The packets are in order. Drops lone packets at the ends of a lane in which other packets have
 * joins: a wrong stamp there leaves no contradiction. */
static void
drop_lone_ends(CtPackets *packets)
{
    const guint n = packets->packets->len;
    for (guint begin = 0, end; begin < n; begin = end) {
        const guint lane = packet_at(packets, begin)->lane;
        guint n_joined = 0, first = begin;
        for (end = begin; end < n && packet_at(packets, end)->lane == lane; end++)
            n_joined += packet_at(packets, end)->joins > 0;
        guint last = end - 1;
        for (; n_joined > 0 && first < last && is_lone(packets, first, first + 1); first++)
            drop(packets, first);
        for (; n_joined > 0 && first < last && is_lone(packets, last, last - 1); last--)
            drop(packets, last);
    }
    remove_dropped(packets);
}

/* Sets the time from the first packet to the last. */
static void
find_ends(CtPackets *packets)
{
    gint64 first = G_MAXINT64, last = G_MININT64;
    for (guint i = 0; i < packets->packets->len; i++) {
        first = MIN(first, packet_at(packets, i)->stamp);
        last = MAX(last, packet_at(packets, i)->stamp);
    }
    if (packets->packets->len > 0) {
        packets->first = first;
        packets->end = last + packets->n_samples + packets->overlap;
    }
}

/* Puts the flagged packets apart, and sets where each lane begins. */
static void
index_lanes(CtPackets *packets)
{
    guint kept = 0, lane = 0;
    g_clear_pointer(&packets->flagged, g_array_unref);
    packets->lane_begin = g_renew(guint, packets->lane_begin, packets->n_lanes + 1);
    for (guint i = 0; i < packets->packets->len; i++) {
        const CtPacket packet = *packet_at(packets, i);
        for (; lane <= packet.lane; lane++)
            packets->lane_begin[lane] = kept;
        if (!packet.flagged) {
            *packet_at(packets, kept++) = packet;
            continue;
        }
        count(packets, i, CT_PACKETS_FLAGGED);
        if (!packets->flagged)
            packets->flagged = g_array_new(FALSE, FALSE, sizeof(CtPacket));
        g_array_append_val(packets->flagged, packet);
    }
    for (; lane <= packets->n_lanes; lane++)
        packets->lane_begin[lane] = kept;
    g_array_set_size(packets->packets, kept);
}

gboolean
ct_packets_arrange(CtPackets *packets, guint n_lanes, gint64 n_samples, gint64 max_gap,
                   GError **error)
{
    return ct_packets_arrange_part(packets, n_lanes, n_samples, max_gap, NULL, error);
}

gboolean
ct_packets_arrange_part(CtPackets *packets, guint n_lanes, gint64 n_samples, gint64 max_gap,
                        const gint64 *range, GError **error)
{
    if (n_lanes < 1 || n_samples < 1 || max_gap < 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "wants packets of 1 lane and 1 sample at least, but is given %u and "
                    "%" G_GINT64_FORMAT ", with gaps of %" G_GINT64_FORMAT,
                    n_lanes, n_samples, max_gap);
        return FALSE;
    }
    packets->n_lanes = n_lanes;
    packets->n_samples = n_samples;
    packets->first = packets->end = 0;
    drop_stray(packets);
    drop_misplaced(packets);
    find_longest_run(packets->packets, max_gap + n_samples, range, &packets->first, &packets->end);
    drop_mistimed(packets);
    g_array_sort(packets->packets, compare_packets);
    if (!drop_doubled(packets, error))
        return FALSE;
    drop_off_grid(packets);
    drop_lone_ends(packets);
    find_ends(packets);
    index_lanes(packets);
    const gint64 n = MAX(packets->end - packets->first - packets->overlap, 0);
    const guint64 wanted = (n + n_samples - 1) / n_samples * n_lanes;
    const guint64 given = packets->packets->len + packets->counts[CT_PACKETS_FLAGGED];
    packets->counts[CT_PACKETS_MISSING] = wanted - MIN(wanted, given);
    return TRUE;
}

void
ct_packets_bounds(const CtPackets *packets, const CtPacket *packet, gint64 *begin, gint64 *end)
{
    const CtPacket *all = (const CtPacket *)packets->packets->data;
    const gint64 n = packets->n_samples + packets->overlap;
    const gboolean is_first = packet == all + packets->lane_begin[packet->lane];
    *begin = is_first ? packet->stamp : MAX(packet->stamp, packet[-1].stamp + n);
    *end = packet->stamp + n;
}

const CtPacket *
ct_packets_find(const CtPackets *packets, guint lane, gint64 at, const CtPacket **end)
{
    const CtPacket *all = (const CtPacket *)packets->packets->data;
    guint low = packets->lane_begin[lane], high = packets->lane_begin[lane + 1];
    if (!all) /* no packet was found at all */
        return *end = NULL;
    *end = all + high;
    while (low < high) {
        const guint middle = low + (high - low) / 2;
        if (all[middle].stamp + packets->n_samples + packets->overlap > at)
            high = middle;
        else
            low = middle + 1;
    }
    return all + low;
}

gboolean
ct_packets_validity(const CtPackets *packets, guint lane, gint64 begin, gint64 n, guint8 *validity)
{
    memset(validity, 0, n);
    const CtPacket *end, *packet = ct_packets_find(packets, lane, begin, &end);
    gint64 valid = 0;
    for (; packet < end && packet->stamp < begin + n; packet++) {
        gint64 from, to;
        ct_packets_bounds(packets, packet, &from, &to);
        from = MAX(from, begin) - begin;
        to = MIN(to, begin + n) - begin;
        if (to <= from)
            continue;
        memset(validity + from, 1, to - from);
        valid += to - from;
    }
    return valid < n;
}

void
ct_packets_unflag(CtPackets *packets,
                  gboolean (*is_known)(const CtPacket *packet, gconstpointer data),
                  gconstpointer data)
{
    g_autoptr(GArray) flagged = g_steal_pointer(&packets->flagged);
    for (guint i = 0; flagged && i < flagged->len; i++) {
        CtPacket packet = g_array_index(flagged, CtPacket, i);
        packet.flagged = !is_known(&packet, data);
        packets->counts[CT_PACKETS_FLAGGED]--;
        g_array_append_val(packets->packets, packet);
    }
    if (!flagged)
        return;
    g_array_sort(packets->packets, compare_packets);
    index_lanes(packets);
}
