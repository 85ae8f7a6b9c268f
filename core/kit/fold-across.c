/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds along another axis than time, on the host and on devices. A sum never goes beyond a sample,
 * so that nothing is carried from firing to firing. Where data are lost, the valid elements of each
 * sum are counted in a table, [lane without the axis][sum][sample]. */
#include "fold-across.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

enum { COLUMNS = 256, ELEMENT = 16 };

typedef struct {
    CtFoldState fold;      /* its axes and counts are not used */
    const CtFold *by_hand; /* of the reference */
    const CtFormKernel *kernel;
    CtConvert load, store;
    gboolean loads, stores; /* whether types are converted */
    gsize in_bytes, out_bytes;
    guint n_axes;
    gint in_axis, axis, time;      /* the folded axis, and time, in the layouts */
    gint out_place[CT_MAX_AXES];   /* [axis of the input's layout] in the output's */
    gint64 rows[CT_MAX_AXES];      /* [axis of the input's layout] from row to row of the table */
    gint64 n_in, n_out;            /* elements, sums */
    gint64 n_bases;                /* lanes without the axis */
    gint64 in_lane, out_lane;      /* steps of lanes along the axis; 0: it loses no data itself */
    guint32 *in_base, *out_base;   /* [n_bases] */
    gboolean has_weights, counted; /* whether the table holds the counts of this firing */
    guint n_weights;
    guint weights[CT_MAX_AXES]; /* [axis of the second output's layout] in the input's */
    guint32 *counts;
    gint64 n_items, most;
    CtDevice *device;
    CtKernel *gather, *copy;
} State;

typedef struct {
    guint8 states[COLUMNS * CT_FOLD_STATE_BYTES];
    guint8 raw[COLUMNS * ELEMENT], x[COLUMNS * ELEMENT];
    guint8 y[COLUMNS * ELEMENT], made[COLUMNS * ELEMENT];
    guint8 steps[CT_CONVERT_SCRATCH(COLUMNS)];
    guint32 counts[COLUMNS];
    guint8 valid[COLUMNS];
} Scratch;

/* ---- prepare ---- */

/* Numbers the lanes without the axis: those of the other axes along which data are lost. */
static gboolean
find_bases(State *self, const CtStream *in, const CtStream *out, const CtLayout *layout,
           GError **error)
{
    self->n_bases = 1;
    for (guint a = 0; a < layout->n_axes; a++)
        if ((gint)a != self->in_axis && ct_stream_lane_step(in, layout->axes[a].name) > 0) {
            self->rows[a] = self->n_bases * self->n_out;
            self->n_bases *= ct_stream_length(in, layout->axes[a].name);
        }
    self->rows[self->in_axis] = 1;
    self->in_base = CT_TABLE(guint32, self->n_bases, "lanes", error);
    self->out_base = self->in_base ? CT_TABLE(guint32, self->n_bases, "lanes", error) : NULL;
    for (gint64 b = 0; self->out_base && b < self->n_bases; b++)
        for (guint a = 0; a < layout->n_axes; a++) {
            const char *name = layout->axes[a].name;
            if ((gint)a == self->in_axis || self->rows[a] == 0)
                continue;
            const gint64 i = b * self->n_out / self->rows[a] % ct_stream_length(in, name);
            self->in_base[b] += (guint32)(i * ct_stream_lane_step(in, name));
            self->out_base[b] += (guint32)(i * ct_stream_lane_step(out, name));
        }
    return self->out_base != NULL;
}

static gboolean
find_axes(State *self, const CtPrepare *prepare, const char *axis, GError **error)
{
    const CtStream *in = prepare->inputs[0].stream, *out = prepare->outputs[0].stream;
    const CtLayout *from = &prepare->inputs[0].layout, *to = &prepare->outputs[0].layout;
    self->n_axes = from->n_axes;
    self->in_axis = ct_layout_axis(from, axis);
    self->axis = ct_layout_axis(to, axis);
    self->time = ct_layout_axis(from, "time");
    for (guint a = 0; a < from->n_axes; a++)
        self->out_place[a] = ct_layout_axis(to, from->axes[a].name);
    self->n_in = ct_stream_length(in, axis);
    self->n_out = ct_stream_length(out, axis);
    self->in_lane = ct_stream_lane_step(in, axis);
    self->out_lane = ct_stream_lane_step(out, axis);
    self->has_weights = prepare->n_outputs > 1 && prepare->outputs[1].stream->type != CT_TYPE_NONE;
    self->n_weights = self->has_weights ? prepare->outputs[1].layout.n_axes : 0;
    for (guint a = 0; a < self->n_weights; a++)
        self->weights[a] = (guint)ct_layout_axis(from, prepare->outputs[1].layout.axes[a].name);
    self->most = prepare->inputs[0].max_samples;
    return find_bases(self, in, out, from, error);
}

