/* SPDX-License-Identifier: BSD-3-Clause */
/* A source, a pass and a sink with functions at fault, as a parameter says. */
#include "pass.h"

#include <math.h>
#include <string.h>

/* "FUNCTION: what it does". */
static const char *const hows[] = {
    "nothing",
    "infer: silent",
    "infer: sets an error",
    "infer: unknown parameter",
    "infer: error of unknown parameter",
    "infer: warning of unknown parameter",
    "infer: other kind",
    "infer: item past the end",
    "infer: no type",
    "infer: wild type",
    "infer: too many axes",
    "infer: nameless axis",
    "infer: foreign axis name",
    "infer: negative axis",
    "infer: nan coordinate",
    "infer: nan table",
    "infer: short table",
    "infer: own parent",
    "infer: nan frequency",
    "infer: wild clock",
    "infer: wild footprint",
    "infer: wild lanes",
    "infer: needs too much",
    "infer: other graph",
    "infer: newer footprint",
    "infer: newer stream",
    "infer: newer axis",
    "infer: other ports",
    "infer: wild wish",
    "infer: newer wish",
    "infer: own footprint",
    "infer: sum",
    "operations: nan",
    "operations: negative",
    "operations: unknown parameter",
    "share: zero",
    "share: unknown parameter",
    "fits: silent",
    "fits: with a reason",
    "fits: unknown parameter",
    "differs: unknown parameter",
    "accuracy: negative",
    "accuracy: newer member",
    "accuracy: unknown parameter",
    "prepare: silent",
    "prepare: sets an error",
    "prepare: unknown parameter",
    "prepare: error of unknown parameter",
    "prepare: warning of unknown parameter",
    "prepare: newer member",
    "prepare: no items",
    "prepare: negative items",
    "prepare: much scratch",
    "prepare: large scratch",
    "prepare: half",
    "advance: silent",
    "advance: sets an error",
    "advance: unknown parameter",
    "advance: consumes too much",
    "advance: consumes less than none",
    "advance: uses too much",
    "advance: produces too much",
    "advance: produces less than none",
    "advance: starts elsewhere",
    "advance: writes over its offer",
    "advance: gives nothing",
    "advance: newer member",
    "advance: counts elsewhere",
    "advance: newer input",
    "advance: newer output",
    "work: silent",
    "work: sets an error",
    "work: unknown parameter",
    "work: marks",
    "work: counts elsewhere",
    "close: unknown parameter",
    "complete: silent",
    "complete: sets an error",
    "complete: unknown parameter",
    "finish: unknown parameter",
    NULL,
};

static const CtParam params[] = {
    {"list", CT_PARAM_INT, CT_PARAM_LIST, .fallback = "[1, 2]", .help = "two items"},
    {"how", CT_PARAM_CHOICE, .fallback = "nothing", .choices = hows, .help = "what it does wrong"},
    {0},
};

static gboolean
does(const CtParams *parameters, const char *what)
{
    return g_str_equal(hows[ct_params_choice(parameters, "how")], what);
}

/* The faults that every function with an error can have; TRUE: one was made. */
static gboolean
break_word(const CtParams *parameters, const char *function, gboolean *good, GError **error)
{
    const char *how = hows[ct_params_choice(parameters, "how")];
    if (!g_str_has_prefix(how, function))
        return FALSE;
    how += strlen(function) + strlen(": ");
    *good = !g_str_equal(how, "silent");
    if (g_str_equal(how, "sets an error"))
        g_set_error_literal(error, CT_ERROR, CT_ERROR_DATA, "all is well");
    else if (g_str_equal(how, "unknown parameter"))
        ct_params_int(parameters, "unknown");
    else if (g_str_equal(how, "error of unknown parameter"))
        *good = ct_params_error(parameters, "unknown", error, "wants more");
    else if (g_str_equal(how, "warning of unknown parameter"))
        ct_params_warn(parameters, "unknown", "has no effect");
    return TRUE;
}

/* ---- infer ---- */

