/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of plugin functions, and errors for functions that break their contract. */
#include "plugin-call.h"

#include "model/node-params.h"
#include "model/unknown.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>
#include <unistd.h>

/* The most items of a firing. */
#define MAX_ITEMS ((gint64)1 << 48)

/* A function that has been called. */
typedef struct {
    const CtVariant *variant; /* NULL: a function of a stage */
    const CtNode *nodes;
    guint n_nodes;
    const char *function;
} Call;

/* ---- errors ---- */

static char *
describe_variant(const CtVariant *variant)
{
    if (!variant->covers)
        return g_strdup_printf("variant '%s'", variant->name);
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    return g_strdup_printf("variant '%s' of '%s'", variant->name, covers);
}

gboolean
ct_variant_fault(const CtVariant *variant, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *who = describe_variant(variant);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "%s is at fault: %s", who, message);
    return FALSE;
}

/* "variant 'cpu' of 'fir' is at fault: its work FAULT" */
static char *
blame(const Call *call, const char *fault)
{
    g_autofree char *who =
        call->variant ? describe_variant(call->variant)
                      : g_strdup_printf("the plugin of stage '%s'", call->nodes[0].stage->name);
    return g_strdup_printf("%s is at fault: its %s %s", who, call->function, fault);
}

/* The fault of the function in asking for parameters, allocated; NULL: there is none. */
static char *
take_fault(const Call *call)
{
    char *fault = NULL;
    for (guint k = 0; k < call->n_nodes && !fault; k++)
        if (call->nodes[k].params)
            fault = ct_params_take_fault(call->nodes[k].params);
    return fault;
}

/* Whether the call succeeded. A function that breaks its contract, or has a `fault`, becomes an
 * error. Takes `fault` and `cause`. */
static gboolean
judge(const Call *call, gboolean good, char *fault, GError *cause, GError **error)
{
    if (!fault)
        fault = take_fault(call);
    if (!fault && !good && !cause)
        fault = g_strdup("returns FALSE without an error");
    if (!fault && good && cause)
        fault = g_strdup_printf("returns TRUE, but sets an error: %s", cause->message);
    if (fault) {
        g_autofree char *message = blame(call, fault);
        g_set_error_literal(error, CT_ERROR, CT_ERROR_PLUGIN, message);
        g_free(fault);
        g_clear_error(&cause);
        return FALSE;
    }
    if (cause)
        g_propagate_error(error, cause);
    return good;
}

/* Keeps the fault of a function that cannot return an error. Takes `fault`. */
static void
keep(const Call *call, char *fault)
{
    g_autofree char *of_params = take_fault(call);
    const char *first = of_params ? of_params : fault;
    if (first && call->nodes[0].params)
        ct_params_keep_fault(call->nodes[0].params, blame(call, first));
    g_free(fault);
}

gboolean
ct_graph_check_kept(const CtGraph *graph, GError **error)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = graph->nodes->pdata[i];
        g_autofree char *fault = ct_params_take_kept(node->node.params);
        if (fault)
            return ct_graph_error(node, NULL, CT_ERROR_PLUGIN, error, "%s", fault);
    }
    return TRUE;
}

/* ---- of stages ---- */

gboolean
ct_call_infer(CtNode *node, GError **error)
{
    const CtNode given = *node;
    const Call call = {NULL, &given, 1, "infer"};
    GError *cause = NULL;
    const gboolean good = node->stage->infer(node, &cause);
    const gboolean changed =
        node->name != given.name || node->stage != given.stage || node->params != given.params ||
        node->n_inputs != given.n_inputs || node->inputs != given.inputs ||
        node->n_outputs != given.n_outputs || node->outputs != given.outputs ||
        node->input_layouts != given.input_layouts ||
        node->output_layouts != given.output_layouts || node->graph != given.graph;
    const char *fault = changed ? "puts others in the place of ports" : NULL;
    const CtFootprint footprint = node->footprint;
    const gboolean seeks = node->seeks;
    *node = given;
    node->footprint = footprint;
    node->seeks = seeks;
    return judge(&call, good, g_strdup(fault), cause, error);
}

