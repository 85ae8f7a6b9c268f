/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of layouts: parses a text to a CtLayout. Each mistake has a message and a caret. */
#include "layout-private.h"
#include "suggest.h"

#include <cornerturn/stage.h>
#include <string.h>

/* The bytes of a text that an error shows before the caret and from the caret on. */
enum { SHOWN_BEFORE = 60, SHOWN_FROM = 24 };

typedef struct {
    const char *text;
    gsize at, end;
    CtLayout layout;
    gsize place[CT_MAX_AXES]; /* the byte at which each axis begins in the text */
} Parser;

/* Appends text[begin … end) with unprintable characters replaced, and returns its width in
 * columns. */
static guint
append_shown(GString *shown, const char *text, gsize begin, gsize end)
{
    guint columns = 0;
    while (begin < end) {
        const gunichar c = g_utf8_get_char_validated(text + begin, end - begin);
        const gboolean is_valid = c != (gunichar)-1 && c != (gunichar)-2;
        if (is_valid && g_unichar_isprint(c) && !g_unichar_iszerowidth(c)) {
            g_string_append_unichar(shown, c);
            columns += g_unichar_iswide(c) ? 2 : 1;
        } else {
            g_string_append_c(shown, text[begin] == '\t' ? ' ' : '?');
            columns++;
        }
        begin += is_valid ? g_unichar_to_utf8(c, NULL) : 1;
    }
    return columns;
}

static gboolean
is_continuation(char c)
{
    return ((guchar)c & 0xc0) == 0x80;
}

gboolean
ct_layout_error_at(GError **error, const char *text, gsize at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);

    const gsize length = strlen(text);
    gsize begin = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    while (begin < at && is_continuation(text[begin]))
        begin++;
    gsize end = length - at > SHOWN_FROM ? at + SHOWN_FROM : length;
    while (end < length && is_continuation(text[end]))
        end++;

    g_autoptr(GString) shown = g_string_new(begin > 0 ? "  …" : "  ");
    const guint columns = (begin > 0) + append_shown(shown, text, begin, at);
    append_shown(shown, text, at, end);
    g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "%s\n%s%s\n  %*s", what, shown->str,
                end < length ? "…" : "", (int)columns + 1, "^");
    return FALSE;
}

/* The character at the parser's position, quoted for messages. */
static char *
quote_character(const Parser *parser)
{
    if (parser->at == parser->end)
        return g_strdup("the end of the text");
    gsize end = parser->at + 1;
    while (end < parser->end && is_continuation(parser->text[end]))
        end++;
    GString *quoted = g_string_new("'");
    append_shown(quoted, parser->text, parser->at, end);
    return g_string_free(g_string_append_c(quoted, '\''), FALSE);
}

static gboolean
wants(const Parser *parser, GError **error, const char *what)
{
    g_autofree char *given = quote_character(parser);
    return ct_layout_error_at(error, parser->text, parser->at, "wants %s, but is given %s", what,
                              given);
}

static char
peek(const Parser *parser)
{
    return parser->at < parser->end ? parser->text[parser->at] : '\0';
}

static void
skip_blanks(Parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t')
        parser->at++;
}

static gboolean
is_name_character(char c)
{
    return g_ascii_islower(c) || g_ascii_isdigit(c) || c == '_';
}

gboolean
ct_layout_is_axis_name(const char *text)
{
    gsize length = 0;
    while (is_name_character(text[length]))
        length++;
    return length > 0 && text[length + (text[length] == '\'')] == '\0';
}

/* type { "|" type } */
static gboolean
parse_types(Parser *parser, GError **error)
{
    do {
        skip_blanks(parser);
        const gsize begin = parser->at;
        while (is_name_character(peek(parser)) || g_ascii_isupper(peek(parser)))
            parser->at++;
        if (parser->at == begin)
            return wants(parser, error, parser->layout.types ? "a type" : "a type, '[' or '{'");
        g_autofree char *name = g_strndup(parser->text + begin, parser->at - begin);
        const CtType type = ct_type_from_name(name);
        if (type == CT_TYPE_NONE) {
            const char *names[CT_N_TYPES - 1];
            for (guint i = 0; i < G_N_ELEMENTS(names); i++)
                names[i] = ct_type_info(i + 1)->name;
            const char *near = ct_suggest_name(name, names, G_N_ELEMENTS(names));
            if (near)
                return ct_layout_error_at(error, parser->text, begin,
                                          "unknown type '%s': is '%s' meant?", name, near);
            return ct_layout_error_at(error, parser->text, begin, "unknown type '%.60s'", name);
        }
        if (parser->layout.types & 1u << type)
            return ct_layout_error_at(error, parser->text, begin, "type '%s' stands twice", name);
        parser->layout.types |= 1u << type;
        skip_blanks(parser);
    } while (peek(parser) == '|' && parser->at++ < parser->end);
    return TRUE;
}

