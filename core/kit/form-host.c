/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms on the processor: chunks are gathered and converted in the cache where the layouts or types
 * want it; the rest is computed from memory to memory. */
#include "form-private.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

/* Elements of a run that is worth its overhead. */
#define LONG_RUN 64

/* The bytes of a chunk of elements; the chunks in scratch, of each input and each output. */
#define CHUNK       CT_BOXES_CHUNK
#define CHUNK_BYTES ((gsize)CHUNK * 16)
enum {
    RAW,                                /* elements of the input, gathered */
    FROM,                               /* the same, converted */
    TO = FROM + CT_FORM_GROUP_MAX,      /* elements of the output before their conversion */
    MADE = TO + CT_FORM_GROUP_MAX,      /* and after it, to be scattered */
    ENTRIES = MADE + CT_FORM_GROUP_MAX, /* of the table or the second input, gathered */
    ENTRIES_FROM,                       /* the same, converted */
    MARKS,                              /* of elements of the output */
    STEPS,                              /* the scratch of conversions */
    N_CHUNKS = STEPS + 2
};

typedef struct {
    CtFormState form;
    CtConvert load, load_w, store;
    gboolean loads, loads_w, stores;             /* whether types are converted */
    gsize in_bytes, x_bytes, y_bytes, out_bytes; /* of an element */
    guint n_x, n_y;
    gsize w_bytes; /* of an entry of the table, or an element of the second input; 0: none */
    guint8 *table;
    gint64 repeat; /* times for which the table is repeated, so that axes faster than time (pol,
                      say) form long runs */
    gint64 period; /* bytes of the table from one time to the next, if it is repeated */
} State;

/* A firing, or a share of it. */
typedef struct {
    const State *state;
    gint64 x_stride, y_stride; /* bytes from an input, or output, of a group to the next */
    guint64 *counters;
    guint8 *scratch;
    const CtBoxAxis *inner; /* axis inside that of a run, along which the entries are not contiguous
                               though the elements are; NULL: none */
    guint8 *marks;          /* of the run's first element */
} Job;

/* ---- prepare ---- */

static gboolean
prepare_table(State *self, CtPrepare *prepare, GError **error)
{
    const CtLayout *layout = &prepare->inputs[0].layout;
    const CtStream *stream = prepare->inputs[0].stream;
    CtBoxes *boxes = &self->form.boxes;
    const gint64 bytes = (gint64)ct_type_info(self->form.kernel->w)->bytes;
    self->w_bytes = (gsize)bytes;
    gint64 n_different = 1;
    for (guint a = 0; a < self->form.choice.table.n_axes; a++)
        n_different *= self->form.choice.table.lengths[a];
    const gint time = ct_layout_axis(layout, "time");
    gint64 faster = 1, n_entries;
    for (gint a = time + 1; time >= 0 && a < (gint)layout->n_axes; a++)
        faster *= ct_stream_length(stream, layout->axes[a].name);
    self->repeat = n_different > 1 && faster > 1 && faster < LONG_RUN ? LONG_RUN / faster : 1;
    self->period = faster * bytes;
    self->table = ct_form_expand(&self->form, prepare, self->repeat, &n_entries, error);
    if (!self->table)
        return FALSE;
    boxes->table = self->table;
    /* One entry for all has no strides, and needs no memory traffic beside that of the samples. */
    if (n_different == 1)
        return TRUE;
    /* Time is the one axis without a stride in the table. */
    gint64 stride = bytes;
    for (gint a = (gint)layout->n_axes - 1; a >= 0; a--) {
        for (guint b = 0; b < boxes->n_axes; b++)
            if (boxes->axes[b].in == a && a != time)
                boxes->axes[b].table = stride;
        stride *= a == time ? self->repeat : ct_stream_length(stream, layout->axes[a].name);
    }
    return TRUE;
}

static void
prepare_join(State *self, const CtPrepare *prepare)
{
    const CtType second = self->form.second;
    self->w_bytes = ct_type_info(second)->bytes;
    self->loads_w = second != self->form.kernel->w;
    self->load_w = ct_convert_steps(prepare->variant->isa, second, self->form.kernel->w);
}

