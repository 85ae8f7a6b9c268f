/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a graph of plain keys: parameters and expressions, settings of the command line, links. */
#include "expand-private.h"
#include "model/expression.h"
#include "model/suggest.h"
#include "model/warning.h"

#include <cornerturn/error.h>
#include <string.h>

gboolean
ct_expand_blame(CtExpander *expander, const CtPlace *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    GError *error = NULL;
    ct_place_error(place, CT_ERROR_CONFIG, &error, "%s", message);
    ct_errors_take(expander->errors, error);
    return FALSE;
}

gboolean
ct_expand_check_keys(CtExpander *expander, const CtValue *mapping, const char *of,
                     const char *const *names, guint n)
{
    gboolean good = TRUE;
    for (guint i = 0; i < mapping->keys->len; i++) {
        const CtValue *key = mapping->keys->pdata[i];
        guint k = 0;
        while (k < n && !g_str_equal(names[k], key->text))
            k++;
        if (k < n)
            continue;
        g_autofree char *remark = ct_suggest_remark(key->text, names, n, "it has");
        good = ct_expand_blame(expander, &key->place, "%s '%s'%s", of, key->text, remark);
    }
    return good;
}

void
ct_expansion_free(CtExpansion *expansion)
{
    if (!expansion)
        return;
    ct_value_free(expansion->top);
    g_ptr_array_unref(expansion->files);
    g_string_free(expansion->texts, TRUE);
    g_ptr_array_unref(expansion->warnings);
    g_free(expansion);
}

static void
definition_free(gpointer item)
{
    CtDefinition *definition = item;
    g_free(definition->name);
    ct_value_free(definition->value);
    g_free(definition);
}

static void
node_free(gpointer item)
{
    CtExpandNode *node = item;
    ct_value_free(node->key);
    ct_value_free(node->overrides);
    g_free(node);
}

static void
expander_clear(CtExpander *expander)
{
    g_ptr_array_unref(expander->nodes);
    g_ptr_array_unref(expander->definitions);
    g_ptr_array_unref(expander->levels);
    g_ptr_array_unref(expander->values);
    g_ptr_array_unref(expander->busy);
    g_ptr_array_unref(expander->open);
    g_hash_table_unref(expander->settings);
    g_hash_table_unref(expander->keys);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtExpander, expander_clear)

/* ---- the command line ---- */

CtValue *
ct_assignment_parse(const char *assignment, const char *name, char **node, char **key,
                    GError **error)
{
    const CtPlace place = {g_intern_string(name), 0, 0};
    const char *equals = strchr(assignment, '=');
    const char *dot = equals ? memchr(assignment, '.', equals - assignment) : NULL;
    if (!dot || dot == assignment || dot + 1 == equals) {
        ct_place_error(&place, CT_ERROR_CONFIG, error, "wants node.parameter=value");
        return NULL;
    }
    CtValue *value = ct_value_parse_short(equals + 1, name, error);
    if (!value)
        return NULL;
    *node = g_strndup(assignment, dot - assignment);
    *key = g_strndup(dot + 1, equals - dot - 1);
    return value;
}

/* Whether a setting is "name=value", for a parameter of the graph. */
static gboolean
is_of_graph(const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    return equals && equals != assignment && !memchr(assignment, '.', equals - assignment);
}

/* Reads the settings of the graph's parameters; they go before what its files say. */
static void
read_settings(CtExpander *expander, const char *const *overrides)
{
    for (guint i = 0; overrides && overrides[i]; i++) {
        if (!is_of_graph(overrides[i]))
            continue;
        g_autofree char *place = g_strconcat("--set ", overrides[i], NULL);
        const char *equals = strchr(overrides[i], '=');
        GError *cause = NULL;
        CtValue *value = ct_value_parse_short(equals + 1, place, &cause);
        ct_errors_take(expander->errors, cause);
        if (value) {
            g_ptr_array_add(expander->values, value);
            g_hash_table_insert(expander->settings, g_strndup(overrides[i], equals - overrides[i]),
                                value);
        }
    }
}

