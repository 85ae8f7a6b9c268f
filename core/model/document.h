/* SPDX-License-Identifier: BSD-3-Clause */
/* YAML as written: a tree of scalars, lists and mappings, each with its place. */
#pragma once

#include <glib.h>

/* Where something stands in a file; `line` 0: the name alone says it all. */
typedef struct {
    const char *file;   /* interned */
    guint line, column; /* from 1; columns count characters */
} CtPlace;

/* "FILE:LINE:COLUMN" */
char *ct_place_to_string(const CtPlace *place);
/* Sets `error` (domain CT_ERROR) to "FILE:LINE:COLUMN: …"; returns FALSE. */
gboolean ct_place_error(const CtPlace *place, int code, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

typedef enum { CT_VALUE_SCALAR, CT_VALUE_LIST, CT_VALUE_MAPPING } CtValueKind;

/* A parent owns its children; the root belongs to whoever parsed it. */
typedef struct CtValue CtValue;
struct CtValue {
    CtValueKind kind;
    CtPlace place;
    char *text;       /* of a scalar; valid UTF-8 without NUL */
    gboolean quoted;  /* a scalar in quotes, or a block scalar: never a number or nothing */
    GPtrArray *keys;  /* of a mapping: scalars, each name once */
    GPtrArray *items; /* of a list or mapping */
};

/* Parses one document. `name` stands for the file in places; `length` −1: up to the NUL. */
CtValue *ct_value_parse(const char *text, gssize length, const char *name, GError **error);
/* A command's argument or a default: its places are `name` alone, lines would say nothing. */
CtValue *ct_value_parse_short(const char *text, const char *name, GError **error);
CtValue *ct_value_load(const char *path, GError **error);
CtValue *ct_value_new_mapping(const CtPlace *place);
/* A scalar as if in quotes. */
CtValue *ct_value_new_text(const CtPlace *place, const char *text);
CtValue *ct_value_copy(const CtValue *value);
void ct_value_free(CtValue *value);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtValue, ct_value_free)

/* An unquoted scalar that is empty, `~` or `null`. */
gboolean ct_value_is_nothing(const CtValue *value);
/* The item of a mapping under `key`, NULL where there is none. */
CtValue *ct_value_get(const CtValue *mapping, const char *key);
/* The key itself, for its place; NULL where there is none. */
/* Puts `item`, which the mapping then owns, in the place of what stands under `key`, or last. */
void ct_value_set(CtValue *mapping, const char *key, CtValue *item);
/* "'many'", "a list", "a mapping", "nothing": for messages. */
char *ct_value_describe(const CtValue *value);
