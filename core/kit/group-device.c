/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of elements on a device: the choice between kernels for elements anywhere and for
 * contiguous ones, and the launches. */
#include "group-device.h"

#include <cornerturn/kit/device-map.h>

typedef struct {
    CtDeviceMapCall call;
    gsize in_bytes, out_bytes;
    CtQueue *queue;
    gboolean ok;
    GError **error;
} Job;

void
ct_group_leave(CtBoxes *boxes, const CtGroupAxes *group)
{
    guint n = 0;
    for (guint a = 0; a < boxes->n_axes; a++) {
        const CtBoxesAxis axis = boxes->axes[a];
        if (axis.in != group->in && axis.out != group->out)
            boxes->axes[n++] = axis;
    }
    boxes->n_axes = n;
}

static gboolean
is_word(gsize bytes)
{
    return bytes <= 32 && (bytes & (bytes - 1)) == 0;
}

gboolean
ct_group_is_together(const CtBoxes *boxes, const CtGroupAxes *group, const CtPrepare *prepare)
{
    return group->in == (gint)prepare->inputs[0].layout.n_axes - 1 &&
           group->out == (gint)prepare->outputs[0].layout.n_axes - 1 &&
           is_word(group->n_x * ct_type_info(boxes->in_type)->bytes) &&
           is_word(group->n_y * ct_type_info(boxes->out_type)->bytes);
}

/* Whether the whole of axis `inner`, of `bytes` bytes, can be moved at once, in words of 16. */
static gboolean
is_aligned(const CtBlock *block, gint inner, gsize bytes)
{
    guint64 places = GPOINTER_TO_SIZE(block->data);
    for (guint a = 0; a < block->n_axes; a++)
        if ((gint)a != inner && block->length[a] > 1)
            places |= (guint64)block->stride[a];
    return places % MIN(bytes, 16) == 0;
}

static void
enqueue_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    job->ok = job->ok && ct_device_map_box(box, job->in_bytes, job->out_bytes, job->queue,
                                           &job->call, job->error);
}

gboolean
ct_group_work(const CtBoxes *boxes, const CtGroupAxes *group, const CtWork *work,
              const CtDeviceMapCall *planes, const CtKernel *together, GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gsize in_bytes = ct_type_info(boxes->in_type)->bytes;
    const gsize out_bytes = ct_type_info(boxes->out_type)->bytes;
    const gsize all_in = group->n_x * in_bytes, all_out = group->n_y * out_bytes;
    Job job = {
        .call = *planes,
        .in_bytes = in_bytes,
        .out_bytes = out_bytes,
        .queue = work->queue,
        .ok = TRUE,
        .error = error,
    };
    /* Units of planes must be aligned on all of them. */
    const gsize width = 16 / MAX(in_bytes, out_bytes);
    if ((gsize)in->stride[group->in] % (width * in_bytes) != 0 ||
        (gsize)out->stride[group->out] % (width * out_bytes) != 0)
        job.in_bytes = job.out_bytes = 16; /* one at a time */
    if (together && is_aligned(in, group->in, all_in) && is_aligned(out, group->out, all_out)) {
        /* Elements longer than 16 bytes are also moved one at a time. */
        const gboolean is_long = MAX(all_in, all_out) > 16;
        job.call.kernel = together;
        job.in_bytes = is_long ? 16 : all_in;
        job.out_bytes = is_long ? 16 : all_out;
    }
    if (out->data)
        ct_boxes_each_filled(boxes, work, enqueue_box, &job);
    return job.ok;
}
