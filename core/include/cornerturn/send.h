/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends captures of packets to the network, in the time of their stamps or by a rate of packets,
 * with faults if they are wanted: for tests of what receives them. */
#pragma once

#include <cornerturn/error.h>
#include <cornerturn/pipeline.h>

G_BEGIN_DECLS

/* The account of one address: sent = read − lost + duplicated − unsent. */
typedef struct {
    guint64 read;       /* of the files */
    guint64 sent;       /* datagrams */
    guint64 lost;       /* left out by chance */
    guint64 duplicated; /* sent twice */
    guint64 reordered;  /* sent behind one that was read later */
    guint64 unsent;     /* datagrams that a failure has left unsent */
    guint64 bytes;      /* of the datagrams that were sent */
    gdouble seconds;    /* from the first to the last one */
    guint64 reserved[4];
} CtSendCount;

typedef enum {
    CT_SEND_SENT,
    CT_SEND_AGAIN, /* sent for the second time */
    CT_SEND_LOST,
} CtSendFate;

/* A datagram that was sent, or a packet that is lost. */
typedef struct {
    guint address;  /* its number */
    guint64 packet; /* of those read for the address, from 0 on */
    guint file;     /* its number */
    gint64 offset;  /* of the packet in the file */
    gsize bytes;
    CtSendFate fate;
} CtSendPacket;

/* The captures to send, their addresses, times and faults. */
typedef struct {
    const char *const *files;     /* captures, packets back to back; NULL-terminated */
    const char *const *addresses; /* "udp://ADDRESS:PORT": one, or one for each file;
                                     NULL-terminated */
    const char
        *stage; /* the source that reads the files; NULL: by the end of the first one's name */
    const char *const *settings; /* its parameters, "bits=2" with the value in YAML;
                                    NULL-terminated; NULL: none */
    gdouble speed; /* in the time of the stamps: 1 is as fast as they say. Unless `rate` is set */
    gdouble rate;  /* packets a second, of all addresses; infinite: as fast as possible; 0: none */
    guint64 n_passes; /* the files are sent so often; 0: until `is_over` */
    gint ttl;         /* of groups of multicast: the networks that a datagram may pass */
    gboolean loops;   /* … and programs of this machine receive it, too */

    /* Probabilities of faults, 0 to 1 */
    gdouble loss, duplicate, reorder;
    guint reorder_by; /* a packet that is reordered is delayed by 1 to so many packets */
    gdouble jitter;   /* each packet is delayed by up to so many seconds */
    guint32 seed;

    gboolean (*is_over)(gpointer user_data); /* asked often, and at least ten times a second; NULL:
                                                never */
    void (*packet)(const CtSendPacket *packet,
                   gpointer user_data); /* in the order in which they
                                           are sent; NULL: nobody asks */
    gpointer user_data;
    guint64 reserved[8]; /* 0 */
} CtSend;

/* Sends all, and sets counts[address], after a failure, too. Packets that are delayed when
 * `is_over` ends it are sent at once. */
CT_EXPORT gboolean ct_send(const CtSend *how, CtSendCount *counts, GError **error);

/* Describes what has become of the packets, also during ct_send(): as "text" or as "json", where
 * `state` and `error` (NULL: none) are told, too. Allocated. */
CT_EXPORT char *ct_send_describe(const CtSend *how, const CtSendCount *counts, const char *format,
                                 const char *state, const char *error);

/* Has the sinks of a pipeline that can send write to addresses: one, or one for each of them, in
 * the order of the graph. `speed` as the parameter of these stages; 0: as fast as the graph.
 * Before the check. */
CT_EXPORT gboolean ct_pipeline_send_to(CtPipeline *pipeline, const char *const *addresses,
                                       gdouble speed, gint ttl, gboolean loops, GError **error);

G_END_DECLS
