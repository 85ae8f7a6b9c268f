/* SPDX-License-Identifier: BSD-3-Clause */
/* `cornerturn top` of a program that is built without the libraries that it needs. */
#include "command.h"

#include <cornerturn/error.h>

static gboolean
run(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {{NULL}};
    if (ct_command_parse(&ct_command_top, entries, &argc, &argv, 1, 1, error))
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "top wants libsoup 3 and ncurses, but cornerturn is built without one of them");
    return FALSE;
}

const CtCommand ct_command_top = {
    .name = "top",
    .arguments = "ADDRESS",
    .summary = "Show a run in a terminal, by its control port",
    .run = run,
};
