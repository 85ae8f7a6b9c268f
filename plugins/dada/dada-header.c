/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of PSRDADA files. */
#include "dada-header.h"

#include <cornerturn/error.h>
#include <math.h>
#include <string.h>

static void
clear_line(gpointer line)
{
    g_free(((DadaLine *)line)->keyword);
    g_free(((DadaLine *)line)->value);
}

void
dada_header_clear(DadaHeader *header)
{
    g_clear_pointer(&header->lines, g_array_unref);
}

void
dada_header_parse(DadaHeader *header, const char *path, const guint8 *bytes, gsize n)
{
    header->path = path;
    header->lines = g_array_new(FALSE, FALSE, sizeof(DadaLine));
    g_array_set_clear_func(header->lines, clear_line);
    const guint8 *zero = memchr(bytes, 0, n);
    g_autofree char *text = g_strndup((const char *)bytes, zero ? (gsize)(zero - bytes) : n);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i] && g_str_is_ascii(lines[i]); i++) {
        char *comment = strchr(lines[i], '#');
        if (comment)
            *comment = '\0';
        g_strstrip(lines[i]);
        const gsize length = strcspn(lines[i], " \t");
        if (length == 0)
            continue;
        const DadaLine line = {
            .keyword = g_strndup(lines[i], length),
            .value = g_strstrip(g_strdup(lines[i] + length)),
            .line = i + 1,
        };
        g_array_append_val(header->lines, line);
    }
}

static const DadaLine *
find(const DadaHeader *header, const char *keyword)
{
    for (guint i = 0; i < header->lines->len; i++) {
        const DadaLine *line = &g_array_index(header->lines, DadaLine, i);
        if (strcmp(line->keyword, keyword) == 0)
            return line;
    }
    return NULL;
}

const char *
dada_text(const DadaHeader *header, const char *keyword)
{
    static const char *const unknown[] = {"", "unset", "unknown", "none"};
    const DadaLine *line = find(header, keyword);
    for (guint i = 0; line && i < G_N_ELEMENTS(unknown); i++)
        if (g_ascii_strcasecmp(line->value, unknown[i]) == 0)
            return NULL;
    return line ? line->value : NULL;
}

gboolean
dada_refuse(const DadaHeader *header, const char *keyword, const char *wants, GError **error)
{
    const DadaLine *line = find(header, keyword);
    if (line)
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: line %u: %s wants %s, but is given '%s'",
                    header->path, line->line, keyword, wants, line->value);
    else
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s wants %s, but is not given",
                    header->path, keyword, wants);
    return FALSE;
}

gboolean
dada_integer(const DadaHeader *header, const char *keyword, gint64 least, gint64 fallback,
             gint64 *value, GError **error)
{
    const char *text = dada_text(header, keyword);
    if (!text) {
        *value = fallback;
        return TRUE;
    }
    gint64 read;
    g_autofree char *wants = g_strdup_printf("an integer of at least %" G_GINT64_FORMAT, least);
    if (!g_ascii_string_to_signed(text, 10, least, G_MAXINT64, &read, NULL))
        return dada_refuse(header, keyword, wants, error);
    *value = read;
    return TRUE;
}

gboolean
dada_real(const DadaHeader *header, const char *keyword, gdouble fallback, gdouble *value,
          GError **error)
{
    const char *text = dada_text(header, keyword);
    char *end;
    const gdouble read = text ? g_ascii_strtod(text, &end) : fallback;
    if (text && (end == text || *end != '\0' || !isfinite(read)))
        return dada_refuse(header, keyword, "a number", error);
    *value = read;
    return TRUE;
}