/* Compiles the kernel of a device. */
static gboolean
compile(State *self, CtPrepare *prepare, GError **error)
{
    self->device = prepare->device;
    prepare->upload_bytes = (gsize)(self->n_bases * self->n_out * self->most) * sizeof(guint32);
    self->gather = ct_form_compile(&self->fold.form, prepare->device, "_across",
                                   CT_DEVICE_MAP_THREADS, 1, "CT_FOLD_ACROSS", error);
    self->copy = self->gather ? ct_device_map_copy_new(prepare->device, 4, error) : NULL;
    return self->copy != NULL;
}

static gboolean
find_kernel(State *self, CtPrepare *prepare, GError **error)
{
    const CtVariant *variant = prepare->variant;
    const CtIsa isa = variant->backend == CT_CUDA ? CT_ISA_BASELINE : variant->isa;
    const CtFormKernel *kernel;
    if (!ct_form_init(&self->fold.form, prepare, isa, 1, CT_FORM_FOLDS, error))
        return FALSE;
    self->kernel = kernel = self->fold.form.kernel;
    if (!kernel->fold->adds_all ||
        (prepare->nodes[0].stage->outputs[0].flags & CT_PORT_MARKED) != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "kernel '%s' wants CT_FOLD_ALL and an output without marks to fold along an "
                    "axis other than time",
                    kernel->name);
        return FALSE;
    }
    self->loads = self->fold.form.boxes.in_type != kernel->x;
    self->stores = self->fold.form.boxes.out_type != kernel->y;
    self->load = ct_convert_steps(isa, self->fold.form.boxes.in_type, kernel->x);
    self->store = ct_convert_steps(isa, kernel->y, self->fold.form.boxes.out_type);
    return TRUE;
}

/* The reference works with numbers of double precision. */
static gboolean
find_by_hand(State *self, CtPrepare *prepare, GError **error)
{
    const CtType in = ct_layout_type(&prepare->inputs[0].layout);
    const CtType out = ct_layout_type(&prepare->outputs[0].layout);
    CtFormState *form = &self->fold.form;
    self->by_hand = prepare->variant->form;
    self->load =
        ct_convert_steps(CT_ISA_BASELINE, in, ct_type_info(in)->is_complex ? CT_CF64 : CT_F64);
    self->store =
        ct_convert_steps(CT_ISA_BASELINE, ct_type_info(out)->is_complex ? CT_CF64 : CT_F64, out);
    return ct_form_choose(&self->by_hand->form, &prepare->nodes[0], &form->choice, error) &&
           ct_form_check(&self->by_hand->form, &form->choice, error);
}

gboolean
ct_fold_across_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    const CtNode *node = &prepare->nodes[0];
    const CtFold *fold = prepare->variant->form;
    const CtBackend backend = prepare->variant->backend;
    self->fold.is_across = TRUE;
    self->fold.hop = ct_params_int(node->params, fold->form.length);
    self->in_bytes = ct_type_info(ct_layout_type(&prepare->inputs[0].layout))->bytes;
    self->out_bytes = ct_type_info(ct_layout_type(&prepare->outputs[0].layout))->bytes;
    if (!(backend == CT_REFERENCE ? find_by_hand(self, prepare, error)
                                  : find_kernel(self, prepare, error)) ||
        !find_axes(self, prepare, ct_fold_axis(fold, node), error) ||
        !(self->counts =
              CT_TABLE(guint32, self->n_bases * self->n_out * self->most, "counts", error)))
        return FALSE;
    if (backend == CT_CUDA)
        return compile(self, prepare, error);
    self->n_items = MAX(1, prepare->n_items);
    if (backend == CT_REFERENCE)
        prepare->n_items = self->n_items = 1;
    prepare->scratch_bytes = sizeof(Scratch);
    return TRUE;
}

void
ct_fold_across_finish(gpointer state)
{
    State *self = state;
    ct_fold_clear(&self->fold);
    ct_kernel_free(self->gather);
    ct_kernel_free(self->copy);
    g_free(self->in_base);
    g_free(self->out_base);
    g_free(self->counts);
    g_free(self);
}

