/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and shifts on the processor. A run along time, or along an axis without shifts, is
 * computed a tile at a time. For each tile, samples that are not contiguous, or are of another
 * type, are staged: gathered and converted once for a group of terms and many indices of the new
 * axis. What a group adds to one sum fits into the L1 cache, and all that is staged into the L2. */
#include "window-host-private.h"

#include <string.h>

enum {
    TIMES = 256,      /* elements of a run along time if its neighbours are of other axes */
    TIMES_MOVED = 64, /* the same without a function */
    GATHERED = 8,     /* times of a term that are gathered before the next one's */
    LONG_RUN = 16,    /* elements of a run that need not be along time */
    PIECE = 1024,     /* elements of a long row */
};

/* A firing, or a share of it. */
typedef struct {
    const CtWindowHost *state;
    const CtWork *work;
    gint64 in_time, in_term[2], out_made; /* strides */
    guint8 *scratch;
    const guint8 *table; /* never read: a step of one byte from it stands for one entry */
    gint64 time;         /* the first sample of the run, or of the row */
    gboolean is_along_time;
    gboolean is_staged;
    CtBoxAxis row;            /* of short rows that are computed for several times at once */
    gdouble *values;          /* of each series, at the sample of a row */
    CtWindowLineFound *lines; /* by series */
} Job;

/* ---- a tile ---- */

/* The span of a term for the indices of the new axis from `made` on. */
static CtWindowSpan
span_of(const CtWindowHost *self, gint64 entry, gint64 made, gint64 term)
{
    const gint64 n_terms = self->base.n_terms, outer = entry / (n_terms * self->base.n_made);
    const gint64 shift = self->entries.shifts[entry + made * n_terms + term];
    return self->spans
               ? self->spans[(outer * self->n_made_tiles + made / self->made) * n_terms + term]
               : (CtWindowSpan){shift, shift};
}

/* Stages n[j] samples of each term j from in[j] on, `stride` bytes apart: contiguous ones of the
 * kernel's type, in slots. Neighbours in memory may be of other terms: some times of all terms are
 * gathered while their samples are in the cache. */
static void
stage(const Job *job, const guint8 *const *in, gint64 stride, const gint64 *n, gsize n_terms)
{
    const CtWindowHost *self = job->state;
    const gint64 bytes = (gint64)self->in_bytes, tile = self->tile;
    const gboolean is_gathered = stride != bytes;
    guint8 *raw = job->scratch + (self->loads ? self->raw : 0);
    gint64 longest = 0;
    for (gsize j = 0; j < n_terms; j++)
        longest = MAX(longest, n[j]);
    const gint64 step = n_terms > 1 ? GATHERED : longest;
    for (gint64 t = 0; t < longest && is_gathered; t += step)
        for (gsize j = 0; j < n_terms; j++)
            if (t < n[j])
                ct_box_move(in[j] + t * stride, stride, raw + j * self->slot + t * bytes, bytes,
                            (gsize)bytes, (gsize)MIN(n[j] - t, step));
    for (gsize j = 0; j < n_terms && self->loads; j++)
        for (gint64 t = 0; t < n[j]; t += tile)
            ct_convert(&self->load, (is_gathered ? raw + j * self->slot : in[j]) + t * bytes,
                       job->scratch + j * self->slot + t * (gint64)self->x_bytes,
                       (gsize)MIN(n[j] - t, tile), job->scratch + self->steps);
}

/* Converts and scatters n elements. */
static void
store(const Job *job, const guint8 *y, guint8 *out, gint64 stride, gsize n)
{
    const CtWindowHost *self = job->state;
    const gint64 bytes = (gint64)self->out_bytes;
    if (self->stores) {
        guint8 *made = stride == bytes ? out : job->scratch + self->given;
        ct_convert(&self->store, y, made, n, job->scratch + self->steps);
        y = made;
    }
    if (stride != bytes)
        ct_box_move(y, bytes, out, stride, self->out_bytes, n);
}

/* Points from[0 … n_terms) to the samples without a shift or, if they are staged for the indices of
 * the new axis from `made` on, to those of the shifts least[0 … n_terms). */
