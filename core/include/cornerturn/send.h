/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends captures of packets, or what the sinks of a graph make, to the network, in the time of
 * their stamps or by a rate of packets, with faults if they are wanted: for tests of what receives
 * them. */
#pragma once

#include <cornerturn/error.h>
#include <cornerturn/pipeline.h>

G_BEGIN_DECLS

/* The account of one address, or of one sink: sent = read − lost + duplicated − unsent. */
typedef struct {
    guint64 read;       /* of the files, or from the sink */
    guint64 sent;       /* datagrams */
    guint64 lost;       /* left out by chance */
    guint64 duplicated; /* sent twice */
    guint64 reordered;  /* sent behind one that was read later */
    guint64 unsent;     /* datagrams that a failure has left unsent */
    guint64 bytes;      /* of the datagrams that were sent */
    gdouble seconds;    /* from the first to the last one */
    const char *sink;   /* the name of the sink, the pipeline's; NULL: packets of files */
    guint64 reserved[3];
} CtSendCount;

typedef enum {
    CT_SEND_SENT,
    CT_SEND_AGAIN, /* sent for the second time */
    CT_SEND_LOST,
} CtSendFate;

/* A datagram that was sent, or a packet that is lost. */
typedef struct {
    guint address;  /* its number, or that of the sink */
    guint64 packet; /* of those read for the address, or from the sink, from 0 on */
    guint file;     /* its number; of a sink: 0 */
    gint64 offset;  /* of the packet in the file, or in all bytes from the sink */
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

/* Has the sinks of a pipeline that can send write to the addresses: one, or one for each of them,
 * in the order of the graph; in the time of the stream, or, with an infinite rate, as fast as the
 * graph runs. `files`, `stage`, `settings` and `n_passes` do not matter. The functions are called
 * on the sinks' threads, one at a time, until the pipeline is freed. Before the check. */
CT_EXPORT gboolean ct_pipeline_send(CtPipeline *pipeline, const CtSend *how, GError **error);
/* The accounts of these sinks, in this order, when the run has ended; the pipeline's. Sets `n`. */
CT_EXPORT const CtSendCount *ct_pipeline_sent(const CtPipeline *pipeline, guint *n);
/* Describes them as ct_send_describe() does. */
CT_EXPORT char *ct_pipeline_describe_sent(const CtPipeline *pipeline, const char *format,
                                          const char *state, const char *error);

G_END_DECLS