/* The digits after the ":" of a block. */
static gboolean
parse_count(Parser *parser, const char *name, gint64 *count, GError **error)
{
    const gsize begin = parser->at;
    guint64 value = 0;
    while (g_ascii_isdigit(peek(parser))) {
        value = value * 10 + (parser->text[parser->at++] - '0');
        if (value > G_MAXINT32)
            return ct_layout_error_at(error, parser->text, begin,
                                      "a block of '%s' may hold %d samples at most", name,
                                      G_MAXINT32);
    }
    if (parser->at == begin)
        return wants(parser, error, "a count after ':'");
    if (value == 0)
        return ct_layout_error_at(error, parser->text, begin,
                                  "a block of '%s' must hold at least 1 sample", name);
    *count = value;
    return TRUE;
}

/* name | "..." | name ":" count */
static gboolean
parse_axis(Parser *parser, CtLayoutAxis *axis, GError **error)
{
    const gsize begin = parser->at;
    if (peek(parser) == '.') {
        while (peek(parser) == '.')
            parser->at++;
        if (parser->at - begin != 3)
            return ct_layout_error_at(error, parser->text, begin,
                                      "further axes are written with three dots, '...'");
        axis->name = ct_axis_name("...");
        axis->count = 0;
        return TRUE;
    }
    while (is_name_character(peek(parser)))
        parser->at++;
    if (parser->at > begin && peek(parser) == '\'')
        parser->at++;
    if (parser->at == begin) {
        if (peek(parser) == ',')
            return ct_layout_error_at(error, parser->text, begin,
                                      "axes are separated by spaces, not by commas");
        if (peek(parser) == ':')
            return ct_layout_error_at(error, parser->text, begin,
                                      "':' stands right behind an axis name, without a space");
        return wants(parser, error, "an axis name (a-z 0-9 _ and a final ')");
    }
    g_autofree char *name = g_strndup(parser->text + begin, parser->at - begin);
    axis->name = ct_axis_name(name);
    axis->count = 0;
    if (peek(parser) != ':')
        return TRUE;
    parser->at++;
    if (strcmp(name, "complex") == 0)
        return ct_layout_error_at(error, parser->text, begin, "'complex' cannot be blocked");
    return parse_count(parser, name, &axis->count, error);
}

/* Checks that a blank, a bracket or the end of the text follows the axis. */
static gboolean
check_axis_end(const Parser *parser, GError **error)
{
    const char c = peek(parser);
    if (parser->at == parser->end || strchr(" \t[]{}", c))
        return TRUE;
    if (g_ascii_isupper(c))
        return wants(parser, error, "lower case in axis names");
    if (parser->text[parser->at - 1] == '\'')
        return wants(parser, error, "a ' only at the end of a name");
    if (c == ',')
        return ct_layout_error_at(error, parser->text, parser->at,
                                  "axes are separated by spaces, not by commas");
    return wants(parser, error, "a space behind the axis");
}

/* Checks that the axis does not repeat one before it. */
static gboolean
check_twice(const Parser *parser, const CtLayoutAxis *axis, gsize place, GError **error)
{
    for (guint a = 0; a < parser->layout.n_axes; a++) {
        const CtLayoutAxis *other = &parser->layout.axes[a];
        if (other->name != axis->name || (other->count > 0) != (axis->count > 0))
            continue;
        if (strcmp(axis->name, "...") == 0)
            return ct_layout_error_at(error, parser->text, place, "'...' may stand once only");
        return ct_layout_error_at(error, parser->text, place, "%s '%s' stands twice",
                                  axis->count ? "the block of axis" : "axis", axis->name);
    }
    return TRUE;
}