static gdouble
operations_of_parts(const CtNode *node)
{
    if (node->stage->operations_per_part == 0 || node->n_inputs == 0)
        return 0;
    const CtStream *in = &node->inputs[0];
    return node->stage->operations_per_part * (ct_type_info(in->type)->is_complex ? 2 : 1) *
           (gdouble)ct_stream_width(in) * (gdouble)node->footprint.window;
}

gdouble
ct_call_operations(const CtNode *node)
{
    if (!node->stage->operations)
        return operations_of_parts(node);
    const Call call = {NULL, node, 1, "operations"};
    const gdouble n = node->stage->operations(node);
    const gboolean good = isfinite(n) && n >= 0;
    keep(&call, good ? NULL : g_strdup_printf("returns %g, but wants 0 or more", n));
    return good ? n : 0;
}

void
ct_call_accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    if (!node->stage->accuracy)
        return;
    const Call call = {NULL, node, 1, "accuracy"};
    node->stage->accuracy(node, inputs, outputs);
    /* Input that is not finite may give an accuracy that is not finite. */
    char *fault = NULL;
    for (guint o = 0; o < node->n_outputs && !fault; o++)
        if (outputs[o].error < 0 || outputs[o].rms_error < 0)
            fault = g_strdup_printf("sets errors of %g and %g, but wants 0 or more",
                                    outputs[o].error, outputs[o].rms_error);
        else if (CT_RESERVED_IS_SET(&outputs[o]))
            fault = g_strdup(CT_UNKNOWN_FAULT);
    keep(&call, fault);
}

/* ---- of variants, for plans ---- */

static Call
call_of(const CtVariant *variant, const CtNode *nodes, const char *function)
{
    const guint n_nodes = variant->covers ? g_strv_length((char **)variant->covers) : 1;
    return (Call){variant, nodes, n_nodes, function};
}

gdouble
ct_call_share(const CtVariant *variant, const CtNode *nodes, const CtLayout *inputs,
              const CtLayout *outputs)
{
    if (!variant->share)
        return 1;
    const Call call = call_of(variant, nodes, "share");
    const gdouble share =
        variant->share(nodes + ct_epilogue_variant_n_before(variant), inputs, outputs);
    const gboolean good = share > 0 && share <= 1;
    keep(&call, good ? NULL : g_strdup_printf("returns %g, but wants more than 0, to 1", share));
    return good ? share : 1;
}

gboolean
ct_call_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning)
{
    if (!variant->differs)
        return TRUE;
    const Call call = call_of(variant, nodes, "differs");
    const gboolean differs =
        variant->differs(nodes + ct_epilogue_variant_n_before(variant), tuning);
    keep(&call, NULL);
    return differs;
}

gboolean
ct_call_fits(const CtVariant *variant, const CtNode *nodes, char **reason)
{
    if (!variant->fits)
        return TRUE;
    const Call call = call_of(variant, nodes, "fits");
    *reason = NULL;
    const gboolean fits = variant->fits(nodes + ct_epilogue_variant_n_before(variant), reason);
    keep(&call, !fits && !*reason ? g_strdup("returns FALSE without a reason")
                : fits && *reason ? g_strdup_printf("returns TRUE, but gives a reason: %s", *reason)
                                  : NULL);
    if (fits)
        g_clear_pointer(reason, g_free);
    return fits;
}

gboolean
ct_variant_check_nodes(const CtVariant *variant, const CtNode *nodes, GError **error)
{
    const guint n_nodes = call_of(variant, nodes, NULL).n_nodes;
    const CtNode *first = &nodes[0], *last = &nodes[n_nodes - 1];
    const CtStream *split = last->n_outputs ? &last->outputs[0] : &first->inputs[0];
    const gboolean along_time = variant->split && g_str_equal(variant->split, "time");
    for (guint k = 0; k < n_nodes; k++) {
        if (nodes[k].footprint.kind == CT_FOOTPRINT_OWN && variant->work && !variant->advance)
            return ct_variant_fault(variant, error,
                                    "it has no advance, but its stage has a footprint of its own");
        if (nodes[k].footprint.kind == CT_FOOTPRINT_SUM && along_time)
            return ct_variant_fault(
                variant, error, "it splits along time, but its stage sums up over several firings");
    }
    if (!variant->split || along_time || g_str_equal(variant->split, "*") ||
        ct_stream_axis(split, variant->split) >= 0)
        return TRUE;
    g_autofree char *given = ct_stream_describe(split);
    return ct_variant_fault(variant, error, "it splits along '%s', but is given %s", variant->split,
                            given);
}

