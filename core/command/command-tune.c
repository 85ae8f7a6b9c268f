/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn tune`: measures the candidates that decide a graph's plan, and shows the gain. */
#include "command-graph.h"
#include "command.h"

#include <cornerturn/text.h>
#include <unistd.h>

enum { BAR_WIDTH = 24, NAME_WIDTH = 60 };

/* Seconds between lines of progress without a terminal. */
static const gdouble seconds_per_line = 10;

static gboolean
is_interrupted(G_GNUC_UNUSED gpointer data)
{
    return ct_command_interrupt() != 0;
}

/* ---- progress ---- */

typedef struct {
    gboolean is_terminal;
    gboolean is_quiet;
    gdouble last; /* time of the last line printed */
    gdouble done; /* share done, which never shrinks */
} Shown;

static void
show_bar(Shown *shown, const CtTuneProgress *progress, const char *left)
{
    const gdouble whole = progress->elapsed + progress->left;
    shown->done = MAX(shown->done, whole > 0 ? progress->elapsed / whole : 0);
    char bar[BAR_WIDTH + 1];
    for (guint i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < shown->done * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    g_autofree char *name =
        g_utf8_substring(progress->what, 0, MIN(NAME_WIDTH, g_utf8_strlen(progress->what, -1)));
    g_printerr("\r\033[K[%s] %u measured, about %s left: %s", bar, progress->n_measured, left,
               name);
}

static void
show(const CtTuneProgress *progress, gpointer data)
{
    Shown *shown = data;
    if (shown->is_quiet)
        return;
    g_autofree char *left = ct_format_seconds(progress->left);
    if (shown->is_terminal && !progress->what)
        g_printerr("\r\033[K");
    else if (shown->is_terminal)
        show_bar(shown, progress, left);
    else if (progress->what && progress->elapsed >= shown->last + seconds_per_line) {
        g_autofree char *elapsed = ct_format_seconds(progress->elapsed);
        g_printerr("%s: %u measured, %u failed, about %s left\n", elapsed, progress->n_measured,
                   progress->n_failed, left);
        shown->last = progress->elapsed;
    }
}

/* ---- the command ---- */

/* Runs the default, untuned and tuned plans side by side. TRUE also if a signal ends that. */
static gboolean
compare(CtPipeline *pipeline, const CtTuneControl *control, GError **error)
{
    g_autoptr(GError) cause = NULL;
    g_autofree char *text = ct_pipeline_compare(pipeline, control, &cause);
    if (text)
        g_print("\n%s", text);
    if (text || g_error_matches(cause, CT_ERROR, CT_ERROR_CANCELLED))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_autofree char *budget = NULL;
    gboolean is_quick = FALSE, is_quiet = FALSE, is_alone = FALSE;
    const GOptionEntry entries[] = {
        {"budget", 0, 0, G_OPTION_ARG_STRING, &budget,
         "Stop after this time (default: when the plan cannot change any more)", "TIME"},
        {"quick", 0, 0, G_OPTION_ARG_NONE, &is_quick,
         "Take fewer and shorter measurements: a good plan rather than the best", NULL},
        {"no-comparison", 0, 0, G_OPTION_ARG_NONE, &is_alone,
         "Do not run the default, untuned and tuned plans at the end", NULL},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &is_quiet, "Show no progress", NULL},
        {NULL},
    };
    CtGraphOptions options = {0};
    g_autoptr(CtPipeline) pipeline =
        ct_graph_options_load(&options, &ct_command_tune, entries, argc, argv, error);
    gdouble seconds = 0;
    if (!pipeline || (budget && !ct_graph_read_time("--budget", budget, &seconds, error)) ||
        !ct_pipeline_check(pipeline, error) ||
        (!is_alone && !ct_pipeline_check_fed(pipeline, error)))
        return FALSE;
    ct_graph_print_warnings(&options, pipeline);
    Shown shown = {.is_terminal = isatty(STDERR_FILENO), .is_quiet = is_quiet};
    const CtTuneControl control = {
        .budget = seconds,
        .is_quick = is_quick,
        .progress = show,
        .is_over = is_interrupted,
        .user_data = &shown,
    };
    ct_command_catch_interrupts();
    gboolean is_decided;
    g_autofree char *report = ct_pipeline_tune(pipeline, &control, &is_decided, error);
    if (!report)
        return FALSE;
    g_print("%s", report);
    if (!is_decided)
        g_print("ended before all that decides the plan was measured; the same command goes on "
                "from here\n");
    if (!is_alone && !is_interrupted(NULL) && !compare(pipeline, &control, error))
        return FALSE;
    if (!is_interrupted(NULL))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "interrupted by %s: what was measured is kept",
                ct_command_signal_name(ct_command_interrupt()));
    return FALSE;
}

const CtCommand ct_command_tune = {
    .name = "tune",
    .arguments = "FILE",
    .summary = "Measure the costs on which the plan of a graph depends",
    .run = run,
};
