/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a run: contexts, the memory of links, the streams on which nodes enqueue. */
#pragma once

#include "device/device.h"
#include "plan/plan.h"

/* When a firing began and ended. */
typedef struct {
    CtCuEvent begun; /* where it did not follow on another */
    CtCuEvent ran;
} CtRunMark;

/* A stream, and what all nodes that enqueue there share. */
typedef struct {
    CtDevice *device;
    CtCuStream stream;
    GArray *marks;    /* of CtRunMark: in turns of the firings, one more than may be in flight */
    guint next_mark;  /* of the firing at hand */
    CtCuEvent ran;    /* the end of the firing before it; NULL: there was none */
    gint waits;       /* atomic: it was made to wait since, for another or the program */
    gpointer scratch; /* scratch_bytes of the device's memory */
    gsize scratch_bytes;
} CtRunQueue;

/* Memory of the host's that devices copy from and to. */
typedef struct {
    gpointer memory;
    const CtCudaDriver *driver;
} CtPinned;

typedef struct {
    guint n_devices;
    CtDevice **devices; /* by number; NULL: the plan does not use it */
    guint8 **memory;    /* of the links, by device */
    guint n_queues;
    CtRunQueue *queues; /* in the plan's order */
    GArray *pinned;     /* of CtPinned */
} CtRunDevices;

/* Opens what the plan uses, allocates the memory of its links there. */
CtRunDevices *ct_run_devices_new(const CtPlan *plan, GError **error);
/* Waits until nothing runs any more, and frees. Accepts NULL. */
void ct_run_devices_free(CtRunDevices *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRunDevices, ct_run_devices_free)

/* Where a link on a device lies. */
guint8 *ct_run_devices_memory(const CtRunDevices *self, const CtPlanLink *link);
/* Pins host memory, so that copies run beside the processor's work. Memory that cannot be pinned is
 * copied all the same, only slower. */
void ct_run_devices_pin(CtRunDevices *self, gpointer memory, gsize bytes);
/* Waits until nothing runs, and lets go of what was pinned: it may be freed. */
void ct_run_devices_unpin(CtRunDevices *self);
/* Waits until nothing runs: before memory that is in use may go. */
void ct_run_devices_synchronize(const CtRunDevices *self);
/* Adds marks for so many more firings in flight; before any firing. */
gboolean ct_run_queue_add_marks(CtRunQueue *queue, guint n, GError **error);
/* Allocates the scratch of every queue, as large as its nodes have asked for. */
gboolean ct_run_devices_allocate_scratch(CtRunDevices *self, GError **error);
