/* SPDX-License-Identifier: BSD-3-Clause */
/* Searches for the packets of several files as one: those of the files one after another. */
#pragma once

#include "packets-private.h"

/* Packets have the numbers that they have if none before them is damaged. */
typedef struct {
    CtPacketScan *const *scans; /* [n_scans], not owned */
    guint n_scans;
    guint at; /* the search that goes on */
} CtPacketChain;

/* The packets of all files, if none is damaged. */
gint64 ct_packet_chain_count(const CtPacketChain *chain);
/* The number of the first packet of a file. */
gint64 ct_packet_chain_begin(const CtPacketChain *chain, guint scan);
/* As ct_packet_scan_peek_after(), of the packet that is number `i` of all. */
gboolean ct_packet_chain_peek(const CtPacketChain *chain, gint64 i, CtPacket *packet,
                              GError **error);
/* Goes on with the packet that ct_packet_chain_peek() finds. FALSE without an error: it finds
 * none. */
gboolean ct_packet_chain_seek(CtPacketChain *chain, gint64 i, GError **error);
/* As ct_packet_scan_more(), ct_packet_scan_is_over(), ct_packet_scan_waits() and
 * ct_packet_scan_at(), which is an offset in the file that is searched. */
gboolean ct_packet_chain_more(CtPacketChain *chain, CtPackets *packets, GArray *to, guint most,
                              GError **error);
gboolean ct_packet_chain_is_over(const CtPacketChain *chain);
gboolean ct_packet_chain_waits(const CtPacketChain *chain);
gint64 ct_packet_chain_at(const CtPacketChain *chain);
