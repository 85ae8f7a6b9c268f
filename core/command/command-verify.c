/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn verify`: compares the results of a graph with those of another way to run it. */
#include "command-graph.h"

static gboolean
run(int argc, char **argv, GError **error)
{
    g_autofree char *against = NULL;
    g_autofree char *node = NULL;
    const GOptionEntry entries[] = {
        {"against", 0, 0, G_OPTION_ARG_STRING, &against,
         "Compare with this backend (default: reference)", "NAME"},
        {"node", 0, 0, G_OPTION_ARG_STRING, &node, "Compare only this node", "NODE"},
        {NULL},
    };
    CtGraphOptions options = {0};
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_verify, entries, argc, argv, error);
    if (!pipeline)
        return FALSE;
    gboolean agrees;
    g_autofree char *report =
        ct_pipeline_verify(pipeline, against ? against : "reference", node, &agrees, error);
    if (!report)
        return FALSE;
    g_print("%s", report);
    ct_graph_print_warnings(&options, pipeline);
    if (!agrees)
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s does not agree with '%s'", options.file,
                    against ? against : "reference");
    return agrees;
}

const CtCommand ct_command_verify = {
    .name = "verify",
    .arguments = "FILE",
    .summary = "Compare how a graph runs with another backend, node by node",
    .run = run,
};
