/* SPDX-License-Identifier: BSD-3-Clause */
/* Included files. */
#include "expand-private.h"

#include <cornerturn/error.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    DEEPEST = 16, /* files within one another */
    MOST = 256,   /* included files */
    MOST_BYTES = 16 << 20
};

char *
ct_expand_real_name(const char *path)
{
    char *real = realpath(path, NULL);
    char *name = real ? g_strdup(real) : g_canonicalize_filename(path, NULL);
    free(real);
    return name;
}

/* What an include asks for; its values belong to the including file. */
typedef struct {
    const CtValue *file, *settings, *prefix;
} Include;

static gboolean
is_text(const CtValue *value)
{
    return value && value->kind == CT_VALUE_SCALAR && !ct_value_is_nothing(value) &&
           *value->text != '\0';
}

static gboolean
is_prefix(const CtValue *value)
{
    return is_text(value) && (g_ascii_isalpha(*value->text) || *value->text == '_') &&
           value->text[strspn(value->text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-")] == '\0';
}

static gboolean
refuse_key(CtExpander *expander, const CtValue *value, const char *key, const char *wanted)
{
    g_autofree char *given = ct_value_describe(value);
    return ct_expand_blame(expander, &value->place, "'%s' of 'include' wants %s, but is given %s",
                           key, wanted, given);
}

static gboolean
read_include(CtExpander *expander, const CtValue *value, Include *include)
{
    static const char *const keys[] = {"file", "parameters", "prefix"};
    *include = (Include){.file = value};
    if (value->kind == CT_VALUE_MAPPING) {
        if (!ct_expand_check_keys(expander, value, "'include' has no key", keys,
                                  G_N_ELEMENTS(keys)))
            return FALSE;
        *include = (Include){ct_value_get(value, "file"), ct_value_get(value, "parameters"),
                             ct_value_get(value, "prefix")};
        if (!include->file)
            return ct_expand_blame(expander, &value->place, "'include' wants the key 'file'");
        if (!is_text(include->file))
            return refuse_key(expander, include->file, "file", "a path");
        if (include->settings && include->settings->kind != CT_VALUE_MAPPING)
            return refuse_key(expander, include->settings, "parameters",
                              "a mapping from names to values");
        return !include->prefix || is_prefix(include->prefix) ||
               refuse_key(expander, include->prefix, "prefix",
                          "letters, digits, _ and -, and no digit first");
    }
    if (is_text(value))
        return TRUE;
    g_autofree char *given = ct_value_describe(value);
    return ct_expand_blame(expander, &value->place,
                           "'include' wants a file, or { file: PATH, parameters: { … }, prefix: "
                           "NAME }, but is given %s",
                           given);
}

/* The path of a file that another one includes: relative to that one. */
static char *
find_path(CtLevel *level, const char *file)
{
    while (level->sees_parent)
        level = level->parent;
    g_autofree char *folder = level->file ? g_path_get_dirname(level->file) : g_strdup(".");
    return g_path_is_absolute(file) || g_str_equal(folder, ".")
               ? g_strdup(file)
               : g_build_filename(folder, file, NULL);
}

/* Whether the file may be read: it is not being read, and there are not too many. */
static gboolean
check_open(CtExpander *expander, const CtPlace *place, const char *real)
{
    for (guint i = 0; i < expander->open->len; i++) {
        if (!g_str_equal(expander->open->pdata[i], real))
            continue;
        g_autoptr(GString) chain = g_string_new(NULL);
        for (guint k = i; k < expander->open->len; k++)
            g_string_append_printf(chain, "%s -> ", (const char *)expander->open->pdata[k]);
        return ct_expand_blame(expander, place, "a file includes itself: %s%s", chain->str, real);
    }
    if (expander->open->len > DEEPEST)
        return ct_expand_blame(expander, place, "files include one another more than %d deep",
                               DEEPEST);
    if (expander->result->files->len < MOST)
        return TRUE;
    expander->is_overflowing = TRUE;
    return ct_expand_blame(expander, place, "a graph wants at most %d included files", MOST);
}

/* The value of an included file; its text is kept. NULL: its fault is reported. */
static const CtValue *
load(CtExpander *expander, const CtPlace *place, const char *path)
{
    GError *cause = NULL;
    struct stat status;
    /* Another process may never write to a pipe. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        ct_expand_blame(expander, place, "'include': %s: is no regular file", path);
        return NULL;
    }
    g_autoptr(GByteArray) bytes = ct_document_read(path, &cause);
    if (!bytes) {
        ct_expand_blame(expander, place, "'include': %s", cause->message);
        g_error_free(cause);
        return NULL;
    }
    if (expander->result->texts->len + bytes->len > MOST_BYTES) {
        expander->is_overflowing = TRUE;
        ct_expand_blame(expander, place, "a graph wants at most %d MiB of included files",
                        MOST_BYTES >> 20);
        return NULL;
    }
    const char *text = bytes->data ? (const char *)bytes->data : "";
    CtValue *top = ct_value_parse(text, bytes->len, path, &cause);
    ct_errors_take(expander->errors, cause);
    if (!top)
        return NULL;
    g_ptr_array_add(expander->values, top);
    g_string_append_printf(expander->result->texts, "%s--- # %s\n",
                           expander->result->texts->len == 0 ? "\n" : "", path);
    g_string_append_len(expander->result->texts, text, bytes->len);
    if (top->kind == CT_VALUE_MAPPING)
        return top;
    g_autofree char *given = ct_value_describe(top);
    ct_expand_blame(expander, &top->place,
                    "wants a part of a graph: { stages: … }, but is given %s", given);
    return NULL;
}

/* FALSE: the fault is reported. */
static gboolean
expand_include(CtExpander *expander, CtLevel *level, const CtValue *value)
{
    Include include;
    if (expander->is_overflowing || !read_include(expander, value, &include))
        return FALSE;
    g_autoptr(CtValue) file = ct_level_expand(expander, level, include.file, NULL);
    if (!file)
        return FALSE;
    if (!is_text(file)) {
        g_autofree char *given = ct_value_describe(file);
        ct_expand_blame(expander, &include.file->place, "'include' wants a path, but is given %s",
                        given);
        return FALSE;
    }
    char *path = find_path(level, file->text);
    g_autofree char *real = ct_expand_real_name(path);
    const CtPlace *place = &include.file->place;
    if (!check_open(expander, place, real)) {
        g_free(path);
        return FALSE;
    }
    g_ptr_array_add(expander->result->files, path);
    const CtValue *top = load(expander, place, path);
    if (!top)
        return FALSE;
    CtLevel *included = ct_level_new(expander, level, path);
    included->settings = include.settings;
    included->prefix = include.prefix ? g_strdup(include.prefix->text) : NULL;
    g_ptr_array_add(expander->open, g_steal_pointer(&real));
    ct_expand_file(expander, included, top);
    g_ptr_array_set_size(expander->open, (gint)expander->open->len - 1);
    return TRUE;
}

void
ct_expand_includes(CtExpander *expander, CtLevel *level, const CtValue *value)
{
    if (value->kind != CT_VALUE_LIST)
        expander->is_partial |= !expand_include(expander, level, value);
    for (guint i = 0; value->kind == CT_VALUE_LIST && i < value->items->len; i++)
        expander->is_partial |= !expand_include(expander, level, value->items->pdata[i]);
}