/* Reports settings of parameters that the graph does not have. */
static void
check_settings(CtExpander *expander)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GHashTableIter at;
    gpointer key, value;
    g_hash_table_iter_init(&at, expander->root->definitions);
    while (g_hash_table_iter_next(&at, &key, NULL))
        g_ptr_array_add(names, key);
    g_hash_table_iter_init(&at, expander->settings);
    while (g_hash_table_iter_next(&at, &key, &value)) {
        if (g_hash_table_contains(expander->root->definitions, key))
            continue;
        g_autofree char *remark =
            ct_suggest_remark(key, (const char *const *)names->pdata, names->len, NULL);
        ct_expand_blame(expander, &((const CtValue *)value)->place,
                        "the graph has no parameter '%s'%s", (const char *)key,
                        *remark ? remark : "; node.parameter=value sets that of a node");
    }
}

static void
refuse_node(CtExpander *expander, const CtPlace *place, const char *name)
{
    g_autofree const char **names = g_new(const char *, expander->nodes->len + 1);
    for (guint i = 0; i < expander->nodes->len; i++)
        names[i] = ((const CtExpandNode *)expander->nodes->pdata[i])->key->text;
    const CtExpandNode *node = g_hash_table_lookup(expander->root->nodes, name);
    g_autofree char *remark =
        ct_suggest_remark(name, names, node ? 0 : expander->nodes->len, node ? NULL : "there is");
    ct_expand_blame(expander, place, "there is no node '%s'%s", name, remark);
}

static void
override_node(CtExpandNode *node, const char *key, const CtValue *value)
{
    if (!node->overrides)
        node->overrides = ct_value_new(CT_VALUE_MAPPING, node->key->place);
    ct_value_set(node->overrides, key, ct_value_copy(value));
}

/* "filter.n_taps=8", and "filter-*.n_taps=8" for all copies */
static void
apply_override(CtExpander *expander, const char *assignment)
{
    g_autofree char *name = g_strconcat("--set ", assignment, NULL);
    g_autofree char *node = NULL;
    g_autofree char *key = NULL;
    GError *cause = NULL;
    g_autoptr(CtValue) value = ct_assignment_parse(assignment, name, &node, &key, &cause);
    ct_errors_take(expander->errors, cause);
    if (!value)
        return;
    const CtPlace place = value->place;
    g_autoptr(CtValue) expanded = ct_level_expand(expander, expander->root, value, NULL);
    CtExpandNode *one = g_hash_table_lookup(expander->root->nodes, node);
    const GPtrArray *copies = g_hash_table_lookup(expander->root->copies, node);
    if (!one && !copies && !expander->is_partial)
        refuse_node(expander, &place, node);
    else if (expanded && one)
        override_node(one, key, expanded);
    for (guint i = 0; expanded && copies && i < copies->len; i++)
        override_node(copies->pdata[i], key, expanded);
}

/* ---- links ---- */

/* The level that sees what `name` stands for, from the innermost; NULL: there is none. */
static const CtLevel *
find_level(const CtLevel *level, const char *name)
{
    while (level && !g_hash_table_contains(level->nodes, name) &&
           !g_hash_table_contains(level->copies, name))
        level = level->parent;
    return level;
}

/* The link to `port` (NULL: none is named) of a node that a level sees. */
static CtValue *
make_link(const CtValue *link, const CtExpandNode *node, const char *port)
{
    CtValue *made = ct_value_copy(link);
    g_free(made->text);
    made->text = port ? g_strconcat(node->key->text, ".", port, NULL) : g_strdup(node->key->text);
    return made;
}

