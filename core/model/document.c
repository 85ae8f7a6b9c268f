/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML as a tree of scalars, lists and mappings; each value has its place in the file. */
#include "document.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

enum {
    DEEPEST = 32,              /* nesting; a graph needs four or five */
    LARGEST = 16 * 1024 * 1024 /* bytes of a file */
};

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
    g_set_error(error, CT_ERROR, code, "%s: %s", where, message);
    return FALSE;
}

/* ---- values ---- */

static CtValue *
value_new(CtValueKind kind, CtPlace place)
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
    CtValue *copy = value_new(value->kind, value->place);
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
ct_value_new_mapping(const CtPlace *place)
{
    return value_new(CT_VALUE_MAPPING, *place);
}

CtValue *
ct_value_new_list(const CtPlace *place)
{
    return value_new(CT_VALUE_LIST, *place);
}

CtValue *
ct_value_new_like(const CtValue *value)
{
    return value_new(value->kind, value->place);
}

CtValue *
ct_value_new_text(const CtPlace *place, const char *text)
{
    CtValue *value = value_new(CT_VALUE_SCALAR, *place);
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
    CtValue *name = value_new(CT_VALUE_SCALAR, item->place);
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

/* ---- parsing ---- */

typedef struct {
    yaml_parser_t parser;
    const char *name; /* interned */
    const char *text;
    gsize length;
    gboolean without_lines;
} Reader;

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(yaml_event_t, yaml_event_delete)

static CtPlace
mark_place(const Reader *reader, yaml_mark_t mark)
{
    if (reader->without_lines)
        return (CtPlace){reader->name, 0, 0};
    return (CtPlace){reader->name, mark.line + 1, mark.column + 1};
}

/* The place of a byte: libyaml gives no mark for text that it cannot decode. */
static CtPlace
offset_place(const Reader *reader, gsize offset)
{
    if (reader->without_lines)
        return (CtPlace){reader->name, 0, 0};
    CtPlace place = {reader->name, 1, 1};
    for (gsize i = 0; i < MIN(offset, reader->length); i++) {
        const guint8 byte = reader->text[i];
        if (byte == '\n') {
            place.line++;
            place.column = 1;
        } else if ((byte & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

/* Whether the text at a mark, which counts characters, is `what`, which ends at the mark's
 * character. */
static gboolean
ends_at(const Reader *reader, yaml_mark_t mark, const char *what)
{
    const gsize n = strlen(what);
    gsize n_before = 0;
    for (gsize i = 0; i < reader->length; i++)
        if ((reader->text[i] & 0xc0) != 0x80 && n_before++ == mark.index)
            return i + 1 >= n && memcmp(reader->text + i + 1 - n, what, n) == 0;
    return FALSE;
}

static gboolean
next_event(Reader *reader, yaml_event_t *event, GError **error)
{
    yaml_parser_t *parser = &reader->parser;
    if (yaml_parser_parse(parser, event))
        return TRUE;
    if (parser->error == YAML_MEMORY_ERROR) {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_MEMORY, "no memory to parse YAML");
        return FALSE;
    }
    const char *problem = parser->problem ? parser->problem : "it cannot be parsed";
    if (parser->error == YAML_READER_ERROR) {
        const CtPlace place = offset_place(reader, parser->problem_offset);
        if (parser->problem_value >= 0)
            return ct_place_error(&place, CT_ERROR_CONFIG, error, "not text: %s (0x%02x)", problem,
                                  parser->problem_value);
        return ct_place_error(&place, CT_ERROR_CONFIG, error, "not text: %s", problem);
    }
    const CtPlace place = mark_place(reader, parser->problem_mark);
    const gboolean is_tab = parser->error == YAML_SCANNER_ERROR &&
                            parser->buffer.pointer < parser->buffer.last &&
                            *parser->buffer.pointer == '\t';
    /* `{ layout: ci8[time] }`, `{ length: ${n} }`: the text ends where the bracket begins. */
    const gboolean is_bracket =
        parser->error == YAML_PARSER_ERROR &&
        (ends_at(reader, parser->problem_mark, "[") || ends_at(reader, parser->problem_mark, "${"));
    const char *hint = is_tab ? ": YAML indents by spaces, not by tabs"
                       : is_bracket
                           ? ": a text with brackets or braces stands in quotation marks here"
                           : "";
    if (!parser->context)
        return ct_place_error(&place, CT_ERROR_CONFIG, error, "not YAML: %s%s", problem, hint);
    g_autofree char *begin = NULL;
    if (parser->context_mark.line != parser->problem_mark.line && !reader->without_lines)
        begin = g_strdup_printf(" that begins in line %zu", parser->context_mark.line + 1);
    return ct_place_error(&place, CT_ERROR_CONFIG, error, "not YAML: %s%s, %s%s", parser->context,
                          begin ? begin : "", problem, hint);
}

static CtValue *read_value(Reader *reader, const yaml_event_t *event, guint depth, GError **error);

static CtValue *
read_next_value(Reader *reader, guint depth, GError **error)
{
    g_auto(yaml_event_t) event = {0};
    if (!next_event(reader, &event, error))
        return NULL;
    return read_value(reader, &event, depth, error);
}

static CtValue *
read_scalar(Reader *reader, const yaml_event_t *event, GError **error)
{
    const CtPlace place = mark_place(reader, event->start_mark);
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "a text cannot hold a NUL character");
        return NULL;
    }
    CtValue *value = value_new(CT_VALUE_SCALAR, place);
    value->text = g_strdup(text);
    value->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    const gsize spelled = event->end_mark.index - event->start_mark.index;
    const gsize quotes = value->quoted ? 2 : 0;
    value->inset = spelled == (gsize)g_utf8_strlen(text, -1) + quotes ? (gint8)(quotes / 2) : -1;
    return value;
}

static CtValue *
read_list(Reader *reader, const yaml_event_t *start, guint depth, GError **error)
{
    g_autoptr(CtValue) list = value_new(CT_VALUE_LIST, mark_place(reader, start->start_mark));
    while (TRUE) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(reader, &event, error))
            return NULL;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return g_steal_pointer(&list);
        CtValue *item = read_value(reader, &event, depth + 1, error);
        if (!item)
            return NULL;
        g_ptr_array_add(list->items, item);
    }
}

