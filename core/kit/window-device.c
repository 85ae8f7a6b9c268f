/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts on a device: kernels in rows (device-rows.h), and sums. */
#include "window-private.h"

#include <cornerturn/kit/device-rows.h>
#include <cornerturn/kit/window-struct.h>
#include <string.h>

enum { UNITS, MADE };

typedef struct {
    CtWindowState base;
    CtDevice *device;
    CtKernel *kernel;
    gpointer shifts; /* on the device: gint64 [element], or gint32 [outer][term][made] of sums */
    gpointer table;  /* on the device: [element], or [outer][term] of sums */
    gpointer series; /* on the device: guint32 [element], of lines */
    guint unroll, made;
    gint64 made_room;    /* n_made, rounded up to whole tiles */
    CtWindowSpan *spans; /* [series][most_spans], filled anew for every firing */
    guint n_series, most_spans;
} State;

/* ---- prepare ---- */

/* The state owns `memory` even after a failure. */
static gboolean
send(const State *self, gpointer *memory, gconstpointer table, gsize bytes, GError **error)
{
    *memory = ct_device_alloc(self->device, bytes, "shifts and tables", error);
    return *memory && ct_device_upload(self->device, *memory, table, bytes, error);
}

static gboolean
is_sum(const State *self)
{
    return self->base.sum[0] >= 0 || self->base.sum[1] >= 0 || self->base.made >= 0;
}

/* Entries of every element of the axes other than time, in the input's order. */
static gboolean
send_elements(State *self, const CtPrepare *prepare, GError **error)
{
    const CtLayout *layout = &prepare->inputs[0].layout;
    const char *axes[CT_MAX_AXES];
    guint n_axes = 0;
    for (guint a = 0; a < layout->n_axes; a++)
        if ((gint)a != self->base.time_in)
            axes[n_axes++] = layout->axes[a].name;
    CtWindowEntries entries = {0};
    gboolean ok = ct_window_expand(&self->base, axes, n_axes, &entries, error);
    const gsize n = (gsize)entries.n;
    if (ok && self->base.taps->choice.shifts.data)
        ok = send(self, &self->shifts, entries.shifts, n * sizeof *entries.shifts, error);
    if (ok && entries.series)
        ok = send(self, &self->series, entries.series, n * sizeof *entries.series, error);
    if (ok && entries.table)
        ok = send(self, &self->table, entries.table,
                  n * ct_type_info(self->base.form.kernel->w)->bytes, error);
    ct_window_entries_clear(&entries);
    return ok;
}

static gboolean
send_sums(State *self, const CtLayout *layout, GError **error)
{
    const CtWindowChoice *choice = &self->base.taps->choice;
    const gint64 n_terms = self->base.n_terms, n_made = self->base.n_made, room = self->made_room;
    const char *axes[CT_MAX_AXES + 1];
    guint n_axes = ct_window_place(&self->base, layout, FALSE, 1, axes);
    gint64 n_outer = 1;
    for (guint a = 0; a < n_axes; a++)
        n_outer *= ct_stream_length(self->base.in, axes[a]);
    n_axes = ct_window_add_sums(&self->base, axes, n_axes);
    const guint n_of_table = n_axes;
    if (self->base.made >= 0)
        axes[n_axes++] = ct_axis_name(choice->made);
    CtWindowEntries entries = {0}, factors = {0};
    g_autofree gint32 *shifts = CT_TABLE(gint32, n_outer * n_terms * room, "shifts", error);
    gboolean ok = shifts && ct_window_expand(&self->base, axes, n_axes, &entries, error) &&
                  ct_window_expand(&self->base, axes, n_of_table, &factors, error);
    /* The room behind the new axis repeats its last entry. */
    for (gint64 i = 0; ok && i < n_outer * n_terms * room; i++)
        shifts[i] = (gint32)entries.shifts[i / room * n_made + MIN(i % room, n_made - 1)];
    ok = ok && send(self, &self->shifts, shifts, (gsize)(n_outer * n_terms * room) * sizeof *shifts,
                    error);
    if (ok && factors.table)
        ok = send(self, &self->table, factors.table,
                  (gsize)factors.n * ct_type_info(self->base.form.kernel->w)->bytes, error);
    ct_window_entries_clear(&entries);
    ct_window_entries_clear(&factors);
    return ok;
}

static gboolean
prepare_lines(State *self, CtPrepare *prepare, GError **error)
{
    const CtWindowChoice *choice = &self->base.taps->choice;
    const gint64 n = prepare->outputs[0].max_samples;
    self->n_series = 1;
    for (guint a = 0; a < choice->shifts.n_axes; a++)
        self->n_series *= (guint)choice->shifts.lengths[a];
    self->most_spans = (guint)CLAMP(choice->most_lines(choice->data, n), 1, MAX(n, 1));
    const gsize n_spans = self->n_series * (gsize)self->most_spans;
    self->spans = CT_TABLE(CtWindowSpan, n_spans, "lines of a firing", error);
    prepare->upload_bytes = n_spans * sizeof(CtWindowSpan);
    return self->spans != NULL;
}

