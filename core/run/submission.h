/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions: firings of a node on a device, which are enqueued and run later. */
#pragma once

#include "firing.h"
#include "run-device.h"

/* A firing from when it is submitted until it is retired. */
typedef struct {
    CtCuEvent begun; /* an event of the queue: all that the firing had to wait for has run; NULL:
                        the firing is not timed */
    CtCuEvent ran;
    gboolean is_last;
    gint64 n_samples; /* those that were gathered, or the room of a source */
    gint64 ns;        /* the time that it took, once it has run */
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
    gboolean is_alone; /* other threads may wait for the ends of its firings */
    gboolean joins;    /* the current firing is submitted together with others, and not timed */
    guint n_joined;    /* such firings since the last timed one */
    gint64 timed_ns;   /* of the last timed firing; −1: there was none … */
    gint64 n_timed;    /* … and its samples */
    gint64 brief_ns;   /* firings that take less time may join others, if they have not more samples
                          than the one that was timed */
    CtRingMover mover; /* copies histories on the queue */
    CtMarks *marks;    /* [limit][n_outputs]; NULL: work marks no samples */
    CtSubmission submissions[CT_MAX_IN_FLIGHT];
};

/* Creates the state that firings of the prepared node need. */
gboolean ct_submissions_new(CtRunNode *node, CtRunQueue *queue, guint limit, gsize upload_bytes,
                            GError **error);
void ct_submissions_free(CtRunNode *node);

/* With the lock. Gathers the events that the firing must run after, and decides whether it may be
 * submitted together with others: a brief firing is, except that one in some is timed by itself. */
void ct_submission_gather(CtRunNode *node);
/* Without the lock. Makes the queue wait for these events; then the firing may enqueue work. */
gboolean ct_submission_begin(CtRunNode *node, GError **error);
/* Without the lock. Fills the samples that output `o` is about to get with NaN. */
gboolean ct_submission_poison(CtRunNode *node, guint o, GError **error);
/* Without the lock. Enqueues the node's work on the items of `part`. */
gboolean ct_submission_work(CtRunNode *node, CtWork *part, GError **error);
/* Without the lock, after work. Sets invalid samples to zero, records the end of the firing unless
 * it `joins` others, and adds the invalid lanes × samples of the first output to *invalid, unless
 * they are known only when the submission has run. */
gboolean ct_submission_end(CtRunNode *node, gint64 *invalid, GError **error);
/* Without the lock. The same for a firing that is not submitted, because it has no work: what was
 * gathered, such as a history, is issued. */
gboolean ct_submission_end_empty(const CtRunNode *node, GError **error);
/* With the lock. Submits the firing: its rings now know that it is in flight. Returns the event at
 * its end. */
CtCuEvent ct_submission_submit(CtRunNode *node);
/* Without the lock. Issues the work of the firings on the node's queue that are submitted together,
 * and records its end. If that fails, *culprit is set to one of their nodes. */
gboolean ct_submission_issue_joint(CtRunNode *node, CtRunNode **culprit, GError **error);

/* Without the lock. Waits until the node's oldest submission has run. */
gboolean ct_submission_wait(const CtRunNode *node, GError **error);
/* Without the lock, after it has run. Reads the time that the oldest submission took, and takes
 * over the samples that it has marked as invalid. After the node's last submission it reads the
 * counters. */
gboolean ct_submission_read(const CtRunNode *node, GError **error);
/* Whether the node's device has had a fault, after which it does no more work. */
gboolean ct_submission_has_fault(const CtRunNode *node);
/* With the lock. Retires the oldest submission. Returns whether it was the node's last firing. One
 * that is not timed counts as if it had taken the `share` of the last timed one. */
gboolean ct_submission_retire(CtRunNode *node, gdouble share);
/* The mover that copies histories on a queue. */
CtRingMover ct_submission_mover(CtQueue *queue);

/* ---- filling blocks: fill-device.c ---- */

/* Makes the kernel that fills blocks. */
CtKernel *ct_fill_new(CtDevice *device, GError **error);
/* Without the lock. Fills the firing's samples of output `o` with the byte `value`: those that are
 * invalid by `validity`, which is on the device with lanes packed; NULL: all. */
gboolean ct_fill_output(CtRunNode *node, guint o, guint8 value, gconstpointer validity,
                        GError **error);
