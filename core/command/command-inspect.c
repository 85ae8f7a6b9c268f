/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn inspect`: the installed stages. */
#include "command.h"

#include <cornerturn/inspect.h>

static gboolean
run(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};
    if (!ct_command_parse(&ct_command_inspect, entries, &argc, &argv, 0, 1, error))
        return FALSE;
    g_auto(GStrv) problems = NULL;
    g_autofree char *text = ct_inspect(argc < 2 ? NULL : argv[1], &problems, error);
    if (!text)
        return FALSE;
    g_print("%s", text);
    for (guint i = 0; problems[i]; i++)
        g_printerr("left out: %s\n", problems[i]);
    return TRUE;
}

const CtCommand ct_command_inspect = {
    .name = "inspect",
    .arguments = "[STAGE]",
    .summary = "List the stages and the devices, or show a stage: parameters, ports, variants",
    .run = run,
};
