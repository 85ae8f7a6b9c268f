/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a reception, for finding the first packets and for receiving all others. */
#pragma once

#include "receiver.h"
#include "reception.h"

#include <pthread.h>
#include <stdatomic.h>

/* A lane of packets. */
typedef struct {
    CtReceiver *receiver;
    gsize packet_bytes;                      /* 0: its stream has not been found */
    guint8 header[CT_PACKET_LONGEST_HEADER]; /* of its stream */
} CtReceptionLane;

/* A datagram that came before the thread has begun. */
typedef struct {
    guint lane;
    gsize at, n; /* its bytes, among those of all */
} CtFirstDatagram;

struct CtReception {
    char *key;           /* its paths */
    guint n_users;       /* with the lock of all receptions */
    gboolean is_started; /* with the same lock */
    const CtSource *source;
    gpointer self;         /* the plugin's struct, for the functions of the format */
    CtPacketFormat format; /* with `self` */
    guint n_lanes;
    CtReceptionLane *lanes;

    pthread_mutex_t lock; /* of what follows */
    GByteArray *bytes;    /* of the first datagrams; NULL: they have gone to `received` */
    GArray *datagrams;    /* CtFirstDatagram */
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

/* Sets all of the packet but its offset. READ: it is one of the lane's stream; else why not. */
guint ct_reception_classify(const CtReception *reception, guint lane, const guint8 *bytes, gsize n,
                            CtPacket *packet);
