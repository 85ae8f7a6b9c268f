/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on a device in rows along time, with tables over the other axes. */
#pragma once

#include "device-map.h"
#include "device-rows-struct.h"

/* As in device-map.h, for four files. */
#define DEVICE_ROWS_RESOURCES(plugin)                                                              \
    DEVICE_MAP_RESOURCES(plugin), "/cornerturn/plugins/" plugin "/device-rows-struct.h",           \
        "/cornerturn/plugins/" plugin "/device-rows-kernel.h"
#define DEVICE_ROWS_HEADERS(plugin) ((const char *const[]){DEVICE_ROWS_RESOURCES(plugin), NULL})

/* Enqueues the kernel for a firing of n times of two blocks with one order of axes (`time`: the
 * position of time; −1: none), where a thread handles `unroll` times. The kernel has the rows as
 * its first argument. */
gboolean device_rows_work(const CtBlock *in, const CtBlock *out, gint time, guint unroll,
                          CtQueue *queue, const DeviceMapCall *call, GError **error);
