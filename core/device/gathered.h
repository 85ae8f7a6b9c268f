/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches, copies and fills of a stream that are gathered, and then issued together.
 *
 * A launch in a CUDA graph takes the host and the device a fraction of the time of one by itself.
 * So what is gathered is compared with what was gathered before: if the same kernels, copies and
 * fills came in the same order, they have a graph, of which only the arguments that differ are set,
 * and one call issues them all. Otherwise, and with drivers without graphs, they are issued one by
 * one. */
#pragma once

#include "device.h"

CtGathered *ct_gathered_new(CtDevice *device, CtCuStream stream);
/* Accepts NULL. */
void ct_gathered_free(CtGathered *gathered);

/* All that is gathered from now on belongs to `owner`. */
void ct_gathered_set_owner(CtGathered *gathered, gpointer owner);
/* Add a launch, a copy on the device or from or to pinned memory of the host, or a fill. FALSE: a
 * launch cannot be gathered, because the sizes of its arguments are not known. */
gboolean ct_gathered_launch(CtGathered *gathered, const CtKernel *kernel, const CtLaunch *launch,
                            gpointer *arguments);
void ct_gathered_copy(CtGathered *gathered, gpointer to, gboolean to_host, gconstpointer from,
                      gboolean from_host, gsize bytes);
void ct_gathered_fill(CtGathered *gathered, gpointer to, guint8 value, gsize bytes);
/* Issues what was gathered. If that fails, *owner is set to whom it belongs. */
gboolean ct_gathered_issue(CtGathered *gathered, gpointer *owner, GError **error);

/* Enqueue at once, with an error that says what failed; for this and for queues. */
gboolean ct_enqueue_launch(CtDevice *device, CtCuStream stream, const CtKernel *kernel,
                           const CtLaunch *launch, gpointer *arguments, GError **error);
gboolean ct_enqueue_copy(CtDevice *device, CtCuStream stream, gpointer to, gconstpointer from,
                         gsize bytes, GError **error);
gboolean ct_enqueue_fill(CtDevice *device, CtCuStream stream, gpointer to, guint8 value,
                         gsize bytes, GError **error);
