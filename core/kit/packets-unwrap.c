/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of packets: counters of few bits become numbers that go on. */
#include "packets-private.h"

/* The number nearest to `near` that is a multiple of `period` away from `counter`. */
static gint64
nearest(gint64 counter, gint64 near, gint64 period)
{
    gint64 distance = (counter - near) % period;
    distance += distance < 0 ? period : 0;
    return near + distance - (distance > period / 2 ? period : 0);
}

static gboolean
is_near(gint64 a, gint64 b, gint64 period)
{
    return ABS(a - b) <= period / 8;
}

/* The counter of the first packet that is near the next one of its lane; if there is none, of the
 * first. `last` has room for n_lanes. */
static gint64
find_base(const GArray *packets, guint n_lanes, gint64 period, gint64 *last)
{
    for (guint lane = 0; lane < n_lanes; lane++)
        last[lane] = -1;
    for (guint i = 0; i < packets->len; i++) {
        const CtPacket *packet = &g_array_index(packets, CtPacket, i);
        if (packet->lane >= n_lanes)
            continue;
        const gint64 before = last[packet->lane];
        if (before >= 0 && is_near(nearest(packet->stamp, before, period), before, period))
            return before;
        last[packet->lane] = packet->stamp;
    }
    return packets->len > 0 ? g_array_index(packets, CtPacket, 0).stamp : 0;
}

void
ct_packets_unwrap(CtPackets *packets, guint n_lanes, gint64 period)
{
    g_autofree gint64 *last = g_new(gint64, MAX(n_lanes, 1));    /* [lane] the packet before */
    g_autofree gint64 *trusted = g_new(gint64, MAX(n_lanes, 1)); /* [lane] the last credible one */
    const gint64 base = find_base(packets->packets, n_lanes, period, last);
    for (guint lane = 0; lane < n_lanes; lane++)
        last[lane] = trusted[lane] = base;
    for (guint i = 0; i < packets->packets->len; i++) {
        CtPacket *packet = &g_array_index(packets->packets, CtPacket, i);
        if (packet->lane >= n_lanes)
            continue;
        packet->stamp = nearest(packet->stamp, trusted[packet->lane], period);
        if (is_near(packet->stamp, last[packet->lane], period))
            trusted[packet->lane] = packet->stamp;
        last[packet->lane] = packet->stamp;
    }
}