/* Adds to `links` what the link of a node stands for. */
static void
add_links(CtExpander *expander, CtExpandNode *node, const CtValue *link, GPtrArray *links)
{
    g_autofree char *name =
        link->kind == CT_VALUE_SCALAR ? g_strndup(link->text, strcspn(link->text, ".")) : NULL;
    const CtLevel *level = name ? find_level(node->level, name) : NULL;
    if (!level) {
        g_autofree char *pattern = g_strconcat(name ? name : "", "-*", NULL);
        const gboolean is_all = name && g_str_has_suffix(name, "-*");
        if (name && find_level(node->level, pattern))
            node->has_failed = !ct_expand_blame(
                expander, &link->place,
                "node '%s': 'from' wants a node of this graph, but is given '%s'; '%s' is all its "
                "copies",
                node->key->text, name, pattern);
        else if (is_all)
            node->has_failed =
                expander->is_partial ||
                !ct_expand_blame(expander, &link->place,
                                 "node '%s': 'from' wants copies of a node, but there is no '%s'",
                                 node->key->text, name);
        if (!is_all)
            g_ptr_array_add(links, ct_value_copy(link));
        return;
    }
    const char *dot = strchr(link->text, '.'), *port = dot ? dot + 1 : NULL;
    const CtExpandNode *one = g_hash_table_lookup(level->nodes, name);
    const GPtrArray *copies = one ? NULL : g_hash_table_lookup(level->copies, name);
    if (one)
        g_ptr_array_add(links, make_link(link, one, port));
    for (guint i = 0; copies && i < copies->len; i++)
        g_ptr_array_add(links, make_link(link, copies->pdata[i], port));
}

static gboolean
is_pattern(const CtValue *link)
{
    return link->kind == CT_VALUE_SCALAR && strstr(link->text, "-*") != NULL;
}

/* `from` with the names that the graph has: of an input, or a mapping of them. */
static CtValue *
resolve_links(CtExpander *expander, CtExpandNode *node, const CtValue *from)
{
    CtValue *resolved = ct_value_new(from->kind, from->place);
    if (from->kind == CT_VALUE_MAPPING) {
        for (guint i = 0; i < from->keys->len; i++) {
            const CtValue *item = from->items->pdata[i];
            g_ptr_array_add(resolved->keys, ct_value_copy(from->keys->pdata[i]));
            g_ptr_array_add(resolved->items, item->kind == CT_VALUE_MAPPING
                                                 ? ct_value_copy(item)
                                                 : resolve_links(expander, node, item));
        }
        return resolved;
    }
    const gboolean is_list = from->kind == CT_VALUE_LIST || is_pattern(from);
    if (!is_list) {
        ct_value_free(resolved);
        g_autoptr(GPtrArray) one = g_ptr_array_new();
        add_links(expander, node, from, one);
        return one->pdata[0];
    }
    if (from->kind == CT_VALUE_SCALAR) {
        ct_value_free(resolved);
        resolved = ct_value_new(CT_VALUE_LIST, from->place);
        add_links(expander, node, from, resolved->items);
    }
    for (guint i = 0; from->items && i < from->items->len; i++)
        add_links(expander, node, from->items->pdata[i], resolved->items);
    return resolved;
}

/* ---- nodes ---- */

static void
add_item(CtValue *mapping, const CtValue *key, CtValue *item)
{
    g_ptr_array_add(mapping->keys, ct_value_copy(key));
    g_ptr_array_add(mapping->items, item);
}

/* Copies what wants to be a mapping, but is none, so that the reader of keys refuses it. No
 * expression stands for it, as names are looked up before values are known. `node` NULL: it is
 * `stages`. NULL: the fault is reported. */
static CtValue *
copy_wrong(CtExpander *expander, const CtValue *value, const char *node)
{
    if (value->kind != CT_VALUE_SCALAR || !strstr(value->text, "${"))
        return ct_value_copy(value);
    g_autofree char *who = node ? g_strdup_printf("node '%s'", node) : g_strdup("'stages'");
    g_autofree char *given = ct_value_describe(value);
    ct_expand_blame(expander, &value->place,
                    "%s: no expression stands for it, only for the values of a node's keys, but "
                    "is given %s",
                    who, given);
    return NULL;
}

