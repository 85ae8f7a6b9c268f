/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages `input` and `output`, through which an embedding program feeds and takes blocks. */
#include "endpoints.h"

static const CtParam input_params[] = {
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .flags = CT_PARAM_REQUIRED,
     .help = "type and axes of the blocks that the program feeds, slowest first"},
    {.name = "shape",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_RANGED,
     .minimum = -1,
     .maximum = 1e9,
     .help = "length of each axis of the layout; -1 for time"},
    {.name = "loses",
     .kind = CT_PARAM_AXIS,
     .flags = CT_PARAM_LIST,
     .help = "axes along which samples are invalid separately"},
    {.name = "sample_rate",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "Hz",
     .minimum = 1e-9,
     .maximum = 1e15,
     .help = "samples per second along time"},
    {.name = "centre_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "of the band of complex samples"},
    {.name = "first_frequency",
     .kind = CT_PARAM_QUANTITY,
     .unit = "Hz",
     .help = "lower edge of the band of real samples"},
    {.name = "frequencies",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "Hz",
     .help = "of each subband or, without subbands, channel"},
    {NULL},
};

static const CtParam output_params[] = {
    {.name = "layout",
     .kind = CT_PARAM_LAYOUT,
     .help = "the order in which the program wants its blocks"},
    {NULL},
};

static gboolean
add_axes(CtNode *node, const CtLayout *layout, CtStream *stream, GError **error)
{
    if (ct_params_count(node->params, "shape") != layout->n_axes)
        return ct_params_error(node->params, "shape", error,
                               "wants the lengths of %u axes, but is given %u", layout->n_axes,
                               ct_params_count(node->params, "shape"));
    for (guint a = 0; a < layout->n_axes; a++) {
        const gint64 length = ct_params_int_at(node->params, "shape", a);
        const gboolean is_time = g_str_equal(layout->axes[a].name, "time");
        if (layout->axes[a].count > 0)
            return ct_params_error(node->params, "layout", error,
                                   "wants whole axes, but is given a block of '%s'",
                                   layout->axes[a].name);
        if (is_time ? length != -1 : length < 1)
            return ct_params_error(node->params, "shape", error,
                                   "wants %s, but is given %" G_GINT64_FORMAT " for '%s'",
                                   is_time ? "-1 for time, which has no end" : "at least 1", length,
                                   layout->axes[a].name);
        ct_stream_add_axis(stream, layout->axes[a].name, length);
    }
    if (ct_stream_axis(stream, "time") < 0)
        return ct_params_error(node->params, "layout", error, "wants an axis 'time'");
    for (guint i = 0; i < ct_params_count(node->params, "loses"); i++) {
        const char *name = ct_params_string_at(node->params, "loses", i);
        const gint axis = ct_stream_axis(stream, name);
        if (axis < 0 || g_str_equal(name, "time"))
            return ct_params_error(node->params, "loses", error,
                                   "wants axes of the layout other than time, but is given '%s'",
                                   name);
        stream->axes[axis].loses = TRUE;
    }
    return TRUE;
}

/* The coordinates of subbands, or else of channels. */
static gboolean
set_frequencies(CtNode *node, CtStream *stream, GError **error)
{
    const guint n = ct_params_count(node->params, "frequencies");
    const gint subband = ct_stream_axis(stream, "subband");
    const gint a = subband < 0 ? ct_stream_axis(stream, "channel") : subband;
    if (n == 0)
        return TRUE;
    if (a < 0 || stream->axes[a].length != n)
        return ct_params_error(node->params, "frequencies", error,
                               "wants one for each of %" G_GINT64_FORMAT
                               " subbands or channels, but is given %u",
                               a < 0 ? 0 : stream->axes[a].length, n);
    gdouble *table = g_new(gdouble, n);
    for (guint i = 0; i < n; i++)
        table[i] = ct_params_real_at(node->params, "frequencies", i);
    stream->axes[a].coordinate = (CtCoordinate){
        .unit = g_intern_static_string("Hz"),
        .table = g_bytes_new_take(table, n * sizeof *table),
    };
    return TRUE;
}