/* ---- of variants, in a run ---- */

/* The first value set by prepare that is out of bounds, as a message, allocated; NULL: there is
 * none. */
static char *
find_fault_of_prepare(const CtVariant *variant, const CtPrepare *prepare)
{
    const gsize memory = (gsize)sysconf(_SC_PHYS_PAGES) * (gsize)sysconf(_SC_PAGESIZE);
    const gboolean counts = variant->split && g_str_equal(variant->split, "*");
    if (counts && (prepare->n_items < 1 || prepare->n_items > MAX_ITEMS))
        return g_strdup_printf("sets n_items to %" G_GINT64_FORMAT ", but wants 1 or more",
                               prepare->n_items);
    if (CT_RESERVED_IS_SET(prepare))
        return g_strdup(CT_UNKNOWN_FAULT);
    const gsize most = MAX(prepare->upload_bytes, prepare->device ? 0 : prepare->scratch_bytes);
    if (most <= memory)
        return NULL;
    return g_strdup_printf(
        "sets %s to %" G_GSIZE_FORMAT " bytes, but this machine has %" G_GSIZE_FORMAT,
        most == prepare->upload_bytes ? "upload_bytes" : "scratch_bytes", most, memory);
}

gboolean
ct_call_prepare(const CtVariant *variant, CtPrepare *prepare, gpointer *state, GError **error)
{
    if (!variant->prepare)
        return TRUE;
    const Call call = call_of(variant, prepare->nodes, "prepare");
    GError *cause = NULL;
    prepare->variant = variant;
    const gboolean good = variant->prepare(prepare, state, &cause);
    return judge(&call, good, good ? find_fault_of_prepare(variant, prepare) : NULL, cause, error);
}

gboolean
ct_call_advance(const CtVariant *variant, const CtNode *nodes, gpointer state, CtAdvance *advance,
                GError **error)
{
    const Call call = call_of(variant, nodes, "advance");
    GError *cause = NULL;
    const gboolean good = variant->advance(state, advance, &cause);
    return judge(&call, good, NULL, cause, error);
}

gboolean
ct_call_work(const CtVariant *variant, const CtNode *nodes, gpointer state, const CtWork *work,
             GError **error)
{
    const Call call = call_of(variant, nodes, "work");
    GError *cause = NULL;
    const gboolean good = variant->work(state, work, &cause);
    return judge(&call, good, NULL, cause, error);
}

typedef gboolean (*End)(gpointer state, gboolean interrupted, GError **error);

static gboolean
call_end(const Call *call, End end, gpointer state, gboolean interrupted, GError **error)
{
    GError *cause = NULL;
    const gboolean good = !end || end(state, interrupted, &cause);
    return judge(call, good, NULL, cause, error);
}

gboolean
ct_call_close(const CtVariant *variant, const CtNode *nodes, gpointer state, gboolean interrupted,
              GError **error)
{
    const Call call = call_of(variant, nodes, "close");
    return call_end(&call, variant->close, state, interrupted, error);
}

gboolean
ct_call_complete(const CtVariant *variant, const CtNode *nodes, gpointer state,
                 gboolean interrupted, GError **error)
{
    const Call call = call_of(variant, nodes, "complete");
    return call_end(&call, variant->complete, state, interrupted, error);
}

gboolean
ct_call_finish(const CtVariant *variant, const CtNode *nodes, gpointer state, GError **error)
{
    if (!state || !variant->finish)
        return TRUE;
    const Call call = call_of(variant, nodes, "finish");
    variant->finish(state);
    return judge(&call, TRUE, NULL, NULL, error);
}