/* ---- counts and validity ---- */

/* Elements of sum `o`. */
static gint64
length_of(const State *self, gint64 o)
{
    return MIN(self->fold.hop, self->n_in - o * self->fold.hop);
}

/* Counts the valid elements of sum `o` in lanes `base`, for n samples. */
static void
count(const State *self, const CtBlock *in, gint64 base, gint64 o, gint64 n, guint32 *counts)
{
    const gint64 m = length_of(self, o);
    for (gint64 t = 0; t < n; t++)
        counts[t] = in->validity && self->in_lane > 0 ? 0 : (guint32)m;
    if (!in->validity)
        return;
    for (gint64 k = 0; k < (self->in_lane > 0 ? m : 1); k++) {
        const guint8 *valid =
            in->validity +
            (self->in_base[base] + (o * self->fold.hop + k) * self->in_lane) * in->validity_stride;
        for (gint64 t = 0; t < n; t++)
            counts[t] = self->in_lane > 0 ? counts[t] + valid[t] : valid[t] ? counts[t] : 0;
    }
}

gboolean
ct_fold_across_advance(gpointer state, CtAdvance *advance, GError **error)
{
    State *self = state;
    if (!ct_advance_default(advance, error))
        return FALSE;
    const CtBlock *in = &advance->inputs[0].block;
    const gint64 n =
        MAX(advance->outputs[0].produced, self->has_weights ? advance->outputs[1].produced : 0);
    self->counted = in->validity || self->has_weights;
    for (gint64 row = 0; self->counted && row < self->n_bases * self->n_out; row++)
        count(self, in, row / self->n_out, row % self->n_out, n, self->counts + row * n);
    for (guint o = 0; in->validity && o < (self->has_weights ? 2 : 1); o++) {
        CtDeparture *out = &advance->outputs[o];
        if (!out->validity) /* nothing reads it */
            continue;
        out->invalid = out->produced > 0;
        for (gint64 row = 0; out->invalid && row < self->n_bases * self->n_out; row++) {
            const gint64 lane =
                self->out_base[row / self->n_out] + row % self->n_out * self->out_lane;
            guint8 *valid = out->validity + lane * out->validity_stride;
            for (gint64 t = 0; t < n; t++)
                valid[t] = self->counts[row * n + t] > 0;
        }
    }
    return TRUE;
}

/* The bytes between neighbours along an axis of the input's layout in the table of counts. */
static gint64
table_stride(const State *self, guint axis, gint64 n)
{
    return 4 * ((gint)axis == self->time ? 1 : self->rows[axis] * n);
}

/* The box from the table of counts to the second output. */
static CtBox
weights_box(const State *self, const CtWork *work, gconstpointer counts)
{
    const CtBlock *out = &work->outputs[1];
    CtBox box = {.in = counts, .out = out->data};
    for (guint a = 0; a < self->n_weights; a++)
        box.axes[box.n_axes++] =
            (CtBoxAxis){.length = out->length[a],
                        .in = table_stride(self, self->weights[a], out->n_samples),
                        .out = out->stride[a]};
    return box;
}

/* The box of sums `begin` … `end` − 1 from their first elements, with the table of counts. */
static CtBox
sums_box(const State *self, const CtWork *work, gint64 begin, gint64 end, gconstpointer counts)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    CtBox box = {.in = in->data, .table = counts, .out = out->data};
    for (guint a = 0; a < self->n_axes; a++) {
        const gboolean is_axis = (gint)a == self->in_axis;
        const gint place = self->out_place[a];
        CtBoxAxis axis = {
            .length = is_axis ? end - begin : out->length[place],
            .in = in->stride[a] * (is_axis ? self->fold.hop : 1),
            .out = out->stride[place],
            .table = counts ? table_stride(self, a, out->n_samples) : 0,
        };
        if (is_axis) {
            box.in += begin * axis.in;
            box.out += begin * axis.out;
            box.table += begin * axis.table;
        }
        box.axes[box.n_axes++] = axis;
    }
    return box;
}

/* ---- on the host ---- */

typedef struct {
    const State *self;
    const CtWork *work;
    gint64 m, step; /* elements of a sum, and the bytes from one to the next */
} Sums;

