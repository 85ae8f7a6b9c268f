/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin with a stage of each form of the kit, a source, and a stage by hand over boxes.
 *
 * test-abi.py compiles it with kept headers and compares its results with those of numpy. A stage
 * forms.NAME of a form has the kernel NAME. */
#include "plain.kernel.h"

#include <cornerturn/kit/array.h>
#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/device-map.h>
#include <cornerturn/kit/fold.h>
#include <cornerturn/kit/join.h>
#include <cornerturn/kit/source.h>
#include <cornerturn/kit/walk.h>
#include <cornerturn/kit/window.h>
#include <string.h>

enum { HOP = 8, TAPS = 3, TRIALS = 2 };

static const CtParam params[] = {{"factor", CT_PARAM_REAL, .fallback = "1", .help = "of samples"},
                                 {0}};
static const CtPort inputs[] = {{"in", "f32{time ...}", 0, "samples"}, {0}};
static const CtPort outputs[] = {{"out", "f32{time ...}", 0, "results"}, {0}};
static const CtRow rows[] = {{"f32{...} -> f32{...}", 0.5}, {0}};
static const CtRow any[] = {{"any: f32{...} -> f32{...}", 0.01}, {0}};

/* The part of a stage's name behind the point. */
static const char *
kernel_of(const CtNode *node)
{
    return strchr(node->stage->name, '.') + 1;
}

static void
set_factor(const CtNode *node, CtFormChoice *choice)
{
    Settings *settings = ct_form_kernel(choice, kernel_of(node), sizeof(Settings));
    settings->factor = (float)ct_params_real(node->params, "factor");
}

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    set_factor(node, choice);
    choice->group_in = "pol";
    choice->group_out = "part";
    return TRUE;
}
static const CtForm form = CT_FORM("forms", choose);

