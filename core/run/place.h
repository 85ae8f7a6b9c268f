/* SPDX-License-Identifier: BSD-3-Clause */
/* The places that run firings: the workers of the host, and the queues of devices.
 *
 * The host decides what a firing covers, the place of the node runs it, and the run then publishes
 * what it made and releases what it read. The scheduler takes each firing through `gather`,
 * `begin`, `work`, `end` and `submit`; ct_scheduler_retire() follows when the work is done. */
#pragma once

#include "run-node.h"

typedef struct CtRunner CtRunner;

struct CtRunPlace {
    /* Prepares node `i`, and gives it the thread that serves it unless the workers do. */
    gboolean (*prepare)(CtScheduler *scheduler, guint i, GError **error);
    /* With the lock. Finds what the next firing can read and write, or, if the node `ends`, only
     * that another firing may begin. FALSE while something is missing (no error), or if it can
     * never come (error). */
    gboolean (*gather)(CtScheduler *scheduler, CtRunNode *node, gboolean ends, GError **error);
    /* Without the lock. Makes the place ready for the firing; on a device, the queue waits for the
     * events that the firing must run after. Then the firing may copy histories and fill its
     * outputs. */
    gboolean (*begin)(CtScheduler *scheduler, CtRunNode *node, GError **error);
    /* Without the lock. Fills the samples that output `o` is about to get with NaN. */
    gboolean (*poison)(CtRunNode *node, guint o, GError **error);
    /* Without the lock. Does the items part->begin … part->end − 1, or enqueues them. */
    gboolean (*work)(CtRunNode *node, CtWork *part, GError **error);
    /* Without the lock, after all work. Sets invalid samples to zero, and *invalid to the invalid
     * lanes × samples of the first output. */
    gboolean (*end)(CtRunNode *node, gint64 *invalid, GError **error);
    /* With the lock, after the outputs were published. FALSE: the firing's work is done. TRUE: it
     * is in flight, and the place calls ct_scheduler_retire() when its work is done. */
    gboolean (*submit)(CtScheduler *scheduler, CtRunNode *node);
    /* With the lock. Adds to a failure of the node which other nodes may be its cause. */
    void (*suspect)(const CtScheduler *scheduler, const CtRunNode *node, GError *cause);
    gboolean enqueues; /* `work` only enqueues: ct_scheduler_fire() takes a firing through all
                          steps, and the time that they take is the core's */
};

extern const CtRunPlace ct_place_host;
extern const CtRunPlace ct_place_device;
