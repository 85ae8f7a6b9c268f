/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn plan`: prints variants, layouts, inserted nodes and memory. */
#include "command-graph.h"
#include "command.h"

/* The value of a number that is not given. */
#define LEFT_OUT G_MININT64

static gboolean
run(int argc, char **argv, GError **error)
{
    gboolean dot = FALSE, svg = FALSE, json = FALSE, capacity = FALSE, explain = FALSE;
    gint64 missing = LEFT_OUT;
    const GOptionEntry entries[] = {
        {"dot", 0, 0, G_OPTION_ARG_NONE, &dot, "Print a drawing for Graphviz", NULL},
        {"svg", 0, 0, G_OPTION_ARG_NONE, &svg, "Print a drawing, for browsers", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
        {"explain", 0, 0, G_OPTION_ARG_NONE, &explain,
         "Print the alternatives for each node and link, and the cost of the plan with each", NULL},
        {"capacity", 0, 0, G_OPTION_ARG_NONE, &capacity,
         "Print the bandwidth of every station that this machine can process", NULL},
        {"missing", 0, 0, G_OPTION_ARG_INT64, &missing,
         "Show the effect of this number of missing samples in a row (default: 1)", "N"},
        {NULL},
    };
    CtGraphOptions options = {0};
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_plan, entries, argc, argv, error);
    if (!pipeline)
        return FALSE;
    const struct {
        const char *name;
        gboolean is_given;
    } forms[] = {{"dot", dot},
                 {"svg", svg},
                 {"explain", explain},
                 {"capacity", capacity},
                 {"json", (dot || svg) && json},
                 {"missing", missing != LEFT_OUT}};
    const char *first = NULL;
    for (guint f = 0; f < G_N_ELEMENTS(forms); f++) {
        if (first && forms[f].is_given) {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "wants one of --%s and --%s, but is given both", first, forms[f].name);
            return FALSE;
        }
        first = forms[f].is_given ? forms[f].name : first;
    }
    if (missing != LEFT_OUT && (missing < 1 || missing > CT_PIPELINE_MAX_MISSING)) {
        g_set_error(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "--missing wants 1 to " G_STRINGIFY(CT_PIPELINE_MAX_MISSING) " samples, but is "
                                                                         "given %" G_GINT64_FORMAT,
            missing);
        return FALSE;
    }
    if (!ct_pipeline_set_missing(pipeline, missing == LEFT_OUT ? 1 : missing, error))
        return FALSE;
    const char *const formats[][2] = {
        {dot   ? "dot"
         : svg ? "svg"
               : "text",
         "json"},
        {"explain", "explain-json"},
        {"capacity", "capacity-json"},
    };
    const char *format = formats[explain ? 1 : capacity ? 2 : 0][json];
    g_autofree char *plan = ct_pipeline_describe(pipeline, format, error);
    if (!plan)
        return FALSE;
    g_print("%s", plan);
    ct_graph_print_warnings(&options, pipeline);
    return TRUE;
}

const CtCommand ct_command_plan = {
    .name = "plan",
    .arguments = "FILE",
    .summary = "Show how a graph will run",
    .run = run,
};