/* A node with its settings; NULL: faults are reported. */
static CtValue *
expand_node(CtExpander *expander, CtExpandNode *node)
{
    const CtValue *source = node->source;
    const char *name = node->key->text;
    if (source->kind != CT_VALUE_MAPPING)
        return copy_wrong(expander, source, name);
    CtValue *made = ct_value_new(source->kind, source->place);
    for (guint i = 0; i < source->keys->len; i++) {
        const CtValue *key = source->keys->pdata[i];
        if (node->overrides && ct_value_get(node->overrides, key->text)) {
            add_item(made, key, ct_value_copy(ct_value_get(node->overrides, key->text)));
            continue;
        }
        CtValue *item = ct_level_expand(expander, node->level, source->items->pdata[i], name);
        node->has_failed |= item == NULL;
        if (item)
            add_item(made, key, item);
    }
    for (guint i = 0; node->overrides && i < node->overrides->keys->len; i++) {
        const CtValue *key = node->overrides->keys->pdata[i];
        if (!ct_value_get(source, key->text))
            add_item(made, key, ct_value_copy(node->overrides->items->pdata[i]));
    }
    const CtValue *from = ct_value_get(made, "from");
    if (from)
        ct_value_set(made, "from", resolve_links(expander, node, from));
    if (!node->has_failed)
        return made;
    ct_value_free(made);
    return NULL;
}

static void
expand_nodes(CtExpander *expander, CtValue *stages)
{
    for (guint i = 0; i < expander->nodes->len; i++) {
        CtExpandNode *node = expander->nodes->pdata[i];
        CtValue *made = expand_node(expander, node);
        if (made)
            add_item(stages, node->key, made);
    }
}

void
ct_expand_stages(CtExpander *expander, CtLevel *level, const CtValue *stages)
{
    for (guint i = 0; i < stages->keys->len; i++) {
        const CtValue *key = stages->keys->pdata[i], *item = stages->items->pdata[i];
        if (g_str_equal(key->text, "replicate"))
            ct_expand_replicates(expander, level, item);
        else
            ct_level_add_node(expander, level, key, item);
    }
}

/* ---- files ---- */

static void
define_parameters(CtExpander *expander, CtLevel *level, const CtValue *parameters)
{
    if (parameters->kind != CT_VALUE_MAPPING) {
        g_autofree char *given = ct_value_describe(parameters);
        ct_expand_blame(expander, &parameters->place,
                        "'parameters' wants a mapping from names to values, but is given %s",
                        given);
        expander->is_partial = TRUE;
        return;
    }
    for (guint i = 0; i < parameters->keys->len; i++) {
        CtDefinition *definition = ct_level_define(expander, level, parameters->keys->pdata[i],
                                                   parameters->items->pdata[i]);
        if (!definition)
            continue;
        definition->is_watched |= level == expander->root;
        ct_level_export(expander, level, definition);
    }
}

/* Reports a key that two files have. */
static gboolean
check_once(CtExpander *expander, const CtValue *key)
{
    const CtValue *other = g_hash_table_lookup(expander->keys, key->text);
    g_hash_table_insert(expander->keys, key->text, (gpointer)key);
    if (!other)
        return TRUE;
    g_autofree char *where = ct_place_to_string(&other->place);
    return ct_expand_blame(expander, &key->place, "key '%s' stands twice, first at %s", key->text,
                           where);
}

static void
take_key(CtExpander *expander, CtLevel *level, const CtValue *key, const CtValue *item)
{
    CtValue *top = expander->result->top;
    if (g_str_equal(key->text, "parameters") || g_str_equal(key->text, "include"))
        return;
    /* An included file describes itself. */
    if (g_str_equal(key->text, "description") && level != expander->root)
        return;
    if (g_str_equal(key->text, "stages") && item->kind == CT_VALUE_MAPPING) {
        if (!ct_value_get(top, "stages"))
            add_item(top, key, ct_value_new(item->kind, item->place));
        ct_expand_stages(expander, level, item);
        return;
    }
    if (!check_once(expander, key))
        return;
    CtValue *expanded = g_str_equal(key->text, "stages")
                            ? copy_wrong(expander, item, NULL)
                            : ct_level_expand(expander, level, item, NULL);
    if (expanded)
        add_item(top, key, expanded);
}