gboolean
ct_form_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    const CtIsa isa = prepare->variant->isa;
    CtFormState *form = &self->form;
    if (!ct_form_init(form, prepare, isa, prepare->n_items, ct_form_kinds(prepare), error))
        return FALSE;
    const CtType in = form->boxes.in_type, out = form->boxes.out_type;
    const CtType x = form->kernel ? form->kernel->x : out, y = form->kernel ? form->kernel->y : out;
    self->loads = in != x || !form->kernel;
    self->stores = y != out;
    self->load = ct_convert_steps(isa, in, x);
    self->store = ct_convert_steps(isa, y, out);
    self->in_bytes = ct_type_info(in)->bytes;
    self->x_bytes = ct_type_info(x)->bytes;
    self->y_bytes = ct_type_info(y)->bytes;
    self->out_bytes = ct_type_info(out)->bytes;
    self->n_x = form->kernel ? form->kernel->n_x : 1;
    self->n_y = form->kernel ? form->kernel->n_y : 1;
    prepare->scratch_bytes = N_CHUNKS * CHUNK_BYTES;
    if (ct_form_is_join(form))
        prepare_join(self, prepare);
    return !form->kernel || form->kernel->kind != CT_FORM_TABLE ||
           prepare_table(self, prepare, error);
}

void
ct_form_finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_form_clear(&self->form);
    g_free(self->table);
    g_free(self);
}

/* ---- work ---- */

static guint8 *
chunk_at(const Job *job, guint chunk)
{
    return job->scratch + chunk * CHUNK_BYTES;
}

/* n elements of the input, `stride` bytes apart, as contiguous ones of the kernel's type: in place,
 * or in chunk `to`. */
static const guint8 *
load(const Job *job, const guint8 *in, gint64 stride, gsize n, guint to)
{
    const State *self = job->state;
    if (stride != (gint64)self->in_bytes) {
        guint8 *gathered = chunk_at(job, self->loads ? RAW : to);
        ct_box_move(in, stride, gathered, (gint64)self->in_bytes, self->in_bytes, n);
        in = gathered;
    }
    if (!self->loads)
        return in;
    ct_convert(&self->load, in, chunk_at(job, to), n, chunk_at(job, STEPS));
    return chunk_at(job, to);
}

/* Converts and scatters n elements of output k. */
static void
store(const Job *job, guint k, const guint8 *y, guint8 *out, gint64 stride, gsize n)
{
    const State *self = job->state;
    const gboolean is_scattered = stride != (gint64)self->out_bytes;
    if (self->stores) {
        guint8 *made = is_scattered ? chunk_at(job, MADE + k) : out;
        ct_convert(&self->store, y, made, n, chunk_at(job, STEPS));
        y = made;
    }
    if (is_scattered)
        ct_box_move(y, (gint64)self->out_bytes, out, stride, self->out_bytes, n);
}

/* Points `x` to n samples of all inputs of a group; returns whether these are together. */
static gboolean
load_inputs(const Job *job, const guint8 *in, gint64 stride, gsize n, gconstpointer *x)
{
    const State *self = job->state;
    const gint64 bytes = (gint64)self->in_bytes;
    if (self->n_x > 1 && job->x_stride == bytes && stride == (gint64)self->n_x * bytes) {
        const guint8 *all = load(job, in, bytes, self->n_x * n, FROM);
        for (guint k = 0; k < self->n_x; k++)
            x[k] = all + k * self->x_bytes;
        return TRUE;
    }
    for (guint k = 0; k < self->n_x; k++)
        x[k] = load(job, in + k * job->x_stride, stride, n, FROM + k);
    return FALSE;
}

/* Points `run` to the entries of n elements from the given one on, contiguous and of the kernel's
 * type: in place, or in a chunk. */
static void
load_entries(const Job *job, const guint8 *table, const CtBoxAxis *axis, gsize n, CtFormRun *run)
{
    const State *self = job->state;
    const CtBoxAxis *inner = job->inner;
    const gint64 entry = (gint64)self->w_bytes;
    run->w = table;
    run->w_step = axis->table != 0 || inner;
    if (inner)
        for (gint64 k = 0; k < inner->length; k++)
            ct_box_move(table + k * inner->table, axis->table, chunk_at(job, ENTRIES) + k * entry,
                        entry * inner->length, self->w_bytes, n / (gsize)inner->length);
    else if (run->w_step != 0 && axis->table != entry)
        ct_box_move(table, axis->table, chunk_at(job, ENTRIES), entry, self->w_bytes, n);
    if (inner || (run->w_step != 0 && axis->table != entry))
        run->w = chunk_at(job, ENTRIES);
    if (!self->loads_w)
        return;
    ct_convert(&self->load_w, run->w, chunk_at(job, ENTRIES_FROM), run->w_step == 0 ? 1 : n,
               chunk_at(job, STEPS));
    run->w = chunk_at(job, ENTRIES_FROM);
}

