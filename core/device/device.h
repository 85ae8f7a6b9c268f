/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, their memory and queues, for the core; cornerturn/cuda.h is the part for stage
 * authors. */
#pragma once

#include "cuda-driver.h"

#include <cornerturn/stage.h>

/* The devices of this machine, without opening them. Returns their number; if it is 0, *reason
 * (owned by the callee; `reason` may be NULL) says why. The devices are looked up once. */
guint ct_devices(const CtDeviceInfo **info, const char **reason);

/* Whether device `from` can copy to the memory of device `to` without the host. Opens neither. */
gboolean ct_device_are_peers(guint from, guint to);

/* The NUMA node next to device `index`; CT_NO_NUMA: not known. */
gint ct_device_numa(guint index);
/* The bus of device `index`, "0000:01:00.0". FALSE: the driver does not say. */
#define CT_BUS_BYTES 32
gboolean ct_device_bus(guint index, char bus[CT_BUS_BYTES]);

/* Opens device `index`. A device may be opened more than once; each opening must be closed. */
CtDevice *ct_device_open(guint index, GError **error);
/* Opens those devices of this machine that can be opened, and keeps them open until the array is
 * freed. This saves time where many short runs follow one another. */
GPtrArray *ct_devices_keep_open(void);
/* A device that only compiles kernels for an architecture: 90 for compute capability 9.0. */
CtDevice *ct_device_new_dry(guint architecture);
/* All memory of the device must have been freed. Accepts NULL. */
void ct_device_close(CtDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtDevice, ct_device_close)

/* Makes the device current on this thread; needed before any other call of the driver. */
gboolean ct_device_enter(CtDevice *device, GError **error);
/* Returns TRUE if `result` is success; otherwise sets the error. `doing`: "a copy of 12 bytes". */
gboolean ct_device_check(const CtDevice *device, CtCuResult result, GError **error,
                         const char *doing, ...) G_GNUC_PRINTF(4, 5);

/* Gives the device direct access to the memory of another, if the machine supports it. */
gboolean ct_device_reach(CtDevice *device, CtDevice *peer, GError **error);
const CtCudaDriver *ct_device_driver(const CtDevice *device);
/* The bytes allocated by ct_device_alloc and not freed yet. */
gsize ct_device_allocated(const CtDevice *device);

/* While it is TRUE, freed memory is kept for later allocations of the same size: the driver may
 * wait for the device when it allocates and frees. It is FALSE at first. */
void ct_device_reuse(CtDevice *device, gboolean reuses);
/* The kernels that are loaded, by what they are made of; for kernel.c. Those that are the same are
 * loaded once. A stage is prepared with a new array by a worker while another is prepared with new
 * parameters by the program: the table is locked until ct_device_unlock_kernels. */
GHashTable *ct_device_lock_kernels(CtDevice *device);
void ct_device_unlock_kernels(CtDevice *device);

/* The time spent so far on making a device ready, in seconds. */
typedef struct {
    gdouble open;
    gdouble memory;  /* for allocating and pinning */
    gdouble compile; /* for compiling n_compiled kernels */
    gdouble load; /* for looking up and loading those kernels, and n_cached others from the disk */
    guint n_compiled;
    guint n_cached;
} CtDeviceCosts;

CtDeviceCosts ct_device_costs(CtDevice *device);
void ct_device_add_costs(CtDevice *device, const CtDeviceCosts *costs);

/* The current context of a thread that has entered the device. */
CtCuContext ct_device_context(const CtDevice *device);

CtCuFunction ct_kernel_function(const CtKernel *kernel);
/* A number that no other loaded kernel has had. */
guint ct_kernel_serial(const CtKernel *kernel);
/* Sets *bytes to the sizes of the kernel's arguments and returns their number; −1: the driver does
 * not tell them. */
gint ct_kernel_arguments(const CtKernel *kernel, const gsize **bytes);
const char *ct_kernel_name(const CtKernel *kernel);

/* Launches, copies and fills that are gathered, and then issued together: gathered.c. */
typedef struct CtGathered CtGathered;

/* A queue of a node: its firings enqueue on `stream`. An upload stays valid until the n_slots-th
 * firing after its own begins. */
CtQueue *ct_queue_new(CtDevice *device, CtCuStream stream, gsize upload_bytes, guint n_slots,
                      GError **error);
void ct_queue_free(CtQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtQueue, ct_queue_free)
/* Begins a firing. */
void ct_queue_begin(CtQueue *queue);
/* Gathers all that is enqueued from now on, as that of `owner`; NULL: it is issued at once. A stage
 * that has asked for the stream enqueues at once in any case, behind what was gathered before. */
gboolean ct_queue_gather(CtQueue *queue, CtGathered *gathered, gpointer owner, GError **error);
/* The failure of what was gathered when the stage asked for the stream. */
gboolean ct_queue_check(CtQueue *queue, GError **error);
/* Takes `bytes` of what the firing may upload. Returns their address on the device; NULL with an
 * error. Sets *staging to as many bytes of host memory, for copies in either direction. */
gpointer ct_queue_reserve(CtQueue *queue, gsize bytes, guint8 **staging, GError **error);
