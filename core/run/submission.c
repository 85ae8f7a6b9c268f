/* SPDX-License-Identifier: BSD-3-Clause */
/* Submissions: firings of a node on a device, which are enqueued and run later. */
#include "submission.h"

#include "firing-check.h"
#include "model/environment.h"

#include <string.h>

/* ---- validity on the device ---- */

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

/* The bytes of validity of the firing's samples of output `o`, with lanes packed. */
static gsize
packed_bytes(const CtRunNode *node, guint o)
{
    return (gsize)(node->departures[o].produced * node->outputs[o].ring->n_lanes);
}

/* Puts the validity of the firing's samples of output `o` on the device, with lanes packed, and
 * returns its address there. *staging is the same amount of host memory. */
static gpointer
send_validity(CtRunNode *node, guint o, guint8 **staging, GError **error)
{
    const CtDeparture *departure = &node->departures[o];
    CtQueue *queue = node->submissions->own;
    const gsize n = (gsize)departure->produced, bytes = packed_bytes(node, o);
    const gpointer to = ct_queue_reserve(queue, bytes, staging, error);
    if (!to)
        return NULL;
    if (!departure->invalid)
        return ct_queue_fill(queue, to, 1, bytes, error) ? to : NULL;
    for (gsize l = 0; l < bytes / n; l++)
        memcpy(*staging + l * n, departure->validity + (gint64)l * departure->validity_stride, n);
    return ct_queue_copy(queue, to, *staging, bytes, error) ? to : NULL;
}

/* ---- set-up ---- */

static gboolean
copy_rows(gpointer queue, guint8 *to, gsize to_pitch, const guint8 *from, gsize from_pitch,
          gsize bytes, gsize rows, GError **error)
{
    return ct_queue_copy_rows(queue, to, to_pitch, from, from_pitch, bytes, rows, error);
}

/* A firing that took less time than this is brief: events of its own would take longer. */
#define BRIEF_NS 25000
/* The variable that makes all firings brief ("always") or none ("never"). */
#define VARIABLE "CORNERTURN_JOINT"

static gint64
brief_ns(void)
{
    const char *given = ct_environment(VARIABLE);
    return !given                         ? BRIEF_NS
           : g_str_equal(given, "always") ? G_MAXINT64
           : g_str_equal(given, "never")  ? 0
                                          : BRIEF_NS;
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
    CtSubmissions *self = node->submissions = g_new0(CtSubmissions, 1);
    self->queue = queue;
    self->timed_ns = -1;
    self->brief_ns = brief_ns();
    self->limit = CLAMP(limit, 1, CT_MAX_IN_FLIGHT);
    self->after = g_ptr_array_new();
    if (node->marks)
        self->marks = g_new0(CtMarks, self->limit * (node->n_outputs + 1));
    self->counted = g_new0(guint64, node->n_counters + 1);
    if (!ct_run_queue_add_events(queue, self->limit, error))
        return FALSE;
    if (node->n_outputs > 0) {
        self->fill = ct_fill_new(queue->device, error);
        if (!self->fill)
            return FALSE;
    }
    if (node->n_counters > 0) {
        self->counters =
            ct_device_alloc(queue->device, node->n_counters * sizeof(guint64), "counters", error);
        if (!self->counters)
            return FALSE;
    }
    self->own = ct_queue_new(queue->device, queue->stream, upload_bytes + validity_bytes(node),
                             self->limit, error);
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
    g_free(self->marks);
    g_free(self->counted);
    g_clear_pointer(&node->submissions, g_free);
}

/* ---- enqueuing ---- */

/* The number of brief firings of a node of which one is timed. */
#define TIMED_ONE_IN 256

/* The samples of the firing that was gathered: what it reads, or, of a source, may write. */
static gint64
count_samples(const CtRunNode *node)
{
    gint64 n = 0;
    for (guint i = 0; i < node->n_inputs; i++)
        n = MAX(n, node->inputs[i].is_static ? 0 : node->arrivals[i].block.n_samples);
    for (guint o = 0; n == 0 && o < node->n_outputs; o++)
        n = MAX(n, node->outputs[o].ring ? node->departures[o].room : 0);
    return n;
}

