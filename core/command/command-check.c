/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn check`: everything that is known of a graph without running it. */
#include "command-graph.h"

#include <cornerturn/error.h>

/* Prints description and streams. */
static gboolean
print_streams(CtPipeline *pipeline, GError **error)
{
    const char *description = ct_pipeline_description(pipeline);
    g_autofree char *streams = ct_pipeline_streams_text(pipeline, error);
    if (!streams)
        return FALSE;
    if (description)
        g_print("%s%s\n", description, g_str_has_suffix(description, "\n") ? "" : "\n");
    g_print("%s", streams);
    return TRUE;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    gboolean quiet = FALSE, is_json = FALSE;
    const GOptionEntry entries[] = {
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet,
         "Print nothing if there is no error or warning", NULL},
        {"json", 0, 0, G_OPTION_ARG_NONE, &is_json,
         "Print errors, warnings, nodes and streams as JSON, for programs", NULL},
        G_OPTION_ENTRY_NULL,
    };
    CtGraphOptions options = {0};
    GError *cause = NULL;
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_check, entries, argc, argv, &cause);
    gboolean good = pipeline && ct_pipeline_plan(pipeline, &cause);
    if (is_json && (good || cause->domain == CT_ERROR)) {
        g_autofree char *json = ct_pipeline_check_json(pipeline, cause);
        g_print("%s", json);
    } else if (good && !quiet)
        good = print_streams(pipeline, &cause);
    if (good && !is_json)
        ct_graph_print_warnings(&options, pipeline);
    if (cause)
        g_propagate_error(error, cause);
    return good;
}

const CtCommand ct_command_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "Check a graph without running it, and list its streams",
    .run = run,
};