static gboolean
input_infer(CtNode *node, GError **error)
{
    const CtLayout *layout = ct_params_layout(node->params, "layout");
    CtStream *stream = &node->outputs[0];
    if (!ct_layout_is_concrete(layout) || ct_layout_axis(layout, "complex") >= 0)
        return ct_params_error(node->params, "layout", error,
                               "wants one type and every axis in order, as ci8[time station pol]");
    stream->type = ct_layout_type(layout);
    if (!add_axes(node, layout, stream, error))
        return FALSE;
    stream->ticks_per_sample = 1;
    if (ct_params_has(node->params, "sample_rate"))
        ct_params_rational(node->params, "sample_rate", &stream->rate_num, &stream->rate_den);
    const gboolean is_complex = ct_type_info(stream->type)->is_complex;
    const char *wanted = is_complex ? "centre_frequency" : "first_frequency";
    const char *other = is_complex ? "first_frequency" : "centre_frequency";
    if (ct_params_has(node->params, other))
        return ct_params_error(node->params, other, error, "wants %s samples: give '%s' for these",
                               is_complex ? "real" : "complex", wanted);
    if (ct_params_has(node->params, wanted)) {
        stream->has_frequency = TRUE;
        stream->frequency = ct_params_real(node->params, wanted);
    }
    node->output_layouts[0] = *layout;
    return set_frequencies(node, stream, error);
}

static gboolean
output_infer(CtNode *node, GError **error G_GNUC_UNUSED)
{
    if (ct_params_has(node->params, "layout"))
        node->input_layouts[0] = *ct_params_layout(node->params, "layout");
    return TRUE;
}

static const CtPort input_ports[] = {
    {.name = "out", .layout = "{time ...}", .help = "the blocks of the program"},
    {NULL},
};

static const CtPort output_ports[] = {
    {.name = "in", .layout = "{...}", .help = "the blocks for the program"},
    {NULL},
};

static const CtPort no_ports[] = {{NULL}};

static const CtStage input = {
    .name = "input",
    .summary = "blocks that the embedding program feeds",
    .version = 1,
    .inputs = no_ports,
    .outputs = input_ports,
    .params = input_params,
    .infer = input_infer,
};

static const CtStage output = {
    .name = "output",
    .summary = "blocks that the embedding program takes",
    .version = 1,
    .inputs = output_ports,
    .outputs = no_ports,
    .params = output_params,
    .infer = output_infer,
};

static const char *const covers_input[] = {"input", NULL};
static const char *const covers_output[] = {"output", NULL};

static const CtVariant input_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers_input,
    .rows = (const CtRow[]){{"-> {...}", 1}, {NULL}},
};

static const CtVariant output_variant = {
    .name = "cpu",
    .backend = CT_CPU,
    .covers = covers_output,
    .rows = (const CtRow[]){{"{...} ->", 1}, {"any: [...] ->", 1}, {NULL}},
};

static const CtVariant input_device = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = covers_input,
    .rows = (const CtRow[]){{"-> {...}", 1}, {NULL}},
};

static const CtVariant output_device = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = covers_output,
    .rows = (const CtRow[]){{"{...} ->", 1}, {"any: [...] ->", 1}, {NULL}},
};

const CtPlugin ct_endpoints = {
    .magic = CT_PLUGIN_MAGIC,
    .abi_version = CT_ABI_VERSION,
    .sizes = CT_SIZES,
    .name = "endpoints",
    .stages = (const CtStage *const[]){&input, &output, NULL},
    .variants = (const CtVariant *const[]){&input_variant, &output_variant, &input_device,
                                           &output_device, NULL},
};

/* ---- without a program ---- */

static gboolean
check_none(const CtGraph *graph, const CtStage *stage, const char *wants, GError **error)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = graph->nodes->pdata[i];
        if (node->node.stage == stage)
            return ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                                  "wants %s, but is given none here", wants);
    }
    return TRUE;
}

gboolean
ct_endpoints_check_fed(const CtGraph *graph, GError **error)
{
    return check_none(graph, &input, "blocks of a program", error);
}

gboolean
ct_endpoints_check_taken(const CtGraph *graph, GError **error)
{
    return check_none(graph, &output, "a program that takes its blocks", error);
}