static void
break_stream(const CtParams *parameters, CtStream *out)
{
    static const gdouble not_numbers[] = {NAN, NAN};
    const gint pol = ct_stream_axis(out, "pol");
    CtAxis *axis = &out->axes[pol];
    if (does(parameters, "infer: no type"))
        out->type = CT_TYPE_NONE;
    else if (does(parameters, "infer: wild type"))
        out->type = (CtType)77;
    else if (does(parameters, "infer: too many axes"))
        out->n_axes = 1000;
    else if (does(parameters, "infer: nameless axis"))
        axis->name = NULL;
    else if (does(parameters, "infer: foreign axis name"))
        axis->name = "pol";
    else if (does(parameters, "infer: newer stream"))
        out->reserved[2] = 1;
    else if (does(parameters, "infer: newer axis"))
        axis->reserved[0] = 1;
    else if (does(parameters, "infer: negative axis"))
        axis->length = -2;
    else if (does(parameters, "infer: nan coordinate"))
        axis->coordinate = (CtCoordinate){.unit = "m", .first = NAN};
    else if (does(parameters, "infer: nan table"))
        axis->coordinate =
            (CtCoordinate){.unit = "m", .table = g_bytes_new(not_numbers, sizeof not_numbers)};
    else if (does(parameters, "infer: short table"))
        axis->coordinate = (CtCoordinate){.unit = "m", .table = g_bytes_new(not_numbers, 8)};
    else if (does(parameters, "infer: own parent"))
        axis->coordinate = (CtCoordinate){.unit = "m", .step = 1, .parent = axis->name};
    else if (does(parameters, "infer: nan frequency"))
        out->frequency = NAN;
    else if (does(parameters, "infer: wild clock"))
        out->rate_den = -1;
}

static void
break_footprint(CtNode *node)
{
    if (does(node->params, "infer: wild footprint"))
        node->footprint.kind = (CtFootprintKind)9;
    else if (does(node->params, "infer: wild lanes"))
        node->footprint.lanes = (CtLanes)9;
    else if (does(node->params, "infer: needs too much"))
        node->footprint.needs = 2;
    else if (does(node->params, "infer: newer footprint"))
        node->footprint.reserved[0] = 1;
    else if (does(node->params, "infer: other graph"))
        node->graph = NULL;
    else if (does(node->params, "infer: own footprint"))
        node->footprint.kind = CT_FOOTPRINT_OWN;
    else if (does(node->params, "infer: sum"))
        node->footprint = (CtFootprint){CT_FOOTPRINT_SUM, .window = 4, .hop = 4};
}

static gboolean
infer(CtNode *node, GError **error)
{
    gboolean good;
    if (node->n_outputs > 0 && node->n_inputs > 0) {
        ct_stream_copy(&node->outputs[0], &node->inputs[0]);
        break_footprint(node);
        if (does(node->params, "infer: wild wish"))
            node->input_layouts[0].n_axes = 1000;
        node->input_layouts[0].reserved[0] = does(node->params, "infer: newer wish");
        if (does(node->params, "infer: other ports"))
            node->outputs = NULL;
        else if (does(node->params, "infer: other kind"))
            ct_params_string(node->params, "how");
        else if (does(node->params, "infer: item past the end"))
            ct_params_int_at(node->params, "list", 3);
        else if (break_word(node->params, "infer", &good, error) && !good)
            return FALSE;
    } else if (node->n_outputs > 0) {
        CtStream *out = &node->outputs[0];
        out->type = CT_CF32;
        ct_stream_add_axis(out, "time", 4096);
        ct_stream_add_axis(out, "pol", 2);
        out->rate_num = 1000000;
        out->rate_den = 1;
        out->has_frequency = TRUE;
    }
    if (node->n_outputs > 0 && node->outputs)
        break_stream(node->params, &node->outputs[0]);
    return TRUE;
}

/* ---- planning ---- */

static gdouble
operations(const CtNode *node)
{
    if (does(node->params, "operations: unknown parameter"))
        ct_params_real(node->params, "unknown");
    return does(node->params, "operations: nan")        ? NAN
           : does(node->params, "operations: negative") ? -1
                                                        : 1;
}

