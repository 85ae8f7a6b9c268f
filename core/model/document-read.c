/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads YAML as a tree of values. */
#include "document.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

enum {
    DEEPEST = 32,              /* nesting; a graph needs four or five */
    MOST_COPIED = 100000,      /* values that anchors, aliases and merge keys stand for */
    LARGEST = 16 * 1024 * 1024 /* bytes of a file */
};

typedef struct {
    yaml_parser_t parser;
    const char *name; /* interned */
    const char *text;
    gsize length;
    gboolean without_lines;
    GHashTable *anchors; /* char → Anchor */
    guint n_copied;
} Reader;

/* A value that aliases stand for. */
typedef struct {
    CtValue *value;
    guint n_values, height;
} Anchor;

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

/* ---- anchors and aliases ---- */

static void
anchor_free(gpointer item)
{
    Anchor *anchor = item;
    ct_value_free(anchor->value);
    g_free(anchor);
}

static guint
count_values(const CtValue *value)
{
    guint n = 1;
    for (guint i = 0; value->items && i < value->items->len; i++)
        n += count_values(value->items->pdata[i]);
    return n;
}

static guint
find_height(const CtValue *value)
{
    guint height = 0;
    for (guint i = 0; value->items && i < value->items->len; i++)
        height = MAX(height, 1 + find_height(value->items->pdata[i]));
    return height;
}

/* Counts values that are copied. */
static gboolean
count_copied(Reader *reader, const CtPlace *place, guint n, GError **error)
{
    reader->n_copied += n;
    return reader->n_copied <= MOST_COPIED ||
           ct_place_error(place, CT_ERROR_CONFIG, error,
                          "anchors, aliases and merge keys stand for more than %d values",
                          MOST_COPIED);
}

static gboolean
keep_anchor(Reader *reader, const yaml_char_t *name, const CtValue *value, GError **error)
{
    const guint n_values = count_values(value);
    if (!count_copied(reader, &value->place, n_values, error))
        return FALSE;
    Anchor *anchor = g_new(Anchor, 1);
    *anchor = (Anchor){ct_value_copy(value), n_values, find_height(value)};
    g_hash_table_replace(reader->anchors, g_strdup((const char *)name), anchor);
    return TRUE;
}

/* The value of an alias has the place where it is written. */
static CtValue *
read_alias(Reader *reader, const yaml_event_t *event, guint depth, GError **error)
{
    const CtPlace place = mark_place(reader, event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    const Anchor *anchor = g_hash_table_lookup(reader->anchors, name);
    if (!anchor) {
        ct_place_error(&place, CT_ERROR_CONFIG, error,
                       "alias '*%s' wants a value that is marked by '&%s' and ends before it", name,
                       name);
        return NULL;
    }
    if (depth + anchor->height > DEEPEST) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "nested more than %d deep", DEEPEST);
        return NULL;
    }
    return count_copied(reader, &place, anchor->n_values, error) ? ct_value_copy(anchor->value)
                                                                 : NULL;
}

/* Adds the keys of `from` that `mapping` does not have; `seen` has those that it has. */
static gboolean
merge(Reader *reader, CtValue *mapping, GHashTable *seen, const CtValue *from, GError **error)
{
    for (guint i = 0; from->kind == CT_VALUE_LIST && i < from->items->len; i++) {
        const CtValue *item = from->items->pdata[i];
        if (item->kind == CT_VALUE_LIST)
            return ct_place_error(&item->place, CT_ERROR_CONFIG, error,
                                  "'<<' wants mappings, but is given a list within a list");
        if (!merge(reader, mapping, seen, item, error))
            return FALSE;
    }
    if (from->kind == CT_VALUE_SCALAR) {
        g_autofree char *given = ct_value_describe(from);
        return ct_place_error(&from->place, CT_ERROR_CONFIG, error,
                              "'<<' wants a mapping, or a list of mappings, but is given %s",
                              given);
    }
    for (guint i = 0; from->kind == CT_VALUE_MAPPING && i < from->keys->len; i++) {
        const CtValue *key = from->keys->pdata[i], *item = from->items->pdata[i];
        if (g_hash_table_contains(seen, key->text))
            continue;
        if (!count_copied(reader, &from->place, count_values(item), error))
            return FALSE;
        CtValue *copy = ct_value_copy(key);
        g_hash_table_insert(seen, copy->text, copy);
        g_ptr_array_add(mapping->keys, copy);
        g_ptr_array_add(mapping->items, ct_value_copy(item));
    }
    return TRUE;
}

/* ---- values of a document ---- */

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
    CtValue *value = ct_value_new(CT_VALUE_SCALAR, place);
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
    g_autoptr(CtValue) list = ct_value_new(CT_VALUE_LIST, mark_place(reader, start->start_mark));
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
    g_autoptr(CtValue) mapping =
        ct_value_new(CT_VALUE_MAPPING, mark_place(reader, start->start_mark));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(CtValue) merged_key = NULL;
    g_autoptr(CtValue) merged = NULL;
    while (TRUE) {
        g_auto(yaml_event_t) event = {0};
        if (!next_event(reader, &event, error))
            return NULL;
        if (event.type == YAML_MAPPING_END_EVENT)
            return !merged || merge(reader, mapping, seen, merged, error)
                       ? g_steal_pointer(&mapping)
                       : NULL;
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
        if (!key->quoted && g_str_equal(key->text, "<<")) {
            merged_key = g_steal_pointer(&key);
            merged = item;
            continue;
        }
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
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(reader, event, depth, error);
    if (tag) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "tags (%s) are not taken", tag);
        return NULL;
    }
    if (depth > DEEPEST) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "nested more than %d deep", DEEPEST);
        return NULL;
    }
    CtValue *value =
        event->type == YAML_SEQUENCE_START_EVENT  ? read_list(reader, event, depth, error)
        : event->type == YAML_MAPPING_START_EVENT ? read_mapping(reader, event, depth, error)
                                                  : read_scalar(reader, event, error);
    if (!value || !anchor || keep_anchor(reader, anchor, value, error))
        return value;
    ct_value_free(value);
    return NULL;
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
            CtValue *nothing = ct_value_new(CT_VALUE_SCALAR, place);
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
    reader->anchors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, anchor_free);
    CtValue *value = read_document(reader, error);
    g_hash_table_unref(reader->anchors);
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
