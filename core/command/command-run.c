/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn run`: runs a graph, shows its progress, and prints statistics. The options that
 * several commands have are in command-graph.c. */
#include "command-graph.h"
#include "command.h"

#include <unistd.h>

/* The interval between two checks of the run. */
static const double tick_seconds = 0.1;

/* Prints a line that overwrites the previous one: stream time, rate against real time, the fullest
 * rings. */
static void
show_progress(CtPipeline *pipeline, gint64 started, double duration)
{
    const double wall = (double)(g_get_monotonic_time() - started) / G_USEC_PER_SEC;
    const double stream = ct_pipeline_stream_seconds(pipeline);
    g_autofree char *queue = ct_pipeline_queue_text(pipeline);
    g_printerr("\r\033[K%.3f s of stream", stream);
    if (duration > 0)
        g_printerr(" (%.0f%%)", 100 * stream / duration);
    g_printerr(", %.3g × real time, queues %s", wall > 0 ? stream / wall : 0, queue);
}

static char *
sum_up(CtPipeline *pipeline, const char *format)
{
    return g_str_equal(format, "json") ? ct_pipeline_stats_json(pipeline)
                                       : ct_pipeline_stats_text(pipeline);
}

static void
interrupt(CtPipeline *pipeline, gboolean quiet)
{
    ct_pipeline_interrupt(pipeline);
    if (!quiet)
        g_printerr("interrupted by %s: the sources end; a second signal ends the process at once\n",
                   ct_command_signal_name(ct_command_interrupt()));
}

/* Waits for the end, and handles signals. */
static void
follow(CtPipeline *pipeline, double duration, const char *format, gboolean quiet)
{
    const gboolean shows = !quiet && isatty(STDERR_FILENO);
    const char *clear = shows ? "\r\033[K" : "";
    const gint64 started = g_get_monotonic_time();
    gboolean interrupted = FALSE;
    while (!ct_pipeline_wait(pipeline, tick_seconds)) {
        if (ct_command_interrupt() && !interrupted) {
            g_printerr("%s", clear);
            interrupt(pipeline, quiet);
            interrupted = TRUE;
        }
        if (ct_command_take_request()) {
            g_autofree char *summary = sum_up(pipeline, format);
            g_printerr("%s%s", clear, summary);
        }
        if (shows)
            show_progress(pipeline, started, duration);
    }
    g_printerr("%s", clear);
}

/* Whether the run succeeded; its failure, or the interrupt that ended it, is the error. */
static gboolean
judge(CtPipeline *pipeline, GError **error)
{
    if (!ct_pipeline_result(pipeline, error))
        return FALSE;
    if (!ct_pipeline_is_interrupted(pipeline))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "interrupted by %s after %.6g s of stream: results end there, and are marked",
                ct_command_signal_name(ct_command_interrupt()),
                ct_pipeline_stream_seconds(pipeline));
    return FALSE;
}

/* Between the steps of preparation: FALSE where a signal asks for the end. */
static gboolean
goes_on(GError **error)
{
    if (!ct_command_interrupt())
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "interrupted by %s while the graph was prepared",
                ct_command_signal_name(ct_command_interrupt()));
    return FALSE;
}

static gboolean
prepare(CtPipeline *pipeline, GError **error)
{
    return ct_pipeline_check_fed(pipeline, error) && ct_pipeline_check_taken(pipeline, error) &&
           goes_on(error) && ct_pipeline_plan(pipeline, error) && goes_on(error) &&
           ct_pipeline_prepare(pipeline, error) && goes_on(error);
}

const char *
ct_graph_read_format(const char *stats, gboolean quiet, GError **error)
{
    static const char *const formats[] = {"text", "json", "none", NULL};
    if (!stats || g_strv_contains(formats, stats))
        return stats ? stats : quiet ? "none" : "text";
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "--stats wants text, json or none, but is given '%s'", stats);
    return NULL;
}

gboolean
ct_graph_run(CtGraphOptions *options, CtPipeline *pipeline, const char *format, gboolean quiet,
             GError **error)
{
    if (!prepare(pipeline, error))
        return FALSE;
    ct_graph_print_warnings(options, pipeline);
    if (!ct_pipeline_start(pipeline, error))
        return FALSE;
    follow(pipeline, options->duration, format, quiet);
    ct_graph_print_warnings(options, pipeline);
    g_autofree char *summary = sum_up(pipeline, format);
    if (!g_str_equal(format, "none"))
        (ct_pipeline_writes_stdout(pipeline) ? g_printerr : g_print)("%s", summary);
    return judge(pipeline, error);
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_autofree char *stats = NULL;
    gboolean quiet = FALSE, poison = FALSE;
    const GOptionEntry entries[] = {
        {"stats", 0, 0, G_OPTION_ARG_STRING, &stats,
         "Format of the summary: text (default), json or none", "FORMAT"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet,
         "Print no summary and no progress, only errors and warnings", NULL},
        {"poison", 0, 0, G_OPTION_ARG_NONE, &poison,
         "Fill every block with NaN before it is written, to find elements that a stage does not "
         "write",
         NULL},
        {NULL},
    };
    ct_command_catch_requests();
    ct_command_catch_interrupts();
    CtGraphOptions options = {0};
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_run, entries, argc, argv, error);
    if (!pipeline)
        return FALSE;
    const char *format = ct_graph_read_format(stats, quiet, error);
    return format && ct_pipeline_set_poison(pipeline, poison, error) &&
           ct_graph_run(&options, pipeline, format, quiet, error);
}

const CtCommand ct_command_run = {
    .name = "run",
    .arguments = "FILE",
    .summary = "Run a graph until its sources end, or an interrupt ends them",
    .run = run,
};