/* With the lock. `steps`, with which costs are measured, time each firing. */
static gboolean
may_join(const CtRunNode *node, gint64 n_samples)
{
    const CtSubmissions *self = node->submissions;
    return !self->is_alone && !node->options->steps && self->timed_ns >= 0 &&
           self->timed_ns < self->brief_ns && n_samples <= self->n_timed &&
           self->n_joined + 1 < TIMED_ONE_IN;
}

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
    const gint64 n_samples = count_samples(node);
    self->submissions[self->next].n_samples = n_samples;
    self->joins = may_join(node, n_samples);
    self->n_joined = self->joins ? self->n_joined + 1 : 0;
}

static const CtRunEvents *
next_events(const CtRunQueue *queue)
{
    return &g_array_index(queue->events, CtRunEvents, queue->next_events);
}

/* Leaves these events to the firings that now use them. */
static void
use_events(CtRunQueue *queue)
{
    queue->next_events = (queue->next_events + 1) % queue->events->len;
}

static gboolean
record(const CtRunQueue *queue, CtCuEvent event, GError **error)
{
    return ct_device_check(queue->device,
                           ct_device_driver(queue->device)->event_record(event, queue->stream),
                           error, "recording an event");
}

static CtSubmission *
next_submission(const CtRunNode *node)
{
    return &node->submissions->submissions[node->submissions->next];
}

/* The marks of output `o` in the submission of this slot. */
static CtMarks *
marks_of(const CtRunNode *node, guint slot, guint o)
{
    return &node->submissions->marks[slot * node->n_outputs + o];
}

gboolean
ct_submission_begin(CtRunNode *node, GError **error)
{
    CtSubmissions *self = node->submissions;
    CtDevice *device = self->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    if (node->marks)
        memset(marks_of(node, self->next, 0), 0, node->n_outputs * sizeof *self->marks);
    for (guint o = 0; o < node->n_outputs; o++)
        node->output_blocks[o].validity_on_device = NULL;
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
    return ct_queue_gather(self->own, self->joins ? self->queue->gathered : NULL, node, error);
}

/* Records the beginning of a firing directly before its work, since others may enqueue before. If
 * the queue is busy, the firing begins at the end of the previous one, which saves an event. */
static gboolean
record_begin(CtRunNode *node, GError **error)
{
    CtRunQueue *queue = node->submissions->queue;
    const CtCudaDriver *driver = ct_device_driver(queue->device);
    CtSubmission *submission = next_submission(node);
    submission->begun = NULL;
    if (node->submissions->joins)
        return TRUE;
    const gboolean waits = atomic_exchange(&queue->waits, FALSE);
    if (!waits && queue->ran) {
        const CtCuResult result = driver->event_query(queue->ran);
        submission->begun = queue->ran;
        if (result == CT_CUDA_ERROR_NOT_READY)
            return TRUE;
        if (!ct_device_check(queue->device, result, error, "the work of a firing"))
            return FALSE;
    }
    submission->begun = next_events(queue)->begun;
    return record(queue, submission->begun, error);
}

gboolean
ct_submission_poison(CtRunNode *node, guint o, GError **error)
{
    return ct_fill_output(node, o, 0xff, NULL, error);
}

/* Lets work mark samples of output `o`, in memory of the device. */
static gboolean
begin_marks(CtRunNode *node, guint o, GError **error)
{
    const CtDeparture *departure = &node->departures[o];
    CtMarks *marks = marks_of(node, node->submissions->next, o);
    *marks = (CtMarks){
        .n = departure->produced,
        .validity = departure->validity,
        .stride = departure->validity_stride,
    };
    marks->on_device = send_validity(node, o, &marks->staging, error);
    node->output_blocks[o].validity = marks->on_device;
    node->output_blocks[o].validity_stride = marks->n;
    return marks->on_device != NULL;
}

/* Lets work see which samples of output `o` are invalid, in memory of the device. */
static gboolean
begin_invalid(CtRunNode *node, guint o, GError **error)
{
    guint8 *staging;
    return !node->departures[o].invalid ||
           (node->output_blocks[o].validity_on_device = send_validity(node, o, &staging, error));
}

static gboolean
begin_validity(CtRunNode *node, GError **error)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        if (!node->outputs[o].ring || node->departures[o].produced == 0)
            continue;
        if (!(node->marks ? begin_marks(node, o, error) : begin_invalid(node, o, error)))
            return FALSE;
    }
    return TRUE;
}