static gboolean
parse_axes(Parser *parser, GError **error)
{
    const gsize open = parser->at;
    parser->layout.any_order = peek(parser) == '{';
    const char close = parser->layout.any_order ? '}' : ']';
    parser->at++;
    for (;;) {
        skip_blanks(parser);
        if (parser->at == parser->end)
            return ct_layout_error_at(error, parser->text, open, "'%c' is never closed by '%c'",
                                      parser->text[open], close);
        if (peek(parser) == close)
            break;
        if (peek(parser) && strchr("[]{}", peek(parser)))
            return ct_layout_error_at(error, parser->text, parser->at,
                                      "'%c' is closed by '%c', but is given '%c'",
                                      parser->text[open], close, peek(parser));
        const gsize place = parser->at;
        CtLayoutAxis axis;
        if (!parse_axis(parser, &axis, error) || !check_axis_end(parser, error) ||
            !check_twice(parser, &axis, place, error))
            return FALSE;
        if (parser->layout.n_axes == CT_MAX_AXES)
            return ct_layout_error_at(error, parser->text, place,
                                      "a layout has %d axes at most, blocks included", CT_MAX_AXES);
        parser->place[parser->layout.n_axes] = place;
        parser->layout.axes[parser->layout.n_axes++] = axis;
    }
    if (parser->layout.n_axes == 0)
        return ct_layout_error_at(error, parser->text, parser->at,
                                  "wants at least one axis, or '...', between '%c' and '%c'",
                                  parser->text[open], close);
    parser->at++;
    return TRUE;
}

/* The checks that need all axes. */
static gboolean
check_axes(const Parser *parser, GError **error)
{
    const CtLayout *layout = &parser->layout;
    gboolean had_block = FALSE;
    for (guint a = 0; a < layout->n_axes; a++) {
        const char *name = layout->axes[a].name;
        const gsize place = parser->place[a];
        if (strcmp(name, "complex") == 0)
            for (CtType type = 1; type < CT_N_TYPES; type++)
                if (layout->types & 1u << type && ct_type_info(type)->is_complex)
                    return ct_layout_error_at(error, parser->text, place,
                                              "the axis 'complex' is for real types, but '%s' is "
                                              "complex already",
                                              ct_type_info(type)->name);
        if (layout->axes[a].count == 0) {
            if (had_block && layout->any_order)
                return ct_layout_error_at(error, parser->text, place,
                                          "between '{' and '}' blocks stand last, but '%s' stands "
                                          "behind one",
                                          name);
            continue;
        }
        had_block = TRUE;
        const gint whole = ct_layout_axis(layout, name);
        if (whole < 0)
            return ct_layout_error_at(error, parser->text, place,
                                      "a block of '%s' wants the axis '%s' itself to stand "
                                      "outside, left of it",
                                      name, name);
        if ((guint)whole > a)
            return ct_layout_error_at(error, parser->text, place,
                                      "the block of '%s' must stand inside, right of the axis "
                                      "'%s' itself",
                                      name, name);
    }
    return TRUE;
}

gboolean
ct_layout_parse_part(CtLayout *layout, const char *text, gsize begin, gsize end, GError **error)
{
    Parser parser = {.text = text, .at = begin, .end = end};
    skip_blanks(&parser);
    if (parser.at == parser.end)
        return ct_layout_error_at(error, text, parser.at,
                                  "the layout is empty: wants one like 'ci8[time station pol]'");
    if (!strchr("[{", peek(&parser)) && !parse_types(&parser, error))
        return FALSE;
    if (parser.at == parser.end || !strchr("[{", peek(&parser)))
        return wants(&parser, error, "'[' or '{' behind the types");
    if (!parse_axes(&parser, error))
        return FALSE;
    skip_blanks(&parser);
    if (parser.at < parser.end)
        return wants(&parser, error, "nothing behind the layout");
    if (!check_axes(&parser, error))
        return FALSE;
    *layout = parser.layout;
    return TRUE;
}

gboolean
ct_layout_parse(CtLayout *layout, const char *text, GError **error)
{
    return ct_layout_parse_part(layout, text, 0, strlen(text), error);
}