static gboolean
compile(State *self, GError **error)
{
    const CtFormKernel *kernel = self->base.form.kernel;
    const char *suffix = kernel && kernel->kind == CT_FORM_WINDOW ? "_window"
                         : is_sum(self)                           ? "_sum"
                         : self->spans                            ? "_lines"
                                                                  : "_shift";
    g_autofree char *define = self->spans ? g_strdup("CT_WINDOW_LINES")
                                          : g_strdup_printf("CT_WINDOW_MADE=%u", self->made);
    self->kernel = ct_form_compile(&self->base.form, self->device, suffix, CT_DEVICE_ROWS_THREADS,
                                   self->unroll, define, error);
    return self->kernel != NULL;
}

gboolean
ct_window_prepare_device(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->device = prepare->device;
    /* The kernels of all instruction sets are the same on a device. */
    if (!ct_window_init(&self->base, prepare, CT_ISA_BASELINE, 1, error))
        return FALSE;
    const CtBoxes *boxes = &self->base.form.boxes;
    const gsize bytes =
        MAX(ct_type_info(boxes->in_type)->bytes, ct_type_info(boxes->out_type)->bytes);
    self->unroll = (guint)(bytes == 16 ? MIN(prepare->tuning[UNITS], 4) : prepare->tuning[UNITS]);
    const CtTunable *tunables = prepare->variant->tunables;
    const gboolean has_made = self->base.made >= 0 && tunables[MADE].name;
    self->made = has_made ? (guint)prepare->tuning[MADE] : 1;
    /* A thread keeps its sums in registers: at most 32 of 4 bytes. */
    if (is_sum(self)) {
        const guint most = (guint)(128 / ct_type_info(self->base.form.kernel->y)->bytes);
        self->unroll = MAX(MIN(self->unroll, most / self->made), 1);
    }
    self->made_room = (self->base.n_made + self->made - 1) / self->made * self->made;
    if (self->base.taps->choice.line && !prepare_lines(self, prepare, error))
        return FALSE;
    return compile(self, error) &&
           (is_sum(self) ? send_sums(self, &prepare->inputs[0].layout, error)
                         : send_elements(self, prepare, error));
}

void
ct_window_finish_device(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_window_clear(&self->base);
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->shifts);
    ct_device_free(self->device, self->table);
    ct_device_free(self->device, self->series);
    g_free(self->spans);
    g_free(self);
}

/* ---- work: sums ---- */

typedef struct {
    const State *self;
    const CtWork *work;
    gboolean ok;
    GError **error;
} Job;

/* The axis of the run: a contiguous one along which shifts are the same, or the longest of these.
 */
static gint
choose_run(const State *self, const CtBox *box)
{
    const gint64 bytes = (gint64)ct_type_info(self->base.form.boxes.in_type)->bytes;
    gint best = -1;
    gint64 most = 0;
    for (guint a = 0; a < box->n_axes; a++) {
        const CtBoxAxis *axis = &box->axes[a];
        const gint64 worth =
            axis->in == bytes && axis->length >= 32 ? G_MAXINT32 + axis->length : axis->length;
        if (axis->table != 0 || worth <= most)
            continue;
        best = (gint)a;
        most = worth;
    }
    return best;
}

/* Fills in sums and launch. FALSE where there are too many tiles for a launch. */
static gboolean
sums_init(CtWindowSums *sums, CtLaunch *launch, const Job *job, const CtBox *box)
{
    const State *self = job->self;
    const CtWindowState *base = &self->base;
    const CtBlock *in = &job->work->inputs[0], *out = &job->work->outputs[0];
    const gint chosen = choose_run(self, box);
    const CtBoxAxis run = chosen < 0 ? (CtBoxAxis){1, 0, 0, 0} : box->axes[chosen];
    const gint64 tile = CT_WINDOW_SUM_THREADS * (gint64)self->unroll;
    const gint64 tiles = (run.length + tile - 1) / tile;
    gint64 n_outer = 1;
    *sums = (CtWindowSums){
        .in = box->in,
        .out = box->out,
        .in_time = in->stride[base->time_in],
        .in_term = {ct_window_stride(in, base->sum[0]), ct_window_stride(in, base->sum[1])},
        .n_fast = (guint)base->n_fast,
        .out_made = ct_window_stride(out, base->made),
        .run_in = run.in,
        .run_out = run.out,
        .n = (guint)run.length,
        .n_terms = (guint)base->n_terms,
        .n_made = (guint)base->n_made,
        .made_room = (guint)self->made_room,
        .run_tiles = ct_device_divisor((guint32)tiles),
    };
    for (gint a = (gint)box->n_axes - 1; a >= 0; a--) {
        const CtBoxAxis *axis = &box->axes[a];
        if (a == chosen)
            continue;
        if (axis->length > G_MAXINT32 / n_outer || sums->n_outer == CT_DEVICE_MAP_AXES)
            return FALSE;
        n_outer *= axis->length;
        sums->outer[sums->n_outer++] = (CtWindowAxis){ct_device_divisor((guint32)axis->length),
                                                      axis->in, axis->out, axis->table};
    }
    const gint64 made = self->made_room / self->made;
    if (n_outer > G_MAXINT32 / tiles || made > G_MAXUINT16 || run.length > G_MAXINT32)
        return FALSE;
    *launch = (CtLaunch){
        .grid = {(guint)(tiles * n_outer), (guint)made, 1},
        .block = {CT_WINDOW_SUM_THREADS, 1, 1},
    };
    return TRUE;
}

