/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn check`: everything that is known of a graph without running it. */
#include "command-graph.h"

static gboolean
run(int argc, char **argv, GError **error)
{
    gboolean quiet = FALSE;
    const GOptionEntry entries[] = {
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet,
         "Print nothing if there is no error or warning", NULL},
        G_OPTION_ENTRY_NULL,
    };
    CtGraphOptions options = {0};
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_check, entries, argc, argv, error);
    if (!pipeline || !ct_pipeline_plan(pipeline, error))
        return FALSE;
    g_autofree char *streams = ct_pipeline_streams_text(pipeline, error);
    if (!streams)
        return FALSE;
    const char *description = ct_pipeline_description(pipeline);
    if (!quiet && description)
        g_print("%s%s\n", description, g_str_has_suffix(description, "\n") ? "" : "\n");
    if (!quiet)
        g_print("%s", streams);
    ct_graph_print_warnings(&options, pipeline);
    return TRUE;
}

const CtCommand ct_command_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "Check a graph without running it, and list its streams",
    .run = run,
};