/* Reports what the including file sets, but the file does not have. */
static void
check_settings_of_file(CtExpander *expander, const CtLevel *level)
{
    g_autoptr(GPtrArray) names = ct_level_names(level);
    ct_expand_check_keys(expander, level->settings, "the included file has no parameter",
                         (const char *const *)names->pdata, names->len);
}

void
ct_expand_file(CtExpander *expander, CtLevel *level, const CtValue *top)
{
    const CtValue *parameters = ct_value_get(top, "parameters");
    if (parameters)
        define_parameters(expander, level, parameters);
    /* Other keys may name the parameters of included files. */
    const CtValue *include = ct_value_get(top, "include");
    if (include)
        ct_expand_includes(expander, level, include);
    if (level->settings && !expander->is_partial)
        check_settings_of_file(expander, level);
    for (guint i = 0; i < top->keys->len; i++)
        take_key(expander, level, top->keys->pdata[i], top->items->pdata[i]);
}

/* ---- the whole graph ---- */

/* Expands all parameters, so that their faults are found, and warns of those without effect. */
static void
end_parameters(CtExpander *expander)
{
    for (guint i = 0; i < expander->definitions->len; i++)
        ct_definition_expand(expander, expander->definitions->pdata[i]);
    for (guint i = 0; i < expander->definitions->len && ct_errors_are_none(expander->errors); i++) {
        const CtDefinition *definition = expander->definitions->pdata[i];
        if (definition->is_watched && !definition->is_used)
            ct_warnings_add(
                expander->result->warnings, CT_WARNING_PARAMETER, NULL, &definition->place,
                "parameter '%s' has no effect: no expression names it", definition->name);
    }
}

static CtExpansion *
expansion_new(const CtPlace *place)
{
    CtExpansion *made = g_new0(CtExpansion, 1);
    made->top = ct_value_new(CT_VALUE_MAPPING, *place);
    made->files = g_ptr_array_new_with_free_func(g_free);
    made->texts = g_string_new(NULL);
    made->warnings = ct_warnings_new();
    return made;
}

CtExpansion *
ct_expand(const CtValue *top, const char *path, const char *const *overrides, CtErrors *errors)
{
    g_auto(CtExpander) expander = {
        .errors = errors,
        .result = expansion_new(&top->place),
        .settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .keys = g_hash_table_new(g_str_hash, g_str_equal),
        .levels = g_ptr_array_new_with_free_func((GDestroyNotify)ct_level_free),
        .definitions = g_ptr_array_new_with_free_func(definition_free),
        .values = g_ptr_array_new_with_free_func((GDestroyNotify)ct_value_free),
        .nodes = g_ptr_array_new_with_free_func(node_free),
        .busy = g_ptr_array_new(),
        .open = g_ptr_array_new_with_free_func(g_free),
    };
    read_settings(&expander, overrides);
    expander.root = ct_level_new(&expander, NULL, path);
    if (path)
        g_ptr_array_add(expander.open, ct_expand_real_name(path));
    ct_expand_file(&expander, expander.root, top);
    for (guint i = 0; overrides && overrides[i]; i++)
        if (!is_of_graph(overrides[i]))
            apply_override(&expander, overrides[i]);
    CtValue *stages = ct_value_get(expander.result->top, "stages");
    if (stages && stages->kind == CT_VALUE_MAPPING)
        expand_nodes(&expander, stages);
    if (!expander.is_partial)
        check_settings(&expander);
    end_parameters(&expander);
    return expander.result;
}