static void
point_terms(const Job *job, const guint8 *in, gint64 entry, gint64 made, gint64 term,
            const CtBoxAxis *run, gint64 n, gsize n_terms, const guint8 **from, gint64 *least)
{
    const CtWindowHost *self = job->state;
    gint64 used[CT_SHIFT_TERMS] = {0};
    for (gsize j = 0; j < n_terms; j++) {
        const gint64 at = term + (gint64)j, n_fast = self->base.n_fast;
        from[j] = in + at / n_fast * job->in_term[0] + at % n_fast * job->in_term[1];
        least[j] = 0;
        if (!job->is_staged)
            continue;
        const CtWindowSpan span = span_of(self, entry, made, at);
        least[j] = span.least;
        from[j] += span.least * job->in_time;
        used[j] = n + (job->is_along_time ? span.most - span.least + self->base.taps->n - 1 : 0);
    }
    if (!job->is_staged)
        return;
    stage(job, from, run->in, used, n_terms);
    for (gsize j = 0; j < n_terms; j++)
        from[j] = job->scratch + j * self->slot;
}

static const guint8 *
table_at(const CtWindowHost *self, gint64 entry)
{
    return self->entries.table ? self->entries.table + entry * (gint64)self->w_bytes : NULL;
}

/* Computes a group of terms from `term` on, for n elements of a run and the indices of a tile of
 * the new axis from `made` on. Begins the sums if `term` is 0, and otherwise adds to them. */
static void
compute_group(const Job *job, const guint8 *in, gint64 entry, gint64 made, gint64 term, guint8 *out,
              const CtBoxAxis *run, gint64 n)
{
    const CtWindowHost *self = job->state;
    const gint64 n_terms = self->base.n_terms;
    const gint64 *shifts = self->entries.shifts;
    const gboolean is_direct = !self->stores && run->out == (gint64)self->y_bytes;
    const gsize group = (gsize)MIN(n_terms - term, CT_SHIFT_TERMS);
    const gint64 step = job->is_staged ? (gint64)self->x_bytes : job->in_time;
    const guint8 *from[CT_SHIFT_TERMS] = {0};
    gint64 least[CT_SHIFT_TERMS];
    point_terms(job, in, entry, made, term, run, n, group, from, least);
    for (gint64 m = 0; m < MIN(self->base.n_made - made, self->made); m++) {
        const gint64 first = entry + (made + m) * n_terms + term;
        gconstpointer x[CT_SHIFT_TERMS];
        gpointer y = is_direct ? out + (made + m) * job->out_made
                               : job->scratch + self->sums + m * self->tile * (gint64)self->y_bytes;
        const CtWindowRun window = {
            .n_terms = group,
            .adds = term > 0,
            .n_taps = (gsize)self->base.taps->n,
            .tap_step = step / (gint64)self->x_bytes,
        };
        const CtFormRun call = {
            .settings = self->base.form.choice.settings.bytes,
            .x = x,
            .w = table_at(self, first),
            .w_step = self->entries.table && run->table != 0,
            .y = &y,
            .n = (gsize)n,
            .window = &window,
        };
        for (gsize j = 0; j < group; j++)
            x[j] = from[j] + (shifts[first + (gint64)j] - least[j]) * step;
        self->base.form.kernel->run(&call);
        if (!is_direct && term + (gint64)group == n_terms)
            store(job, y, out + (made + m) * job->out_made, run->out, (gsize)n);
    }
}

static gint64
entry_of(const Job *job, const guint8 *table)
{
    return table - job->table;
}

/* n samples without a function. */
static void
move(const Job *job, const guint8 *in, guint8 *out, const CtBoxAxis *run, gint64 n)
{
    const gint64 bytes = (gint64)job->state->in_bytes;
    if (run->in == bytes && run->out == bytes)
        memcpy(out, in, (gsize)(n * bytes));
    else
        ct_box_move(in, run->in, out, run->out, (gsize)bytes, (gsize)n);
}

/* n elements without a sum, from memory to memory, with the entries `w` of the table, or w[0] for
 * all. */
static void
compute_single(const Job *job, const guint8 *in, gint64 entry, guint8 *out, gint64 n,
               gconstpointer w, gboolean w_step)
{
    const CtWindowHost *self = job->state;
    gconstpointer x = in + self->entries.shifts[entry] * job->in_time;
    gpointer y = out;
    const CtWindowRun window = {
        .n_terms = 1,
        .n_taps = (gsize)self->base.taps->n,
        .tap_step = job->in_time / (gint64)self->x_bytes,
    };
    const CtFormRun call = {
        .settings = self->base.form.choice.settings.bytes,
        .x = &x,
        .w = w,
        .w_step = (gsize)w_step,
        .y = &y,
        .n = (gsize)n,
        .window = &window,
    };
    self->base.form.kernel->run(&call);
}

