/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, their memory and queues, as the core uses them; cornerturn/cuda.h is the stage author's
 * part. */
#pragma once

#include "cuda-driver.h"

#include <cornerturn/stage.h>

/* The devices of this machine, without opening any; 0 where there are none: *reason (the callee's,
 * unless `reason` is NULL) says why. Looked for once. */
guint ct_devices(const CtDeviceInfo **info, const char **reason);

/* Whether one device copies to the memory of another without the host. Opens neither. */
gboolean ct_device_are_peers(guint from, guint to);

/* Opens device `index`; the driver counts its openings. */
CtDevice *ct_device_open(guint index, GError **error);
/* Opens those devices of this machine that can be opened, until the array is freed: for many runs,
 * each of which would take longer to open them than it runs. */
GPtrArray *ct_devices_keep_open(void);
/* An architecture without a device: 90 for compute capability 9.0. */
CtDevice *ct_device_new_dry(guint architecture);
/* What was allocated of it must be freed. Accepts NULL. */
void ct_device_close(CtDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDevice, ct_device_close)

/* Makes the device this thread's: before any call of the driver. */
gboolean ct_device_enter(CtDevice *device, GError **error);
/* Sets the error for what a call of the driver returned; TRUE where it was success. `doing`: "a
 * copy of 12 bytes". */
gboolean ct_device_check(const CtDevice *device, CtCuResult result, GError **error,
                         const char *doing, ...) G_GNUC_PRINTF(4, 5);

/* Lets the device reach the memory of another directly, where the machine has a way. */
gboolean ct_device_reach(CtDevice *device, CtDevice *peer, GError **error);
const CtCudaDriver *ct_device_driver(const CtDevice *device);
/* Bytes that ct_device_alloc has given out and not got back. */
gsize ct_device_allocated(const CtDevice *device);

/* What it took to make it ready so far. */
typedef struct {
    gdouble open;    /* seconds */
    gdouble memory;  /* of allocating and pinning */
    gdouble compile; /* of compiling n_compiled kernels */
    gdouble load;    /* of finding and loading them, and n_cached others from the disk */
    guint n_compiled;
    guint n_cached;
} CtDeviceCosts;

const CtDeviceCosts *ct_device_costs(const CtDevice *device);
/* Adds to them; for prepare, which runs on one thread. */
void ct_device_add_costs(CtDevice *device, const CtDeviceCosts *costs);

CtCuFunction ct_kernel_function(const CtKernel *kernel);
const char *ct_kernel_name(const CtKernel *kernel);

/* A queue of a node: what its firings enqueue goes to `stream`; the uploads of a firing last until
 * `n_slots` further ones have begun. */
CtQueue *ct_queue_new(CtDevice *device, CtCuStream stream, gsize upload_bytes, guint n_slots,
                      GError **error);
void ct_queue_free(CtQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtQueue, ct_queue_free)
/* Begins a firing. */
void ct_queue_begin(CtQueue *queue);
