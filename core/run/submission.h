/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions: firings of a node on a device, which are enqueued and run later. */
#pragma once

#include "firing.h"
#include "run-device.h"

/* A firing from when it is submitted until it is retired. */
typedef struct {
    CtCuEvent begun; /* an event of the queue: all that the firing had to wait for has run */
    CtCuEvent ran;
    gboolean is_last;
} CtSubmission;

/* The validity of an output's samples while work may mark them, with lanes packed. */
typedef struct {
    gint64 n;          /* samples; 0: nothing was made */
    guint8 *on_device; /* [lane][n] */
    guint8 *staging;   /* the same on the host, once the submission has run */
    guint8 *validity;  /* in the ring … */
    gint64 stride;     /* … from a lane to the next */
    gint64 n_invalid;  /* lanes × samples, once the submission has run */
} CtMarks;

struct CtSubmissions {
    CtRunQueue *queue;
    CtQueue *own;      /* the queue as the variant sees it */
    GPtrArray *after;  /* events of other queues that the current firing must run after */
    guint64 *counters; /* on the device */
    guint64 *counted;  /* copy of them on the host */
    CtKernel *fill;    /* kernel that sets invalid samples to zero */
    guint limit;       /* the most firings in flight */
    guint n;           /* firings in flight */
    guint64 n_submitted;
    guint first;       /* the oldest of them */
    guint next;        /* the slot of the current firing */
    CtRingMover mover; /* copies histories on the queue */
    CtMarks *marks;    /* [limit][n_outputs]; NULL: work marks no samples */
    CtSubmission submissions[CT_MAX_IN_FLIGHT];
};

/* Creates the state that firings of the prepared node need. */
gboolean ct_submissions_new(CtRunNode *node, CtRunQueue *queue, guint limit, gsize upload_bytes,
                            GError **error);
void ct_submissions_free(CtRunNode *node);

/* With the lock. Gathers the events that the firing must run after. */
void ct_submission_gather(CtRunNode *node);
/* Without the lock. Makes the queue wait for these events; then the firing may enqueue work. */
gboolean ct_submission_begin(CtRunNode *node, GError **error);
/* Without the lock. Fills the samples that output `o` is about to get with NaN. */
gboolean ct_submission_poison(CtRunNode *node, guint o, GError **error);
/* Without the lock. Enqueues the node's work on the items of `part`. */
gboolean ct_submission_work(CtRunNode *node, CtWork *part, GError **error);
/* Without the lock, after work. Sets invalid samples to zero, records the end of the firing, and
 * adds the invalid lanes × samples of the first output to *invalid, unless they are known only when
 * the submission has run. */
gboolean ct_submission_end(CtRunNode *node, gint64 *invalid, GError **error);
/* With the lock. Submits the firing: its rings now know that it is in flight. */
void ct_submission_submit(CtRunNode *node);

/* Without the lock. Waits until the oldest submission has run, and sets *ns to the time that it
 * took. Takes over the samples that it has marked as invalid. After the node's last submission it
 * reads the counters. */
gboolean ct_submission_wait(const CtRunNode *node, gint64 *ns, GError **error);
/* Whether the node's device has had a fault, after which it does no more work. */
gboolean ct_submission_has_fault(const CtRunNode *node);
/* With the lock. Retires the oldest submission. Returns whether it was the node's last firing. */
gboolean ct_submission_retire(CtRunNode *node);
/* The mover that copies histories on a queue. */
CtRingMover ct_submission_mover(CtQueue *queue);

/* ---- filling blocks: fill-device.c ---- */

/* Makes the kernel that fills blocks. */
CtKernel *ct_fill_new(CtDevice *device, GError **error);
/* Without the lock. Fills the firing's samples of output `o` with the byte `value`: those that are
 * invalid by `validity`, which is on the device with lanes packed; NULL: all. */
gboolean ct_fill_output(CtRunNode *node, guint o, guint8 value, gconstpointer validity,
                        GError **error);
