/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the network to which datagrams are sent, each at its time. Each way to send is a
 * table of operations. */
#pragma once

#include <glib.h>

/* At most so many datagrams are sent by one call. */
enum { CT_SENDER_BATCH = 64 };

/* The options of a group of multicast. */
typedef struct {
    gint ttl;       /* the networks that a datagram may pass */
    gboolean loops; /* programs of this machine receive them, too */
} CtSenderGroup;

/* A datagram; it stays the caller's, and must stay there until it is sent. */
typedef struct {
    const guint8 *bytes;
    gsize n;
    guint64 number; /* what follows is the caller's */
    gint64 offset;
    guint32 file;
    gboolean again;
} CtOutgoing;

typedef struct CtSenderKind CtSenderKind;

typedef struct {
    const CtSenderKind *kind;
    char *path;
    int fd;
} CtSender;

struct CtSenderKind {
    const char *prefix; /* of its paths: "udp://" */
    /* The path is that of the sender, which it fills in. */
    CtSender *(*open)(const char *path, const CtSenderGroup *group, GError **error);
    /* Sends `n` datagrams, CT_SENDER_BATCH at most; waits while the kernel has no room. Returns the
     * number sent, fewer only with an error. */
    guint (*send)(CtSender *sender, const CtOutgoing *datagrams, guint n, GError **error);
    void (*close)(CtSender *sender);
};

extern const CtSenderKind ct_sender_udp;

/* Whether a path names an address of the network. */
gboolean ct_sender_is(const char *path);
/* Reads it, and sets *is_group: whether it is that of a group of multicast. */
gboolean ct_sender_check(const char *path, gboolean *is_group, GError **error);
/* Whether all paths, NULL-terminated, are addresses that can be read. */
gboolean ct_senders_check(const char *const *paths, GError **error);

/* ---- sending by the clock ---- */

/* Several addresses. Datagrams are put in the order of their times. What is due is sent together;
 * before a wait, all that waits is sent. A wait ends late by chance, but the time of the next
 * datagram does not depend on it. */
typedef struct CtSenders CtSenders;

/* Called for datagrams that have been sent. */
typedef void (*CtSentFunc)(guint address, const CtOutgoing *sent, guint n, gpointer data);

CtSenders *ct_senders_new(const char *const *paths, guint n, const CtSenderGroup *group,
                          GError **error);
void ct_senders_free(CtSenders *senders);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtSenders, ct_senders_free)
void ct_senders_watch(CtSenders *senders, CtSentFunc sent, gpointer data);

/* Nanoseconds of a clock that is never set. */
gint64 ct_clock_now(void);
/* The longest time between two of its readings that sums can have: 146 years. */
#define CT_CLOCK_LONGEST 0x1p62
/* Sends what has been put if `due` has not come, and waits for it, at most as long as
 * `is_over`, unless NULL, is FALSE: asked ten times a second. */
gboolean ct_senders_wait(CtSenders *senders, gint64 due, gboolean (*is_over)(gpointer),
                         gpointer data, GError **error);
/* Puts a datagram, which is due. What is sent is complete with ct_senders_flush(). */
gboolean ct_senders_put(CtSenders *senders, guint address, const CtOutgoing *datagram,
                        GError **error);
gboolean ct_senders_flush(CtSenders *senders, GError **error);