gboolean
ct_submission_work(CtRunNode *node, CtWork *part, GError **error)
{
    part->scratch = node->submissions->queue->scratch;
    part->counters = node->submissions->counters;
    part->queue = node->submissions->own;
    if (!ct_device_enter(node->submissions->queue->device, error) || !record_begin(node, error))
        return FALSE;
    /* This is called only now, so that the uploads of all firings in flight have memory of their
     * own. */
    ct_queue_begin(node->submissions->own);
    if (!begin_validity(node, error))
        return FALSE;
    return ct_firing_call_work(node, part, error);
}

/* Sets the samples of output `o` to zero that are invalid for advance, and counts them. */
static gboolean
end_output(CtRunNode *node, guint o, gint64 *invalid, GError **error)
{
    const CtDeparture *departure = &node->departures[o];
    if (!departure->invalid)
        return TRUE;
    if (!node->output_blocks[o].validity_on_device && !begin_invalid(node, o, error))
        return FALSE;
    if (!ct_fill_output(node, o, 0, node->output_blocks[o].validity_on_device, error))
        return FALSE;
    if (o == 0)
        *invalid += ct_validity_count(departure, node->outputs[o].ring->n_lanes);
    return TRUE;
}

/* Sets the samples of output `o` to zero that are invalid for advance or work, and fetches the
 * marks. */
static gboolean
end_marks(CtRunNode *node, guint o, GError **error)
{
    const CtMarks *marks = marks_of(node, node->submissions->next, o);
    return ct_fill_output(node, o, 0, marks->on_device, error) &&
           ct_queue_copy(node->submissions->own, marks->staging, marks->on_device,
                         packed_bytes(node, o), error);
}

gboolean
ct_submission_end(CtRunNode *node, gint64 *invalid, GError **error)
{
    CtSubmissions *self = node->submissions;
    if (!ct_device_enter(self->queue->device, error) ||
        (node->n_items == 0 && !record_begin(node, error)))
        return FALSE;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (!node->outputs[o].ring || node->departures[o].produced == 0)
            continue;
        if (!(node->marks ? end_marks(node, o, error) : end_output(node, o, invalid, error)))
            return FALSE;
    }
    return ct_queue_check(self->own, error) &&
           (self->joins || record(self->queue, next_events(self->queue)->ran, error));
}

gboolean
ct_submission_end_empty(const CtRunNode *node, GError **error)
{
    const CtSubmissions *self = node->submissions;
    gpointer owner;
    return !self->queue->gathered || ct_gathered_issue(self->queue->gathered, &owner, error);
}

gboolean
ct_submission_issue_joint(CtRunNode *node, CtRunNode **culprit, GError **error)
{
    CtRunQueue *queue = node->submissions->queue;
    const CtCuEvent event = next_events(queue)->joint;
    gpointer owner = node;
    const gboolean good = !queue->gathered || ct_gathered_issue(queue->gathered, &owner, error);
    *culprit = owner;
    use_events(queue);
    return good && ct_device_enter(queue->device, error) && record(queue, event, error);
}

CtCuEvent
ct_submission_submit(CtRunNode *node)
{
    CtSubmissions *self = node->submissions;
    CtRunQueue *queue = self->queue;
    CtSubmission *submission = next_submission(node);
    queue->ran = self->joins ? NULL : next_events(queue)->ran;
    submission->ran = self->joins ? next_events(queue)->joint : queue->ran;
    if (!self->joins)
        use_events(queue);
    submission->is_last = node->is_last;
    self->next = (self->next + 1) % self->limit;
    self->n++;
    self->n_submitted++;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        CtBlock block = node->input_blocks[i];
        block.index += input->is_static ? 0 : node->n_early;
        if (input->ring)
            ct_ring_reader_submit(input->ring, input->reader, &block, submission->ran);
    }
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            ct_ring_writer_submit(node->outputs[o].ring, node->departures[o].produced,
                                  submission->ran);
    return submission->ran;
}

/* ---- retiring ---- */

/* The microseconds for which a thread polls an event before it sleeps: firings follow closely, and
 * a wake-up by a device is slow. */
