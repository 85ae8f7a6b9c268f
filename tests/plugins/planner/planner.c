/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that are only planned: sources, sinks and passes with the layouts that tests need. */
#include <cornerturn/stage.h>

static gboolean
prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
        G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work, G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
advance(G_GNUC_UNUSED gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    advance->ended = TRUE;
    return TRUE;
}

/* ---- source ---- */

static const CtParam source_params[] = {
    {"type", CT_PARAM_TYPE, .fallback = "cf32", .help = "type"},
    {"samples", CT_PARAM_INT, .fallback = "4096", .help = "length of time; -1: not known"},
    {"rate", CT_PARAM_QUANTITY, 0, "Hz", .fallback = "1 MHz", .help = "samples per second"},
    {"start", CT_PARAM_INT, .fallback = "0", .help = "tick"},
    {"channels", CT_PARAM_INT, .fallback = "8", .help = "length of channel; 0: none"},
    {"stations", CT_PARAM_INT, .fallback = "4", .help = "length of station"},
    {"layout", CT_PARAM_LAYOUT, .help = "as it lies"},
    {NULL},
};
static const CtPort none[] = {{NULL}};
static const CtPort anything[] = {{"out", "", 0, "anything"}, {NULL}};

static gboolean
source_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *out = &node->outputs[0];
    out->type = ct_params_type(node->params, "type");
    ct_stream_add_axis(out, "time", ct_params_int(node->params, "samples"));
    if (ct_params_int(node->params, "channels") != 0)
        ct_stream_add_axis(out, "channel", ct_params_int(node->params, "channels"));
    ct_stream_add_axis(out, "station", ct_params_int(node->params, "stations"));
    ct_stream_add_axis(out, "pol", 2);
    ct_params_rational(node->params, "rate", &out->rate_num, &out->rate_den);
    out->ticks_per_sample = 1;
    out->start = ct_params_int(node->params, "start");
    out->epoch = CT_NO_EPOCH;
    if (ct_params_has(node->params, "layout"))
        node->output_layouts[0] = *ct_params_layout(node->params, "layout");
    return TRUE;
}

static const CtStage source = {
    .name = "test.source",
    .summary = "a source",
    .version = 1,
    .inputs = none,
    .outputs = anything,
    .params = source_params,
    .infer = source_infer,
};

static const CtStage host_source = {
    .name = "test.host-source",
    .summary = "a source that only the host has",
    .version = 1,
    .inputs = none,
    .outputs = anything,
    .params = source_params,
    .infer = source_infer,
};

/* A source of weights, whose description follows from its input's. */
static gboolean
weights_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    CtStream *out = &node->outputs[0];
    out->type = CT_CF32;
    ct_stream_add_axis(out, "channel", ct_stream_length(&node->inputs[0], "channel"));
    ct_stream_add_axis(out, "station",
                       ct_params_int(node->params, "times") *
                           ct_stream_length(&node->inputs[0], "station"));
    return TRUE;
}

static const CtParam weights_params[] = {
    {"times", CT_PARAM_INT, .fallback = "1", .help = "so many weights for a station"},
    {NULL},
};
static const CtParam no_params[] = {{NULL}};
static const CtPort described_by[] = {{"like", "{...}", CT_PORT_SHAPE, "a description"}, {NULL}};
static const CtStage weights = {
    .name = "test.weights",
    .summary = "a source of weights",
    .version = 1,
    .inputs = described_by,
    .outputs = anything,
    .params = weights_params,
    .infer = weights_infer,
};

/* ---- sinks ---- */

static const CtParam sink_params[] = {
    {"layout", CT_PARAM_LAYOUT, .help = "as it is wanted"},
    {NULL},
};
static const CtPort sink_inputs[] = {{"in", "{...}", 0, "anything"}, {NULL}};

static gboolean
sink_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    if (ct_params_has(node->params, "layout"))
        node->input_layouts[0] = *ct_params_layout(node->params, "layout");
    return TRUE;
}

static const CtStage sink = {
    .name = "test.sink",
    .summary = "a sink",
    .version = 1,
    .inputs = sink_inputs,
    .outputs = none,
    .params = sink_params,
    .infer = sink_infer,
};