/* Marks the samples of elements `first` … first + n − 1 of a run whose marks are 0. Other workers
 * may mark the same samples. */
static void
store_marks(const Job *job, const CtBoxAxis *axis, gint64 first, gint64 n)
{
    const guint8 *marks = chunk_at(job, MARKS);
    const gint64 inner = job->inner ? job->inner->length : 1;
    for (const guint8 *at = memchr(marks, 0, (gsize)n); at;
         at = memchr(at + 1, 0, (gsize)(marks + n - (at + 1)))) {
        const gint64 i = first + (at - marks);
        const gint64 place =
            i / inner * axis->mark + (job->inner ? i % inner * job->inner->mark : 0);
        __atomic_store_n(job->marks + place, (guint8)0, __ATOMIC_RELAXED);
        if (axis->mark == 0 && (inner == 1 || job->inner->mark == 0))
            return; /* all have this one sample */
    }
}

static void
compute_run(const Job *job, const guint8 *in, const guint8 *table, guint8 *out,
            const CtBoxAxis *axis)
{
    const State *self = job->state;
    const CtFormKernel *kernel = self->form.kernel;
    const gint64 element = (gint64)self->out_bytes;
    const gboolean y_together = self->n_y > 1 && !self->stores && job->y_stride == element &&
                                axis->out == (gint64)self->n_y * element;
    const gboolean is_direct = !self->stores && (y_together || axis->out == element);
    /* Elements that are used in place need no chunks. */
    const gint64 bytes = (gint64)(self->n_x * self->in_bytes), entry = (gint64)self->w_bytes;
    const gboolean gathers = job->inner || (axis->table != 0 && axis->table != entry) ||
                             (axis->table != 0 && self->loads_w) || job->marks;
    const gboolean is_whole = is_direct && !self->loads && !gathers &&
                              (axis->in == (gint64)self->in_bytes ||
                               (axis->in == bytes && job->x_stride == (gint64)self->in_bytes));
    const gint64 inner = job->inner ? job->inner->length : 1;
    const gint64 most = is_whole ? G_MAXINT32 : CHUNK / self->n_x / inner * inner;
    for (gint64 i = 0; i < axis->length; i += most) {
        gconstpointer x[CT_FORM_GROUP_MAX];
        gpointer y[CT_FORM_GROUP_MAX];
        guint8 *const to = out + i * axis->out;
        const gsize n = (gsize)MIN(axis->length - i, most);
        CtFormRun run = {
            .settings = self->form.choice.settings.bytes,
            .x = x,
            .x_together = load_inputs(job, in + i * axis->in, axis->in, n, x),
            .y = y,
            .y_together = y_together,
            .n = n,
            .counters = job->counters,
            .marks = chunk_at(job, MARKS),
        };
        for (guint k = 0; k < self->n_y; k++)
            y[k] = is_direct ? to + k * job->y_stride : chunk_at(job, TO + k);
        load_entries(job, table + i / inner * axis->table, axis, n, &run);
        kernel->run(&run);
        if (job->marks)
            store_marks(job, axis, i, (gint64)n);
        for (guint k = 0; k < self->n_y && !is_direct; k++)
            store(job, k, y[k], to + k * job->y_stride, axis->out, n);
    }
}

static void
convert_run(const Job *job, const guint8 *in, guint8 *out, const CtBoxAxis *axis)
{
    const State *self = job->state;
    const gint64 bytes = (gint64)self->in_bytes;
    const gboolean is_scattered = axis->out != (gint64)self->out_bytes;
    for (gint64 i = 0; i < axis->length; i += CHUNK) {
        const gsize n = (gsize)MIN(axis->length - i, CHUNK);
        const guint8 *from = in + i * axis->in;
        guint8 *to = out + i * axis->out, *made = is_scattered ? chunk_at(job, MADE) : to;
        if (axis->in != bytes) {
            ct_box_move(from, axis->in, chunk_at(job, RAW), bytes, self->in_bytes, n);
            from = chunk_at(job, RAW);
        }
        ct_convert(&self->load, from, made, n, chunk_at(job, STEPS));
        if (is_scattered)
            ct_box_move(made, (gint64)self->out_bytes, to, axis->out, self->out_bytes, n);
    }
}

/* Joins the last two axes of the box if elements are contiguous over both of them, but the entries
 * are not: then runs are longer. *axis is the run, which counts elements; its entries are those of
 * the slower axis, and *inner are those of the faster one. */
