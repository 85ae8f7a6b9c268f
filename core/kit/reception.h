/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving the packets of a source from the network: one lane from each address, or any lanes from
 * any addresses.
 *
 * A datagram is one packet. It is received into the buffer in which it waits until it is unpacked
 * into a block: so each payload is copied twice, by the kernel and by CtSource.unpack. One thread
 * receives from all addresses, up to CT_RECEIVER_BATCH datagrams at once, reads their headers, and
 * then takes the lock once for all of them; the reader takes it twice a block. A process that may
 * run on one processor only has its reader receive while it waits.
 *
 * As of a pipe (pipe.h), the first packets are wanted several times: when the graph is checked and
 * when it is prepared. So the process keeps what ct_reception_get has opened, and receives, until a
 * run that has begun to read frees it. */
#pragma once

#include "cornerturn/kit/source.h"
#include "received.h"

typedef struct CtReception CtReception;

/* Opens the addresses, or finds what has been opened for these. To be freed. */
CtReception *ct_reception_get(const CtSource *source, const CtParams *given,
                              const char *const *paths, guint n, GError **error);
void ct_reception_free(CtReception *reception);

/* Waits until two packets of one stream have come from each address, as long as it takes; a signal
 * that asks for the end ends the wait with an error. Of what comes meanwhile, up to `most` bytes
 * and a GiB are kept.
 *
 * If the source finds lanes by `order`, it is then called when from each address 16 packets of one
 * lane have come, counted from when the last address began. If it fails, other than by a parameter,
 * it is called again with twice as many, until these bytes have come, or 65536 packets of a lane.
 */
gboolean ct_reception_find(CtReception *reception, gint64 most, const CtParams *given,
                           GError **error);
/* The header of the stream of an address, and the bytes of its packets. */
const guint8 *ct_reception_header(const CtReception *reception, guint address, gsize *packet_bytes);
/* Appends the packets with which `order` was called; none if each address is a lane. */
void ct_reception_ordered(const CtReception *reception, GArray *packets);
/* The bytes of a datagram before its packet. */
gsize ct_reception_skip(const CtReception *reception);
/* The first sample of these packets. A stamp far from most of them does not count. */
gint64 ct_reception_first(CtReception *reception, gint64 n_samples, gint64 max_gap);
/* From now on, packets are received; nothing if they are. Sets `first` of `sizes`. `packet_rate`:
 * packets a second to each address. */
gboolean ct_reception_run(CtReception *reception, CtReceivedSizes *sizes, gdouble packet_rate,
                          GError **error);

/* ---- reading, by the one thread of a run ---- */

/* A run has begun to read: when it frees the reception, nobody else gets it. */
void ct_reception_start(CtReception *reception);
/* Packets before sample `begin` are not wanted. */
void ct_reception_cut(CtReception *reception, gint64 begin);
/* Waits a while until `most` samples from `begin` on can be loaded, or enough to be worth it: sets
 * *n to their number. */
gboolean ct_reception_wait(CtReception *reception, gint64 begin, gint64 most, gint64 *n,
                           GError **error);
/* Makes `packets` have the packets of samples begin … end − 1, and sets `rows` as
 * ct_received_account does, those of addresses with CT_PACKETS_OVERRUN. Returns the most packets to
 * an address since the last one that was in time, and sets *address. */
guint64 ct_reception_load(CtReception *reception, CtPackets *packets, gint64 begin, gint64 end,
                          CtReceivedCounts *rows, guint *address);
/* The bytes of a packet that is loaded. */
const guint8 *ct_reception_bytes(const CtReception *reception, const CtPacket *packet);