#define LOOKING_US 60
/* The microseconds of a nap while firings that were submitted together run. Their event wakes no
 * thread, since that would take the host as long as their launch. */
#define NAP_US 50

static CtCuResult
nap(const CtCudaDriver *driver, CtCuEvent event)
{
    CtCuResult result;
    do
        g_usleep(NAP_US);
    while ((result = driver->event_query(event)) == CT_CUDA_ERROR_NOT_READY);
    return result;
}

static CtCuResult
wait_for(const CtCudaDriver *driver, CtCuEvent event, gboolean is_timed)
{
    const gint64 until = g_get_monotonic_time() + LOOKING_US;
    CtCuResult result;
    do
        result = driver->event_query(event);
    while (result == CT_CUDA_ERROR_NOT_READY && g_get_monotonic_time() < until);
    if (result != CT_CUDA_ERROR_NOT_READY)
        return result;
    return is_timed ? driver->event_synchronize(event) : nap(driver, event);
}

/* Takes over the validity of output `o` from the oldest submission into the ring. */
static void
take_marks(const CtRunNode *node, guint o)
{
    CtMarks *marks = marks_of(node, node->submissions->first, o);
    const gint64 n_lanes = marks->n > 0 ? node->outputs[o].ring->n_lanes : 0;
    marks->n_invalid = 0;
    for (gint64 l = 0; l < n_lanes; l++) {
        guint8 *valid = marks->validity + l * marks->stride;
        memcpy(valid, marks->staging + l * marks->n, (gsize)marks->n);
        for (gint64 t = 0; t < marks->n; t++)
            marks->n_invalid += !valid[t];
    }
}

gboolean
ct_submission_wait(const CtRunNode *node, GError **error)
{
    const CtSubmissions *self = node->submissions;
    const CtSubmission *oldest = &self->submissions[self->first];
    CtDevice *device = self->queue->device;
    return ct_device_enter(device, error) &&
           ct_device_check(device,
                           wait_for(ct_device_driver(device), oldest->ran, oldest->begun != NULL),
                           error, "the work of a firing");
}

static gboolean
read_time(CtDevice *device, CtSubmission *submission, GError **error)
{
    float milliseconds = 0;
    if (!submission->begun)
        return TRUE;
    if (!ct_device_check(device,
                         ct_device_driver(device)->event_elapsed(&milliseconds, submission->begun,
                                                                 submission->ran),
                         error, "the time of a firing"))
        return FALSE;
    submission->ns = (gint64)((gdouble)milliseconds * 1e6);
    return TRUE;
}

gboolean
ct_submission_read(const CtRunNode *node, GError **error)
{
    CtSubmissions *self = node->submissions;
    CtSubmission *submission = &self->submissions[self->first];
    CtDevice *device = self->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    if (!read_time(device, submission, error))
        return FALSE;
    for (guint o = 0; node->marks && o < node->n_outputs; o++)
        take_marks(node, o);
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
        driver->event_query(g_array_index(self->queue->events, CtRunEvents, 0).ran);
    return result != CT_CUDA_SUCCESS && result != CT_CUDA_ERROR_NOT_READY;
}

gboolean
ct_submission_retire(CtRunNode *node, gdouble share)
{
    CtSubmissions *self = node->submissions;
    const CtSubmission *submission = &self->submissions[self->first];
    const gboolean is_last = submission->is_last;
    const guint slot = self->first;
    if (submission->begun) {
        self->timed_ns = submission->ns;
        self->n_timed = submission->n_samples;
    }
    node->totals.work_ns +=
        submission->begun ? submission->ns : (gint64)(share * (gdouble)self->timed_ns);
    self->first = (self->first + 1) % self->limit;
    self->n--;
    for (guint c = 0; is_last && c < node->n_counters; c++)
        node->counters[c] += self->counted[c];
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring)
            ct_ring_reader_retire(node->inputs[i].ring, node->inputs[i].reader);
    for (guint o = 0; o < node->n_outputs; o++) {
        const gint64 n_invalid = node->marks ? marks_of(node, slot, o)->n_invalid : 0;
        if (node->outputs[o].ring)
            ct_ring_writer_retire(node->outputs[o].ring, n_invalid > 0);
        if (o == 0)
            node->totals.invalid += n_invalid;
    }
    return is_last;
}