static void
enqueue_sums(gpointer data, const CtBox *given, G_GNUC_UNUSED gpointer scratch)
{
    Job *job = data;
    const State *self = job->self;
    CtWindowSums sums;
    CtLaunch launch;
    CtBox box = *given;
    if (!job->ok)
        return;
    ct_box_simplify(&box);
    if (!sums_init(&sums, &launch, job, &box)) {
        g_set_error(job->error, CT_ERROR, CT_ERROR_DEVICE,
                    "wants at most %d tiles of a firing, and %d of the new axis, but is given more",
                    G_MAXINT32, G_MAXUINT16);
        job->ok = FALSE;
        return;
    }
    gpointer arguments[] = {&sums, (gpointer)self->base.form.choice.settings.bytes,
                            (gpointer)&self->table, (gpointer)&self->shifts};
    job->ok = ct_queue_launch(job->work->queue, self->kernel, &launch, arguments, job->error);
}

static gboolean
work_sums(const State *self, const CtWork *work, GError **error)
{
    Job job = {self, work, TRUE, error};
    ct_boxes_each_filled(&self->base.form.boxes, work, enqueue_sums, &job);
    return job.ok;
}

/* ---- work: lines ---- */

/* Finds the spans of a series, at most most_spans; returns their number. */
static guint
find_spans(const State *self, gint64 series, const CtBlock *out, CtWindowSpan *spans)
{
    const CtWindowTaps *taps = self->base.taps;
    guint n_spans = 0;
    for (gint64 t = 0; t < out->n_samples && n_spans < self->most_spans;) {
        CtWindowLine line;
        taps->choice.line(taps->choice.data, series,
                          out->start + t * self->base.out->ticks_per_sample, out->n_samples - t,
                          &line);
        spans[n_spans++] =
            (CtWindowSpan){t, t - line.since, taps->before + line.shift, line.first, line.step};
        t += line.n;
    }
    return n_spans;
}

/* Fills in the spans of all series of a firing, [series][*n_spans]; a series with fewer spans gets
 * a last one that never begins. */
static void
fill_spans(State *self, const CtBlock *out, guint *n_spans)
{
    *n_spans = 1;
    for (guint series = 0; series < self->n_series; series++) {
        CtWindowSpan *spans = self->spans + (gsize)series * self->most_spans;
        const guint found = find_spans(self, series, out, spans);
        if (found < self->most_spans)
            spans[found].begin = G_MAXINT64;
        *n_spans = MAX(*n_spans, found);
    }
    for (guint series = 1; series < self->n_series; series++)
        memmove(self->spans + (gsize)series * *n_spans,
                self->spans + (gsize)series * self->most_spans, *n_spans * sizeof(CtWindowSpan));
}

static gboolean
work_lines(State *self, const CtWork *work, GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gpointer settings = self->base.form.choice.settings.bytes;
    guint n_spans;
    fill_spans(self, out, &n_spans);
    gpointer spans = ct_queue_upload(work->queue, self->spans,
                                     self->n_series * n_spans * sizeof(CtWindowSpan), error);
    if (!spans)
        return FALSE;
    const CtDeviceMapCall call = {
        self->kernel, {settings, &self->table, &spans, &n_spans, &self->series}, 5};
    return ct_device_rows_work(in, out, self->base.time_in, self->unroll, work->queue, &call,
                               error);
}

gboolean
ct_window_work_device(gpointer state, const CtWork *work, GError **error)
{
    State *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gpointer settings = self->base.form.choice.settings.bytes;
    guint64 n_taps = (guint64)self->base.taps->n;
    if (!out->data || out->n_samples == 0)
        return TRUE;
    if (is_sum(self))
        return work_sums(self, work, error);
    if (self->spans)
        return work_lines(self, work, error);
    const CtFormKernel *kernel = self->base.form.kernel;
    const gboolean is_window = kernel && kernel->kind == CT_FORM_WINDOW;
    const CtDeviceMapCall of_window = {self->kernel, {settings, &n_taps}, 2};
    const CtDeviceMapCall of_shift = {self->kernel, {settings, &self->table, &self->shifts}, 3};
    return ct_device_rows_work(in, out, self->base.time_in, self->unroll, work->queue,
                               is_window ? &of_window : &of_shift, error);
}
