/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the outputs of a node from its inputs: calls the stage's infer and checks the
 * result. */
#include "graph.h"
#include "model/clock.h"
#include "model/node-params.h"
#include "model/unknown.h"
#include "plugin-call.h"
#include "stream-check.h"

/* The number of output samples from `n` input samples; −1 if not known. */
static gint64
length_after(const CtFootprint *footprint, gint64 n)
{
    if (n < 0)
        return -1;
    if (footprint->kind == CT_FOOTPRINT_SUM) {
        const gint64 summed = MAX(0, n - footprint->offset);
        return summed / footprint->hop + (summed % footprint->hop != 0);
    }
    return n < footprint->window ? 0 : (n - footprint->window) / footprint->hop + 1;
}

/* "cf64, time 4096, station 16" */
static char *
describe_stream(const CtStream *stream)
{
    g_autofree char *axes = ct_stream_describe(stream);
    return g_strdup_printf("%s%s%s", ct_type_info(stream->type)->name, *axes ? ", " : "", axes);
}

/* Parses a port's layout; a port without one accepts everything. */
static gboolean
parse_port(CtLayout *pattern, const CtPort *port, GError **error)
{
    *pattern = (CtLayout){0};
    return !port->layout || !*port->layout || ct_layout_parse(pattern, port->layout, error);
}

static gboolean plugin_error(const CtNode *node, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean
plugin_error(const CtNode *node, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "the plugin of stage '%s' is at fault: %s",
                node->stage->name, message);
    return FALSE;
}

gboolean
ct_node_check_input(const CtNode *node, guint i, const char *giver, GError **error)
{
    const CtPort *port = ct_node_input_port(node, i);
    const CtStream *stream = &node->inputs[i];
    CtLayout pattern;
    if (stream->type == CT_TYPE_NONE)
        return TRUE;
    g_autoptr(GError) cause = NULL;
    if (!parse_port(&pattern, port, &cause))
        return plugin_error(node, error, "it declares its port '%s' with a malformed layout: %s",
                            port->name, cause->message);
    const gboolean type_fits = !pattern.types || pattern.types & 1u << stream->type;
    if (!type_fits || !ct_layout_accepts(&pattern, stream, &cause)) {
        g_autofree char *given = describe_stream(stream);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "port '%s' wants %s, but '%s' gives %s%s%s%s",
                    port->name, port->layout, giver, given, cause ? " (" : "",
                    cause ? cause->message : "", cause ? ")" : "");
        return FALSE;
    }
    return TRUE;
}

/* Checks an output that infer has described, before anything reads it. */
static gboolean
check_described(const CtNode *node, guint i, GError **error)
{
    g_autofree char *fault = ct_stream_find_fault(&node->outputs[i]);
    /* Freeing the node goes over n_axes axes, which the array must have. */
    if (node->outputs[i].n_axes > CT_MAX_AXES)
        node->outputs[i].n_axes = 0;
    return !fault ||
           plugin_error(node, error, "output '%s' %s", node->stage->outputs[i].name, fault);
}

/* Checks the layouts that infer has asked for. */
static gboolean
check_wishes(const CtNode *node, const CtLayout *wishes, guint n, const char *side, GError **error)
{
    for (guint i = 0; i < n; i++) {
        gboolean good = wishes[i].n_axes <= CT_MAX_AXES && !CT_RESERVED_IS_SET(&wishes[i]);
        for (guint a = 0; good && a < wishes[i].n_axes; a++)
            good = wishes[i].axes[a].name != NULL;
        if (!good)
            return plugin_error(node, error, "it asks for a layout of %s %u that is none", side, i);
    }
    return TRUE;
}

static gboolean
check_output(const CtNode *node, guint i, GError **error)
{
    const CtPort *port = &node->stage->outputs[i];
    const CtStream *stream = &node->outputs[i];
    CtLayout pattern;
    g_autoptr(GError) cause = NULL;
    if (stream->type == CT_TYPE_NONE) {
        if (port->flags & CT_PORT_OPTIONAL)
            return TRUE;
        return plugin_error(node, error, "it describes nothing for its output '%s'", port->name);
    }
    if (!parse_port(&pattern, port, &cause))
        return plugin_error(node, error, "it declares its port '%s' with a malformed layout: %s",
                            port->name, cause->message);
    g_autofree char *given = describe_stream(stream);
    gint64 end;
    if (!ct_stream_end(stream, &end)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "output '%s' wants ticks within ±2^62, but begins at %" G_GINT64_FORMAT
                    " with %s of %" G_GINT64_FORMAT " ticks",
                    port->name, stream->start, given, stream->ticks_per_sample);
        return FALSE;
    }
    if ((pattern.types && !(pattern.types & 1u << stream->type)) ||
        !ct_layout_accepts(&pattern, stream, &cause))
        return plugin_error(node, error, "output '%s' is declared as %s, but described as %s%s%s%s",
                            port->name, port->layout, given, cause ? " (" : "",
                            cause ? cause->message : "", cause ? ")" : "");
    return TRUE;
}

/* The streaming inputs of a node. All must count the same ticks; the output begins where the last
 * of them begins. */
typedef struct {
    const CtStream *stream; /* the first input; NULL: there is none */
    gint64 start;
    gint64 length; /* samples that all inputs have in common; −1: not known */
} Inflow;

