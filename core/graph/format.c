/* SPDX-License-Identifier: BSD-3-Clause */
/* Formats of files: stages that stand for another one by the extension of a file's name. */
#include "format.h"

#include <string.h>

/* Whether nodes of `stage` may become nodes of `other`. */
static gboolean
stands_for(const CtStage *other, const CtStage *stage)
{
    return other == stage || g_strcmp0(other->stands_for, stage->name) == 0;
}

/* The length of the longest extension of the stage that `path` ends in; 0: none. */
static gsize
match(const CtStage *stage, const char *path)
{
    gsize longest = 0;
    for (const char *const *extension = stage->extensions; extension && *extension; extension++)
        if (g_str_has_suffix(path, *extension))
            longest = MAX(longest, strlen(*extension));
    return longest;
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The extensions of all formats, sorted, each once: ".fil, .npy or .raw". Allocated. */
static char *
list_extensions(const GPtrArray *stages, const CtStage *stage)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *other = stages->pdata[i];
        for (guint k = 0; stands_for(other, stage) && other->extensions && other->extensions[k];
             k++)
            g_ptr_array_add(all, (gpointer)other->extensions[k]);
    }
    g_ptr_array_sort(all, compare);
    for (guint i = all->len; i-- > 1;)
        if (strcmp(all->pdata[i], all->pdata[i - 1]) == 0)
            g_ptr_array_remove_index(all, i);
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < all->len; i++)
        g_string_append_printf(text, "%s%s",
                               i == 0              ? ""
                               : i + 1 == all->len ? " or "
                                                   : ", ",
                               (const char *)all->pdata[i]);
    return g_string_free(text, FALSE);
}

/* The name of the node's first file; NULL: none is given, or it is no text. */
static const CtValue *
first_path(const CtConfigStage *node)
{
    const CtValue *path = ct_value_get(node->params, "path");
    if (path && path->kind == CT_VALUE_LIST)
        path = path->items->len > 0 ? path->items->pdata[0] : NULL;
    return path && path->kind == CT_VALUE_SCALAR ? path : NULL;
}

const CtStage *
ct_format_choose(const CtRegistry *registry, const CtStage *stage, const CtConfigStage *node,
                 GError **error)
{
    const CtValue *path = first_path(node);
    if (!stage->extensions || stage->stands_for || !path || ct_value_get(node->params, "format"))
        return stage;
    const GPtrArray *stages = ct_registry_stages(registry);
    const CtStage *chosen = NULL, *equal = NULL;
    gsize longest = 0;
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *other = stages->pdata[i];
        const gsize length = stands_for(other, stage) ? match(other, path->text) : 0;
        if (length == 0 || length < longest)
            continue;
        equal = length == longest ? chosen : NULL;
        chosen = other;
        longest = length;
    }
    if (chosen && !equal)
        return chosen;
    if (equal) {
        ct_place_error(&path->place, CT_ERROR_CONFIG, error,
                       "node '%s': parameter 'path': wants the name of one format, but '%s' is one "
                       "of %s and of %s: give the node's stage one of these names",
                       node->name, path->text, equal->name, chosen->name);
        return NULL;
    }
    g_autofree char *extensions = list_extensions(stages, stage);
    ct_place_error(&path->place, CT_ERROR_CONFIG, error,
                   "node '%s': parameter 'path': wants a name that ends in %s, or 'format' beside "
                   "it, but is given '%s'",
                   node->name, extensions, path->text);
    return NULL;
}

GPtrArray *
ct_format_list(const CtRegistry *registry, const CtStage *stage)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    const GPtrArray *stages = ct_registry_stages(registry);
    for (guint i = 0; stage->extensions && !stage->stands_for && i < stages->len; i++) {
        const CtStage *other = stages->pdata[i];
        if (!stands_for(other, stage) || !other->extensions)
            continue;
        g_autofree char *extensions = g_strjoinv(", ", (char **)other->extensions);
        g_ptr_array_add(list, g_strdup_printf("%s: %s%s%s", extensions, other->name,
                                              other->missing ? ", which lacks " : "",
                                              other->missing ? other->missing : ""));
    }
    return list;
}