/* ---- passes ---- */

static gboolean
pass_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static const CtPort pass_inputs[] = {{"in", "{time ...}", 0, "anything"}, {NULL}};
static const CtPort pass_outputs[] = {{"out", "{time ...}", 0, "the same"}, {NULL}};
static const CtPort float_inputs[] = {{"in", "cf32|cf64{time ...}", 0, "floats"}, {NULL}};

#define PASS(variable, name_, inputs_)                                                             \
    static const CtStage variable = {                                                              \
        .name = name_,                                                                             \
        .summary = "what comes in goes out",                                                       \
        .version = 1,                                                                              \
        .inputs = inputs_,                                                                         \
        .outputs = pass_outputs,                                                                   \
        .params = no_params,                                                                       \
        .infer = pass_infer,                                                                       \
    }
PASS(pass, "test.pass", pass_inputs);
PASS(any_order, "test.any", pass_inputs);
PASS(time_last, "test.time-last", pass_inputs);
PASS(channel_first, "test.channel-first", pass_inputs);
PASS(either, "test.either", pass_inputs);
PASS(writes_both, "test.writes-both", pass_inputs);
PASS(needs_float, "test.float", float_inputs);
PASS(blocked, "test.blocked", pass_inputs);
PASS(planes, "test.planes", pass_inputs);
PASS(lonely, "test.lonely", pass_inputs);
PASS(picky, "test.picky", pass_inputs);
PASS(parts, "test.parts", pass_inputs);

/* A window of samples for each output, or a sum. */
static const CtParam window_params[] = {
    {"window", CT_PARAM_INT, .fallback = "1", .help = "samples"},
    {"hop", CT_PARAM_INT, .fallback = "1", .help = "samples"},
    {"sum", CT_PARAM_BOOL, .fallback = "false", .help = "a sum"},
    {"offset", CT_PARAM_INT, .fallback = "0", .help = "samples"},
    {NULL},
};

static gboolean
window_infer(CtNode *node, GError **error)
{
    node->footprint.window = ct_params_int(node->params, "window");
    node->footprint.hop = ct_params_int(node->params, "hop");
    node->footprint.offset = ct_params_int(node->params, "offset");
    if (ct_params_bool(node->params, "sum"))
        node->footprint.kind = CT_FOOTPRINT_SUM;
    if (node->footprint.window > 1000000)
        return ct_params_error(node->params, "window", error, "wants less than a million");
    return pass_infer(node, error);
}

static const CtStage window = {
    .name = "test.window",
    .summary = "windows of time",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = window_params,
    .infer = window_infer,
};

/* ---- several inputs and outputs ---- */

static const CtPort many_inputs[] = {{"in", "{time ...}", CT_PORT_MANY, "streams"}, {NULL}};
static const CtStage many = {
    .name = "test.many",
    .summary = "several to one",
    .version = 1,
    .inputs = many_inputs,
    .outputs = pass_outputs,
    .params = no_params,
    .infer = pass_infer,
};

static const CtPort two_inputs[] = {
    {"in", "cf32{time channel station ...}", 0, "voltages"},
    {"weights", "cf32{channel station ...}", CT_PORT_STATIC, "weights"},
    {"flags", "{...}", CT_PORT_OPTIONAL, "flags"},
    {NULL},
};
static const CtPort two_outputs[] = {
    {"out", "{time ...}", 0, "voltages"},
    {"counts", "u32{time ...}", 0, "counts"},
    {"extra", "{time ...}", CT_PORT_OPTIONAL, "never there"},
    {NULL},
};

static gboolean
two_infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_stream_copy(&node->outputs[1], &node->inputs[0]);
    node->outputs[1].type = CT_U32;
    return TRUE;
}

static const CtStage two = {
    .name = "test.two",
    .summary = "several ports",
    .version = 1,
    .inputs = two_inputs,
    .outputs = two_outputs,
    .params = no_params,
    .infer = two_infer,
};

/* ---- stages at fault ---- */

static const CtParam wrong_params[] = {
    {"how", CT_PARAM_STRING, .fallback = "nothing else", .help = "what goes wrong"},
    {NULL},
};