static CtValue *
read_mapping(Reader *reader, const yaml_event_t *start, guint depth, GError **error)
{
    g_autoptr(CtValue) mapping = value_new(CT_VALUE_MAPPING, mark_place(reader, start->start_mark));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    while (TRUE) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(reader, &event, error))
            return NULL;
        if (event.type == YAML_MAPPING_END_EVENT)
            return g_steal_pointer(&mapping);
        g_autoptr(CtValue) key = read_value(reader, &event, depth + 1, error);
        if (!key)
            return NULL;
        if (key->kind != CT_VALUE_SCALAR || ct_value_is_nothing(key)) {
            g_autofree char *given = ct_value_describe(key);
            ct_place_error(&key->place, CT_ERROR_CONFIG, error,
                           "a key wants to be a name, but is given %s", given);
            return NULL;
        }
        const CtValue *first = g_hash_table_lookup(seen, key->text);
        if (first) {
            ct_place_error(&key->place, CT_ERROR_CONFIG, error,
                           "key '%s' stands twice, first in line %u", key->text, first->place.line);
            return NULL;
        }
        CtValue *item = read_next_value(reader, depth + 1, error);
        if (!item)
            return NULL;
        g_hash_table_insert(seen, key->text, key);
        g_ptr_array_add(mapping->keys, g_steal_pointer(&key));
        g_ptr_array_add(mapping->items, item);
    }
}