static gboolean
infer_same(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

/* ---- maps and groups ---- */

static gboolean
infer_group(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_stream_remove_axis(&node->outputs[0], "pol");
    ct_stream_add_axis(&node->outputs[0], "part", 2);
    return TRUE;
}

#define STAGE(stage_, inputs_, outputs_, params_, infer_, ...)                                     \
    static const CtStage stage_ = {.name = "forms." #stage_,                                       \
                                   .summary = "the form " #stage_,                                 \
                                   .version = 1,                                                   \
                                   .inputs = inputs_,                                              \
                                   .outputs = outputs_,                                            \
                                   .params = params_,                                              \
                                   .infer = infer_,                                                \
                                   __VA_ARGS__}

static const CtParam no_params[] = {{0}};
STAGE(scale, inputs, outputs, params, infer_same);
STAGE(large, inputs, outputs, params, infer_same, .counters = (const char *const[]){"large", NULL});
STAGE(group, inputs, outputs, params, infer_group);

/* ---- a table over a port ---- */

static const CtPort table_inputs[] = {
    {"in", "f32{time ...}", 0, "samples"},
    {"factors", "f32{channel}", CT_PORT_STATIC | CT_PORT_PREPARED, "of the channels"},
    {0}};

static gboolean
infer_weigh(CtNode *node, GError **error)
{
    return ct_array_check_axes(node, 1, 0, error) && infer_same(node, error);
}

static gboolean
read_factors(const CtNode *node, CtFormTable *table, GError **error)
{
    table->type = CT_F64;
    table->n_axes = ct_array_axes(node, 1, table->axes);
    g_autoptr(CtNpyArray) array = ct_array_read(node, 1, table->axes, table->n_axes, 'f', 8, error);
    if (!array)
        return FALSE;
    table->lengths[0] = (gint64)array->shape[0];
    table->data = g_memdup2(array->data, array->n_items * sizeof(gdouble));
    return TRUE;
}

static gboolean
choose_weigh(const CtNode *node, CtFormChoice *choice, GError **error)
{
    ct_form_kernel(choice, "weigh", sizeof(CtNoSettings));
    return read_factors(node, &choice->table, error);
}
static const CtForm weigh_form = CT_FORM("forms", choose_weigh);
STAGE(weigh, table_inputs, outputs, no_params, infer_weigh);

/* ---- a fold ---- */

static gboolean
infer_fold(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_fold_infer(node, HOP);
    return TRUE;
}

static void
fold_add(gconstpointer settings, gdouble *state, const gdouble *x, G_GNUC_UNUSED guint n_parts)
{
    state[0] += (gdouble)((const Settings *)settings)->factor * x[0];
}

static gboolean
fold_give(G_GNUC_UNUSED gconstpointer settings, const gdouble *state, guint32 n, gdouble *y)
{
    y[0] = state[0] + n;
    return TRUE;
}

static const CtFold fold_form = {
    .form = CT_FORM("forms", choose),
    .n_numbers = 1,
    .add = fold_add,
    .give = fold_give,
};
static const CtRow fold_rows[] = {{"f32{time ...} -> f32{time ...}", 0.5}, {0}};
STAGE(fold, inputs, outputs, params, infer_fold);
STAGE(sums, inputs, outputs, params, infer_fold);

/* ---- windows, and sums of shifted channels ---- */

static gboolean
infer_window(CtNode *node, GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return ct_window_footprint(node, "factor", 0, 0, TAPS, error);
}

static gboolean
choose_window(const CtNode *node, CtWindowChoice *choice, G_GNUC_UNUSED GError **error)
{
    set_factor(node, &choice->form);
    choice->n_taps = TAPS;
    return TRUE;
}
static const CtWindow window_form = CT_WINDOW_FORM("forms", choose_window);
STAGE(window, inputs, outputs, params, infer_window);

/* y[t, trial] = Σ_c w[c] x[t + trial · c, c] */
static gboolean
infer_shift(CtNode *node, GError **error)
{
    const gint64 n = ct_stream_length(&node->inputs[0], "channel");
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_stream_remove_axis(&node->outputs[0], "channel");
    ct_stream_add_axis(&node->outputs[0], "trial", TRIALS);
    return ct_window_footprint(node, "factor", 0, (TRIALS - 1) * (n - 1), 1, error);
}

static void
set_shifts(const CtNode *node, CtWindowChoice *choice)
{
    const gint64 n = ct_stream_length(&node->inputs[0], "channel");
    gint64 *shifts = g_new(gint64, TRIALS * n);
    for (gint64 i = 0; i < TRIALS * n; i++)
        shifts[i] = i / n * (i % n);
    choice->sum[1] = "channel";
    choice->made = "trial";
    choice->shifts = (CtFormTable){
        .type = CT_I64,
        .n_axes = 2,
        .axes = {ct_axis_name("trial"), ct_axis_name("channel")},
        .lengths = {TRIALS, n},
        .data = shifts,
    };
}

static gboolean
choose_moved(const CtNode *node, CtWindowChoice *choice, G_GNUC_UNUSED GError **error)
{
    set_factor(node, &choice->form);
    set_shifts(node, choice);
    return TRUE;
}
static const CtWindow moved_form = CT_WINDOW_FORM("forms", choose_moved);
STAGE(moved, inputs, outputs, params, infer_shift);

static gboolean
choose_trials(const CtNode *node, CtWindowChoice *choice, GError **error)
{
    ct_form_kernel(&choice->form, "trials", sizeof(CtNoSettings));
    set_shifts(node, choice);
    return read_factors(node, &choice->form.table, error);
}
static const CtWindow trials_form = CT_WINDOW_FORM("forms", choose_trials);
STAGE(trials, table_inputs, outputs, params, infer_shift);

/* ---- joins ---- */

static const CtPort join_inputs[] = {
    {"in", "f32{time ...}", 0, "samples"}, {"other", "f32{time ...}", 0, "others"}, {0}};
static const CtPort marked_outputs[] = {{"out", "f32{time ...}", CT_PORT_MARKED, "results"}, {0}};
static const CtRow join_rows[] = {{"f32{...}, f32{...} -> f32{...}", 0.5}, {0}};
static const CtRow any_join[] = {{"any: f32{...}, f32{...} -> f32{...}", 0.01}, {0}};

static gboolean
infer_mark(CtNode *node, GError **error)
{
    if (!ct_join_infer(node, error))
        return FALSE;
    for (guint a = 0; a < node->outputs[0].n_axes; a++)
        node->outputs[0].axes[a].loses = node->outputs[0].axes[a].name != ct_axis_name("time");
    return TRUE;
}

static gboolean
choose_join(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(choice, kernel_of(node), sizeof(CtNoSettings));
    return TRUE;
}
static const CtForm join_form = CT_FORM("forms", choose_join);

static void
subtract(G_GNUC_UNUSED gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    CtBox at = *box;
    gint64 index[G_N_ELEMENTS(at.axes)] = {0};
    ct_box_simplify(&at);
    const CtBoxAxis element = {.length = 1}, *run = at.n_axes ? &at.axes[at.n_axes - 1] : &element;
    do {
        for (gint64 i = 0; i < run->length; i++)
            *(float *)(gpointer)(at.out + i * run->out) =
                *(const float *)(gconstpointer)(at.in + i * run->in) -
                *(const float *)(gconstpointer)(at.table + i * run->table);
    } while (ct_box_next(&at, index));
}

static gboolean
work_join(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_join_each(&((const CtJoinReference *)state)->join, work, subtract, NULL);
    return TRUE;
}
STAGE(join, join_inputs, outputs, no_params, ct_join_infer);
STAGE(mark, join_inputs, marked_outputs, no_params, infer_mark);

/* ---- by hand: y = factor · x ---- */

typedef struct {
    CtBoxes boxes;
    const CtLayout *in, *out;
    float factor;
    CtKernel *kernel;
} Boxes;

static gboolean
boxes_prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Boxes *self = *state = g_new0(Boxes, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0],
                  prepare->device ? 1 : prepare->n_items);
    self->in = &prepare->inputs[0].layout;
    self->out = &prepare->outputs[0].layout;
    self->factor = (float)ct_params_real(prepare->nodes[0].params, "factor");
    prepare->scratch_bytes = CT_BOXES_SCRATCH_BYTES;
    return TRUE;
}

