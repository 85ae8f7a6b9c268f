/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions: firings of a node on a device, which are enqueued and run later. */
#include "submission.h"

#include "graph/plugin-call.h"

#include <string.h>

/* ---- filling blocks ---- */

#define FILL_THREADS 256
/* The most blocks of a launch; threads take the rest in turn. */
#define FILL_BLOCKS 4096

/* The same struct as in kernel/fill.cu. */
typedef struct {
    gint64 length[CT_MAX_AXES];
    gint64 stride[CT_MAX_AXES];
    gint64 time[CT_MAX_AXES]; /* samples per step along the axis */
    gint64 lane[CT_MAX_AXES]; /* lanes per step along the axis */
    gint64 n_elements;
    gint64 n_samples;
    gint32 n_axes;
    gint32 bytes;
} FillShape;

static void
set_fill_shape(FillShape *shape, const CtBlock *block, const CtStream *stream,
               const CtLayout *layout)
{
    *shape = (FillShape){
        .n_elements = 1,
        .n_samples = block->n_samples,
        .n_axes = (gint32)block->n_axes,
        .bytes = (gint32)ct_type_info(block->type)->bytes,
    };
    for (guint a = 0; a < block->n_axes; a++) {
        shape->length[a] = block->length[a];
        shape->stride[a] = block->stride[a];
        shape->n_elements *= block->length[a];
        const gint inner = ct_layout_block_axis(layout, layout->axes[a].name);
        const gboolean is_inner = inner == (gint)a;
        const gint64 step = inner >= 0 && !is_inner ? layout->axes[inner].count : 1;
        gint64 lanes = 1;
        if (g_str_equal(layout->axes[a].name, "time")) {
            shape->time[a] = step;
            continue;
        }
        for (guint k = stream->n_axes; k-- > 0;) {
            const CtAxis *axis = &stream->axes[k];
            if (!axis->loses)
                continue;
            if (axis->name == layout->axes[a].name)
                shape->lane[a] = step * lanes;
            lanes *= axis->length;
        }
    }
}

static gsize
validity_bytes(const CtRunNode *node)
{
    gsize bytes = 0;
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            bytes +=
                (gsize)(node->outputs[o].ring->n_lanes * node->outputs[o].ring->link->max_samples) +
                256;
    return bytes;
}

/* Uploads the validity of the firing's samples of output `o`, with lanes packed, and returns its
 * address on the device. */
static gpointer
send_validity(CtRunNode *node, guint o, GError **error)
{
    const CtDeparture *departure = &node->departures[o];
    const gsize n = (gsize)departure->produced;
    const gint64 n_lanes = node->outputs[o].ring->n_lanes;
    if (departure->validity_stride == departure->produced || n_lanes == 1)
        return ct_queue_upload(node->submissions->own, departure->validity, n * (gsize)n_lanes,
                               error);
    guint8 *packed = node->submissions->validity;
    for (gint64 l = 0; l < n_lanes; l++)
        memcpy(packed + (gsize)l * n, departure->validity + l * departure->validity_stride, n);
    return ct_queue_upload(node->submissions->own, packed, n * (gsize)n_lanes, error);
}

/* Fills the invalid samples of output `o`; `validity` NULL: all samples. */
static gboolean
fill_output(CtRunNode *node, guint o, guint8 value, gpointer validity, GError **error)
{
    const CtBinding *binding = &node->plan->output_bindings[o];
    CtBlock *block = &node->output_blocks[o];
    FillShape shape;
    set_fill_shape(&shape, block, binding->stream, &binding->layout);
    gpointer arguments[] = {&shape, &block->data, &value, &validity};
    const gint64 blocks = (shape.n_elements + FILL_THREADS - 1) / FILL_THREADS;
    const CtLaunch launch = {
        .grid = {(guint)MIN(blocks, FILL_BLOCKS), 1, 1},
        .block = {FILL_THREADS, 1, 1},
    };
    return ct_queue_launch(node->submissions->own, node->submissions->fill, &launch, arguments,
                           error);
}

/* ---- set-up ---- */

static gboolean
copy_rows(gpointer queue, guint8 *to, gsize to_pitch, const guint8 *from, gsize from_pitch,
          gsize bytes, gsize rows, GError **error)
{
    return ct_queue_copy_rows(queue, to, to_pitch, from, from_pitch, bytes, rows, error);
}

CtRingMover
ct_submission_mover(CtQueue *queue)
{
    return (CtRingMover){.copy = copy_rows, .queue = queue};
}

