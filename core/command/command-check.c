/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn check`: everything that is known of a graph without running it. */
#include "command-graph.h"
#include "pipeline/pipeline-private.h"

static void
print_node(const CtNode *node)
{
    g_print("%s: %s\n", node->name, node->stage->name);
    for (guint i = 0; i < node->n_outputs; i++) {
        g_autofree char *stream = ct_stream_describe(&node->outputs[i]);
        g_print("  %s  %s  %s\n", node->stage->outputs[i].name,
                ct_type_info(node->outputs[i].type)->name, stream);
    }
}

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
    const CtGraph *graph = ct_pipeline_graph(pipeline);
    for (guint i = 0; !quiet && i < graph->nodes->len; i++)
        print_node(&((const CtGraphNode *)graph->nodes->pdata[i])->node);
    ct_graph_print_warnings(&options, pipeline);
    return TRUE;
}

const CtCommand ct_command_check = {
    .name = "check",
    .arguments = "FILE",
    .summary = "Check a graph without running it, and list its streams",
    .run = run,
};