static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs,
      G_GNUC_UNUSED const CtLayout *outputs)
{
    if (does(nodes[0].params, "share: unknown parameter"))
        ct_params_layout(nodes[0].params, "unknown");
    return does(nodes[0].params, "share: zero") ? 0 : 1;
}

static const CtTunable tunables[] = {{"tile", CT_VALUES(1, 2), 1, "without effect"}, {0}};

static gboolean
differs(const CtNode *nodes, G_GNUC_UNUSED const gint64 *tuning)
{
    if (does(nodes[0].params, "differs: unknown parameter"))
        ct_params_string(nodes[0].params, "unknown");
    return FALSE;
}

static gboolean
fits(const CtNode *nodes, char **reason)
{
    if (does(nodes[0].params, "fits: with a reason"))
        *reason = g_strdup("none");
    if (does(nodes[0].params, "fits: unknown parameter"))
        ct_params_type(nodes[0].params, "unknown");
    return !does(nodes[0].params, "fits: silent");
}

static void
accuracy(const CtNode *node, G_GNUC_UNUSED const CtAccuracy *inputs, CtAccuracy *outputs)
{
    if (does(node->params, "accuracy: unknown parameter"))
        ct_params_int(node->params, "unknown");
    outputs[0].reserved[0] = does(node->params, "accuracy: newer member");
    outputs[0].error = does(node->params, "accuracy: negative") ? -1 : 1e-3;
    outputs[0].rms_error = 1e-3;
}

/* ---- the run ---- */

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtParams *parameters = prepare->nodes[0].params;
    gboolean good;
    prepare->n_items = does(parameters, "prepare: no items")         ? 0
                       : does(parameters, "prepare: negative items") ? -5
                                                                     : 1;
    if (does(parameters, "prepare: much scratch"))
        prepare->scratch_bytes = G_MAXSIZE / 2;
    else if (does(parameters, "prepare: large scratch"))
        prepare->scratch_bytes = (gsize)1 << 30;
    /* This fails before the state exists; finish could not handle that. */
    if (does(parameters, "prepare: half")) {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_DATA, "got no further");
        return FALSE;
    }
    prepare->reserved[2] = does(parameters, "prepare: newer member");
    *state = g_memdup2(&parameters, sizeof parameters);
    return !break_word(parameters, "prepare", &good, error) || good;
}

static void
finish(gpointer state)
{
    /* This fails if the state is NULL. */
    const CtParams *parameters = *(const CtParams **)state;
    if (does(parameters, "finish: unknown parameter"))
        ct_params_int(parameters, "unknown");
    *(const CtParams **)state = NULL;
    g_free(state);
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    const CtParams *parameters = *(const CtParams **)state;
    CtArrival *in = &advance->inputs[0];
    CtDeparture *out = &advance->outputs[0];
    gboolean good;
    if (break_word(parameters, "advance", &good, error) && !good)
        return FALSE;
    if (!ct_advance_default(advance, NULL))
        return FALSE;
    if (does(parameters, "advance: counts elsewhere"))
        advance->counters[2]++;
    advance->reserved[0] = does(parameters, "advance: newer member");
    in->reserved[0] = does(parameters, "advance: newer input");
    out->reserved[0] = does(parameters, "advance: newer output");
    if (does(parameters, "advance: consumes too much"))
        in->consumed = in->block.n_samples + 1;
    else if (does(parameters, "advance: consumes less than none"))
        in->consumed = -1;
    else if (does(parameters, "advance: uses too much"))
        in->used = in->block.n_samples + 1;
    else if (does(parameters, "advance: produces too much"))
        out->produced = out->room + 1;
    else if (does(parameters, "advance: produces less than none"))
        out->produced = -1;
    else if (does(parameters, "advance: starts elsewhere")) {
        /* One sample at a time, so that there is a second firing. */
        in->used = in->consumed = out->produced = MIN(in->block.n_samples, 1);
        out->start += in->block.index > 0;
    } else if (does(parameters, "advance: writes over its offer"))
        in->used = in->consumed = in->block.n_samples = out->produced = out->room = 1 << 20;
    return TRUE;
}

