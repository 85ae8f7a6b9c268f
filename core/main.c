/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `cornerturn`. */
#include <glib.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    gboolean show_version = FALSE;
    const GOptionEntry entries[] = {
        {"version", 0, 0, G_OPTION_ARG_NONE, &show_version, "Print the version", NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_add_main_entries(context, entries, NULL);

    g_autoptr(GError) error = NULL;
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        g_printerr("cornerturn: %s\n", error->message);
        return EXIT_FAILURE;
    }
    if (show_version)
        g_print("cornerturn %s\n", CT_VERSION);
    return EXIT_SUCCESS;
}
