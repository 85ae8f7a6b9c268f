/* SPDX-License-Identifier: BSD-3-Clause */
/* The names that a file and the copies of replicated stages see: of parameters, and of nodes. */
#include "expand-private.h"
#include "model/expression.h"
#include "model/suggest.h"

#include <cornerturn/error.h>
#include <string.h>

enum {
    MOST_BUSY = 64,        /* parameters that are made of one another */
    MOST = 4096,           /* nodes, and as many parameters */
    MOST_COPIES = 16384,   /* of replicated parts, and files */
    MOST_BYTES = 64 << 20, /* of all values that are made */
    BYTES_OF_VALUE = 64    /* besides its text */
};

CtLevel *
ct_level_new(CtExpander *expander, CtLevel *parent, const char *file)
{
    CtLevel *level = g_new0(CtLevel, 1);
    level->parent = parent;
    level->file = file;
    level->definitions = g_hash_table_new(g_str_hash, g_str_equal);
    level->nodes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    level->copies =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    g_ptr_array_add(expander->levels, level);
    return level;
}

void
ct_level_free(CtLevel *level)
{
    g_free(level->prefix);
    g_free(level->suffix);
    g_hash_table_unref(level->definitions);
    g_hash_table_unref(level->nodes);
    g_hash_table_unref(level->copies);
    g_free(level);
}

/* ---- parameters ---- */

/* Whether a level may see another definition; reports if not. */
static gboolean
check_new(CtExpander *expander, const CtLevel *level, const char *name, const CtPlace *place)
{
    const CtDefinition *other = ct_level_find(level, name);
    if (!other)
        return TRUE;
    g_autofree char *where = ct_place_to_string(&other->place);
    return ct_expand_blame(expander, place, "'%s' stands for two values; the first is at %s", name,
                           where);
}

/* The command line goes before the graph, and an including file before an included one. Whether
 * either sets a definition. */
static gboolean
take_setting(CtExpander *expander, const CtLevel *level, CtDefinition *definition)
{
    const CtValue *setting = level == expander->root
                                 ? g_hash_table_lookup(expander->settings, definition->name)
                             : level->settings ? ct_value_get(level->settings, definition->name)
                                               : NULL;
    if (!setting)
        return FALSE;
    definition->source = setting;
    definition->level = level->parent ? level->parent : expander->root;
    definition->is_watched = TRUE;
    if (level->parent)
        definition->place = setting->place;
    return TRUE;
}

CtDefinition *
ct_level_define(CtExpander *expander, CtLevel *level, const CtValue *key, const CtValue *source)
{
    if (!ct_expression_is_name(key->text) || g_str_equal(key->text, "here")) {
        ct_expand_blame(expander, &key->place,
                        "a parameter's name wants letters, digits and _, and no digit first%s, but "
                        "is given '%s'",
                        g_str_equal(key->text, "here") ? ", and not 'here', the file's folder" : "",
                        key->text);
        return NULL;
    }
    if (!check_new(expander, level, key->text, &key->place) ||
        !ct_expand_has_room(expander, &key->place))
        return NULL;
    CtDefinition *definition = g_new0(CtDefinition, 1);
    definition->name = g_strdup(key->text);
    definition->place = key->place;
    definition->source = source;
    definition->level = level;
    g_ptr_array_add(expander->definitions, definition);
    g_hash_table_insert(level->definitions, definition->name, definition);
    take_setting(expander, level, definition);
    return definition;
}

void
ct_level_export(CtExpander *expander, CtLevel *level, CtDefinition *definition)
{
    CtLevel *parent = level->parent;
    const gboolean is_set = level->settings && ct_value_get(level->settings, definition->name);
    if (!parent || is_set || level->prefix || level->sees_parent ||
        !check_new(expander, parent, definition->name, &definition->place))
        return;
    g_hash_table_insert(parent->definitions, definition->name, definition);
    take_setting(expander, parent, definition);
    ct_level_export(expander, parent, definition);
}

CtDefinition *
ct_level_find(const CtLevel *level, const char *name)
{
    for (; level; level = level->sees_parent ? level->parent : NULL) {
        CtDefinition *definition = g_hash_table_lookup(level->definitions, name);
        if (definition)
            return definition;
    }
    return NULL;
}

/* ---- expanding ---- */

static gint
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
ct_level_names(const CtLevel *level)
{
    GPtrArray *names = g_ptr_array_new();
    for (; level; level = level->sees_parent ? level->parent : NULL) {
        GHashTableIter at;
        gpointer key;
        g_hash_table_iter_init(&at, level->definitions);
        while (g_hash_table_iter_next(&at, &key, NULL))
            g_ptr_array_add(names, key);
    }
    g_ptr_array_sort(names, compare_names);
    return names;
}