static gboolean
find_inflow(const CtNode *node, Inflow *inflow, GError **error)
{
    *inflow = (Inflow){.length = -1};
    const char *first_port = NULL;
    gint64 end = G_MAXINT64;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtStream *stream = &node->inputs[i];
        const CtPort *port = ct_node_input_port(node, i);
        if (!ct_node_input_flows(node, i) || port->flags & CT_PORT_STATIC)
            continue;
        const gint time = ct_stream_axis(stream, "time");
        if (time < 0)
            continue;
        if (!inflow->stream) {
            inflow->stream = stream;
            inflow->start = stream->start;
            first_port = port->name;
        } else if (stream->rate_num != inflow->stream->rate_num ||
                   stream->rate_den != inflow->stream->rate_den ||
                   stream->ticks_per_sample != inflow->stream->ticks_per_sample) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "inputs must have one sample rate, but input %u (port '%s') has %g Hz and "
                        "the first (port '%s') %g Hz",
                        i + 1, port->name, ct_stream_sample_rate(stream), first_port,
                        ct_stream_sample_rate(inflow->stream));
            return FALSE;
        } else if (stream->epoch != inflow->stream->epoch) {
            g_set_error(
                error, CT_ERROR, CT_ERROR_SHAPE,
                "inputs must count their ticks from one epoch, but input %u (port '%s') and "
                "the first (port '%s') don't",
                i + 1, port->name, first_port);
            return FALSE;
        }
        gint64 ends;
        inflow->start = MAX(inflow->start, stream->start);
        if (stream->axes[time].length >= 0 && ct_stream_end(stream, &ends))
            end = MIN(end, ends);
    }
    if (inflow->stream && end < G_MAXINT64)
        inflow->length = MAX(0, end - inflow->start) / MAX(1, inflow->stream->ticks_per_sample);
    return TRUE;
}

static gboolean
fill_clock(CtNode *node, const Inflow *inflow, GError **error)
{
    const CtFootprint *footprint = &node->footprint;
    const CtStream *input = inflow->stream;
    gint64 ticks, start;
    if (__builtin_mul_overflow(input->ticks_per_sample, footprint->hop, &ticks) ||
        __builtin_mul_overflow(input->ticks_per_sample, footprint->offset, &start) ||
        __builtin_add_overflow(start, inflow->start, &start)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "a sample would span %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT
                    " ticks, more than can be counted",
                    input->ticks_per_sample, footprint->hop);
        return FALSE;
    }
    for (guint i = 0; i < node->n_outputs; i++) {
        CtStream *output = &node->outputs[i];
        const gint time = ct_stream_axis(output, "time");
        if (output->type == CT_TYPE_NONE || time < 0)
            continue;
        output->rate_num = input->rate_num;
        output->rate_den = input->rate_den;
        output->epoch = input->epoch;
        output->ticks_per_sample = ticks;
        output->start = start;
        output->axes[time].length = length_after(footprint, inflow->length);
    }
    return TRUE;
}

/* An output without an observation has that of the first input that has one. Labels that do not fit
 * are those of a stage that has changed the length of an axis and does not know labels. */
static void
fill_observation(CtNode *node)
{
    guint first = 0;
    while (first < node->n_inputs && !node->inputs[first].observation)
        first++;
    for (guint i = 0; i < node->n_outputs; i++) {
        CtStream *output = &node->outputs[i];
        if (first < node->n_inputs && !output->observation && output->type != CT_TYPE_NONE)
            output->observation = ct_observation_ref(node->inputs[first].observation);
        for (guint a = 0; a < output->n_axes; a++) {
            CtAxis *axis = &output->axes[a];
            if (axis->labels && (gint64)ct_labels_count(axis->labels) != axis->length)
                ct_axis_take_labels(axis, NULL);
        }
    }
}

/* The first input along time, whose samples parameters count; NULL: there is none. */
static const CtStream *
find_counted(const CtNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].type != CT_TYPE_NONE && ct_node_input_streams(node, i))
            return &node->inputs[i];
    return NULL;
}

gboolean
ct_node_infer(CtNode *node, GError **error)
{
    if (!ct_params_count_samples(node->params, find_counted(node), error) ||
        !ct_call_infer(node, error))
        return FALSE;
    const CtFootprint *footprint = &node->footprint;
    g_autofree char *fault = ct_footprint_find_fault(footprint);
    if (fault)
        return plugin_error(node, error, "its footprint %s", fault);
    for (guint i = 0; i < node->n_inputs; i++)
        if (ct_node_input_is_prepared(node, i) && ct_node_input_flows(node, i) &&
            footprint->kind != CT_FOOTPRINT_WINDOW)
            return plugin_error(node, error,
                                "its input '%s' has CT_PORT_PREPARED, which wants the footprint of "
                                "a window",
                                node->stage->inputs[i].name);
    for (guint i = 0; i < node->n_outputs; i++)
        if (!check_described(node, i, error))
            return FALSE;
    if (!check_wishes(node, node->input_layouts, node->n_inputs, "input", error) ||
        !check_wishes(node, node->output_layouts, node->n_outputs, "output", error))
        return FALSE;
    if (footprint->kind != CT_FOOTPRINT_OWN) {
        Inflow inflow;
        if (!find_inflow(node, &inflow, error) ||
            (inflow.stream && !fill_clock(node, &inflow, error)))
            return FALSE;
    }
    fill_observation(node);
    for (guint i = 0; i < node->n_outputs; i++) {
        if (!check_output(node, i, error))
            return FALSE;
    }
    return TRUE;
}
