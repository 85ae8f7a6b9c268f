/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn bench`: how fast this machine is, and whether another one is faster. */
#include "command.h"

#include <cornerturn/bench.h>
#include <string.h>
#include <unistd.h>

static const gdouble default_seconds = 0.6, quick_seconds = 0.15;
static const gint not_given = G_MININT;

typedef struct {
    char *compare, *read, *log, *picture;
    gboolean json, quick, quiet;
    gdouble seconds; /* or not_given */
    gint workers;    /* or not_given */
} Given;

static void
given_clear(Given *given)
{
    g_free(given->compare);
    g_free(given->read);
    g_free(given->log);
    g_free(given->picture);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

/* ---- progress ---- */

typedef struct {
    gboolean is_terminal, is_quiet;
} Shown;

static gboolean
is_interrupted(G_GNUC_UNUSED gpointer data)
{
    return ct_command_interrupt() != 0;
}

static void
show(const char *what, guint n_done, guint n, gpointer data)
{
    const Shown *shown = data;
    if (!shown->is_quiet)
        g_printerr("%s%u of %u: %s%s", shown->is_terminal ? "\r\033[K" : "", n_done + 1, n, what,
                   shown->is_terminal ? "" : "\n");
}

/* ---- the command ---- */

static gboolean
refuse(GError **error, const char *fault)
{
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s", fault);
    return FALSE;
}

static gboolean
check(const Given *given, GError **error)
{
    const gboolean has_seconds = given->seconds != not_given;
    const gboolean has_workers = given->workers != not_given;
    if (has_seconds && !(given->seconds > 0 && given->seconds <= 1e6))
        return refuse(error,
                      "--seconds wants a number of seconds, more than 0 and at most 1000000");
    if (given->quick && has_seconds)
        return refuse(error, "wants one of --quick and --seconds, but is given both");
    if (has_workers && (given->workers < 1 || given->workers > 4096))
        return refuse(error, "--workers wants a number from 1 to 4096");
    if (given->read && (given->quick || has_seconds || has_workers || given->log))
        return refuse(error, "--read measures nothing: it wants no --seconds, --quick, --workers "
                             "or --log");
    if (given->json && given->compare)
        return refuse(error, "--compare wants tables: it is not possible with --json");
    if (given->log && given->picture && g_str_equal(given->log, given->picture))
        return refuse(error, "wants two files for --log and --picture, but is given one");
    return TRUE;
}

static CtBench *
read_figures(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    return g_file_get_contents(path, &text, &length, error)
               ? ct_bench_parse(text, (gssize)length, path, error)
               : NULL;
}

static gboolean
is_group(const char *word)
{
    static const char *const groups[] = {"ceilings",  "stages", "pipelines",
                                         "published", "all",    NULL};
    return g_strv_contains(groups, word);
}

/* The figures of a file, of which the words choose some. */
static CtBench *
read_chosen(const char *path, char **words, GError **error)
{
    const gboolean has_group = words[0] && is_group(words[0]);
    g_autoptr(CtBench) bench = read_figures(path, error);
    if (!bench || !ct_bench_choose(bench, has_group ? words[0] : "all",
                                   (const char *const *)words + has_group, error))
        return NULL;
    return g_steal_pointer(&bench);
}

/* Whether the other machine's file has a case of a group with a name in its. */
static gboolean
has_case(const char *path, const char *group, const char *name)
{
    const char *const names[] = {name, NULL};
    g_autoptr(CtBench) bench = read_figures(path, NULL);
    return bench && ct_bench_choose(bench, group, names, NULL);
}

/* Figures of other cases compare with nothing: this is told before anything is measured. Files of
 * ceilings alone have no cases. */
static gboolean
check_cases(const char *path, char **words, GError **error)
{
    static const char *const both[] = {"stages", "pipelines", NULL};
    const gboolean has_group = words[0] && is_group(words[0]);
    const gboolean is_all = !has_group || g_str_equal(words[0], "all");
    const char *const chosen[] = {has_group ? words[0] : "all", NULL};
    char *any[] = {(char *)"", NULL};
    char **names = words[has_group] ? words + has_group : any;
    if (names == any && (is_all || g_str_equal(chosen[0], "ceilings")))
        return TRUE;
    for (const char *const *group = is_all ? both : chosen; *group; group++)
        for (char **name = names; *name; name++)
            if (has_case(path, *group, *name))
                return TRUE;
    g_autofree char *wanted = g_strjoinv("' or '", names);
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "%s: has no case of '%s'%s%s%s; both machines want the same group and names", path,
                chosen[0], names == any ? "" : " with '", wanted,
                names == any ? "" : "' in its name");
    return FALSE;
}

static CtBench *
measure(const Given *given, char **words, GError **error)
{
    const gboolean has_group = words[0] && is_group(words[0]);
    Shown shown = {.is_terminal = isatty(STDERR_FILENO), .is_quiet = given->quiet};
    const CtBenchHow how = {
        .group = has_group ? words[0] : "all",
        .names = (const char *const *)words + has_group,
        .n_workers = given->workers > 0 ? (guint)given->workers : 0,
        .seconds = given->quick                  ? quick_seconds
                   : given->seconds != not_given ? given->seconds
                                                 : default_seconds,
        .progress = show,
        .is_over = is_interrupted,
        .user_data = &shown,
    };
    ct_command_catch_interrupts();
    CtBench *bench = ct_bench(&how, error);
    if (shown.is_terminal && !shown.is_quiet)
        g_printerr("\r\033[K");
    return bench;
}

/* Writes figures to a file in a form, if one is given. */
static gboolean
write_figures(const CtBench *bench, const char *format, const char *option, const char *path,
              GError **error)
{
    if (!path)
        return TRUE;
    g_autofree char *text = ct_bench_describe(bench, NULL, format, error);
    return text && ct_command_write_output(option, path, text, -1, error);
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {.seconds = not_given, .workers = not_given};
    const GOptionEntry entries[] = {
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &given.seconds,
         "Measure each case for about so many seconds (default: 0.6)", "SECONDS"},
        {"quick", 0, 0, G_OPTION_ARG_NONE, &given.quick, "Measure each case for 0.15 s", NULL},
        {"workers", 0, 0, G_OPTION_ARG_INT, &given.workers,
         "Use so many threads (default: CORNERTURN_WORKERS, or one for each processor)", "N"},
        {"json", 0, 0, G_OPTION_ARG_NONE, &given.json, "Print JSON", NULL},
        {"log", 0, 0, G_OPTION_ARG_FILENAME, &given.log, "Write the figures as JSON, too", "FILE"},
        {"read", 0, 0, G_OPTION_ARG_FILENAME, &given.read,
         "Measure nothing: take the figures that --json or --log has written; GROUP and NAMEs "
         "choose among them",
         "FILE"},
        {"compare", 0, 0, G_OPTION_ARG_FILENAME, &given.compare,
         "Show the figures of another machine, written by --json or --log, beside them, and which "
         "one is faster at what, and why",
         "FILE"},
        {"picture", 0, 0, G_OPTION_ARG_FILENAME, &given.picture,
         "Draw the stages below the ceilings, as SVG", "FILE"},
        {"quiet", 'q', 0, G_OPTION_ARG_NONE, &given.quiet, "Show no progress", NULL},
        {NULL},
    };
    if (!ct_command_parse(&ct_command_bench, entries, &argc, &argv, 0, G_MAXINT, error) ||
        !check(&given, error))
        return FALSE;
    /* A fault of a file is told before anything is measured. */
    if ((given.log && !ct_command_check_output("--log", given.log, error)) ||
        (given.picture && !ct_command_check_output("--picture", given.picture, error)))
        return FALSE;
    g_autoptr(CtBench) other = given.compare ? read_figures(given.compare, error) : NULL;
    if (given.compare && (!other || (!given.read && !check_cases(given.compare, argv + 1, error))))
        return FALSE;
    g_autoptr(CtBench) bench =
        given.read ? read_chosen(given.read, argv + 1, error) : measure(&given, argv + 1, error);
    if (!bench)
        return FALSE;
    g_autofree char *text = ct_bench_describe(bench, other, given.json ? "json" : "text", error);
    if (!text)
        return FALSE;
    /* They are printed first: they stay known if a file cannot be written. */
    g_print("%s", text);
    if (!write_figures(bench, "json", "--log", given.log, error) ||
        !write_figures(bench, "svg", "--picture", given.picture, error))
        return FALSE;
    if (ct_command_interrupt() == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CANCELLED, "ended early by %s",
                ct_command_signal_name(ct_command_interrupt()));
    return FALSE;
}

const CtCommand ct_command_bench = {
    .name = "bench",
    .arguments = "[GROUP] [NAME…]",
    .summary =
        "Measure how fast this machine is: ceilings, stages, pipelines, all (these three) or "
        "published",
    .run = run,
};
