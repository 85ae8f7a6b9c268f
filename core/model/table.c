/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of text for people. */
#include "table.h"

GPtrArray *
ct_table_rows_new(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
}

void
ct_table_print(GString *text, const CtColumn *columns, guint n, const GPtrArray *rows)
{
    g_autofree glong *widths = g_new(glong, n);
    for (guint c = 0; c < n; c++) {
        widths[c] = g_utf8_strlen(columns[c].title, -1);
        for (guint r = 0; r < rows->len; r++)
            widths[c] = MAX(widths[c], g_utf8_strlen(((char **)g_ptr_array_index(rows, r))[c], -1));
    }
    for (guint r = 0; r <= rows->len; r++) {
        for (guint c = 0; c < n; c++) {
            const char *cell =
                r == 0 ? columns[c].title : ((char **)g_ptr_array_index(rows, r - 1))[c];
            const gint padding = (gint)(widths[c] - g_utf8_strlen(cell, -1));
            const gboolean right = columns[c].is_number;
            const gboolean is_last = c + 1 == n;
            g_string_append_printf(text, "%s%*s%s", c ? "  " : "", right ? padding : 0, "", cell);
            g_string_append_printf(text, "%*s", right || is_last ? 0 : padding, "");
        }
        g_string_append_c(text, '\n');
    }
}

char *
ct_table_count(gdouble count)
{
    if (count >= 1e15)
        return g_strdup_printf("%.3g", count);
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%.0f", count);
    for (gssize at = (gssize)text->len - 3; at > 0; at -= 3)
        g_string_insert_c(text, at, ',');
    return g_string_free(text, FALSE);
}
