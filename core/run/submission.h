/* SPDX-License-Identifier: BSD-3-Clause */
/* Firings of a node that runs on a device: enqueued now, run later. */
#pragma once

#include "firing.h"
#include "run-device.h"

/* One of them, from when it is enqueued until it has landed. */
typedef struct {
    CtCuEvent begun; /* all that it had to wait for has run; of the queue's marks */
    CtCuEvent ran;
    gboolean is_last;
} CtSubmission;

struct CtSubmissions {
    CtRunQueue *queue;
    CtQueue *own;      /* what the variant enqueues on */
    GPtrArray *after;  /* events of other queues that the firing at hand must run after */
    guint8 *validity;  /* of an output, to be sent */
    guint64 *counters; /* on the device */
    guint64 *counted;  /* as they were read */
    CtKernel *fill;    /* with zeros, what is invalid */
    guint limit;       /* how many may be in flight */
    guint n;           /* how many are */
    guint first;       /* the oldest of them */
    guint next;        /* that of the firing at hand */
    CtSubmission submissions[CT_MAX_IN_FLIGHT];
};

/* Creates what the firings of the prepared node need. */
gboolean ct_submissions_new(CtRunNode *node, CtRunQueue *queue, guint limit, gsize upload_bytes,
                            GError **error);
void ct_submissions_free(CtRunNode *node);

/* With the lock. A firing begins: it has a slot. */
void ct_submission_claim(CtRunNode *node);
/* With the lock. Gathers the events that the firing must run after. */
void ct_submission_gather(CtRunNode *node);
/* Without the lock. Makes the queue wait for them; then the firing may enqueue. */
gboolean ct_submission_begin(CtRunNode *node, GError **error);
/* Without the lock. Enqueues the node's work. */
gboolean ct_submission_work(CtRunNode *node, GError **error);
/* Without the lock, after work: zeroes what is invalid, and marks the firing's end. Writes the
 * invalid lanes × samples of the first output. */
gboolean ct_submission_end(CtRunNode *node, gint64 *invalid, GError **error);
/* With the lock. The firing is in flight: its rings know of it. */
void ct_submission_submit(CtRunNode *node);

/* Without the lock. Waits until the oldest has run; *ns says how long it took. Of the last, reads
 * the counters. */
gboolean ct_submission_wait(const CtRunNode *node, gint64 *ns, GError **error);
/* Whether the node's device has had a fault, after which it does nothing any more. */
gboolean ct_submission_has_fault(const CtRunNode *node);
/* With the lock. The oldest has landed. Returns whether it was the node's last firing. */
gboolean ct_submission_retire(CtRunNode *node);
/* How histories are moved on a queue. */
CtRingMover ct_submission_mover(CtQueue *queue);