gboolean
ct_submissions_new(CtRunNode *node, CtRunQueue *queue, guint limit, gsize upload_bytes,
                   GError **error)
{
    static const CtKernelSpec fill = {
        .name = "ct_fill_invalid",
        .source = "/cornerturn/kernel/fill.cu",
    };
    CtSubmissions *self = node->submissions = g_new0(CtSubmissions, 1);
    self->queue = queue;
    self->limit = CLAMP(limit, 1, CT_MAX_IN_FLIGHT);
    self->after = g_ptr_array_new();
    const gsize bytes = validity_bytes(node);
    self->validity = CT_TABLE(guint8, MAX(bytes, 1), "validity", error);
    if (!self->validity)
        return FALSE;
    self->counted = g_new0(guint64, node->n_counters + 1);
    if (!ct_run_queue_add_marks(queue, self->limit, error))
        return FALSE;
    if (node->n_outputs > 0) {
        self->fill = ct_kernel_new(queue->device, &fill, error);
        if (!self->fill)
            return FALSE;
    }
    if (node->n_counters > 0) {
        self->counters =
            ct_device_alloc(queue->device, node->n_counters * sizeof(guint64), "counters", error);
        if (!self->counters)
            return FALSE;
    }
    self->own =
        ct_queue_new(queue->device, queue->stream, upload_bytes + bytes, self->limit, error);
    if (!self->own)
        return FALSE;
    self->mover = ct_submission_mover(self->own);
    node->mover = &self->mover;
    return TRUE;
}

void
ct_submissions_free(CtRunNode *node)
{
    CtSubmissions *self = node->submissions;
    if (!self)
        return;
    CtDevice *device = self->queue->device;
    ct_queue_free(self->own);
    ct_kernel_free(self->fill);
    ct_device_free(device, self->counters);
    g_ptr_array_unref(self->after);
    g_free(self->validity);
    g_free(self->counted);
    g_clear_pointer(&node->submissions, g_free);
}

/* ---- enqueuing ---- */

void
ct_submission_gather(CtRunNode *node)
{
    CtSubmissions *self = node->submissions;
    GPtrArray *after = self->after;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring && node->inputs[i].ring->is_crossed)
            ct_ring_read_after(node->inputs[i].ring, &node->arrivals[i].block, after);
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRunOutput *output = &node->outputs[o];
        if (output->ring && output->ring->is_crossed && node->departures[o].room > 0)
            ct_ring_write_after(output->ring, output->wraps, node->departures[o].room, after);
    }
}

static const CtRunMark *
next_mark(const CtRunQueue *queue)
{
    return &g_array_index(queue->marks, CtRunMark, queue->next_mark);
}

static CtSubmission *
next_submission(const CtRunNode *node)
{
    return &node->submissions->submissions[node->submissions->next];
}

gboolean
ct_submission_begin(CtRunNode *node, GError **error)
{
    CtSubmissions *self = node->submissions;
    CtDevice *device = self->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    if (self->after->len > 0)
        atomic_store(&self->queue->waits, TRUE);
    if (!ct_device_enter(device, error))
        return FALSE;
    for (guint k = 0; k < self->after->len; k++)
        if (!ct_device_check(device,
                             driver->stream_wait(self->queue->stream, self->after->pdata[k], 0),
                             error, "waiting for another queue"))
            return FALSE;
    g_ptr_array_set_size(self->after, 0);
    return TRUE;
}

/* Marks the beginning of a firing directly before its work, since others may enqueue before. If the
 * queue is busy, the firing begins at the end of the previous one, which saves an event. */
static gboolean
mark_begin(CtRunNode *node, GError **error)
{
    CtRunQueue *queue = node->submissions->queue;
    const CtCudaDriver *driver = ct_device_driver(queue->device);
    CtSubmission *submission = next_submission(node);
    const gboolean waits = atomic_exchange(&queue->waits, FALSE);
    if (!waits && queue->ran) {
        const CtCuResult result = driver->event_query(queue->ran);
        submission->begun = queue->ran;
        if (result == CT_CUDA_ERROR_NOT_READY)
            return TRUE;
        if (!ct_device_check(queue->device, result, error, "the work of a firing"))
            return FALSE;
    }
    submission->begun = next_mark(queue)->begun;
    return ct_device_check(queue->device, driver->event_record(submission->begun, queue->stream),
                           error, "recording an event");
}

gboolean
ct_submission_poison(CtRunNode *node, guint o, GError **error)
{
    return fill_output(node, o, 0xff, NULL, error);
}

gboolean
ct_submission_work(CtRunNode *node, CtWork *part, GError **error)
{
    part->scratch = node->submissions->queue->scratch;
    part->counters = node->submissions->counters;
    part->queue = node->submissions->own;
    if (!ct_device_enter(node->submissions->queue->device, error) || !mark_begin(node, error))
        return FALSE;
    /* This is called only now, so that the uploads of all firings in flight have memory of their
     * own. */
    ct_queue_begin(node->submissions->own);
    return ct_call_work(node->plan->variant, node->plan->nodes, node->state, part, error);
}