/* Adds the elements of n sums to the states. */
static void
add(const Sums *sums, const guint8 *in, const CtBoxAxis *run, gsize n)
{
    const State *self = sums->self;
    Scratch *scratch = sums->work->scratch;
    CtFoldAdd add = {
        .settings = self->fold.form.choice.settings.bytes,
        .states = scratch->states,
        .n = n,
        .m = 1,
    };
    const gboolean is_packed = n == 1 || run->in == (gint64)self->in_bytes;
    if (is_packed && !self->loads) {
        add.x = in;
        add.stride = sums->step;
        add.m = (gsize)sums->m;
        self->kernel->fold->add(&add);
        return;
    }
    for (gint64 k = 0; k < sums->m; k++, in += sums->step) {
        ct_box_move(in, run->in, scratch->raw, (gint64)self->in_bytes, self->in_bytes, n);
        ct_convert(&self->load, scratch->raw, scratch->x, n, scratch->steps);
        add.x = !self->loads ? scratch->raw : scratch->x;
        self->kernel->fold->add(&add);
    }
}

/* Makes a run of sums. */
static void
make_run(gpointer data, const guint8 *in, const guint8 *table, guint8 *out, const CtBoxAxis *run)
{
    const Sums *sums = data;
    const State *self = sums->self;
    Scratch *scratch = sums->work->scratch;
    const CtFoldKernel *kernel = self->kernel->fold;
    gconstpointer settings = self->fold.form.choice.settings.bytes;
    const gboolean is_packed = run->out == (gint64)self->out_bytes;
    const guint32 all = (guint32)sums->m;
    for (gint64 i = 0; i < run->length; i += COLUMNS) {
        const gsize n = (gsize)MIN(COLUMNS, run->length - i);
        guint8 *const to = out + i * run->out;
        guint8 *const made = is_packed ? to : scratch->made;
        CtFoldGive give = {
            .settings = settings,
            .states = scratch->states,
            .n = n,
            .n_partials = 1,
            .counts = &all,
            .y = !self->stores ? made : scratch->y,
            .valid = scratch->valid,
        };
        if (table) {
            ct_box_move(table + i * run->table, run->table, (guint8 *)scratch->counts, 4, 4, n);
            give.counts = scratch->counts;
            give.counts_step = 1;
        }
        kernel->start(settings, scratch->states, n);
        add(sums, in + i * run->in, run, n);
        kernel->give(&give);
        if (self->stores)
            ct_convert(&self->store, scratch->y, made, n, scratch->steps);
        if (!is_packed)
            ct_box_move(made, (gint64)self->out_bytes, to, run->out, self->out_bytes, n);
    }
}

/* The same with the functions of the reference. */
static void
make_by_hand(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
             const CtBoxAxis *run)
{
    const Sums *sums = data;
    const State *self = sums->self;
    gconstpointer settings = self->fold.form.choice.settings.bytes;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out) {
        gdouble scratch[CT_CONVERT_SCRATCH(1) / sizeof(gdouble)], made[2], y[2] = {0};
        gdouble state[CT_FOLD_STATE_BYTES / sizeof(gdouble)] = {0};
        guint32 n = (guint32)sums->m;
        for (gint64 k = 0; k < sums->m; k++) {
            gdouble x[2] = {0};
            ct_convert(&self->load, in + k * sums->step, x, 1, (guint8 *)scratch);
            self->by_hand->add(settings, state, x, (guint)self->load.n_parts);
        }
        if (table)
            memcpy(&n, table + i * run->table, sizeof n);
        self->by_hand->give(settings, state, n, y);
        ct_convert(&self->store, y, made, 1, (guint8 *)scratch);
        memcpy(out, made, self->out_bytes);
    }
}

/* Short runs whose sums follow one another in memory: a call of the kernel makes all whole sums. */
typedef struct {
    Sums sums;
    CtFoldMake make;
    gboolean has_table;
} Rows;

static void
make_rows(gpointer data, const guint8 *in, const guint8 *table, guint8 *out, const CtBoxAxis *run)
{
    const Rows *rows = data;
    guint8 valid = 1;
    CtFoldMake make = rows->make;
    make.valid = &valid;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out) {
        make.x = in;
        make.y = out;
        if (rows->has_table)
            make.counts = (const guint32 *)(gconstpointer)(table + i * run->table);
        rows->sums.self->kernel->fold->make(&make);
    }
}

/* Takes the folded axis out of a box of whole sums, and the axis inside it if it is short; FALSE:
 * the elements of a sum, or the sums, do not follow one another. */
