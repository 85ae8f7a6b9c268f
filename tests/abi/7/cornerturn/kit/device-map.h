/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementwise work on a device: the boxes between two layouts of a firing, as maps that kernels
 * run.
 *
 * The kernel is built on <cornerturn/kit/device-map-kernel.h> and has the map as its first
 * argument. It is launched for each box of the firing, most often one: axes that are contiguous on
 * both sides are merged, and runs that are contiguous and aligned on both sides move in units of 16
 * bytes. */
#pragma once

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/device-map-struct.h>

G_BEGIN_DECLS

/* A kernel that copies elements of 1, 2, 4, 8 or 16 bytes, or zeroes them. */
CT_EXPORT CtKernel *ct_device_map_copy_new(CtDevice *device, gsize element_bytes, GError **error);

/* Tunables of a variant that runs a map: its table begins with them. Its kernel is compiled with
 * CT_DEVICE_MAP_THREADS and CT_DEVICE_MAP_UNROLL, and the call has the same values. */
enum { CT_DEVICE_MAP_TUNABLE_THREADS, CT_DEVICE_MAP_TUNABLE_UNROLL, CT_DEVICE_MAP_N_TUNABLES };
#define CT_DEVICE_MAP_TUNABLES                                                                     \
    [CT_DEVICE_MAP_TUNABLE_THREADS] = {"threads", CT_VALUES(128, 256, 512), CT_DEVICE_MAP_THREADS, \
                                       "of a block"},                                              \
    [CT_DEVICE_MAP_TUNABLE_UNROLL] = {"units", CT_VALUES(1, 2, 4, 8), CT_DEVICE_MAP_UNROLL,        \
                                      "units of 16 bytes, or elements, per thread"}

/* A kernel and its arguments after the map, as pointers; a plugin fills it in. */
typedef struct {
    const CtKernel *kernel;
    gpointer arguments[8];
    guint n_arguments;
    guint threads, unroll; /* for which the kernel is compiled; 0: the usual ones */
    guint64 reserved[4];   /* 0 */
} CtDeviceMapCall;

/* Enqueues `call` for a box of elements of these sizes. */
CT_EXPORT gboolean ct_device_map_box(const CtBox *box, gsize in_bytes, gsize out_bytes,
                                     CtQueue *queue, const CtDeviceMapCall *call, GError **error);

/* Enqueues `call` for a firing. `zero`, a kernel that copies elements of the output's size, fills
 * the rest of blocks with zeros; NULL if the output's layout has no blocks. */
CT_EXPORT gboolean ct_device_map_work(const CtBoxes *boxes, const CtWork *work,
                                      const CtDeviceMapCall *call, const CtKernel *zero,
                                      GError **error);

CT_EXPORT CtDeviceDivisor ct_device_divisor(guint32 by);

G_END_DECLS
