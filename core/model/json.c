/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as JSON writes them. */
#include <cornerturn/json.h>
#include <math.h>

void
ct_json_append_string(GString *text, const char *string)
{
    g_string_append_c(text, '"');
    for (const char *s = string; *s; s++) {
        if (*s == '"' || *s == '\\')
            g_string_append_printf(text, "\\%c", *s);
        else if ((guchar)*s < ' ')
            g_string_append_printf(text, "\\u%04x", (guint)*s);
        else
            g_string_append_c(text, *s);
    }
    g_string_append_c(text, '"');
}

void
ct_json_append_real(GString *text, gdouble value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(text, isfinite(value) ? g_ascii_dtostr(number, sizeof number, value) : "null");
}
