/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a reception, for finding the first packets and for receiving all others. */
#pragma once

#include "packet-memory.h"
#include "receiver.h"
#include "reception.h"

#include <pthread.h>
#include <stdatomic.h>

/* An address. */
typedef struct {
    CtReceiver *receiver;
    gsize packet_bytes; /* 0: its stream has not been found */
    guint8 *header;     /* of its stream, among those of the recording */
} CtReceptionAddress;

/* A datagram that came before the thread has begun. */
typedef struct {
    guint address;
    gsize at, n; /* its bytes, among those of all */
} CtFirstDatagram;

struct CtReception {
    char *key;           /* its paths */
    guint n_users;       /* with the lock of all receptions */
    gboolean is_started; /* with the same lock */
    /* With a struct of the plugin that belongs to the reception alone. Its packets are of no use
     * once they are ordered. */
    CtRecording recording;
    CtPacketFormat format; /* with this struct */
    guint n_addresses;
    CtReceptionAddress *addresses;
    gsize skip;       /* bytes of each datagram before its packet */
    gboolean is_busy; /* the thread does not wait for packets */
    gint core;        /* on which the thread runs; −1: any */
    CtPacketMemory memory;

    pthread_mutex_t lock; /* of what follows */
    GByteArray *bytes;    /* of the first datagrams; NULL: they have gone to `received` */
    GArray *datagrams;    /* CtFirstDatagram */
    GArray *ordered;      /* CtPacket, as `found` has set them: those by which `order` has found
                             the lanes; NULL: each address is one */
    gint64 middle;        /* of their times, in samples */
    guint found;          /* the first of the two datagrams by which the last address was found */
    gint64 first;         /* the first sample, as stamps count them */
    gboolean has_first;
    CtReceived *received; /* NULL: the thread has not begun */
    guint batch;          /* datagrams that are received at once from one address */
    gint64 wanted;        /* the sample for which the reader waits */
    pthread_cond_t more;
    GError *failure;
    pthread_t thread;
    atomic_bool stops;
};

/* Sets all of the packet but its offset, from `n` bytes behind what is skipped. READ: it is one of
 * the address's stream, and its lane is known; else why not. */
guint ct_reception_classify(const CtReception *reception, guint address, const guint8 *bytes,
                            gsize n, CtPacket *packet, guint64 *n_restamped);
/* The same without the lane: the packet is as `found` has set it. */
guint ct_reception_parse(const CtReception *reception, guint address, const guint8 *bytes, gsize n,
                         CtPacket *packet);

/* ---- lanes (reception-order.c) ---- */

/* Makes the reception's recording of `n` addresses, and clears it. */
void ct_reception_init_recording(CtReception *reception, const CtSource *source,
                                 const CtParams *given, guint n);
void ct_reception_clear_recording(CtRecording *recording);

/* Has the plugin order the packets among the first datagrams from number `from` on. If it fails, it
 * can be tried again with more. */
gboolean ct_reception_order(CtReception *reception, guint from, const CtParams *given,
                            GError **error);
/* Sets lane and stamp of a packet that was found. READ: it may be used; else why not. */
guint ct_reception_place(const CtReception *reception, CtPacket *packet, guint64 *n_restamped);
