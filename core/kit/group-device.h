/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of elements on a device: <cornerturn/kit/form.h> and chains of stages run them. */
#pragma once

#include <cornerturn/kit/device-map.h>

/* The axis along which a group lies in the input, and that in the output: positions in their
 * layouts, without blocks. */
typedef struct {
    guint n_x, n_y; /* elements */
    gint in, out;
} CtGroupAxes;

/* Leaves the axes of the groups to the kernel. */
void ct_group_leave(CtBoxes *boxes, const CtGroupAxes *group);
/* Whether the elements of each group are contiguous, and words as a whole. */
gboolean ct_group_is_together(const CtBoxes *boxes, const CtGroupAxes *group,
                              const CtPrepare *prepare);
/* Enqueues a firing, by the call for elements anywhere or, where these are contiguous, by
 * `together` with the same arguments (NULL: they are not). */
gboolean ct_group_work(const CtBoxes *boxes, const CtGroupAxes *group, const CtWork *work,
                       const CtDeviceMapCall *planes, const CtKernel *together, GError **error);