static gboolean
wrong_infer(CtNode *node, GError **error)
{
    const char *how = ct_params_string(node->params, "how");
    if (g_str_equal(how, "silent"))
        return FALSE;
    if (g_str_equal(how, "nothing"))
        return TRUE;
    pass_infer(node, error);
    if (g_str_equal(how, "hop"))
        node->footprint.hop = 0;
    if (g_str_equal(how, "axis"))
        ct_stream_remove_axis(&node->outputs[0], "time");
    if (g_str_equal(how, "length"))
        node->outputs[0].axes[ct_stream_axis(&node->outputs[0], "pol")].length = 0;
    return TRUE;
}

static const CtStage wrong = {
    .name = "test.wrong",
    .summary = "says what cannot be",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = wrong_params,
    .infer = wrong_infer,
};

/* ---- stages that the planner inserts ---- */

static const CtParam transpose_params[] = {
    {"layout", CT_PARAM_LAYOUT, CT_PARAM_REQUIRED, .help = "order"},
    {NULL},
};
static const CtPort free_ports[] = {{"in", "{...}", 0, "anything"}, {NULL}};
static const CtPort free_outputs[] = {{"out", "{...}", 0, "the same"}, {NULL}};

static gboolean
transpose_infer(CtNode *node, GError **error)
{
    node->output_layouts[0] = *ct_params_layout(node->params, "layout");
    return pass_infer(node, error);
}

static const CtStage transpose = {
    .name = "transpose",
    .summary = "another order",
    .version = 1,
    .inputs = free_ports,
    .outputs = free_outputs,
    .params = transpose_params,
    .infer = transpose_infer,
};

static const CtParam convert_params[] = {
    {"type", CT_PARAM_TYPE, CT_PARAM_REQUIRED, .help = "type"},
    {NULL},
};

static gboolean
convert_infer(CtNode *node, GError **error)
{
    pass_infer(node, error);
    node->outputs[0].type = ct_params_type(node->params, "type");
    return TRUE;
}

static const CtStage convert = {
    .name = "convert",
    .summary = "another type",
    .version = 1,
    .inputs = free_ports,
    .outputs = free_outputs,
    .params = convert_params,
    .infer = convert_infer,
};

static const CtStage copy = {
    .name = "copy",
    .summary = "the same at another place",
    .version = 1,
    .inputs = free_ports,
    .outputs = free_outputs,
    .params = no_params,
    .infer = pass_infer,
};

/* ---- variants ---- */

#define VARIANT(variable, name_, backend_, ...)                                                    \
    static const CtVariant variable = {                                                            \
        .name = name_,                                                                             \
        .backend = backend_,                                                                       \
        .covers = (const char *const[]){__VA_ARGS__, NULL},                                        \
        .rows = variable##_rows,                                                                   \
        .split = (backend_) == CT_CUDA ? NULL : "*",                                               \
        .prepare = prepare,                                                                        \
        .advance = advance,                                                                        \
        .work = work,                                                                              \
    }

static const CtRow source_cpu_rows[] = {{"any: -> [...]", 0.5}, {NULL}};
VARIANT(source_cpu, "cpu", CT_CPU, "test.source");
static const CtRow host_source_cpu_rows[] = {{"any: -> [...]", 0.5}, {NULL}};
VARIANT(host_source_cpu, "cpu", CT_CPU, "test.host-source");
static const CtRow weights_cpu_rows[] = {{"[...] -> [channel station]", 0.5}, {NULL}};
VARIANT(weights_cpu, "cpu", CT_CPU, "test.weights");
static const CtRow sink_cpu_rows[] = {{"[...] ->", 0.5}, {NULL}};
VARIANT(sink_cpu, "cpu", CT_CPU, "test.sink");