static CtValue *
read_value(Reader *reader, const yaml_event_t *event, guint depth, GError **error)
{
    const CtPlace place = mark_place(reader, event->start_mark);
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor || event->type == YAML_ALIAS_EVENT) {
        ct_place_error(&place, CT_ERROR_CONFIG, error,
                       "anchors and aliases (%c%s) are not taken: write the value where it is used",
                       anchor ? '&' : '*',
                       anchor ? (const char *)anchor : (const char *)event->data.alias.anchor);
        return NULL;
    }
    if (tag) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "tags (%s) are not taken", tag);
        return NULL;
    }
    if (depth > DEEPEST) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "nested more than %d deep", DEEPEST);
        return NULL;
    }
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return read_list(reader, event, depth, error);
    if (event->type == YAML_MAPPING_START_EVENT)
        return read_mapping(reader, event, depth, error);
    return read_scalar(reader, event, error);
}

/* Reads the one value of a stream of one document. */
static CtValue *
read_document(Reader *reader, GError **error)
{
    for (guint i = 0; i < 2; i++) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(reader, &event, error))
            return NULL;
        if (event.type == YAML_STREAM_END_EVENT) {
            const CtPlace place = offset_place(reader, 0);
            CtValue *nothing = value_new(CT_VALUE_SCALAR, place);
            nothing->text = g_strdup("");
            return nothing;
        }
    }
    g_autoptr(CtValue) value = read_next_value(reader, 0, error);
    if (!value)
        return NULL;
    for (guint i = 0; i < 2; i++) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(reader, &event, error))
            return NULL;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            const CtPlace place = mark_place(reader, event.start_mark);
            ct_place_error(&place, CT_ERROR_CONFIG, error, "a second document begins here");
            return NULL;
        }
    }
    return g_steal_pointer(&value);
}

static CtValue *
parse(Reader *reader, GError **error)
{
    if (reader->length > LARGEST) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s: wants at most %d bytes, but has more",
                    reader->name, LARGEST);
        return NULL;
    }
    if (!yaml_parser_initialize(&reader->parser)) {
        g_set_error_literal(error, CT_ERROR, CT_ERROR_MEMORY, "no memory to parse YAML");
        return NULL;
    }
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const guint8 *)reader->text, reader->length);
    CtValue *value = read_document(reader, error);
    yaml_parser_delete(&reader->parser);
    return value;
}

CtValue *
ct_value_parse(const char *text, gssize length, const char *name, GError **error)
{
    Reader reader = {
        .name = g_intern_string(name),
        .text = text,
        .length = length < 0 ? strlen(text) : (gsize)length,
    };
    return parse(&reader, error);
}

CtValue *
ct_value_parse_short(const char *text, const char *name, GError **error)
{
    Reader reader = {
        .name = g_intern_string(name),
        .text = text,
        .length = strlen(text),
        .without_lines = TRUE,
    };
    return parse(&reader, error);
}

/* Opening a FIFO may block as long as reading it does, and a signal may interrupt either. */
static int
open_file(const char *path)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static gssize
read_piece(int fd, guint8 *piece, gsize bytes)
{
    gssize n;
    do
        n = read(fd, piece, bytes);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Reads a file of any kind, up to the largest size of a graph. */
GByteArray *
ct_document_read(const char *path, GError **error)
{
    const int fd = open_file(path);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    guint8 piece[16384];
    gssize n = fd < 0 ? -1 : 1;
    while (n > 0 && bytes->len <= LARGEST) {
        n = read_piece(fd, piece, sizeof piece);
        if (n > 0)
            g_byte_array_append(bytes, piece, n);
    }
    const int code = errno;
    if (fd >= 0)
        close(fd);
    if (n >= 0)
        return g_steal_pointer(&bytes);
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: cannot be read: %s", path, g_strerror(code));
    return NULL;
}

CtValue *
ct_value_load(const char *path, GError **error)
{
    g_autoptr(GByteArray) bytes = ct_document_read(path, error);
    if (!bytes)
        return NULL;
    /* libyaml needs a text, even an empty one. */
    return ct_value_parse(bytes->data ? (const char *)bytes->data : "", bytes->len, path, error);
}
