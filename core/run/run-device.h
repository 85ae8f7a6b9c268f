/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a run: contexts, the memory of links, and the streams on which nodes enqueue. */
#pragma once

#include "device/gathered.h"
#include "plan/plan.h"

#include <stdatomic.h>

/* The events of a submission. */
typedef struct {
    CtCuEvent begun; /* the beginning of a timed firing; used only if it did not directly follow
                        another such firing */
    CtCuEvent ran;   /* the end of a timed firing */
    CtCuEvent joint; /* the end of firings that are submitted together: it neither has a time nor
                        wakes a thread, both of which take longer than a short kernel */
} CtRunEvents;

/* A stream, with the state that all nodes which enqueue there share. */
typedef struct {
    CtDevice *device;
    CtCuStream stream;
    GArray *events;    /* of CtRunEvents, used in turn by the submissions: one more than may be in
                          flight */
    guint next_events; /* of the current firing */
    CtCuEvent ran;     /* the end of the previous firing; NULL: there was none, or it was not timed
                        */
    CtGathered *gathered; /* the work of firings that are submitted together; NULL: none is
                             gathered, as on queues of copies */
    atomic_bool waits;    /* the stream was made to wait for another since the last firing began */
    gpointer scratch;     /* scratch_bytes of the device's memory */
    gsize scratch_bytes;
} CtRunQueue;

/* Host memory that devices copy from and to. */
typedef struct {
    gpointer memory;
    const CtCudaDriver *driver;
} CtPinned;

typedef struct {
    guint n_devices;
    CtDevice **devices; /* by number; NULL: the plan does not use it */
    guint8 **memory;    /* [n_devices] of the links there */
    guint n_queues;
    CtRunQueue *queues; /* in the plan's order */
    GArray *pinned;     /* of CtPinned */
} CtRunDevices;

/* Opens the devices that the plan uses, and allocates the memory of the links there. */
CtRunDevices *ct_run_devices_new(const CtPlan *plan, GError **error);
/* Waits until the devices are idle, and frees. Accepts NULL. */
void ct_run_devices_free(CtRunDevices *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRunDevices, ct_run_devices_free)

/* The memory of a link on a device. */
guint8 *ct_run_devices_memory(const CtRunDevices *self, const CtPlanLink *link);
/* Pins host memory, so that copies run in parallel with the processor. Memory that cannot be pinned
 * is copied all the same, only slower. */
void ct_run_devices_pin(CtRunDevices *self, gpointer memory, gsize bytes);
/* Waits until the devices are idle, and unpins all memory, which may then be freed. */
void ct_run_devices_unpin(CtRunDevices *self);
/* Waits until the devices are idle: needed before memory in use is freed. */
void ct_run_devices_synchronize(const CtRunDevices *self);
/* Adds events for `n` more firings in flight; must be called before any firing. */
gboolean ct_run_queue_add_events(CtRunQueue *queue, guint n, GError **error);
/* Allocates the scratch of every queue, the largest that its nodes asked for. */
gboolean ct_run_devices_allocate_scratch(CtRunDevices *self, GError **error);
