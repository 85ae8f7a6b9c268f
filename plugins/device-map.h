/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise work on a device: the boxes between two layouts of a firing, as maps that kernels
 * run.
 *
 * The kernel is built on device-map-kernel.h and has the map as its first argument. It is launched
 * for each box of the firing, most often one: axes that are contiguous on both sides are merged,
 * and runs that are contiguous and aligned on both sides move in units of 16 bytes. */
#pragma once

#include "boxes.h"
#include "device-map-struct.h"

/* Resources that a kernel built on a map includes; `plugin`, a literal, has the two files among its
 * kernels. The second form initialises the headers of a CtKernelSpec. */
#define DEVICE_MAP_RESOURCES(plugin)                                                               \
    "/cornerturn/plugins/" plugin "/device-map-struct.h",                                          \
        "/cornerturn/plugins/" plugin "/device-map-kernel.h"
#define DEVICE_MAP_HEADERS(plugin) ((const char *const[]){DEVICE_MAP_RESOURCES(plugin), NULL})

/* A kernel that copies elements of 1, 2, 4, 8 or 16 bytes, or zeroes them, of a plugin that has
 * device-map.cu among its kernels. */
CtKernel *device_map_copy_new(CtDevice *device, const char *plugin, gsize element_bytes,
                              GError **error);

/* Tunables of a variant that runs a map: its table begins with them. Its kernel is compiled with
 * DEVICE_MAP_THREADS and DEVICE_MAP_UNROLL, and the call has the same values. */
enum { DEVICE_MAP_TUNABLE_THREADS, DEVICE_MAP_TUNABLE_UNROLL, DEVICE_MAP_N_TUNABLES };
#define DEVICE_MAP_TUNABLES                                                                        \
    [DEVICE_MAP_TUNABLE_THREADS] = {"threads", CT_VALUES(128, 256, 512), DEVICE_MAP_THREADS,       \
                                    "of a block"},                                                 \
    [DEVICE_MAP_TUNABLE_UNROLL] = {"units", CT_VALUES(1, 2, 4, 8), DEVICE_MAP_UNROLL,              \
                                   "units of 16 bytes, or elements, per thread"}

/* A kernel and its arguments after the map, as pointers. */
typedef struct {
    const CtKernel *kernel;
    gpointer arguments[8];
    guint n_arguments;
    guint threads, unroll; /* for which the kernel is compiled; 0: the usual ones */
} DeviceMapCall;

/* Enqueues `call` for a box of elements of these sizes. */
gboolean device_map_box(const Box *box, gsize in_bytes, gsize out_bytes, CtQueue *queue,
                        const DeviceMapCall *call, GError **error);

/* Enqueues `call` for a firing. `zero`, a kernel that copies elements of the output's size, fills
 * the rest of blocks with zeros; NULL if the output's layout has no blocks. */
gboolean device_map_work(const Boxes *boxes, const CtWork *work, const DeviceMapCall *call,
                         const CtKernel *zero, GError **error);

DeviceDivisor device_divisor(guint32 by);