static const CtRow pass_reference_rows[] = {{"[...] -> [...]", 0.01}, {NULL}};
VARIANT(pass_reference, "reference", CT_REFERENCE, "test.pass");
static const CtRow pass_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(pass_cpu, "cpu", CT_CPU, "test.pass");
static const CtRow pass_cuda_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(pass_cuda, "cuda", CT_CUDA, "test.pass");
static const CtRow any_cpu_rows[] = {{"any: {...} -> {...}", 0.4}, {NULL}};
VARIANT(any_cpu, "cpu", CT_CPU, "test.any");
static const CtRow time_last_cpu_rows[] = {{"[... time] -> [... time]", 0.5}, {NULL}};
VARIANT(time_last_cpu, "cpu", CT_CPU, "test.time-last");
static const CtRow channel_first_cpu_rows[] = {
    {"[channel time station pol] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(channel_first_cpu, "cpu", CT_CPU, "test.channel-first");
static const CtRow either_cpu_rows[] = {
    {"[channel time station pol] -> [channel time station pol]", 0.5},
    {"[... time] -> [... time]", 0.4},
    {NULL},
};
VARIANT(either_cpu, "cpu", CT_CPU, "test.either");
static const CtRow writes_both_cpu_rows[] = {
    {"any: [time ...] -> [time ...]", 0.5},
    {"any: [time ...] -> [channel ...]", 0.45},
    {NULL},
};
VARIANT(writes_both_cpu, "cpu", CT_CPU, "test.writes-both");
static const CtRow needs_float_cpu_rows[] = {{"cf32|cf64[...] -> cf32|cf64[...]", 0.5}, {NULL}};
VARIANT(needs_float_cpu, "cpu", CT_CPU, "test.float");
static const CtRow blocked_cpu_rows[] = {
    {"[channel time station pol time:16] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(blocked_cpu, "cpu", CT_CPU, "test.blocked");
static const CtRow planes_cpu_rows[] = {
    {"f32|i8|i16[channel time station complex pol] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(planes_cpu, "cpu", CT_CPU, "test.planes");
static const CtRow parts_cpu_rows[] = {
    {"f32[channel time station pol complex] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(parts_cpu, "cpu", CT_CPU, "test.parts");
static const CtRow window_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(window_cpu, "cpu", CT_CPU, "test.window");
static const CtRow many_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(many_cpu, "cpu", CT_CPU, "test.many");
static const CtRow two_cpu_rows[] = {
    {"[channel time station pol], [channel station], [...] -> [channel time station pol], "
     "[...], [...]",
     0.5},
    {NULL},
};
VARIANT(two_cpu, "cpu", CT_CPU, "test.two");
static const CtRow wrong_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(wrong_cpu, "cpu", CT_CPU, "test.wrong");
static const CtRow transpose_cpu_rows[] = {{"any: [...] -> [...]", 0.3}, {NULL}};
VARIANT(transpose_cpu, "cpu", CT_CPU, "transpose");
static const CtRow transpose_reference_rows[] = {{"any: [...] -> [...]", 0.01}, {NULL}};
VARIANT(transpose_reference, "reference", CT_REFERENCE, "transpose");
static const CtRow convert_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(convert_cpu, "cpu", CT_CPU, "convert");

static const CtRow copy_cpu_rows[] = {{"{...} -> {...}", 0.5}, {NULL}};
VARIANT(copy_cpu, "cpu", CT_CPU, "copy");

/* For devices. */
static const CtRow source_cuda_rows[] = {{"-> [...]", 0.5}, {NULL}};
VARIANT(source_cuda, "cuda", CT_CUDA, "test.source");
static const CtRow channel_first_cuda_rows[] = {
    {"[channel time station pol] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(channel_first_cuda, "cuda", CT_CUDA, "test.channel-first");
static const CtRow needs_float_cuda_rows[] = {{"cf32|cf64[...] -> cf32|cf64[...]", 0.5}, {NULL}};
VARIANT(needs_float_cuda, "cuda", CT_CUDA, "test.float");
static const CtRow window_cuda_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(window_cuda, "cuda", CT_CUDA, "test.window");
static const CtRow many_cuda_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(many_cuda, "cuda", CT_CUDA, "test.many");
static const CtRow two_cuda_rows[] = {
    {"[channel time station pol], [channel station], [...] -> [channel time station pol], "
     "[...], [...]",
     0.5},
    {NULL},
};
VARIANT(two_cuda, "cuda", CT_CUDA, "test.two");
static const CtRow blocked_cuda_rows[] = {
    {"[channel time station pol time:16] -> [channel time station pol]", 0.5},
    {NULL},
};
VARIANT(blocked_cuda, "cuda", CT_CUDA, "test.blocked");
static const CtRow transpose_cuda_rows[] = {{"any: [...] -> [...]", 0.3}, {NULL}};
VARIANT(transpose_cuda, "cuda", CT_CUDA, "transpose");
static const CtRow convert_cuda_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
VARIANT(convert_cuda, "cuda", CT_CUDA, "convert");
static const CtRow copy_cuda_rows[] = {{"{...} -> {...}", 0.5}, {NULL}};
VARIANT(copy_cuda, "cuda", CT_CUDA, "copy");

#ifdef WITHOUT_INSERTED
G_GNUC_UNUSED static const gconstpointer left_out[] = {
    &transpose,           &convert,     &copy,         &transpose_cpu, &transpose_cuda,
    &transpose_reference, &convert_cpu, &convert_cuda, &copy_cpu,      &copy_cuda,
};
#endif

static gboolean
picky_fits(const CtNode *nodes, char **reason)
{
    if (nodes[0].inputs[0].type == CT_CF32)
        return TRUE;
    *reason = g_strdup("it is made for cf32");
    return FALSE;
}

static const CtRow picky_cpu_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
static const CtVariant picky_cpu = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = (const char *const[]){"test.picky", NULL},
    .rows = picky_cpu_rows,
    .tunables =
        (const CtTunable[]){
            {"tile", CT_VALUES(2, 4, 8), 4, "along a side"},
            {"threads", CT_VALUES(64, 128), 128, "of a block"},
            {NULL},
        },
    .fits = picky_fits,
    .prepare = prepare,
    .work = work,
};

/* Runs both stages, in a third of their time. */
static const CtRow fused_cpu_rows[] = {{"[... time] -> [... time]", 0.9}, {NULL}};
VARIANT(fused_cpu, "fused", CT_CPU, "test.time-last", "test.either");
static const CtRow fused_three_cpu_rows[] = {{"[...] -> [...]", 0.9}, {NULL}};
static const CtRow fused_cuda_rows[] = {{"[...] -> [...]", 0.9}, {NULL}};
VARIANT(fused_cuda, "fused-cuda", CT_CUDA, "test.float", "test.window");
VARIANT(fused_three_cpu, "fused-three", CT_CPU, "test.pass", "test.window", "test.pass");

#ifdef WITHOUT_INSERTED
#define INSERTED
#define INSERTED_VARIANTS
#else
#define INSERTED &transpose, &convert, &copy,
#define INSERTED_VARIANTS                                                                          \
    &transpose_cpu, &transpose_reference, &transpose_cuda, &convert_cpu, &convert_cuda, &copy_cpu, \
        &copy_cuda,
#endif

static const CtStage *const stages[] = {
    &source,        &host_source, &weights,     &sink,        &pass,    &any_order, &time_last,
    &channel_first, &either,      &writes_both, &needs_float, &blocked, &planes,    &lonely,
    &window,        &many,        &two,         &wrong,       &parts,   &picky,     INSERTED NULL,
};
static const CtVariant *const variants[] = {
    &source_cpu,
    &host_source_cpu,
    &weights_cpu,
    &sink_cpu,
    &pass_cpu,
    &pass_reference,
    &pass_cuda,
    &any_cpu,
    &time_last_cpu,
    &channel_first_cpu,
    &either_cpu,
    &writes_both_cpu,
    &needs_float_cpu,
    &blocked_cpu,
    &planes_cpu,
    &window_cpu,
    &many_cpu,
    &two_cpu,
    &wrong_cpu,
    &picky_cpu,
    &parts_cpu,
    &source_cuda,
    &channel_first_cuda,
    &needs_float_cuda,
    &window_cuda,
    &many_cuda,
    &two_cuda,
    &blocked_cuda,
    INSERTED_VARIANTS &fused_cpu,
    &fused_three_cpu,
    &fused_cuda,
    NULL,
};

CT_PLUGIN("planner", stages, variants);