static gboolean
source_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    CtDeparture *out = &advance->outputs[0];
    const gboolean is_idle = does(*(const CtParams **)state, "advance: gives nothing");
    out->produced = is_idle ? 0 : MIN(out->room, 16);
    out->start = 0;
    advance->ended = !is_idle;
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const CtParams *parameters = *(const CtParams **)state;
    const CtBlock *out = &work->outputs[0];
    gboolean good;
    /* Only what takes long is tuned. */
    if (does(parameters, "differs: unknown parameter"))
        g_usleep(1000);
    for (guint a = 0; out && out->data && a < out->n_axes; a++)
        if (out->length[a] > 0)
            memset(out->data, 0, 1);
    if (does(parameters, "work: marks"))
        ct_block_mark(out, 0, 0);
    if (does(parameters, "work: counts elsewhere"))
        work->counters[1]++;
    return !break_word(parameters, "work", &good, error) || good;
}

static gboolean
sink_work(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work,
          G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
complete(gpointer state, gboolean interrupted G_GNUC_UNUSED, GError **error)
{
    gboolean good;
    return !break_word(*(const CtParams **)state, "complete", &good, error) || good;
}

static gboolean
close_sink(gpointer state, gboolean interrupted G_GNUC_UNUSED, GError **error)
{
    gboolean good;
    return !break_word(*(const CtParams **)state, "close", &good, error) || good;
}

/* ---- tables ---- */

static const CtStage pass_stage = {
    .name = "break.pass",
    .summary = "Breaks its word",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = params,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
};
static const CtStage source_stage = {
    .name = "break.source",
    .summary = "Breaks its word at the beginning",
    .version = 1,
    .outputs = pass_outputs,
    .params = params,
    .infer = infer,
};
static const CtStage sink_stage = {
    .name = "break.sink",
    .summary = "Breaks its word at the end",
    .version = 1,
    .inputs = pass_inputs,
    .params = params,
    .infer = infer,
};
static const CtStage split_stage = {
    .name = "break.split",
    .summary = "Has variants that split along an axis",
    .version = 1,
    .inputs = pass_inputs,
    .outputs = pass_outputs,
    .params = params,
    .infer = infer,
};

#define VARIANT(variable, stage_, name_, ...)                                                      \
    static const CtVariant variable = {                                                            \
        .name = name_,                                                                             \
        .backend = CT_CPU,                                                                         \
        .covers = (const char *const[]){stage_, NULL},                                             \
        .prepare = prepare,                                                                        \
        .finish = finish,                                                                          \
        __VA_ARGS__,                                                                               \
    }

VARIANT(cpu, "break.pass", "cpu", .rows = pass_rows, .split = "*", .advance = advance, .work = work,
        .share = share, .fits = fits, .tunables = tunables, .differs = differs);
static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"break.pass", NULL},
    .rows = pass_rows,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
VARIANT(source_cpu, "break.source", "cpu", .rows = (const CtRow[]){{"-> [...]", 0.5}, {0}},
        .advance = source_advance, .work = work);
VARIANT(sink_cpu, "break.sink", "cpu", .rows = (const CtRow[]){{"[...] ->", 0.5}, {0}},
        .work = sink_work, .close = close_sink, .complete = complete);
VARIANT(along_channel, "break.split", "along-channel", .rows = pass_rows, .split = "channel",
        .work = work);
VARIANT(along_time, "break.split", "along-time", .rows = pass_rows, .split = "time", .work = work);

CT_PLUGIN("break",
          ((const CtStage *const[]){&pass_stage, &source_stage, &sink_stage, &split_stage, NULL}),
          ((const CtVariant *const[]){&cpu, &reference, &source_cpu, &sink_cpu, &along_channel,
                                      &along_time, NULL}));