static gboolean
boxes_prepare_device(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtKernelSpec spec = {
        .name = "boxes_map",
        .source = "/cornerturn/plugins/forms/boxes.cu",
    };
    if (!boxes_prepare(prepare, state, error))
        return FALSE;
    Boxes *self = *state;
    return (self->kernel = ct_kernel_new(prepare->device, &spec, error)) != NULL;
}

static void
boxes_elements(gpointer data, const guint8 *in, guint8 *out, gsize n, G_GNUC_UNUSED guint8 *scratch)
{
    for (gsize i = 0; i < n; i++)
        ((float *)(gpointer)out)[i] =
            ((const Boxes *)data)->factor * ((const float *)(gconstpointer)in)[i];
}

static gboolean
boxes_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_boxes_map(&((const Boxes *)state)->boxes, work, boxes_elements, state);
    return TRUE;
}

static gboolean
boxes_work_reference(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Boxes *self = state;
    CtWalk walk;
    ct_walk_init(&walk, self->out, &work->outputs[0]);
    ct_walk_add(&walk, self->in, &work->inputs[0]);
    ct_walk_limit(&walk, "time", work->begin, work->end);
    while (ct_walk_next(&walk))
        *(float *)(gpointer)walk.at[0] = self->factor * *(const float *)(gconstpointer)walk.at[1];
    return TRUE;
}

static gboolean
boxes_work_device(gpointer state, const CtWork *work, GError **error)
{
    Boxes *self = state;
    const CtDeviceMapCall call = {
        .kernel = self->kernel,
        .arguments = {&self->factor},
        .n_arguments = 1,
    };
    return ct_device_map_work(&self->boxes, work, &call, NULL, error);
}

static void
boxes_finish(gpointer state)
{
    if (state)
        ct_kernel_free(((Boxes *)state)->kernel);
    g_free(state);
}

STAGE(boxes, inputs, outputs, params, infer_same);
static const char *const covers_boxes[] = {"forms.boxes", NULL};
static const CtVariant boxes_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = covers_boxes,
    .rows = any,
    .prepare = boxes_prepare_device,
    .work = boxes_work_device,
    .finish = boxes_finish,
};
static const CtVariant boxes_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers_boxes,
    .rows = any,
    .split = "*",
    .prepare = boxes_prepare,
    .work = boxes_work,
    .finish = boxes_finish,
};
static const CtVariant boxes_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = covers_boxes,
    .rows = any,
    .split = "time",
    .prepare = boxes_prepare,
    .work = boxes_work_reference,
    .finish = boxes_finish,
};

