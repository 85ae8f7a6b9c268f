/* SPDX-License-Identifier: BSD-3-Clause */
/* CtBoxes as maps for kernels. */
#include "reserved.h"

#include <cornerturn/kit/device-map.h>

/* The most units of a launch; larger boxes are halved. */
#define MOST_UNITS G_MAXINT32

CtKernel *
ct_device_map_copy_new(CtDevice *device, gsize element_bytes, GError **error)
{
    g_autofree char *bytes = g_strdup_printf("ELEMENT_BYTES=%" G_GSIZE_FORMAT, element_bytes);
    const CtKernelSpec spec = {
        .name = "ct_device_map_copy",
        .source = "/cornerturn/kernel/device-map.cu",
        .defines = (const char *const[]){bytes, NULL},
    };
    return ct_kernel_new(device, &spec, error);
}

CtDeviceDivisor
ct_device_divisor(guint32 by)
{
    guint shift = 0;
    while ((guint64)1 << shift < by)
        shift++;
    const guint64 multiplier = ((((guint64)1 << shift) - by) << 32) / by + 1;
    return (CtDeviceDivisor){by, (guint32)multiplier, shift};
}

/* Whether the box can move in units of `width`: packed and aligned on both sides. */
static gboolean
is_aligned(const CtBox *box, gint64 in_bytes, gint64 out_bytes, gint64 width)
{
    const CtBoxAxis *run = &box->axes[box->n_axes - 1];
    guint64 in = box->in ? GPOINTER_TO_SIZE(box->in) : 0, out = GPOINTER_TO_SIZE(box->out);
    for (guint a = 0; a + 1 < box->n_axes; a++) {
        in |= (guint64)box->axes[a].in;
        out |= (guint64)box->axes[a].out;
    }
    return (run->in == in_bytes || !box->in) && run->out == out_bytes &&
           in % (guint64)(in_bytes * width) == 0 && out % (guint64)(out_bytes * width) == 0;
}

/* The map of a box that has at least one axis; FALSE where it is too large for one launch. */
static gboolean
map_init(CtDeviceMap *map, const CtBox *box, gint64 in_bytes, gint64 out_bytes)
{
    const CtBoxAxis *run = &box->axes[box->n_axes - 1];
    const gint64 width = 16 / MAX(in_bytes, out_bytes);
    if (box->n_axes > CT_DEVICE_MAP_AXES || run->length > MOST_UNITS)
        return FALSE;
    *map = (CtDeviceMap){
        .in = box->in,
        .out = box->out,
        .table = box->table,
        .marks = box->marks,
        .width = is_aligned(box, in_bytes, out_bytes, width) ? (guint)width : 1,
        .run = (guint)run->length,
        .n_axes = box->n_axes,
    };
    gint64 n_units = 1;
    for (guint a = 0; a < box->n_axes; a++) {
        const CtBoxAxis *axis = &box->axes[box->n_axes - 1 - a];
        const gint64 length = a == 0 ? (axis->length + map->width - 1) / map->width : axis->length;
        if (length > MOST_UNITS / n_units)
            return FALSE;
        n_units *= length;
        map->axes[a] = (CtDeviceMapAxis){ct_device_divisor((guint32)length), axis->in, axis->out,
                                         axis->table, axis->mark};
    }
    map->n_units = (guint32)n_units;
    return TRUE;
}

static gboolean
launch(const CtDeviceMap *map, CtQueue *queue, const CtDeviceMapCall *call, GError **error)
{
    gpointer arguments[G_N_ELEMENTS(call->arguments) + 1] = {(gpointer)map};
    for (guint i = 0; i < call->n_arguments; i++)
        arguments[1 + i] = call->arguments[i];
    if (!CT_RESERVED_CHECK("a map on a device", CtDeviceMapCall, call, error))
        return FALSE;
    const guint threads = call->threads > 0 ? call->threads : CT_DEVICE_MAP_THREADS;
    const guint tile = threads * (call->unroll > 0 ? call->unroll : CT_DEVICE_MAP_UNROLL);
    const CtLaunch launch = {
        .grid = {map->n_units / tile + (map->n_units % tile != 0), 1, 1},
        .block = {threads, 1, 1},
    };
    return ct_queue_launch(queue, call->kernel, &launch, arguments, error);
}

gboolean
ct_device_map_box(const CtBox *box, gsize in_bytes, gsize out_bytes, CtQueue *queue,
                  const CtDeviceMapCall *call, GError **error)
{
    CtBox simple = *box;
    CtDeviceMap map;
    ct_box_simplify(&simple);
    if (simple.n_axes == 0)
        simple.axes[simple.n_axes++] = (CtBoxAxis){1, (gint64)in_bytes, (gint64)out_bytes, 0, 0};
    if (map_init(&map, &simple, (gint64)in_bytes, (gint64)out_bytes))
        return launch(&map, queue, call, error);
    /* One half along the slowest axis, then the other. */
    CtBox half = simple;
    const gint64 middle = half.axes[0].length / 2;
    half.axes[0].length = middle;
    simple.axes[0].length -= middle;
    simple.in += box->in ? middle * simple.axes[0].in : 0;
    simple.out += middle * simple.axes[0].out;
    simple.table += middle * simple.axes[0].table;
    simple.marks += middle * simple.axes[0].mark;
    return ct_device_map_box(&half, in_bytes, out_bytes, queue, call, error) &&
           ct_device_map_box(&simple, in_bytes, out_bytes, queue, call, error);
}

typedef struct {
    const CtBoxes *boxes;
    CtQueue *queue;
    const CtDeviceMapCall *call;
    gboolean ok;
    GError **error;
} Job;

static void
enqueue_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    job->ok = job->ok && ct_device_map_box(box, ct_type_info(job->boxes->in_type)->bytes,
                                           ct_type_info(job->boxes->out_type)->bytes, job->queue,
                                           job->call, job->error);
}

static void
enqueue_gap(gpointer data, const CtBox *gap, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    const gsize bytes = ct_type_info(job->boxes->out_type)->bytes;
    job->ok = job->ok && ct_device_map_box(gap, bytes, bytes, job->queue, job->call, job->error);
}

gboolean
ct_device_map_work(const CtBoxes *boxes, const CtWork *work, const CtDeviceMapCall *call,
                   const CtKernel *zero, GError **error)
{
    Job job = {boxes, work->queue, call, TRUE, error};
    if (!work->outputs[0].data)
        return TRUE;
    if (zero) {
        const CtDeviceMapCall zeros = {.kernel = zero};
        job.call = &zeros;
        ct_boxes_each_gap(boxes, &work->outputs[0], enqueue_gap, &job);
        job.call = call;
    }
    ct_boxes_each_filled(boxes, work, enqueue_box, &job);
    return job.ok;
}
