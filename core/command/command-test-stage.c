/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn test-stage`: compares all variants of a stage with its reference. */
#include "command.h"

#include <cornerturn/error.h>
#include <cornerturn/test.h>
#include <stdio.h>

static void
print_line(const char *line, G_GNUC_UNUSED gpointer user_data)
{
    g_print("%s\n", line);
    fflush(stdout);
}

static gboolean
run(int argc, char **argv, GError **error)
{
    g_auto(GStrv) settings = NULL;
    g_auto(GStrv) axes = NULL;
    g_autofree char *type = NULL;
    g_autofree char *variant = NULL;
    g_autofree char *only = NULL;
    gint seed = 1;
    gdouble seconds = 30;
    const GOptionEntry entries[] = {
        {"set", 's', 0, G_OPTION_ARG_STRING_ARRAY, &settings, "Set a parameter of the stage",
         "PARAM=VALUE"},
        {"axis", 'a', 0, G_OPTION_ARG_STRING_ARRAY, &axes,
         "Fix the length of an axis; add the axis if the stage takes it", "AXIS=LENGTH"},
        {"type", 't', 0, G_OPTION_ARG_STRING, &type, "Fix the type of the first input", "TYPE"},
        {"variant", 0, 0, G_OPTION_ARG_STRING, &variant, "Test only this variant", "NAME"},
        {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds,
         "Run cases for this time, and beside that compile kernels for up to four times as long; "
         "every row is run once (default: 30)",
         "SECONDS"},
        {"seed", 0, 0, G_OPTION_ARG_INT, &seed, "Draw the cases from this number (default: 1)",
         "NUMBER"},
        {"case", 0, 0, G_OPTION_ARG_STRING, &only, "Run only this case, as a failure names it",
         "CASE"},
        G_OPTION_ENTRY_NULL,
    };
    if (!ct_command_parse(&ct_command_test_stage, entries, &argc, &argv, 1, 1, error))
        return FALSE;
    if (seed < 1 || !(seconds > 0)) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--seed wants 1 or more and --seconds more than 0, but are given %d and %g",
                    seed, seconds);
        return FALSE;
    }
    /* Without a device, the emulator stands in. */
    g_setenv("CORNERTURN_CUDA", "any", FALSE);
    const CtStageTest how = {
        .settings = (const char *const *)settings,
        .axes = (const char *const *)axes,
        .type = type,
        .variant = variant,
        .seed = (guint32)seed,
        .only = only,
        .seconds = seconds,
        .line = print_line,
    };
    gboolean passes = FALSE;
    if (!ct_test_stage(argv[1], &how, &passes, error))
        return FALSE;
    if (!passes)
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "stage '%s' does not agree with its reference",
                    argv[1]);
    return passes;
}

const CtCommand ct_command_test_stage = {
    .name = "test-stage",
    .arguments = "STAGE",
    .summary = "Compare all variants of a stage with its reference",
    .run = run,
};