/* ---- a source: packets of a byte with their number, and SAMPLES bytes [time] ---- */

enum { SAMPLES = 16 };

static gsize
size(const guint8 *header, G_GNUC_UNUSED gconstpointer self)
{
    return memcmp(header, "PKT", 3) == 0 ? 4 + SAMPLES : 0;
}

static gboolean
alike(const guint8 *a, const guint8 *b, G_GNUC_UNUSED gconstpointer self)
{
    return memcmp(a, b, 3) == 0;
}

static void
found(const guint8 *header, CtPacket *packet, G_GNUC_UNUSED gpointer self)
{
    packet->stamp = header[3] * SAMPLES;
}

static gboolean
order(CtRecording *recording, G_GNUC_UNUSED const CtParams *given, G_GNUC_UNUSED GError **error)
{
    recording->n_lanes = 1;
    recording->n_samples = SAMPLES;
    recording->max_gap = 256 * SAMPLES;
    return TRUE;
}

static gboolean
describe(CtRecording *recording, G_GNUC_UNUSED const CtParams *given, CtStream *stream,
         G_GNUC_UNUSED GError **error)
{
    stream->type = CT_I8;
    stream->rate_num = 1000;
    stream->rate_den = stream->ticks_per_sample = 1;
    stream->start = recording->packets->first;
    return TRUE;
}

static void
unpack(G_GNUC_UNUSED const CtRecording *recording, const CtPacketPart *part)
{
    for (gint64 t = part->begin; t < part->end; t++)
        part->out[(t - part->begin) * part->stride[0]] = part->packet[4 + t];
}

static const CtSource recordings = {
    .files = "path",
    .self_bytes = 1,
    .is_one_stream = TRUE,
    .format = {.name = "packets", .header_bytes = 4, .size = size, .alike = alike},
    .found = found,
    .order = order,
    .describe = describe,
    .unpack = unpack,
};

static gboolean
infer_source(CtNode *node, GError **error)
{
    return ct_source_infer(&recordings, node, error);
}

static const CtParam source_params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_REQUIRED | CT_PARAM_LIST, .help = "the recording"}, {0}};
static const CtPort source_outputs[] = {{"out", "i8{time}", 0, "samples"}, {0}};
static const CtRow source_rows[] = {{"-> i8[time]", 0.1}, {0}};
static const CtPort none[] = {{0}};
STAGE(source, none, source_outputs, source_params, infer_source, .counters = CT_PACKET_COUNTERS);

CT_PLUGIN("forms",
          ((const CtStage *const[]){&scale, &large, &group, &weigh, &fold, &sums, &window, &moved,
                                    &trials, &join, &mark, &boxes, &source, NULL}),
          ((const CtVariant *const[]){
              CT_FORM_VARIANTS(form, "forms.scale", rows, rows),
              CT_FORM_VARIANTS(form, "forms.large", rows, rows),
              CT_FORM_VARIANTS(form, "forms.group", rows, rows),
              CT_FORM_TABLE_VARIANTS(weigh_form, "forms.weigh", rows, rows),
              CT_FOLD_VARIANTS(fold_form, "forms.fold", fold_rows, fold_rows),
              CT_FOLD_VARIANTS(fold_form, "forms.sums", fold_rows, fold_rows),
              CT_WINDOW_VARIANTS(window_form, "forms.window", rows, rows),
              CT_WINDOW_SUM_VARIANTS(moved_form, "forms.moved", any, any),
              CT_WINDOW_SUM_VARIANTS(trials_form, "forms.trials", any, any),
              CT_JOIN_VARIANTS(join_form, "forms.join", join_rows, join_rows),
              CT_JOIN_REFERENCE("forms.join", any_join, work_join),
              CT_JOIN_VARIANTS(join_form, "forms.mark", join_rows, join_rows), &boxes_cuda,
              &boxes_cpu, &boxes_reference,
              CT_SOURCE_VARIANTS(recordings, "forms.source", source_rows), NULL}));
