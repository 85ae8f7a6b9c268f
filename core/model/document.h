/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML as a tree of scalars, lists and mappings; each value has its place in the file. */
#pragma once

#include <glib.h>

/* A place in a file. If `line` is 0, only the name is shown. */
typedef struct {
    const char *file;   /* interned */
    guint line, column; /* from 1; columns count characters */
} CtPlace;

/* A text for people: valid UTF-8, in which control characters are written as "\\n" or "\\x1b". A
 * line feed before two spaces stays: it is one of ours, for the text goes on below. Allocated. */
char *ct_text_escape(const char *text);
/* "FILE:LINE:COLUMN" */
char *ct_place_to_string(const CtPlace *place);
/* Sets `error` (domain CT_ERROR) to "FILE:LINE:COLUMN: …", escaped; returns FALSE. */
gboolean ct_place_error(const CtPlace *place, int code, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

typedef enum { CT_VALUE_SCALAR, CT_VALUE_LIST, CT_VALUE_MAPPING } CtValueKind;

/* A value owns its children; the caller of the parser owns the root. */
typedef struct CtValue CtValue;
struct CtValue {
    CtValueKind kind;
    CtPlace place;
    char *text;      /* of a scalar; valid UTF-8 without NUL */
    gboolean quoted; /* a quoted scalar or a block scalar: never read as nothing */
    gint8 inset;     /* characters from the place to the text; −1: the file spells it otherwise */
    char *origin;    /* of a scalar: the text with expressions of which it was made; NULL: none */
    GPtrArray *keys; /* of a mapping: scalars, all different */
    GPtrArray *items; /* of a list or mapping */
};

/* Parses one document. `name` stands for the file in places. `length` −1: the text ends with a
 * NUL. */
CtValue *ct_value_parse(const char *text, gssize length, const char *name, GError **error);
/* Parses a command's argument or a default. Its places show `name` alone, without line numbers. */
CtValue *ct_value_parse_short(const char *text, const char *name, GError **error);
/* The bytes of a file, as ct_value_load reads it. */
GByteArray *ct_document_read(const char *path, GError **error);
CtValue *ct_value_load(const char *path, GError **error);
/* An empty value; a scalar has no text yet. */
CtValue *ct_value_new(CtValueKind kind, CtPlace place);
/* A scalar that is treated as quoted. */
CtValue *ct_value_new_text(const CtPlace *place, const char *text);
CtValue *ct_value_copy(const CtValue *value);
void ct_value_free(CtValue *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtValue, ct_value_free)

/* Whether the value is an unquoted scalar that is empty, `~` or `null`. */
gboolean ct_value_is_nothing(const CtValue *value);
/* The item of a mapping under `key`; NULL if there is none. */
CtValue *ct_value_get(const CtValue *mapping, const char *key);
/* Sets the item under `key`: replaces the old one, or appends. The mapping takes `item`. */
void ct_value_set(CtValue *mapping, const char *key, CtValue *item);
/* The value in YAML, on one line; allocated. */
char *ct_value_to_text(const CtValue *value);
/* "'many'", "a list of 3", "a mapping", "nothing": for messages. Allocated. */
char *ct_value_describe(const CtValue *value);
