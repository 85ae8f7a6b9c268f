/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms on the processor: chunks are gathered and converted in the cache where the layouts or types
 * want it; the rest is computed from memory to memory. */
#include "form-private.h"

#include <cornerturn/kit/convert.h>

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
    ENTRIES = MADE + CT_FORM_GROUP_MAX, /* of the table, gathered */
    STEPS,                              /* the scratch of conversions */
    N_CHUNKS = STEPS + 2
};

typedef struct {
    CtFormState form;
    CtConvert load, store;
    gboolean loads, stores;                      /* whether types are converted */
    gsize in_bytes, x_bytes, y_bytes, out_bytes; /* of an element */
    guint n_x, n_y;
    gsize w_bytes; /* of an entry of the table; 0: none */
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
    const gint time = ct_layout_axis(layout, "time");
    gint64 faster = 1, n_entries;
    for (gint a = time + 1; time >= 0 && a < (gint)layout->n_axes; a++)
        faster *= ct_stream_length(stream, layout->axes[a].name);
    self->repeat = faster > 1 && faster < LONG_RUN ? LONG_RUN / faster : 1;
    self->period = faster * bytes;
    self->table = ct_form_expand(&self->form, prepare, self->repeat, &n_entries, error);
    if (!self->table)
        return FALSE;
    /* Time is the one axis without a stride in the table. */
    boxes->table = self->table;
    gint64 stride = bytes;
    for (gint a = (gint)layout->n_axes - 1; a >= 0; a--) {
        for (guint b = 0; b < boxes->n_axes; b++)
            if (boxes->axes[b].in == a && a != time)
                boxes->axes[b].table = stride;
        stride *= a == time ? self->repeat : ct_stream_length(stream, layout->axes[a].name);
    }
    return TRUE;
}

gboolean
ct_form_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    const CtIsa isa = prepare->variant->isa;
    CtFormState *form = &self->form;
    if (!ct_form_init(form, prepare, isa, prepare->n_workers, error))
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
    prepare->n_items = form->boxes.n_items;
    prepare->scratch_bytes = N_CHUNKS * CHUNK_BYTES;
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

static void
compute_run(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
            const CtBoxAxis *axis)
{
    const Job *job = data;
    const State *self = job->state;
    const CtFormKernel *kernel = self->form.kernel;
    const gint64 element = (gint64)self->out_bytes;
    const gboolean y_together = self->n_y > 1 && !self->stores && job->y_stride == element &&
                                axis->out == (gint64)self->n_y * element;
    const gboolean is_direct = !self->stores && (y_together || axis->out == element);
    /* Elements that are used in place need no chunks. */
    const gint64 bytes = (gint64)(self->n_x * self->in_bytes), entry = (gint64)self->w_bytes;
    const gboolean gathers_table = axis->table != 0 && axis->table != entry;
    const gboolean is_whole = is_direct && !self->loads && !gathers_table &&
                              (axis->in == (gint64)self->in_bytes ||
                               (axis->in == bytes && job->x_stride == (gint64)self->in_bytes));
    const gint64 most = is_whole ? G_MAXINT32 : CHUNK / self->n_x;
    for (gint64 i = 0; i < axis->length; i += most) {
        gconstpointer x[CT_FORM_GROUP_MAX];
        gpointer y[CT_FORM_GROUP_MAX];
        guint8 *const to = out + i * axis->out;
        const gsize n = (gsize)MIN(axis->length - i, most);
        CtFormRun run = {
            .settings = self->form.choice.settings.bytes,
            .x = x,
            .x_together = load_inputs(job, in + i * axis->in, axis->in, n, x),
            .w = table + i * axis->table,
            .w_step = axis->table != 0,
            .y = y,
            .y_together = y_together,
            .n = n,
            .counters = job->counters,
        };
        for (guint k = 0; k < self->n_y; k++)
            y[k] = is_direct ? to + k * job->y_stride : chunk_at(job, TO + k);
        if (gathers_table) {
            ct_box_move(run.w, axis->table, chunk_at(job, ENTRIES), entry, self->w_bytes, n);
            run.w = chunk_at(job, ENTRIES);
        }
        kernel->run(&run);
        for (guint k = 0; k < self->n_y && !is_direct; k++)
            store(job, k, y[k], to + k * job->y_stride, axis->out, n);
    }
}

static void
convert_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
            const CtBoxAxis *axis)
{
    const Job *job = data;
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

/* Runs along the last axis of the box, in order. */
static void
each_run(const Job *job, CtBox *box)
{
    const State *self = job->state;
    const CtBoxAxis element = {1, (gint64)self->in_bytes, (gint64)self->out_bytes, 0};
    ct_box_simplify(box);
    ct_box_each_run(box, &element, self->form.kernel ? compute_run : convert_run, (gpointer)job);
}

/* A table repeats itself along time: whole repetitions, then the rest. */
static void
each_run_repeated(const Job *job, CtBox *box, guint time)
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
    *axis = (CtBoxAxis){axis->length / repeat, axis->in * repeat, axis->out * repeat, 0};
    if (left > 0)
        each_run(job, &rest);
    if (axis->length > 0)
        each_run(job, box);
}

static void
compute_box(gpointer data, const CtBox *given, gpointer scratch)
{
    Job *job = data;
    CtBox box = *given;
    guint time = 0;
    job->scratch = scratch;
    while (time < box.n_axes && box.axes[time].table != 0)
        time++;
    if (job->state->repeat > 1 && time < box.n_axes)
        each_run_repeated(job, &box, time);
    else
        each_run(job, &box);
}

gboolean
ct_form_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const State *self = state;
    const CtFormState *form = &self->form;
    Job job = {
        .state = self,
        .x_stride = form->group_in < 0 ? 0 : work->inputs[0].stride[form->group_in],
        .y_stride = form->group_out < 0 ? 0 : work->outputs[0].stride[form->group_out],
        .counters = work->counters,
    };
    ct_boxes_each(&form->boxes, work, compute_box, &job);
    return TRUE;
}