static gboolean
find_rows(const Sums *sums, CtBox *box, Rows *rows)
{
    const State *self = sums->self;
    const gint64 bytes = (gint64)self->in_bytes;
    const CtBoxAxis axis = box->axes[self->in_axis];
    gint64 n = 1;
    if (self->by_hand || self->loads || self->stores)
        return FALSE;
    box->axes[self->in_axis].length = 1;
    ct_box_simplify(box);
    const CtBoxAxis *run = box->n_axes > 0 ? &box->axes[box->n_axes - 1] : NULL;
    if (run && run->in == bytes && run->out == (gint64)self->out_bytes && run->table == 0 &&
        run->length * bytes == sums->step && run->length <= CT_FOLD_FEW &&
        CT_FOLD_FEW % run->length == 0) {
        n = run->length;
        box->n_axes--;
    }
    *rows = (Rows){
        .sums = *sums,
        .make =
            {
                .settings = self->fold.form.choice.settings.bytes,
                .hop = (gsize)self->fold.hop,
                .n_hops = (gsize)axis.length,
                .n = (gsize)n,
                .counts_step = (gsize)axis.table / 4,
                .y_stride = axis.out,
            },
        .has_table = box->table != NULL,
    };
    return sums->step == n * bytes;
}

/* Makes sums `begin` … `end` − 1, which are equally long. */
static void
make_sums(const State *self, const CtWork *work, gint64 begin, gint64 end)
{
    static const CtBoxAxis element = {.length = 1};
    const guint32 all = (guint32)length_of(self, begin);
    Sums sums = {self, work, all, work->inputs[0].stride[self->in_axis]};
    CtBox box = sums_box(self, work, begin, end, self->counted ? self->counts : NULL);
    Rows rows;
    if (!ct_box_share(&box, work->begin, work->end, self->n_items))
        return;
    CtBox whole = box;
    if (all == self->fold.hop && find_rows(&sums, &whole, &rows)) {
        rows.make.counts = &all;
        ct_box_each_run(&whole, &element, make_rows, &rows);
        return;
    }
    ct_box_simplify(&box);
    ct_box_each_run(&box, &element, self->by_hand ? make_by_hand : make_run, &sums);
}

/* ---- on a device ---- */

static gboolean
launch_sums(const State *self, const CtWork *work, gint64 begin, gint64 end, gpointer counts,
            GError **error)
{
    guint64 m = (guint64)length_of(self, begin);
    gint64 step = work->inputs[0].stride[self->in_axis];
    const CtBox box = sums_box(self, work, begin, end, counts);
    const CtDeviceMapCall call = {
        .kernel = self->gather,
        .arguments = {(gpointer)self->fold.form.choice.settings.bytes, &m, &step},
        .n_arguments = 3,
        .unroll = 1,
    };
    /* Units are single sums, as of elements of 16 bytes. */
    return ct_device_map_box(&box, 16, 16, work->queue, &call, error);
}

static gboolean
launch(const State *self, const CtWork *work, GError **error)
{
    const gint64 n =
        MAX(work->outputs[0].n_samples, self->has_weights ? work->outputs[1].n_samples : 0);
    const gint64 n_whole = self->n_in / self->fold.hop;
    gpointer counts = NULL;
    if (self->counted && !(counts = ct_queue_upload(
                               work->queue, self->counts,
                               (gsize)(self->n_bases * self->n_out * n) * sizeof(guint32), error)))
        return FALSE;
    if (self->has_weights && work->outputs[1].data) {
        const CtDeviceMapCall copy = {.kernel = self->copy};
        const CtBox box = weights_box(self, work, counts);
        if (!ct_device_map_box(&box, 4, 4, work->queue, &copy, error))
            return FALSE;
    }
    return !work->outputs[0].data ||
           ((n_whole == 0 || launch_sums(self, work, 0, n_whole, counts, error)) &&
            (n_whole == self->n_out ||
             launch_sums(self, work, n_whole, self->n_out, counts, error)));
}

gboolean
ct_fold_across_work(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    const gint64 n_whole = self->n_in / self->fold.hop;
    if (work->outputs[0].n_samples == 0 && !(self->has_weights && work->outputs[1].n_samples > 0))
        return TRUE;
    if (self->gather)
        return launch(self, work, error);
    if (work->begin == 0 && self->has_weights && work->outputs[1].data) {
        CtBox box = weights_box(self, work, self->counts);
        ct_box_copy(&box, sizeof(guint32));
    }
    if (work->outputs[0].data) {
        make_sums(self, work, 0, n_whole);
        if (n_whole < self->n_out)
            make_sums(self, work, n_whole, self->n_out);
    }
    return TRUE;
}
