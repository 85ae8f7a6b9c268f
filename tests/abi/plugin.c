/* SPDX-License-Identifier: BSD-3-Clause */
/* A plugin that uses what the headers of plugins offer: a source, a stage with a static port,
 * parameters, counters and tunables, one with a footprint of its own, and a sink.
 *
 * test-abi.py compiles it with kept headers, and with headers whose structs have other lengths. It
 * defines OF_PORT and the like as what a struct sets of a member that newer headers have, and LAST
 * as what it sets of the last member, which older headers lack. */
#include <cornerturn/json.h>
#include <cornerturn/stage.h>

static const CtPort none[] = {{NULL}};
static const CtPort one_input[] = {{"in", "f32{time lane}", LAST(.help = "samples")}, {NULL}};
static const CtPort one_output[] = {{"out", "f32{time lane}", LAST(.help = "samples")}, {NULL}};

static gfloat *
at(const CtBlock *block, gint64 t, gint64 lane)
{
    return (gfloat *)(gpointer)(block->data + t * block->stride[0] + lane * block->stride[1]);
}

static gboolean
infer_same(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

/* ---- abi.numbers: x[t][lane] = t + step · lane ---- */

typedef struct {
    gint64 n, n_done;
    gdouble step;
} Numbers;

static const CtParam numbers_params[] = {
    {"samples", CT_PARAM_INT, CT_PARAM_RANGED | CT_PARAM_REQUIRED, NULL, 1, 1e6,
     .help = "along time"},
    {"lanes", CT_PARAM_INT, .fallback = "1", .help = "along lane"},
    {"step", CT_PARAM_REAL, .fallback = "1", .help = "from a lane to the next"},
    {NULL},
};

static gboolean
numbers_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *stream = &node->outputs[0];
    stream->type = CT_F32;
    ct_stream_add_axis(stream, "time", ct_params_int(node->params, "samples"));
    ct_stream_add_axis(stream, "lane", ct_params_int(node->params, "lanes"))->loses = TRUE;
    stream->rate_num = 1000;
    stream->rate_den = stream->ticks_per_sample = 1;
    return TRUE;
}

static gboolean
numbers_prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Numbers *self = *state = g_new0(Numbers, 1);
    self->n = ct_params_int(prepare->nodes[0].params, "samples");
    self->step = ct_params_real(prepare->nodes[0].params, "step");
    return TRUE;
}

static gboolean
numbers_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    Numbers *self = state;
    CtDeparture *out = &advance->outputs[0];
    out->start = self->n_done;
    out->produced = MIN(out->room, self->n - self->n_done);
    self->n_done += out->produced;
    advance->ended = self->n_done == self->n;
    return TRUE;
}

static gboolean
numbers_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Numbers *self = state;
    const CtBlock *out = &work->outputs[0];
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 lane = 0; lane < out->length[1]; lane++)
            *at(out, t, lane) = (gfloat)((gdouble)(out->start + t) + self->step * (gdouble)lane);
    return TRUE;
}

static const CtStage numbers = {
    .name = "abi.numbers",
    .summary = "the numbers from 0 on",
    .version = 1,
    .inputs = none,
    .outputs = one_output,
    .params = numbers_params,
    .infer = numbers_infer,
};
static const CtVariant numbers_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"abi.numbers", NULL},
    .rows = (const CtRow[]){{"-> f32[time lane]", 0.5}, {NULL}},
    .split = "time",
    .prepare = numbers_prepare,
    .advance = numbers_advance,
    .work = numbers_work,
    .finish = g_free,
};

/* ---- abi.scale: y[t][lane] = gain · f[lane] · x[t][lane] ± 1 ---- */

enum { LESS, MORE };
enum { TILE, UNROLL, N_TUNABLES };

typedef struct {
    gfloat gain, add;
} Scale;

static const char *const ways[] = {[LESS] = "less", [MORE] = "more", NULL};
static const CtParam scale_params[] = {
    {"gain", CT_PARAM_REAL, .fallback = "1", .help = "a factor for all lanes"},
    {"rate", CT_PARAM_QUANTITY, .unit = "Hz", .help = "has no effect", OF_PARAM},
    {"way", CT_PARAM_CHOICE, .fallback = "more", .choices = ways, .help = "what to add"},
    {NULL},
};
static const CtPort scale_inputs[] = {
    {"in", "f32{time lane}", LAST(.help = "samples") OF_PORT},
    {"factors", "f32{lane}", CT_PORT_STATIC, LAST("a factor for each lane")},
    {NULL},
};
static const char *const scale_counters[] = {"firings", "items", NULL};

static gboolean
scale_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtParams *params = prepare->nodes[0].params;
    Scale *self = *state = g_new0(Scale, 1);
    self->gain = (gfloat)ct_params_real(params, "gain");
    self->add = ct_params_choice(params, "way") == LESS ? -1 : 1;
    prepare->scratch_bytes = sizeof(gfloat);
    if (prepare->tuning[TILE] == 4 && prepare->tuning[UNROLL] == 2 && prepare->n_inputs == 2)
        return TRUE;
    return ct_params_error(params, "gain", error, "wants its tuning and two inputs");
}

static gboolean
scale_advance(G_GNUC_UNUSED gpointer state, CtAdvance *advance, GError **error)
{
    advance->counters[0]++;
    return ct_advance_default(advance, error);
}

