/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes JSON, by json-glib. */
#include <cornerturn/json.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* Numbers in our own digits, and lists of them, are given to json-glib as a text that begins with
 * this byte, which no text in UTF-8 has. Mark and quotes are removed from the document at its end.
 */
#define NUMBER_MARK "\xff"

CtJson *
ct_json_new(void)
{
    return json_builder_begin_object(json_builder_new());
}

/* Replaces `"MARK1.5"` by `1.5`. */
static char *
unquote_numbers(const char *text)
{
    g_auto(GStrv) pieces = g_strsplit(text, "\"" NUMBER_MARK, -1);
    for (guint i = 1; pieces[i]; i++) {
        char *quote = strchr(pieces[i], '"');
        memmove(quote, quote + 1, strlen(quote));
    }
    return g_strjoinv(NULL, pieces);
}

char *
ct_json_free_to_text(CtJson *json, gboolean is_pretty)
{
    json_builder_end_object(json);
    g_autoptr(JsonNode) root = json_builder_get_root(json);
    g_autofree char *printed = json_to_string(root, is_pretty);
    g_autofree char *unquoted = unquote_numbers(printed);
    g_object_unref(json);
    GString *text = g_string_new(unquoted);
    /* The one control character that json-glib does not escape. */
    g_string_replace(text, "\x1f", "\\u001f", 0);
    g_string_append(text, is_pretty ? "\n" : "");
    return g_string_free(text, FALSE);
}

static void
set_key(CtJson *json, const char *key)
{
    if (key)
        json_builder_set_member_name(json, key);
}

void
ct_json_begin_object(CtJson *json, const char *key)
{
    set_key(json, key);
    json_builder_begin_object(json);
}

void
ct_json_end_object(CtJson *json)
{
    json_builder_end_object(json);
}

void
ct_json_begin_array(CtJson *json, const char *key)
{
    set_key(json, key);
    json_builder_begin_array(json);
}

void
ct_json_end_array(CtJson *json)
{
    json_builder_end_array(json);
}

void
ct_json_add_text(CtJson *json, const char *key, const char *text)
{
    g_autofree char *valid = text ? g_utf8_make_valid(text, -1) : NULL;
    set_key(json, key);
    if (valid)
        json_builder_add_string_value(json, valid);
    else
        json_builder_add_null_value(json);
}

void
ct_json_add_boolean(CtJson *json, const char *key, gboolean value)
{
    set_key(json, key);
    json_builder_add_boolean_value(json, value);
}

void
ct_json_add_integer(CtJson *json, const char *key, gint64 value)
{
    set_key(json, key);
    json_builder_add_int_value(json, value);
}

static void
add_number(CtJson *json, const char *key, const char *digits)
{
    g_autofree char *marked = g_strconcat(NUMBER_MARK, digits, NULL);
    set_key(json, key);
    json_builder_add_string_value(json, marked);
}

void
ct_json_add_unsigned(CtJson *json, const char *key, guint64 value)
{
    g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, value);
    add_number(json, key, digits);
}

void
ct_json_add_padded(CtJson *json, const char *key, gint64 value, gint width)
{
    g_autofree char *digits = g_strdup_printf("%*" G_GINT64_FORMAT, width, value);
    add_number(json, key, digits);
}

static void
print_real(char digits[G_ASCII_DTOSTR_BUF_SIZE], gdouble value)
{
    if (!isfinite(value)) {
        strcpy(digits, "null");
        return;
    }
    for (guint n = 15; n <= 17; n++) {
        char format[] = {'%', '.', '1', (char)('0' + n - 10), 'g', '\0'};
        g_ascii_formatd(digits, G_ASCII_DTOSTR_BUF_SIZE, format, value);
        if (g_ascii_strtod(digits, NULL) == value)
            break;
    }
}

void
ct_json_add_real(CtJson *json, const char *key, gdouble value)
{
    char digits[G_ASCII_DTOSTR_BUF_SIZE];
    print_real(digits, value);
    add_number(json, key, digits);
}

void
ct_json_add_reals(CtJson *json, const char *key, const gdouble *values, gsize n)
{
    g_autoptr(GString) list = g_string_new("[");
    for (gsize i = 0; i < n; i++) {
        char digits[G_ASCII_DTOSTR_BUF_SIZE];
        print_real(digits, values[i]);
        g_string_append_printf(list, "%s%s", i ? ", " : "", digits);
    }
    g_string_append_c(list, ']');
    add_number(json, key, list->str);
}

void
ct_json_add_integers(CtJson *json, const char *key, const gint64 *values, gsize n)
{
    g_autoptr(GString) list = g_string_new("[");
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(list, "%s%" G_GINT64_FORMAT, i ? ", " : "", values[i]);
    g_string_append_c(list, ']');
    add_number(json, key, list->str);
}

guint
ct_json_depth(const char *text, gsize length)
{
    gboolean is_text = FALSE;
    guint depth = 0, most = 0;
    for (gsize i = 0; i < length; i++) {
        const char c = text[i];
        if (is_text && c == '\\')
            i++;
        else if (c == '"')
            is_text = !is_text;
        else if (!is_text && (c == '{' || c == '['))
            most = MAX(most, ++depth);
        else if (!is_text && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return most;
}
