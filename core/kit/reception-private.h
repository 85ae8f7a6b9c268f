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

typedef struct CtReceptionBatch CtReceptionBatch;

/* Waits end after this time, so that a run, or the thread, can end. */
enum { CT_RECEPTION_WAIT_MILLISECONDS = 100 };

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
    gint64 wanted;        /* the sample for which the reader waits */
    pthread_cond_t more;
    GError *failure;    /* if receiving failed, after which nobody receives */
    gboolean is_asleep; /* the thread, until the reader moves */
    pthread_cond_t moved;

    pthread_t thread;
    atomic_bool stops;
    glong most_away;     /* ns, after which the thread receives in place of the reader; 0: it always
                            does */
    atomic_uint n_moves; /* how often the reader came to wait, and went */
    atomic_bool is_turn_wanted; /* by the reader */
    pthread_mutex_t turn;       /* of whoever receives; taken before `lock` */
    CtReceptionBatch *batch;    /* with the turn */
};

/* Sets all of the packet but its offset, from `n` bytes behind what is skipped. READ: it is one of
 * the address's stream, and its lane is known; else why not. */
guint ct_reception_classify(const CtReception *reception, guint address, const guint8 *bytes,
                            gsize n, CtPacket *packet, guint64 *n_restamped);
/* The same without the lane: the packet is as `found` has set it. */
guint ct_reception_parse(const CtReception *reception, guint address, const guint8 *bytes, gsize n,
                         CtPacket *packet);

/* With the lock. Takes a datagram of any kind into what has been received. */
void ct_reception_put(CtReception *reception, guint address, const CtPacket *packet, guint count);

/* ---- receiving (reception-thread.c) ---- */

/* Runs a function on the core of the reception. Signals are for the threads of the program. */
gboolean ct_reception_create_thread(const CtReception *reception, gpointer (*run)(gpointer),
                                    gpointer data, pthread_t *thread, GError **error);
/* With the lock, once `received` is there. */
gboolean ct_reception_begin(CtReception *reception, gdouble packet_rate, GError **error);
/* With the lock, which is released meanwhile. The reader receives, until what is wanted is there or
 * a wait is over. */
void ct_reception_receive(CtReception *reception);

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