static void
refuse_unknown(const CtLevel *level, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = ct_level_names(level);
    g_ptr_array_add(names, (gpointer) "here");
    g_autofree char *remark =
        ct_suggest_remark(name, (const char *const *)names->pdata, names->len, "there is");
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "there is no parameter '%s'%s", name, remark);
}

/* "'a' (g.yaml:2:3) -> 'b' (g.yaml:3:3) -> 'a'" */
static void
refuse_cycle(const CtExpander *expander, const CtDefinition *definition, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint first = 0;
    while (expander->busy->pdata[first] != definition)
        first++;
    for (guint i = first; i < expander->busy->len; i++) {
        const CtDefinition *step = expander->busy->pdata[i];
        g_autofree char *where = ct_place_to_string(&step->place);
        g_string_append_printf(text, "'%s' (%s) -> ", step->name, where);
    }
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "a parameter is made of itself: %s'%s'",
                text->str, definition->name);
}

typedef struct {
    CtExpander *expander;
    CtLevel *level;
} Scope;

/* What `here` stands for: the folder of the file in which it stands. */
static const CtValue *
find_here(const Scope *scope)
{
    const CtLevel *level = scope->level;
    while (level->sees_parent)
        level = level->parent;
    g_autofree char *folder = level->file ? g_path_get_dirname(level->file) : g_strdup(".");
    CtValue *here = ct_value_new_text(&(CtPlace){.file = "here"}, folder);
    g_ptr_array_add(scope->expander->values, here);
    return here;
}

static const CtValue *
find(gpointer data, const char *name, GError **error)
{
    const Scope *scope = data;
    CtExpander *expander = scope->expander;
    if (g_str_equal(name, "here"))
        return find_here(scope);
    CtDefinition *definition = ct_level_find(scope->level, name);
    if (!definition) {
        if (!expander->is_partial)
            refuse_unknown(scope->level, name, error);
        return NULL;
    }
    definition->is_used = TRUE;
    if (definition->is_busy)
        refuse_cycle(expander, definition, error);
    else if (expander->busy->len == MOST_BUSY) {
        expander->is_overflowing = TRUE;
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "parameters are made of one another more than %d times", MOST_BUSY);
    } else if (ct_definition_expand(expander, definition) && ct_value_is_nothing(definition->value))
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "parameter '%s' has no value: --set %s=… gives it one, or the including file",
                    name, name);
    else
        return definition->value;
    return NULL;
}

static gsize
count_bytes(const CtValue *value)
{
    gsize bytes = BYTES_OF_VALUE + (value->text ? strlen(value->text) : 0) +
                  (value->origin ? strlen(value->origin) : 0);
    for (guint i = 0; value->keys && i < value->keys->len; i++)
        bytes += count_bytes(value->keys->pdata[i]);
    for (guint i = 0; value->items && i < value->items->len; i++)
        bytes += count_bytes(value->items->pdata[i]);
    return bytes;
}

/* Counts the bytes of a new value. */
static gboolean
count(CtExpander *expander, const CtValue *value, const CtPlace *place)
{
    expander->bytes += count_bytes(value);
    if (expander->bytes > MOST_BYTES && !expander->is_overflowing) {
        expander->is_overflowing = TRUE;
        ct_expand_blame(expander, place, "the graph has more than %d MiB once it is expanded",
                        MOST_BYTES >> 20);
    }
    return !expander->is_overflowing;
}

static CtValue *
expand_scalar(CtExpander *expander, CtLevel *level, const CtValue *value, const char *who)
{
    Scope scope = {expander, level};
    GError *cause = NULL;
    g_autoptr(CtValue) expanded = ct_expression_expand(value, who, find, &scope, &cause);
    ct_errors_take(expander->errors, cause);
    return expanded && count(expander, expanded, &value->place) ? g_steal_pointer(&expanded) : NULL;
}

static CtValue *
expand(CtExpander *expander, CtLevel *level, const CtValue *value, const char *who)
{
    if (expander->is_overflowing)
        return NULL;
    if (value->kind == CT_VALUE_SCALAR)
        return expand_scalar(expander, level, value, who);
    CtValue *made = ct_value_new(value->kind, value->place);
    gboolean good = count(expander, made, &value->place);
    for (guint i = 0; i < value->items->len && !expander->is_overflowing; i++) {
        CtValue *item = expand(expander, level, value->items->pdata[i], who);
        good &= item != NULL;
        if (item && made->keys)
            g_ptr_array_add(made->keys, ct_value_copy(value->keys->pdata[i]));
        if (item)
            g_ptr_array_add(made->items, item);
    }
    if (good)
        return made;
    ct_value_free(made);
    return NULL;
}

