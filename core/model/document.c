/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML as a tree of scalars, lists and mappings; each value has its place in the file. */
#include "document.h"

#include <cornerturn/stage.h>
#include <string.h>

char *
ct_text_escape(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *escaped = g_string_new(NULL);
    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        const gunichar c = g_utf8_get_char(at);
        if (!g_unichar_iscntrl(c) || g_str_has_prefix(at, "\n  "))
            g_string_append_unichar(escaped, c);
        else if (c == '\n')
            g_string_append(escaped, "\\n");
        else
            g_string_append_printf(escaped, "\\x%02x", c);
    }
    return g_string_free(escaped, FALSE);
}

char *
ct_place_to_string(const CtPlace *place)
{
    if (place->line == 0)
        return g_strdup(place->file);
    return g_strdup_printf("%s:%u:%u", place->file, place->line, place->column);
}

gboolean
ct_place_error(const CtPlace *place, int code, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *where = ct_place_to_string(place);
    g_autofree char *whole = g_strconcat(where, ": ", message, NULL);
    g_autofree char *escaped = ct_text_escape(whole);
    g_set_error_literal(error, CT_ERROR, code, escaped);
    return FALSE;
}

/* ---- values ---- */

CtValue *
ct_value_new(CtValueKind kind, CtPlace place)
{
    CtValue *value = g_new0(CtValue, 1);
    value->kind = kind;
    value->place = place;
    if (kind != CT_VALUE_SCALAR)
        value->items = g_ptr_array_new_with_free_func((GDestroyNotify)ct_value_free);
    if (kind == CT_VALUE_MAPPING)
        value->keys = g_ptr_array_new_with_free_func((GDestroyNotify)ct_value_free);
    return value;
}

void
ct_value_free(CtValue *value)
{
    if (!value)
        return;
    g_free(value->text);
    g_free(value->origin);
    g_clear_pointer(&value->keys, g_ptr_array_unref);
    g_clear_pointer(&value->items, g_ptr_array_unref);
    g_free(value);
}

CtValue *
ct_value_copy(const CtValue *value)
{
    CtValue *copy = ct_value_new(value->kind, value->place);
    copy->text = g_strdup(value->text);
    copy->quoted = value->quoted;
    copy->inset = value->inset;
    copy->origin = g_strdup(value->origin);
    for (guint i = 0; value->keys && i < value->keys->len; i++)
        g_ptr_array_add(copy->keys, ct_value_copy(value->keys->pdata[i]));
    for (guint i = 0; value->items && i < value->items->len; i++)
        g_ptr_array_add(copy->items, ct_value_copy(value->items->pdata[i]));
    return copy;
}

CtValue *
ct_value_new_text(const CtPlace *place, const char *text)
{
    CtValue *value = ct_value_new(CT_VALUE_SCALAR, *place);
    value->text = g_strdup(text);
    value->quoted = TRUE;
    return value;
}

gboolean
ct_value_is_nothing(const CtValue *value)
{
    return value->kind == CT_VALUE_SCALAR && !value->quoted &&
           (g_str_equal(value->text, "") || g_str_equal(value->text, "~") ||
            g_str_equal(value->text, "null"));
}

static gint
find_key(const CtValue *mapping, const char *key)
{
    for (guint i = 0; mapping->keys && i < mapping->keys->len; i++) {
        const CtValue *candidate = mapping->keys->pdata[i];
        if (g_str_equal(candidate->text, key))
            return i;
    }
    return -1;
}

CtValue *
ct_value_get(const CtValue *mapping, const char *key)
{
    const gint i = find_key(mapping, key);
    return i < 0 ? NULL : mapping->items->pdata[i];
}

void
ct_value_set(CtValue *mapping, const char *key, CtValue *item)
{
    g_return_if_fail(mapping->kind == CT_VALUE_MAPPING);
    CtValue *name = ct_value_new(CT_VALUE_SCALAR, item->place);
    name->text = g_strdup(key);
    const gint i = find_key(mapping, key);
    if (i < 0) {
        g_ptr_array_add(mapping->keys, name);
        g_ptr_array_add(mapping->items, item);
        return;
    }
    ct_value_free(mapping->keys->pdata[i]);
    ct_value_free(mapping->items->pdata[i]);
    mapping->keys->pdata[i] = name;
    mapping->items->pdata[i] = item;
}

static char *
shorten(const char *text)
{
    if (strlen(text) <= 60)
        return g_strdup(text);
    g_autofree char *start = g_utf8_substring(text, 0, MIN(40, g_utf8_strlen(text, -1)));
    return g_strconcat(start, "…", NULL);
}

char *
ct_value_describe(const CtValue *value)
{
    if (value->kind == CT_VALUE_LIST)
        return g_strdup_printf("a list of %u", value->items->len);
    if (value->kind == CT_VALUE_MAPPING)
        return g_strdup("a mapping");
    if (ct_value_is_nothing(value))
        return g_strdup("nothing");
    g_autofree char *text = shorten(value->text);
    g_autofree char *origin = value->origin ? shorten(value->origin) : NULL;
    return g_strdup_printf("'%s'%s%s%s", text, origin ? " (from '" : "", origin ? origin : "",
                           origin ? "')" : "");
}

/* A scalar between quotation marks. */
static void
append_quoted(GString *line, const char *text)
{
    g_string_append_c(line, '"');
    for (; *text; text++) {
        if ((guchar)*text < ' ' || *text == 0x7f)
            g_string_append_printf(line, "\\x%02x", *text);
        else
            g_string_append_printf(line, "%s%c", strchr("\"\\", *text) ? "\\" : "", *text);
    }
    g_string_append_c(line, '"');
}

static void
append_value(GString *line, const CtValue *value, gboolean is_item)
{
    if (value->kind == CT_VALUE_SCALAR) {
        if (value->quoted || (is_item && strpbrk(value->text, ",[]{}:#\n")))
            append_quoted(line, value->text);
        else
            g_string_append(line, *value->text ? value->text : "~");
        return;
    }
    g_string_append_c(line, value->keys ? '{' : '[');
    for (guint i = 0; i < value->items->len; i++) {
        g_string_append(line, i ? ", " : "");
        if (value->keys) {
            append_value(line, value->keys->pdata[i], TRUE);
            g_string_append(line, ": ");
        }
        append_value(line, value->items->pdata[i], TRUE);
    }
    g_string_append_c(line, value->keys ? '}' : ']');
}

char *
ct_value_to_text(const CtValue *value)
{
    GString *line = g_string_new(NULL);
    append_value(line, value, FALSE);
    return g_string_free(line, FALSE);
}
