/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `cornerturn`: runs the subcommand and prints its error. */
#include "command.h"

#include <cornerturn/error.h>
#include <cornerturn/text.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static const CtCommand *const commands[] = {
    &ct_command_run,     &ct_command_top,       &ct_command_check,      &ct_command_plan,
    &ct_command_show,    &ct_command_send,      &ct_command_tune,       &ct_command_verify,
    &ct_command_inspect, &ct_command_new_stage, &ct_command_test_stage, &ct_command_schema,
    &ct_command_costs,   &ct_command_bench,
};

static const CtCommand *
find_command(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(commands)];
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        names[i] = commands[i]->name;
        if (g_str_equal(name, names[i]))
            return commands[i];
    }
    g_autofree char *remark = ct_suggest_remark(name, names, G_N_ELEMENTS(names), NULL);
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "there is no command '%s'%s", name,
                remark);
    return NULL;
}

static void
print_help(void)
{
    g_print("Usage:\n  cornerturn COMMAND [OPTION…] [ARGUMENT…]\n\nCommands:\n");
    for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
        g_autofree char *call = g_strdup_printf("%s %s", commands[i]->name, commands[i]->arguments);
        /* printf pads to bytes, and … has three. */
        const int padding = 22 - (int)g_utf8_strlen(call, -1);
        g_print("  %s%*s %s\n", call, MAX(padding, 0), "", commands[i]->summary);
    }
    g_print(
        "\nOptions:\n"
        "  -h, --help             Show this, or with a command its options\n"
        "  --version              Show the version, and the optional libraries of this build\n");
}

/* The optional libraries of this build are named as its options are. */
static void
print_version(void)
{
    g_print("cornerturn %s\n", CT_VERSION);
    if (strlen(CT_WITH) > 0)
        g_print("with: %s\n", CT_WITH);
    if (strlen(CT_WITHOUT) > 0)
        g_print("without: %s\n", CT_WITHOUT);
}

gboolean
ct_command_parse(const CtCommand *command, const GOptionEntry *entries, int *argc, char ***argv,
                 int least, int most, GError **error)
{
    g_autofree char *program = g_strdup_printf("cornerturn %s", command->name);
    g_set_prgname(program);
    g_autoptr(GOptionContext) context = g_option_context_new(command->arguments);
    g_option_context_set_summary(context, command->summary);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, argc, argv, error))
        return FALSE;
    const int n = *argc - 1;
    if (n >= least && n <= most)
        return TRUE;
    g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "wants %s, but is given %d %s",
                most > 0 ? command->arguments : "no argument", n,
                n == 1 ? "argument" : "arguments");
    return FALSE;
}

static int
report(const CtCommand *command, const GError *error)
{
    if (error->domain != G_OPTION_ERROR) {
        g_printerr("%s\n", error->message);
        return g_error_matches(error, CT_ERROR, CT_ERROR_CANCELLED) && ct_command_interrupt()
                   ? 128 + ct_command_interrupt()
                   : EXIT_FAILURE;
    }
    g_printerr("cornerturn%s%s: %s (cornerturn %s%s--help lists what there is)\n",
               command ? " " : "", command ? command->name : "", error->message,
               command ? command->name : "", command ? " " : "");
    return EXIT_USAGE;
}

/* Fails if the output could not be written, for example because the disk is full. */
static gboolean
flush_output(GError **error)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "standard output: cannot be written");
    return FALSE;
}

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    /* Numbers are written in the same way in all locales. */
    setlocale(LC_NUMERIC, "C");
    if (argc < 2 || g_str_equal(argv[1], "--help") || g_str_equal(argv[1], "-h")) {
        print_help();
        return argc < 2 ? EXIT_USAGE : EXIT_SUCCESS;
    }
    if (g_str_equal(argv[1], "--version")) {
        print_version();
        return EXIT_SUCCESS;
    }
    g_autoptr(GError) error = NULL;
    const CtCommand *command = find_command(argv[1], &error);
    if (!command || !command->run(argc - 1, argv + 1, &error) || !flush_output(&error))
        return report(command, error);
    return EXIT_SUCCESS;
}
