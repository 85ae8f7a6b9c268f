/* SPDX-License-Identifier: BSD-3-Clause */
/* Work on a device in rows along time, with tables over the other axes. */
#pragma once

#include <cornerturn/kit/device-map.h>
#include <cornerturn/kit/device-rows-struct.h>

G_BEGIN_DECLS

/* Enqueues the kernel for a firing of n times of two blocks with one order of axes (`time`: the
 * position of time; −1: none), where a thread handles `unroll` times. The kernel has the rows as
 * its first argument. */
CT_EXPORT gboolean ct_device_rows_work(const CtBlock *in, const CtBlock *out, gint time,
                                       guint unroll, CtQueue *queue, const CtDeviceMapCall *call,
                                       GError **error);

G_END_DECLS
