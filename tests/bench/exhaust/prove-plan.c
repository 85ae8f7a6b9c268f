/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves what the planner relies on, for one graph:
 *
 *     prove-plan [--independence] [OPTION…] GRAPH
 *
 * Runs all combinations that could be the best plan, or, with --independence, tests whether stages
 * read and write at costs that do not depend on each other. */
#include "device/device.h"
#include "exhaust.h"
#include "pipeline/pipeline-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    gint n_workers;
    gdouble budget;
    gboolean is_quick, tests_independence;
    char *backend, **settings;
} Options;

static char *
prove(CtPipeline *pipeline, const Options *options, GError **error)
{
    const ExhaustOptions exhaust = {
        .graph = pipeline->graph,
        .registry = pipeline->registry,
        .plan = &pipeline->plan_options,
        .n_repetitions = options->is_quick ? 3 : 7,
        .seconds = options->is_quick ? 0.3 : 1,
        .budget = options->budget,
        .shows_progress = isatty(STDERR_FILENO),
    };
    g_autoptr(GPtrArray) devices G_GNUC_UNUSED = ct_devices_keep_open();
    return options->tests_independence ? independence_measure(&exhaust, error)
                                       : exhaust_run(&exhaust, error);
}

static gboolean
run(const char *graph, const Options *options, GError **error)
{
    g_autoptr(CtPipeline) pipeline = ct_pipeline_load(graph, error);
    if (!pipeline ||
        (options->backend && !ct_pipeline_set_backend(pipeline, NULL, options->backend, error)))
        return FALSE;
    for (char **setting = options->settings; setting && *setting; setting++)
        if (!ct_pipeline_set(pipeline, *setting, error))
            return FALSE;
    g_autofree char *text = ct_pipeline_set_workers(pipeline, (guint)options->n_workers, error) &&
                                    ct_pipeline_check(pipeline, error)
                                ? prove(pipeline, options, error)
                                : NULL;
    fputs(text ? text : "", stdout);
    return text != NULL;
}

int
main(int n_arguments, char **arguments)
{
    Options options = {0};
    g_auto(GStrv) files = NULL;
    const GOptionEntry entries[] = {
        {"backend", 'B', 0, G_OPTION_ARG_STRING, &options.backend,
         "of the nodes to which the graph gives none", "BACKEND"},
        {"budget", 'b', 0, G_OPTION_ARG_DOUBLE, &options.budget,
         "seconds after which no new combination runs", "S"},
        {"independence", 'i', 0, G_OPTION_ARG_NONE, &options.tests_independence,
         "test the costs of reading and writing instead", NULL},
        {"quick", 'q', 0, G_OPTION_ARG_NONE, &options.is_quick, "shorter and fewer runs", NULL},
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &options.settings, "of a node of the graph",
         "NODE.PARAMETER=VALUE"},
        {"workers", 'w', 0, G_OPTION_ARG_INT, &options.n_workers, "of the host", "N"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "GRAPH"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (g_option_context_parse(context, &n_arguments, &arguments, &error) &&
        (!files || g_strv_length(files) != 1 || options.n_workers < 0))
        g_set_error(&error, G_OPTION_ERROR, G_OPTION_ERROR_FAILED, "wants one graph, see --help");
    const gboolean good = !error && run(files[0], &options, &error);
    if (!good)
        g_printerr("prove-plan: %s\n", error->message);
    g_free(options.backend);
    g_strfreev(options.settings);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
