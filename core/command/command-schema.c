/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn schema`: the JSON Schema of graphs. */
#include "command.h"

#include <cornerturn/inspect.h>

static gboolean
run(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {G_OPTION_ENTRY_NULL};
    if (!ct_command_parse(&ct_command_schema, entries, &argc, &argv, 0, 0, error))
        return FALSE;
    g_autofree char *schema = ct_inspect_schema(error);
    if (!schema)
        return FALSE;
    g_print("%s", schema);
    return TRUE;
}

const CtCommand ct_command_schema = {
    .name = "schema",
    .arguments = "",
    .summary = "Print a JSON Schema of graphs, for editors",
    .run = run,
};