gboolean
ct_submission_end(CtRunNode *node, gint64 *invalid, GError **error)
{
    CtSubmissions *self = node->submissions;
    if (!ct_device_enter(self->queue->device, error) ||
        (node->n_items == 0 && !mark_begin(node, error)))
        return FALSE;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtDeparture *departure = &node->departures[o];
        if (!node->outputs[o].ring || !departure->invalid || departure->produced == 0)
            continue;
        const gpointer validity = send_validity(node, o, error);
        if (!validity || !fill_output(node, o, 0, validity, error))
            return FALSE;
        if (o == 0)
            *invalid += ct_validity_count(departure, node->outputs[o].ring->n_lanes);
    }
    return ct_device_check(self->queue->device,
                           ct_device_driver(self->queue->device)
                               ->event_record(next_mark(self->queue)->ran, self->queue->stream),
                           error, "recording an event");
}

void
ct_submission_submit(CtRunNode *node)
{
    CtSubmissions *self = node->submissions;
    CtRunQueue *queue = self->queue;
    CtSubmission *submission = next_submission(node);
    submission->ran = queue->ran = next_mark(queue)->ran;
    queue->next_mark = (queue->next_mark + 1) % queue->marks->len;
    submission->is_last = node->is_last;
    self->next = (self->next + 1) % self->limit;
    self->n++;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (input->ring)
            ct_ring_reader_submit(input->ring, input->reader, &node->input_blocks[i],
                                  submission->ran);
    }
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            ct_ring_writer_submit(node->outputs[o].ring, node->departures[o].produced,
                                  submission->ran);
}

/* ---- retiring ---- */

/* The microseconds for which a thread polls an event before it sleeps: firings follow closely, and
 * a wake-up by a device is slow. */
#define LOOKING_US 60

static CtCuResult
wait_for(const CtCudaDriver *driver, CtCuEvent event)
{
    const gint64 until = g_get_monotonic_time() + LOOKING_US;
    CtCuResult result;
    do
        result = driver->event_query(event);
    while (result == CT_CUDA_ERROR_NOT_READY && g_get_monotonic_time() < until);
    return result == CT_CUDA_ERROR_NOT_READY ? driver->event_synchronize(event) : result;
}

gboolean
ct_submission_wait(const CtRunNode *node, gint64 *ns, GError **error)
{
    const CtSubmissions *self = node->submissions;
    const CtSubmission *submission = &self->submissions[self->first];
    CtDevice *device = self->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    float milliseconds = 0;
    if (!ct_device_enter(device, error) ||
        !ct_device_check(device, wait_for(driver, submission->ran), error,
                         "the work of a firing") ||
        !ct_device_check(device,
                         driver->event_elapsed(&milliseconds, submission->begun, submission->ran),
                         error, "the time of a firing"))
        return FALSE;
    *ns = (gint64)((gdouble)milliseconds * 1e6);
    if (!submission->is_last || node->n_counters == 0)
        return TRUE;
    return ct_device_check(device,
                           driver->copy(GPOINTER_TO_SIZE(self->counted),
                                        GPOINTER_TO_SIZE(self->counters),
                                        node->n_counters * sizeof(guint64), self->queue->stream),
                           error, "reading counters") &&
           ct_device_check(device, driver->stream_synchronize(self->queue->stream), error,
                           "reading counters");
}

gboolean
ct_submission_has_fault(const CtRunNode *node)
{
    const CtSubmissions *self = node->submissions;
    const CtCudaDriver *driver = ct_device_driver(self->queue->device);
    if (!ct_device_enter(self->queue->device, NULL))
        return TRUE;
    const CtCuResult result =
        driver->event_query(g_array_index(self->queue->marks, CtRunMark, 0).ran);
    return result != CT_CUDA_SUCCESS && result != CT_CUDA_ERROR_NOT_READY;
}

gboolean
ct_submission_retire(CtRunNode *node)
{
    CtSubmissions *self = node->submissions;
    const gboolean is_last = self->submissions[self->first].is_last;
    self->first = (self->first + 1) % self->limit;
    self->n--;
    for (guint c = 0; is_last && c < node->n_counters; c++)
        node->counters[c] += self->counted[c];
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring)
            ct_ring_reader_retire(node->inputs[i].ring, node->inputs[i].reader);
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            ct_ring_writer_retire(node->outputs[o].ring);
    return is_last;
}