static gboolean
scale_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Scale *self = state;
    const CtBlock *in = &work->inputs[0], *factors = &work->inputs[1], *out = &work->outputs[0];
    gfloat *gain = work->scratch;
    work->counters[1] += (guint64)(work->end - work->begin);
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 lane = 0; lane < in->length[1]; lane++) {
            const guint8 *factor = factors->data + lane * factors->stride[0];
            *gain = self->gain * *(const gfloat *)(gconstpointer)factor;
            *at(out, t, lane) = *gain * *at(in, t, lane) + self->add;
        }
    return TRUE;
}

static const CtStage scale = {.name = "abi.scale",
                              .summary = "samples times factors",
                              .version = 3,
                              .inputs = scale_inputs,
                              .outputs = one_output,
                              .params = scale_params,
                              .counters = scale_counters,
                              .infer = infer_same,
                              .accuracy_rule = "exact",
                              LAST(.default_layouts = "[lane time], [lane] -> [lane time]")
                                  OF_STAGE};
static const CtTunable scale_tunables[N_TUNABLES + 1] = {
    [TILE] = {"tile", CT_VALUES(2, 4, 8), 4, "lanes at once", OF_TUNABLE},
    [UNROLL] = {"unroll", CT_VALUES(1, 2), 2, "samples at once"},
};
static const CtVariant scale_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"abi.scale", NULL},
    .rows = (const CtRow[]){{"f32[lane time], f32[lane] -> f32[time lane]", 0.1},
                            {"f32[time lane], f32[lane] -> f32[time lane]", 0.5, OF_ROW},
                            {NULL}},
    .tunables = scale_tunables,
    .split = "time",
    .prepare = scale_prepare,
    .advance = scale_advance,
    .work = scale_work,
    .finish = g_free,
    OF_VARIANT};

/* ---- abi.own: the same samples, by a footprint of its own ---- */

static gboolean
own_infer(CtNode *node, GError **error)
{
    node->footprint.kind = CT_FOOTPRINT_OWN;
    return infer_same(node, error);
}

static gboolean
own_advance(G_GNUC_UNUSED gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    CtArrival *in = &advance->inputs[0];
    CtDeparture *out = &advance->outputs[0];
    in->consumed = in->used = out->produced = MIN(in->block.n_samples, out->room);
    out->start = in->block.start;
    advance->ended = in->ended && in->consumed == in->block.n_samples;
    return TRUE;
}

static gboolean
own_work(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 t = 0; t < out->n_samples; t++)
        for (gint64 lane = 0; lane < in->length[1]; lane++)
            *at(out, t, lane) = *at(in, t, lane);
    return TRUE;
}

static const CtStage own = {
    .name = "abi.own",
    .summary = "the same samples",
    .version = 1,
    .inputs = one_input,
    .outputs = one_output,
    .infer = own_infer,
};
static const CtVariant own_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"abi.own 1", NULL},
    .rows = (const CtRow[]){{"f32[time lane] -> f32[time lane]", 0.5}, {NULL}},
    .advance = own_advance,
    .work = own_work,
};

/* ---- abi.sink: the sum of all samples, in a file ---- */

typedef struct {
    char *path;
    gdouble sum;
} Sum;

static const CtParam sink_params[] = {
    {"path", CT_PARAM_PATH, CT_PARAM_REQUIRED | CT_PARAM_WRITTEN, .help = "of the sum"},
    {NULL},
};

static gboolean
sink_infer(G_GNUC_UNUSED CtNode *node, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
sink_prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Sum *self = *state = g_new0(Sum, 1);
    self->path = g_strdup(ct_params_string(prepare->nodes[0].params, "path"));
    return TRUE;
}

static gboolean
sink_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Sum *self = state;
    for (gint64 t = 0; t < work->inputs[0].n_samples; t++)
        for (gint64 lane = 0; lane < work->inputs[0].length[1]; lane++)
            self->sum += (gdouble)*at(&work->inputs[0], t, lane);
    return TRUE;
}

static gboolean
sink_complete(gpointer state, gboolean interrupted, GError **error)
{
    const Sum *self = state;
    CtJson *json = ct_json_new();
    ct_json_add_real(json, "sum", self->sum);
    ct_json_add_boolean(json, "interrupted", interrupted);
    g_autofree char *text = ct_json_free_to_text(json, FALSE);
    return g_file_set_contents(self->path, text, -1, error);
}

static void
sink_finish(gpointer state)
{
    g_free(((Sum *)state)->path);
    g_free(state);
}

static const CtStage sink = {
    .name = "abi.sink",
    .summary = "the sum of all samples",
    .version = 1,
    .inputs = one_input,
    .outputs = none,
    .params = sink_params,
    .infer = sink_infer,
};
static const CtVariant sink_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"abi.sink", NULL},
    .rows = (const CtRow[]){{"f32[time lane] ->", 0.5}, {NULL}},
    .prepare = sink_prepare,
    .work = sink_work,
    .complete = sink_complete,
    .finish = sink_finish,
};

#define STAGES   ((const CtStage *const[]){&numbers, &scale, &own, &sink, NULL})
#define VARIANTS ((const CtVariant *const[]){&numbers_cpu, &scale_cpu, &own_cpu, &sink_cpu, NULL})
#ifdef OF_PLUGIN
CT_EXPORT extern const CtPlugin ct_plugin;
const CtPlugin ct_plugin = {CT_PLUGIN_MAGIC, CT_ABI_VERSION, CT_SIZES, "abi",
                            STAGES,          VARIANTS,       OF_PLUGIN};
#else
CT_PLUGIN("abi", STAGES, VARIANTS);
#endif
