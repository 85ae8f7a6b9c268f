/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the graph that reads a file, in words of the command: nobody has written this graph.
 */
#include "show-view.h"

#include <stdio.h>
#include <string.h>

static void
append_selections(GString *text, const CtShow *show)
{
    for (guint i = 0; show->selections && show->selections[i]; i++)
        g_string_append_printf(text, "%s--select %s", i ? " " : "", show->selections[i]);
    g_string_append(text, ": ");
}

/* Skips "parameter 'NAME': "; NULL as the name: of any. */
static const char *
skip_parameter(const char *text, const char *name)
{
    g_autofree char *begin = g_strdup_printf("parameter '%s", name ? name : "");
    const char *end = strstr(text, "': ");
    return g_str_has_prefix(text, begin) && end ? end + 3 : text;
}

char *
ct_show_message(const CtShow *show, const char *message)
{
    g_autoptr(GString) text = g_string_new(NULL);
    static const char selected[] = "--set part.", set[] = "--set file.";
    const gboolean is_selection = g_str_has_prefix(message, selected);
    const gboolean is_option = is_selection || g_str_has_prefix(message, set);
    int position = 0;
    if (is_option) {
        g_string_append(text, is_selection ? "--select " : "--set ");
        message += strlen(set);
    } else if (sscanf(message, CT_SHOW_GRAPH ":%*u:%*u: %n", &position) == 0) {
        message += position;
    }
    const char *node = strstr(message, "node '");
    const char *end = node ? strstr(node, "': ") : NULL;
    if (!end) {
        g_string_append(text, message);
        return g_string_free(g_steal_pointer(&text), FALSE);
    }
    const char *rest = skip_parameter(end + 3, is_option ? NULL : "path'");
    g_string_append_len(text, message, node - message);
    if (!is_option && g_str_has_prefix(node, "node 'part'"))
        append_selections(text, show);
    else if (!is_option && !g_str_has_prefix(rest, show->paths[0]))
        g_string_append_printf(text, "%s: ", show->paths[0]);
    g_string_append(text, rest);
    return g_string_free(g_steal_pointer(&text), FALSE);
}