CtValue *
ct_level_expand(CtExpander *expander, CtLevel *level, const CtValue *value, const char *node)
{
    g_autofree char *who = node ? g_strdup_printf("node '%s': ", node) : NULL;
    return expand(expander, level, value, who);
}

gboolean
ct_definition_expand(CtExpander *expander, CtDefinition *definition)
{
    if (definition->value || definition->has_failed)
        return definition->value != NULL;
    g_autofree char *who = g_strdup_printf("parameter '%s': ", definition->name);
    definition->is_busy = TRUE;
    g_ptr_array_add(expander->busy, definition);
    definition->value = expand(expander, definition->level, definition->source, who);
    g_ptr_array_set_size(expander->busy, (gint)expander->busy->len - 1);
    definition->is_busy = FALSE;
    definition->has_failed = definition->value == NULL;
    return definition->value != NULL;
}

/* ---- nodes ---- */

/* Lists a node among the copies that "BASE-*" names, and "BASE-0-*", for the tail "-0-1". */
static void
add_copy(CtLevel *level, const char *base, const char *tail, CtExpandNode *node)
{
    for (const char *dash = strchr(tail, '-'); dash; dash = strchr(dash + 1, '-')) {
        char *pattern = g_strdup_printf("%s%.*s-*", base, (gint)(dash - tail), tail);
        GPtrArray *copies = g_hash_table_lookup(level->copies, pattern);
        if (!copies) {
            copies = g_ptr_array_new();
            g_hash_table_insert(level->copies, g_strdup(pattern), copies);
        }
        g_ptr_array_add(copies, node);
        g_free(pattern);
    }
}

/* Lets a level and those around it see a node. */
static void
show_node(CtLevel *level, const char *key, CtExpandNode *node)
{
    g_autofree char *base = g_strdup(key);
    g_autofree char *tail = g_strdup("");
    for (; level; level = level->parent) {
        g_hash_table_insert(level->nodes, g_strconcat(base, tail, NULL), node);
        add_copy(level, base, tail, node);
        char *outer_base =
            level->prefix ? g_strconcat(level->prefix, "-", base, NULL) : g_strdup(base);
        char *outer_tail = g_strconcat(level->suffix ? level->suffix : "", tail, NULL);
        g_free(base);
        g_free(tail);
        base = outer_base;
        tail = outer_tail;
    }
}

/* The name of a node as the graph has it. */
static char *
whole_name(const CtLevel *level, const char *key)
{
    GString *base = g_string_new(key), *tail = g_string_new(NULL);
    for (; level; level = level->parent) {
        if (level->prefix)
            g_string_prepend(g_string_prepend_c(base, '-'), level->prefix);
        if (level->suffix)
            g_string_prepend(tail, level->suffix);
    }
    g_string_append(base, tail->str);
    g_string_free(tail, TRUE);
    return g_string_free(base, FALSE);
}

void
ct_level_add_node(CtExpander *expander, CtLevel *level, const CtValue *key, const CtValue *source)
{
    if (!ct_expand_has_room(expander, &key->place))
        return;
    g_autofree char *name = whole_name(level, key->text);
    const CtExpandNode *other = g_hash_table_lookup(expander->root->nodes, name);
    if (other) {
        g_autofree char *where = ct_place_to_string(&other->key->place);
        ct_expand_blame(expander, &key->place, "node '%s' stands twice; the first is at %s", name,
                        where);
        return;
    }
    CtExpandNode *node = g_new0(CtExpandNode, 1);
    node->source = source;
    node->level = level;
    node->key = ct_value_copy(key);
    g_free(node->key->text);
    node->key->text = g_steal_pointer(&name);
    g_ptr_array_add(expander->nodes, node);
    show_node(level, key->text, node);
}

gboolean
ct_expand_has_room(CtExpander *expander, const CtPlace *place)
{
    if (expander->is_overflowing)
        return FALSE;
    /* Each copy of a part may have an item. */
    const guint n_copies = expander->levels->len - 1;
    if (n_copies > MOST_COPIES) {
        expander->is_overflowing = TRUE;
        return ct_expand_blame(expander, place, "a graph wants at most %d copies of parts",
                               MOST_COPIES);
    }
    if (expander->nodes->len < MOST && expander->definitions->len < MOST + n_copies)
        return TRUE;
    expander->is_overflowing = TRUE;
    return ct_expand_blame(expander, place,
                           "a graph wants at most %d stages and %d parameters, but has more", MOST,
                           MOST);
}
