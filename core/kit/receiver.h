/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the network from which datagrams are received. Each way to receive is a table of
 * operations; what is done with the datagrams does not depend on it. */
#pragma once

#include <glib.h>

/* At most so many datagrams are received by one call. */
enum { CT_RECEIVER_BATCH = 64 };

/* A datagram is received into memory of the caller: the only copy before it is unpacked. */
typedef struct {
    guint8 *bytes;
    gsize room; /* bytes that there is memory for */
    gsize n;    /* set: the bytes that were sent; those beyond `room` are gone */
} CtDatagram;

typedef struct CtReceiverKind CtReceiverKind;

typedef struct {
    const CtReceiverKind *kind;
    char *path;
    int fd;           /* for poll(2): readable when datagrams are there */
    gsize held_bytes; /* of datagrams that wait; 0: few */
} CtReceiver;

struct CtReceiverKind {
    const char *prefix; /* of its paths: "udp://" */
    /* The path is that of the receiver, which it fills in. */
    CtReceiver *(*open)(const char *path, GError **error);
    /* Receives up to `n` datagrams, CT_RECEIVER_BATCH at most, without waiting; returns their
     * number, −1 with an error. */
    int (*receive)(CtReceiver *receiver, CtDatagram *datagrams, guint n, GError **error);
    void (*close)(CtReceiver *receiver);
    /* The datagrams to the address, since it was opened, that were lost on this machine before
     * anybody could receive them, because their buffers were full. May be called while another
     * thread receives, by one thread at a time. NULL: nobody counts them. */
    guint64 (*lost)(CtReceiver *receiver);
};

extern const CtReceiverKind ct_receiver_udp;
extern const CtReceiverKind ct_receiver_xdp;

/* Whether a path names an address of the network. */
gboolean ct_receiver_is(const char *path);
CtReceiver *ct_receiver_open(const char *path, GError **error);
void ct_receiver_close(CtReceiver *receiver);
/* 0 if nobody counts them. */
guint64 ct_receiver_lost(CtReceiver *receiver);
