/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches for the packets of several files as one. */
#include "packets-chain.h"

gint64
ct_packet_chain_begin(const CtPacketChain *chain, guint scan)
{
    gint64 n = 0;
    for (guint i = 0; i < scan; i++)
        n += ct_packet_scan_count(chain->scans[i]);
    return n;
}

gint64
ct_packet_chain_count(const CtPacketChain *chain)
{
    return ct_packet_chain_begin(chain, chain->n_scans);
}

/* The file of a packet; its number there goes to *i. */
static guint
find_scan(const CtPacketChain *chain, gint64 *i)
{
    guint scan = 0;
    for (gint64 n; scan + 1 < chain->n_scans; scan++, *i -= n) {
        n = ct_packet_scan_count(chain->scans[scan]);
        if (*i < n)
            break;
    }
    return scan;
}

gboolean
ct_packet_chain_peek(const CtPacketChain *chain, gint64 i, CtPacket *packet, GError **error)
{
    const guint scan = find_scan(chain, &i);
    return ct_packet_scan_peek_after(chain->scans[scan], i, packet, error);
}

gboolean
ct_packet_chain_seek(CtPacketChain *chain, gint64 i, GError **error)
{
    CtPacket packet;
    const guint scan = find_scan(chain, &i);
    if (!ct_packet_scan_peek_after(chain->scans[scan], i, &packet, error))
        return FALSE;
    ct_packet_scan_seek(chain->scans[scan]);
    chain->at = scan;
    return TRUE;
}

/* Goes on with the first packet of the next file, of which the search may have gone on. */
static gboolean
begin_next(CtPacketChain *chain, GError **error)
{
    GError *failure = NULL;
    CtPacket packet;
    CtPacketScan *next = chain->scans[++chain->at];
    if (ct_packet_scan_peek(next, 0, &packet, &failure))
        ct_packet_scan_seek(next);
    if (failure)
        g_propagate_error(error, failure);
    return !failure;
}

gboolean
ct_packet_chain_more(CtPacketChain *chain, CtPackets *packets, GArray *to, guint most,
                     GError **error)
{
    const guint until = most > G_MAXUINT - to->len ? G_MAXUINT : to->len + most;
    for (;;) {
        CtPacketScan *scan = chain->scans[chain->at];
        if (!ct_packet_scan_more(scan, packets, to, until - to->len, error))
            return FALSE;
        if (!ct_packet_scan_is_over(scan) || chain->at + 1 == chain->n_scans)
            return TRUE;
        if (!begin_next(chain, error))
            return FALSE;
        if (to->len == until)
            return TRUE;
    }
}

gboolean
ct_packet_chain_is_over(const CtPacketChain *chain)
{
    return chain->at + 1 == chain->n_scans && ct_packet_scan_is_over(chain->scans[chain->at]);
}

gboolean
ct_packet_chain_waits(const CtPacketChain *chain)
{
    return ct_packet_scan_waits(chain->scans[chain->at]);
}

gint64
ct_packet_chain_at(const CtPacketChain *chain)
{
    return ct_packet_scan_at(chain->scans[chain->at]);
}
