/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn run`: runs a graph, shows its progress, and prints statistics. The options that
 * several commands have are in command-graph.c. */
#include "command-graph.h"
#include "command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The interval between two checks of the run. */
static const double tick_seconds = 0.1;
/* The interval between two messages to a service manager without a watchdog, in µs. */
static const gint64 status_period = 5 * G_USEC_PER_SEC;

/* The statistics; with a period, those in JSON are on one line. */
static char *
sum_up(CtPipeline *pipeline, const CtGraphRun *how)
{
    if (!g_str_equal(how->format, "json"))
        return ct_pipeline_stats_text(pipeline);
    if (how->period <= 0)
        return ct_pipeline_stats_json(pipeline);
    g_autofree char *line = ct_pipeline_stats_line(pipeline);
    return g_strconcat(line, "\n", NULL);
}

/* What is followed, and what has been seen of it. */
typedef struct {
    CtPipeline *pipeline;
    const CtGraphRun *how;
    const CtControl *control; /* NULL: there is none */
    gint64 started;           /* µs */
    gint64 next;              /* µs at which the next statistics are due */
    gboolean shows;           /* the progress */
    gboolean is_ended;        /* an interrupt is handled */
    gint64 told;              /* µs at which the service manager was told last … */
    guint64 pulse;            /* … and the pulse of the run then */
} Follower;

static const char *
interrupter(const CtControl *control)
{
    return ct_command_interrupt() || !ct_control_was_ended(control)
               ? ct_command_signal_name(ct_command_interrupt())
               : "the control port";
}

static void
clear_line(const Follower *follower)
{
    g_printerr("%s", follower->shows ? "\r\033[K" : "");
}

static void
interrupt(Follower *follower)
{
    follower->is_ended = TRUE;
    clear_line(follower);
    ct_pipeline_interrupt(follower->pipeline);
    ct_command_notify("STOPPING=1\nSTATUS=interrupted by %s\n", interrupter(follower->control));
    if (!follower->how->quiet)
        g_printerr("interrupted by %s: the sources end; a second signal ends the process at once\n",
                   interrupter(follower->control));
}

/* Prints statistics that are due, or that a signal has asked for. */
static void
print_statistics(Follower *follower)
{
    const gint64 period = (gint64)(follower->how->period * G_USEC_PER_SEC);
    const gint64 now = g_get_monotonic_time();
    const gboolean is_due = period > 0 && now >= follower->next;
    const gboolean is_requested = ct_command_take_request();
    if (!is_due && !is_requested)
        return;
    g_autofree char *summary = sum_up(follower->pipeline, follower->how);
    clear_line(follower);
    if (is_due && !ct_pipeline_writes_stdout(follower->pipeline)) {
        g_print("%s", summary);
        fflush(stdout);
    } else {
        g_printerr("%s", summary);
    }
    /* Whole periods from the start, however late this one is. */
    if (is_due)
        follower->next += ((now - follower->next) / period + 1) * period;
}

/* Tells the service manager that the run goes on: often enough for its watchdog, if it has one. A
 * stage that does not return is left to the watchdog. */
static void
tell_manager(Follower *follower)
{
    const gint64 watchdog = ct_command_watchdog();
    const gint64 now = g_get_monotonic_time();
    const gint64 period = watchdog ? MIN(watchdog / 4, status_period) : status_period;
    const guint64 pulse = ct_pipeline_pulse(follower->pipeline);
    if (now - follower->told < period || (watchdog && pulse == follower->pulse))
        return;
    const double stream = ct_pipeline_stream_seconds(follower->pipeline);
    ct_command_notify("%sSTATUS=%.3f s of stream, %.3g × real time\n",
                      watchdog ? "WATCHDOG=1\n" : "", stream,
                      stream * G_USEC_PER_SEC / (double)MAX(now - follower->started, 1));
    follower->told = now;
    follower->pulse = pulse;
}

/* Waits for the end, and handles signals. */
static void
follow(Follower *follower)
{
    ct_command_notify("READY=1\nSTATUS=running\n");
    follower->started = g_get_monotonic_time();
    follower->next = follower->started + (gint64)(follower->how->period * G_USEC_PER_SEC);
    while (!ct_pipeline_wait(follower->pipeline, tick_seconds)) {
        if (!follower->is_ended &&
            (ct_command_interrupt() || ct_control_was_ended(follower->control)))
            interrupt(follower);
        print_statistics(follower);
        tell_manager(follower);
        if (follower->shows)
            ct_graph_show_progress(follower->pipeline, follower->started);
    }
    clear_line(follower);
    ct_command_notify("STOPPING=1\nSTATUS=ended\n");
}

/* Whether the run succeeded; its failure, or the interrupt that ended it, is the error. */
static gboolean
judge(CtPipeline *pipeline, const CtControl *control, GError **error)
{
    if (!ct_pipeline_result(pipeline, error))
        return FALSE;
    if (!ct_pipeline_is_interrupted(pipeline))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED,
                "interrupted by %s after %.6g s of stream: results end there, and are marked",
                interrupter(control), ct_pipeline_stream_seconds(pipeline));
    if (ct_control_was_ended(control))
        ct_command_note_end();
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

/* Opens the control port, if one is wanted. */
static gboolean
open_control(CtControl **control, CtPipeline *pipeline, const CtGraphRun *how, GError **error)
{
    if (!how->control.address)
        return TRUE;
    *control = ct_control_open(pipeline, &how->control, error);
    if (!*control)
        return FALSE;
    g_autofree char *where = ct_control_describe(*control);
    g_printerr("control port: %s\n", where);
    return TRUE;
}

gboolean
ct_graph_run(CtGraphOptions *options, CtPipeline *pipeline, const CtGraphRun *how, GError **error)
{
    g_autoptr(CtControl) control = NULL;
    if (!prepare(pipeline, error))
        return FALSE;
    ct_graph_print_warnings(options, pipeline);
    if (!open_control(&control, pipeline, how, error) || !ct_pipeline_start(pipeline, error))
        return FALSE;
    Follower follower = {.pipeline = pipeline,
                         .how = how,
                         .control = control,
                         .shows = !how->quiet && isatty(STDERR_FILENO)};
    follow(&follower);
    ct_graph_print_warnings(options, pipeline);
    g_autofree char *summary = sum_up(pipeline, how);
    if (!g_str_equal(how->format, "none"))
        (ct_pipeline_writes_stdout(pipeline) ? g_printerr : g_print)("%s", summary);
    return judge(pipeline, control, error);
}

/* Reads FORMAT or FORMAT:PERIOD. `stats` is cut. */
static gboolean
read_stats(CtGraphRun *how, char *stats, GError **error)
{
    char *period = stats ? strchr(stats, ':') : NULL;
    if (period)
        *period++ = '\0';
    how->format = ct_graph_read_format(stats, how->quiet, error);
    if (!how->format || !period)
        return how->format != NULL;
    if (!g_str_equal(how->format, "none"))
        return ct_graph_read_time("--stats", period, &how->period, error);
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                "--stats wants no period behind none, but is given '%s'", period);
    return FALSE;
}

static gboolean
read_control(const CtGraphRun *how, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (!how->control.address && how->control.token)
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--control-token wants --control beside it");
    else if (!how->control.address || ct_control_check(&how->control, &cause))
        return TRUE;
    else
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, cause->message);
    return FALSE;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_autofree char *stats = NULL;
    g_autofree char *control = NULL;
    g_autofree char *token = NULL;
    CtGraphRun how = {0};
    gboolean poison = FALSE;
    const GOptionEntry entries[] = {
        {"stats", 0, 0, G_OPTION_ARG_STRING, &stats,
         "Format of the summary, and of statistics every PERIOD: text (default), json or none",
         "FORMAT[:PERIOD]"},
        {"control", 0, 0, G_OPTION_ARG_FILENAME, &control,
         "Serve HTTP here, to watch the run and to steer it", "unix:PATH|tcp:localhost:PORT"},
        {"control-token", 0, 0, G_OPTION_ARG_FILENAME, &token,
         "File of the token that changes need (default: one is made for tcp)", "FILE"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &how.quiet,
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
    how.control = (CtControlOptions){.address = control, .token = token};
    return read_stats(&how, stats, error) && read_control(&how, error) &&
           ct_pipeline_set_poison(pipeline, poison, error) &&
           ct_graph_run(&options, pipeline, &how, error);
}

const CtCommand ct_command_run = {
    .name = "run",
    .arguments = "FILE",
    .summary = "Run a graph until its sources end, or an interrupt ends them",
    .run = run,
};