/* Short rows at all times: their entries are repeated in scratch for several of them. */
static void
compute_repeated(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
                 const CtBoxAxis *times)
{
    const Job *job = data;
    const CtWindowHost *self = job->state;
    const gint64 entry = entry_of(job, table), n = job->row.length;
    const gint64 bytes = n * (gint64)self->w_bytes;
    const gint64 most = MIN(CT_WINDOW_REPEATED / bytes, times->length);
    guint8 *w = job->scratch + self->w;
    for (gint64 k = 0; k < most; k++)
        memcpy(w + k * bytes, table_at(self, entry), (gsize)bytes);
    for (gint64 i = 0; i < times->length; i += most)
        compute_single(job, in + i * times->in, entry, out + i * times->out,
                       n * MIN(times->length - i, most), w, TRUE);
}

static void
compute_run(gpointer data, const guint8 *in, const guint8 *table, guint8 *out, const CtBoxAxis *run)
{
    const Job *job = data;
    const CtWindowHost *self = job->state;
    const gint64 entry = entry_of(job, table);
    if (!self->base.form.kernel) {
        move(job, in + self->entries.shifts[entry] * job->in_time, out, run, run->length);
        return;
    }
    if (self->is_single && !job->is_staged && !self->stores && run->out == (gint64)self->y_bytes) {
        compute_single(job, in, entry, out, run->length, table_at(self, entry),
                       self->entries.table && run->table != 0);
        return;
    }
    const gint64 tile = job->is_staged ? self->tile : CT_WINDOW_TILE;
    for (gint64 i = 0; i < run->length; i += tile)
        for (gint64 made = 0; made < self->base.n_made; made += self->made)
            for (gint64 term = 0; term < self->base.n_terms; term += CT_SHIFT_TERMS)
                compute_group(job, in + i * run->in, entry + i * run->table, made, term,
                              out + i * run->out, run, MIN(run->length - i, tile));
}

/* ---- lines ---- */

static gint64
tick_of(const Job *job, gint64 sample)
{
    return job->work->outputs[0].start + sample * job->state->base.out->ticks_per_sample;
}

/* n elements with the values w, or w[0] for all. */
static void
compute_values(const Job *job, const guint8 *in, guint8 *out, const CtBoxAxis *run, gint64 n,
               const gdouble *w, gsize w_step)
{
    const CtWindowHost *self = job->state;
    const gboolean is_direct = !self->stores && run->out == (gint64)self->y_bytes;
    gconstpointer x = in;
    gpointer y = is_direct ? out : job->scratch + self->sums;
    const CtWindowRun window = {.n_terms = 1};
    const CtFormRun call = {
        .settings = self->base.form.choice.settings.bytes,
        .x = &x,
        .w = w,
        .w_step = w_step,
        .y = &y,
        .n = (gsize)n,
        .window = &window,
    };
    if (!self->base.form.kernel) {
        move(job, in, out, run, n);
        return;
    }
    if (job->is_staged) {
        stage(job, &in, run->in, &n, 1);
        x = job->scratch;
    }
    self->base.form.kernel->run(&call);
    if (!is_direct)
        store(job, y, out, run->out, (gsize)n);
}

/* The line of a series at a sample of the firing. */
static CtWindowLine
line_at(const Job *job, gint64 series, gint64 sample)
{
    const CtWindowChoice *choice = &job->state->base.taps->choice;
    CtWindowLineFound *last = &job->lines[series];
    if (sample < last->begin || sample >= last->end) {
        choice->line(choice->data, series, tick_of(job, sample),
                     job->work->outputs[0].n_samples - sample, &last->line);
        last->begin = sample;
        last->end = sample + last->line.n;
    }
    CtWindowLine line = last->line;
    line.since += sample - last->begin;
    line.n = last->end - sample;
    return line;
}