static gboolean
join_axes(const State *self, CtBox *box, CtBoxAxis *axis, CtBoxAxis *inner)
{
    if (!ct_form_is_join(&self->form) || box->n_axes < 2)
        return FALSE;
    const CtBoxAxis slow = box->axes[box->n_axes - 2], fast = box->axes[box->n_axes - 1];
    if (fast.length >= LONG_RUN || slow.in != fast.length * fast.in ||
        slow.out != fast.length * fast.out)
        return FALSE;
    *inner = fast;
    *axis = (CtBoxAxis){slow.length * fast.length, fast.in, fast.out, slow.table, slow.mark};
    box->n_axes--;
    return TRUE;
}

/* Runs along the last axis of the box, in order. */
static void
each_run(Job *job, CtBox *box)
{
    const State *self = job->state;
    const CtBoxAxis element = {1, (gint64)self->in_bytes, (gint64)self->out_bytes, 0, 0};
    gint64 index[G_N_ELEMENTS(box->axes)] = {0};
    CtBoxAxis inner, axis = element;
    ct_box_simplify(box);
    job->inner = NULL;
    if (join_axes(self, box, &axis, &inner))
        job->inner = &inner;
    else if (box->n_axes > 0)
        axis = box->axes[box->n_axes - 1];
    do {
        job->marks = box->marks;
        if (self->form.kernel)
            compute_run(job, box->in, box->table, box->out, &axis);
        else
            convert_run(job, box->in, box->out, &axis);
    } while (ct_box_next(box, index));
}

/* A table repeats itself along time: computes the rest, and then the whole repetitions. */
static void
each_run_repeated(Job *job, CtBox *box, guint time)
{
    const gint64 repeat = job->state->repeat;
    CtBox rest = *box;
    CtBoxAxis *axis = &box->axes[time];
    const gint64 left = axis->length % repeat;
    rest.axes[time].length = left;
    rest.axes[time].table = job->state->period;
    rest.in += (axis->length - left) * axis->in;
    rest.out += (axis->length - left) * axis->out;
    box->axes[box->n_axes] = rest.axes[time];
    box->axes[box->n_axes++].length = repeat;
    *axis = (CtBoxAxis){axis->length / repeat, axis->in * repeat, axis->out * repeat, 0, 0};
    if (left > 0)
        each_run(job, &rest);
    if (axis->length > 0)
        each_run(job, box);
}

/* Uses the box up. */
static void
run_box(Job *job, CtBox *box, gpointer scratch)
{
    guint time = 0;
    job->scratch = scratch;
    while (time < box->n_axes && box->axes[time].table != 0)
        time++;
    if (job->state->repeat > 1 && time < box->n_axes)
        each_run_repeated(job, box, time);
    else
        each_run(job, box);
}

static void
compute_box(gpointer data, const CtBox *given, gpointer scratch)
{
    CtBox box = *given;
    run_box(data, &box, scratch);
}

static Job
job_of(const State *self, const CtWork *work)
{
    const CtFormState *form = &self->form;
    return (Job){
        .state = self,
        .x_stride = form->group_in < 0 ? 0 : work->inputs[0].stride[form->group_in],
        .y_stride = form->group_out < 0 ? 0 : work->outputs[0].stride[form->group_out],
        .counters = work->counters,
    };
}

gboolean
ct_form_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *self = state;
    Job job = job_of(self, work);
    if (ct_form_is_join(&self->form))
        ct_join_each(&self->form.join, work, compute_box, &job);
    else
        ct_boxes_each(&self->form.boxes, work, compute_box, &job);
    return TRUE;
}

/* ---- parts ---- */

static void
keep_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    *(CtBox *)data = *box;
}

void
ct_form_part_init(CtFormPart *part, gconstpointer state, const CtWork *work, const char *axis,
                  gint64 n)
{
    const State *self = state;
    CtBoxes boxes = self->form.boxes;
    *part = (CtFormPart){0};
    boxes.n_items = 1;
    for (guint a = 0; axis && a < boxes.n_axes; a++) {
        if (boxes.axes[a].name != axis)
            continue;
        boxes.axes[a].length = n;
        part->table_step = boxes.axes[a].table;
    }
    ct_boxes_each_filled(&boxes, work, keep_box, &part->box);
    ct_box_simplify(&part->box);
}

void
ct_form_part_work(const CtFormPart *part, gconstpointer state, const CtWork *work, gint64 first)
{
    const State *self = state;
    Job job = job_of(self, work);
    CtBox box;
    ct_box_assign(&box, &part->box);
    box.in = work->inputs[0].data;
    box.out = work->outputs[0].data;
    box.table = self->table ? self->table + first * part->table_step : NULL;
    run_box(&job, &box, work->scratch);
}
