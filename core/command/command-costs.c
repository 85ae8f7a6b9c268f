/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn costs`: the database of measured costs. */
#include "command.h"

#include <cornerturn/costs.h>

typedef struct {
    char *costs;
    char *export;
    char *import;
    char **stages;
    gboolean forgets;
    gboolean measures_ceilings;
} Given;

static void
given_clear(Given *given)
{
    g_free(given->costs);
    g_free(given->export);
    g_free(given->import);
    g_strfreev(given->stages);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Given, given_clear)

static const char *const *
given_stages(const Given *given)
{
    return (const char *const *)given->stages;
}

/* Prints and frees the text; FALSE if there is none. */
static gboolean
print(char *text)
{
    if (!text)
        return FALSE;
    g_print("%s", text);
    g_free(text);
    return TRUE;
}

static gboolean
list(const Given *given, GError **error)
{
    return print(ct_costs_list(given->costs, given_stages(given), error));
}

static gboolean export(const Given *given, GError **error)
{
    const char *file = given->export;
    g_autofree char *text = ct_costs_export(given->costs, given_stages(given), error);
    if (!text)
        return FALSE;
    if (g_str_equal(file, "-"))
        return print(g_steal_pointer(&text));
    return ct_command_write_output("--export", file, text, -1, error);
}

static gboolean
import(const Given *given, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    guint n_measurements, n_ceilings;
    if (!g_file_get_contents(given->import, &text, &length, error) ||
        !ct_costs_import(given->costs, text, length, given->import, given_stages(given),
                         &n_measurements, &n_ceilings, error))
        return FALSE;
    g_print("%u measurements and %u ceilings imported\n", n_measurements, n_ceilings);
    return TRUE;
}

static gboolean
forget(const Given *given, GError **error)
{
    guint n;
    if (!ct_costs_forget(given->costs, given_stages(given), &n, error))
        return FALSE;
    g_print("%u measurements forgotten\n", n);
    return TRUE;
}

static gboolean
measure_ceilings(const Given *given, GError **error)
{
    return print(ct_costs_measure_ceilings(given->costs, error));
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(Given) given = {0};
    const GOptionEntry entries[] = {
        {"stage", 0, 0, G_OPTION_ARG_STRING_ARRAY, &given.stages,
         "Only this stage, or several stages in one variant, such as fir+fft", "NAME"},
        {"export", 0, 0, G_OPTION_ARG_FILENAME, &given.export,
         "Write lines of JSON; - is standard output", "FILE"},
        {"import", 0, 0, G_OPTION_ARG_FILENAME, &given.import,
         "Add lines of JSON; they replace measurements with the same key", "FILE"},
        {"forget", 0, 0, G_OPTION_ARG_NONE, &given.forgets, "Remove the measurements", NULL},
        {"measure-ceilings", 0, 0, G_OPTION_ARG_NONE, &given.measures_ceilings,
         "Measure the ceilings of this machine again", NULL},
        {"costs", 0, 0, G_OPTION_ARG_FILENAME, &given.costs,
         "The cost database (default: the one in the user's cache)", "FILE"},
        {NULL},
    };
    if (!ct_command_parse(&ct_command_costs, entries, &argc, &argv, 0, 0, error))
        return FALSE;
    if ((given.export != NULL) + (given.import != NULL) + given.forgets + given.measures_ceilings >
        1) {
        g_set_error(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "wants one of --export, --import, --forget and --measure-ceilings, but is given "
            "several");
        return FALSE;
    }
    if (given.measures_ceilings && given.stages) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "wants one of --measure-ceilings and --stage, but is given both");
        return FALSE;
    }
    g_autoptr(GError) cause = NULL;
    const gboolean good = given.export              ? export(&given, &cause)
                          : given.import            ? import(&given, &cause)
                          : given.forgets           ? forget(&given, &cause)
                          : given.measures_ceilings ? measure_ceilings(&given, &cause)
                                                    : list(&given, &cause);
    if (good)
        return TRUE;
    if (g_error_matches(cause, CT_ERROR, CT_ERROR_PARAMETER))
        g_prefix_error(&cause, "--stage ");
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
}

const CtCommand ct_command_costs = {
    .name = "costs",
    .arguments = "",
    .summary = "List, export or import measured costs",
    .run = run,
};