/* Along time. */
static void
compute_lines(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    const Job *job = data;
    const CtWindowHost *self = job->state;
    const CtWindowTaps *taps = self->base.taps;
    const gint64 entry = entry_of(job, table);
    const gdouble *factors = (const gdouble *)self->entries.table;
    const gdouble factor = factors ? factors[entry] : 0;
    gdouble *w = (gdouble *)(job->scratch + self->w);
    for (gint64 i = 0; i < run->length;) {
        CtWindowLine line = line_at(job, self->entries.series[entry], job->time + i);
        const gdouble first = factor * line.first, step = factor * line.step;
        const guint8 *from = in + (taps->before + line.shift) * job->in_time;
        for (const gint64 end = MIN(i + line.n, run->length); i < end;) {
            const gint64 n = MIN(end - i, CT_WINDOW_TILE);
            const gint32 n_values = !factors ? 0 : step != 0 ? (gint32)n : 1;
            const gdouble since = (gdouble)line.since;
            for (gint32 k = 0; k < n_values; k++)
                w[k] = first + (since + k) * step;
            compute_values(job, from + i * run->in, out + i * run->out, run, n, w, step != 0);
            line.since += n;
            i += n;
        }
    }
}

/* Along other axes, at one time. */
static void
compute_row(gpointer data, const guint8 *in, const guint8 *table, guint8 *out, const CtBoxAxis *run)
{
    const Job *job = data;
    const CtWindowHost *self = job->state;
    gdouble *w = (gdouble *)(job->scratch + self->w);
    for (gint64 i = 0; i < run->length; i += CT_WINDOW_TILE) {
        const gint64 entry = entry_of(job, table) + i * run->table;
        const gint64 n = MIN(run->length - i, CT_WINDOW_TILE), n_values = run->table != 0 ? n : 1;
        const guint32 *series = self->entries.series + entry;
        const gdouble *factors = (const gdouble *)self->entries.table;
        for (gint64 k = 0; k < n_values && factors; k++)
            w[k] = factors[entry + k] * job->values[series[k]];
        compute_values(job, in + i * run->in, out + i * run->out, run, n, w, n_values > 1);
    }
}

/* No line is known of any series. */
static void
begin_lines(Job *job)
{
    const gsize n = (gsize)job->state->n_series;
    job->values = (gdouble *)(job->scratch + job->state->values);
    job->lines = (CtWindowLineFound *)(job->values + n);
    memset(job->lines, 0, n * sizeof *job->lines);
}

/* The value of every series at a sample of the firing. */
static void
find_values(const Job *job, gint64 sample)
{
    for (gint64 s = 0; s < job->state->n_series; s++) {
        const CtWindowLine line = line_at(job, s, sample);
        job->values[s] = line.first + (gdouble)line.since * line.step;
    }
}

/* ---- the walk ---- */

/* Takes the axis of time out of the box. Where the firing has one sample, the box has none. */
static CtBoxAxis
take_time(Job *job, CtBox *box)
{
    const CtWindowState *base = &job->state->base;
    const CtBlock *in = &job->work->inputs[0], *out = &job->work->outputs[0];
    const gint64 in_time = in->stride[base->time_in], out_time = out->stride[base->time_out];
    for (guint a = 0; a < box->n_axes && out->n_samples > 1; a++)
        if (box->axes[a].in == in_time && box->axes[a].out == out_time) {
            const CtBoxAxis time = box->axes[a];
            box->axes[a] = box->axes[--box->n_axes];
            /* The share of the items is cut along one axis. */
            job->time = time.length < out->n_samples ? (box->in - in->data) / in_time : 0;
            return time;
        }
    return (CtBoxAxis){1, in_time, out_time, 0};
}

/* Moves the axis of a run that need not be along time behind the others. FALSE: there is none. */
static gboolean
take_row(const Job *job, CtBox *box)
{
    const CtWindowHost *self = job->state;
    const CtWindowState *base = &self->base;
    gint best = -1;
    for (guint a = 0; a < box->n_axes; a++) {
        const CtBoxAxis *axis = &box->axes[a];
        const gboolean is_steady =
            axis->table == 0 || (axis->table == 1 && self->is_single && !base->shifts_differ);
        if (axis->in == (gint64)self->in_bytes && is_steady && axis->length >= LONG_RUN &&
            (best < 0 || axis->length > box->axes[best].length))
            best = (gint)a;
    }
    if (best < 0)
        return FALSE;
    const CtBoxAxis row = box->axes[best];
    for (guint a = (guint)best; a + 1 < box->n_axes; a++)
        box->axes[a] = box->axes[a + 1];
    box->axes[box->n_axes - 1] = row;
    return TRUE;
}

/* Takes the axis of a short row out of the box if its entries differ, but not along the next slower
 * axis, with which it is contiguous. FALSE: it is not so. */
