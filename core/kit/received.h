/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets that have been received and are not read yet: their memory, their order, and which
 * of them are late, doubled or mistimed.
 *
 * All memory for packets is one piece, cut into buffers of one size. A buffer is free, is
 * borrowed to receive into, holds a packet that waits, or holds one that the reader has. Packets
 * within the window are in slots by their time; those that are settled, because the window has
 * passed or they are read, are in a queue for each lane. No packet is copied.
 *
 * The fate of a packet depends only on the packets before it, not on when they are read: the
 * window ends at the newest stamp, and what is before the window comes too late. Within the
 * window, a slot has one packet, and refuses others also when that one has been read; so samples
 * of which all lanes' packets have come can be read before the window has passed. Only where
 * buffers lack because nobody reads, the oldest eighth of the time that waits is dropped, of all
 * lanes.
 *
 * Nothing here locks; the caller does (reception.c). */
#pragma once

#include "packets-private.h"

typedef struct {
    guint n_lanes;
    guint n_addresses;   /* `file` of a packet is the number of its address */
    gint64 n_samples;    /* of a packet */
    gint64 first;        /* sample with which the stream begins; what is before is late */
    gint64 window;       /* in samples */
    gint64 max_gap;      /* in samples; a packet farther than this ahead or behind is mistimed */
    gsize packet_bytes;  /* of the longest packet, and what comes before it */
    gint64 buffer_bytes; /* of all buffers */
    guint8 *memory;      /* so many bytes, the caller's, aligned as cache lines are */
} CtReceivedSizes;

typedef struct CtReceived CtReceived;

typedef struct {
    guint64 n[CT_PACKETS_N_RECEIVED_COUNTS];
} CtReceivedCounts;

/* The least buffer_bytes that are enough. */
gint64 ct_received_least_bytes(const CtReceivedSizes *sizes);
CtReceived *ct_received_new(const CtReceivedSizes *sizes, GError **error);
void ct_received_free(CtReceived *received);

/* ---- receiving ---- */

/* Borrows buffers to receive into: `n` offsets, CT_RECEIVER_BATCH at most. */
void ct_received_borrow(CtReceived *received, gint64 *offsets, guint n);
/* The memory at an offset, of so many bytes: one more than the longest packet has, at least. */
guint8 *ct_received_bytes(const CtReceived *received, gint64 offset);
gsize ct_received_room(const CtReceived *received);
/* Takes a borrowed buffer back that holds a packet, at its `offset`. */
void ct_received_put(CtReceived *received, const CtPacket *packet);
/* Takes one back that has a packet of no lane, for the reason `count`. Whole ones are also READ. */
void ct_received_refuse(CtReceived *received, guint address, gint64 offset, guint count);
/* Counts packets of an address whose stamps were corrected. */
void ct_received_restamp(CtReceived *received, guint address, guint64 n);

/* ---- reading ---- */

/* Packets before sample `begin` are not wanted; before anything is loaded. */
void ct_received_cut(CtReceived *received, gint64 begin);
/* The sample before which nothing else will come: the window has passed, or all lanes' packets are
 * there. If it is before `wanted`, a sample between it and `wanted`, which takes less time to find;
 * G_MININT64: always itself. */
gint64 ct_received_safe(CtReceived *received, gint64 wanted);
/* So many samples that are safe are worth a load. */
gint64 ct_received_worth(const CtReceived *received);
/* The newest stamp of the packets that were accepted: for the thread that puts them. */
const gint64 *ct_received_newest(const CtReceived *received);
/* The newest stamp that was accepted from an address, for the same thread; G_MAXINT64: the last
 * 1000 packets to it did not move that. */
gint64 ct_received_reached(const CtReceived *received, guint address);
/* By so many samples an address may be ahead of another one from which datagrams wait. */
gint64 ct_received_lead(const CtReceived *received);
/* So many datagrams may be received at once from one address, lest its lead be longer. */
guint ct_received_batch(const CtReceived *received);
/* At most so many samples may be loaded at once, lest the reader have all buffers. */
gint64 ct_received_most(const CtReceived *received);
/* Makes `packets` have the packets of samples begin … end − 1, which are safe, and gives back those
 * before, which it had. Each `offset` is that of a buffer. Counts what is missing. */
void ct_received_load(CtReceived *received, CtPackets *packets, gint64 begin, gint64 end);
/* The most packets to an address since the last one that was in time; sets *address, unless they
 * are 0. */
guint64 ct_received_unused(const CtReceived *received, guint *address);
/* Sets the counts of packets whose fate is decided: [lane], and behind these [address], of packets
 * that are of no lane. */
void ct_received_account(const CtReceived *received, CtReceivedCounts *rows);
