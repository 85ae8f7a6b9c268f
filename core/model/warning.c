/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of warnings, and how they are written. */
#include "warning.h"

#include <cornerturn/stage.h>

static const char *const kind_names[] = {
    [CT_WARNING_STAGE] = "stage",     [CT_WARNING_PARAMETER] = "parameter",
    [CT_WARNING_UNREAD] = "unread",   [CT_WARNING_EMPTY] = "empty",
    [CT_WARNING_SHORT] = "short",     [CT_WARNING_INVALID] = "invalid",
    [CT_WARNING_EARLY] = "early",     [CT_WARNING_CHANGE] = "change",
    [CT_WARNING_CLIPPED] = "clipped", [CT_WARNING_PLAN] = "plan",
};

static void
warning_free(gpointer item)
{
    CtWarning *warning = item;
    g_free(warning->node);
    g_free(warning->message);
    g_free(warning);
}

GPtrArray *
ct_warnings_new(void)
{
    return g_ptr_array_new_with_free_func(warning_free);
}

/* Takes `message`. */
static void
add(GPtrArray *warnings, CtWarningKind kind, const char *node, const CtPlace *place, char *message)
{
    for (guint i = 0; i < warnings->len; i++) {
        const CtWarning *other = warnings->pdata[i];
        if (g_strcmp0(other->node, node) == 0 && g_str_equal(other->message, message)) {
            g_free(message);
            return;
        }
    }
    CtWarning *warning = g_new0(CtWarning, 1);
    warning->kind = kind;
    warning->node = g_strdup(node);
    if (place)
        warning->place = *place;
    warning->message = message;
    g_ptr_array_add(warnings, warning);
}

void
ct_warnings_add(GPtrArray *warnings, CtWarningKind kind, const char *node, const CtPlace *place,
                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(warnings, kind, node, place, g_strdup_vprintf(format, arguments));
    va_end(arguments);
}

void
ct_warnings_add_short(GPtrArray *warnings, const char *node, const CtPlace *place, gint64 hop,
                      gint64 n)
{
    if (n > 0 && n < hop)
        ct_warnings_add(warnings, CT_WARNING_SHORT, node, place,
                        "sums %" G_GINT64_FORMAT " samples, but only %" G_GINT64_FORMAT
                        " come in: its one sum is short",
                        hop, n);
}

void
ct_warnings_join(GPtrArray *warnings, const GPtrArray *others)
{
    for (guint i = 0; i < others->len; i++) {
        const CtWarning *other = others->pdata[i];
        add(warnings, other->kind, other->node, &other->place, g_strdup(other->message));
    }
}

gboolean
ct_warnings_have(const GPtrArray *warnings, CtWarningKind kind, const char *node)
{
    for (guint i = 0; i < warnings->len; i++) {
        const CtWarning *warning = warnings->pdata[i];
        if (warning->kind == kind && g_strcmp0(warning->node, node) == 0)
            return TRUE;
    }
    return FALSE;
}

/* `severity`: "warning: ", or "" for an error. */
static char *
write_line(const CtWarning *warning, const char *severity)
{
    g_autofree char *place = warning->place.file ? ct_place_to_string(&warning->place) : NULL;
    g_autofree char *node =
        warning->node ? g_strdup_printf("node '%s': ", warning->node) : g_strdup("");
    g_autofree char *line =
        g_strconcat(place ? place : "", place ? ": " : "", node, severity, warning->message, NULL);
    return ct_text_escape(line);
}

char *
ct_warning_to_string(const CtWarning *warning)
{
    return write_line(warning, "warning: ");
}

void
ct_warnings_add_json(CtJson *json, const char *key, const GPtrArray *warnings)
{
    ct_json_begin_array(json, key);
    for (guint i = 0; i < warnings->len; i++) {
        const CtWarning *warning = warnings->pdata[i];
        g_autofree char *place = warning->place.file ? ct_place_to_string(&warning->place) : NULL;
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "kind", kind_names[warning->kind]);
        ct_json_add_text(json, "node", warning->node);
        ct_json_add_text(json, "place", place);
        ct_json_add_text(json, "message", warning->message);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

gboolean
ct_warnings_refuse(const GPtrArray *warnings, GError **error)
{
    if (warnings->len == 0)
        return TRUE;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < warnings->len; i++) {
        g_autofree char *line = write_line(warnings->pdata[i], "");
        g_string_append_printf(text, "%s%s (strict)", i > 0 ? "\n" : "", line);
    }
    g_set_error_literal(error, CT_ERROR, CT_ERROR_WARNING, text->str);
    return FALSE;
}