static gboolean
take_short_row(Job *job, CtBox *box)
{
    const CtWindowHost *self = job->state;
    if (box->n_axes < 2 || !self->base.form.kernel || !self->entries.table || self->loads ||
        self->stores)
        return FALSE;
    const CtBoxAxis times = box->axes[box->n_axes - 2], row = box->axes[box->n_axes - 1];
    const gboolean is_short = 2 * row.length * (gint64)self->w_bytes <= CT_WINDOW_REPEATED;
    if (!is_short || row.table == 0 || times.table != 0 || row.out != (gint64)self->y_bytes ||
        times.in != row.length * row.in || times.out != row.length * row.out)
        return FALSE;
    job->row = row;
    box->n_axes--;
    return TRUE;
}

/* Rows without a sum. Long ones with different entries are computed in pieces, each at all times,
 * so that the entries stay in the L1 cache. */
static void
compute_each_row(Job *job, CtBox *rows)
{
    job->is_staged = job->state->loads;
    if (take_short_row(job, rows)) {
        ct_box_each_run(rows, NULL, compute_repeated, job);
        return;
    }
    CtBoxAxis *row = &rows->axes[rows->n_axes - 1];
    const gint64 length = row->length, piece = row->table != 0 ? PIECE : length;
    for (gint64 i = 0; i < length; i += piece) {
        row->length = MIN(length - i, piece);
        ct_box_each_run(rows, NULL, compute_run, job);
        rows->in += row->length * row->in;
        rows->out += row->length * row->out;
        rows->table += row->length * row->table;
    }
}

static void
compute_rows(Job *job, CtBox *box, const CtBoxAxis *time)
{
    job->is_staged = job->state->loads;
    for (gint64 t = 0; t < time->length; t++) {
        find_values(job, job->time + t);
        ct_box_each_run(box, NULL, compute_row, job);
        box->in += time->in;
        box->out += time->out;
    }
}

/* If neighbours in memory belong to other axes, these axes are walked for a few samples of time
 * after another, while the samples are in the cache. */
static void
compute_along_time(Job *job, CtBox *box, CtBoxAxis time)
{
    const CtWindowHost *self = job->state;
    const CtBoxRun function = self->base.taps->choice.line ? compute_lines : compute_run;
    const gboolean is_packed =
        time.in == (gint64)self->in_bytes && time.out == (gint64)self->out_bytes;
    const gint64 tile = is_packed || !self->is_single
                            ? time.length
                            : MAX(self->base.form.kernel ? TIMES : TIMES_MOVED, self->base.taps->n);
    ct_box_simplify(box);
    const guint at = box->n_axes++;
    for (gint64 left = time.length; left > 0; left -= tile, job->time += tile) {
        time.length = MIN(left, tile);
        box->axes[at] = time;
        ct_box_each_run(box, NULL, function, job);
        box->in += tile * time.in;
        box->out += tile * time.out;
    }
}

static void
compute_box(gpointer data, const CtBox *given, gpointer scratch)
{
    Job *job = data;
    const CtWindowHost *self = job->state;
    const CtWindowState *base = &self->base;
    const gboolean has_lines = base->taps->choice.line != NULL;
    CtBox box = *given;
    job->scratch = scratch;
    job->time = 0;
    if (has_lines)
        begin_lines(job);
    const CtBoxAxis time = take_time(job, &box);
    CtBox rows = box;
    if (!has_lines)
        rows.axes[rows.n_axes++] = time;
    ct_box_simplify(&rows);
    job->is_along_time = FALSE;
    if (((self->is_single && base->taps->n == 1) || !self->loads) && !self->moves &&
        take_row(job, &rows)) {
        if (has_lines) {
            compute_rows(job, &rows, &time);
            return;
        }
        compute_each_row(job, &rows);
        return;
    }
    job->is_along_time = TRUE;
    job->is_staged = self->loads || time.in != (gint64)self->x_bytes;
    compute_along_time(job, &box, time);
}

gboolean
ct_window_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtWindowHost *self = state;
    const CtWindowState *base = &self->base;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    Job job = {
        .state = self,
        .work = work,
        .in_time = in->stride[base->time_in],
        .in_term = {ct_window_stride(in, base->sum[0]), ct_window_stride(in, base->sum[1])},
        .out_made = ct_window_stride(out, base->made),
        .table = base->form.boxes.table,
    };
    if (out->data && out->n_samples > 0)
        ct_boxes_each(&base->form.boxes, work, compute_box, &job);
    return TRUE;
}
