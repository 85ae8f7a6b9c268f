/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that are no files: the program has registered them. */
#include "registered.h"

#include "plugin-check.h"
#include "registry.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;        /* of `plugins` */
static pthread_mutex_t registering = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time */
static GPtrArray *plugins;                                      /* of const CtPlugin, never freed */

GPtrArray *
ct_registered_plugins(void)
{
    pthread_mutex_lock(&lock);
    GPtrArray *copy = plugins ? g_ptr_array_copy(plugins, NULL, NULL) : g_ptr_array_new();
    pthread_mutex_unlock(&lock);
    return copy;
}

/* Puts a plugin into the place of the one with its name, or behind all; returns those before. */
static GPtrArray *
exchange(const CtPlugin *plugin)
{
    GPtrArray *before = ct_registered_plugins();
    GPtrArray *after = g_ptr_array_copy(before, NULL, NULL);
    guint i = 0;
    while (i < after->len && !g_str_equal(((const CtPlugin *)after->pdata[i])->name, plugin->name))
        i++;
    if (i < after->len)
        after->pdata[i] = (gpointer)plugin;
    else
        g_ptr_array_add(after, (gpointer)plugin);
    pthread_mutex_lock(&lock);
    g_clear_pointer(&plugins, g_ptr_array_unref);
    plugins = after;
    pthread_mutex_unlock(&lock);
    return before;
}

static void
restore(GPtrArray *before)
{
    pthread_mutex_lock(&lock);
    g_clear_pointer(&plugins, g_ptr_array_unref);
    plugins = before;
    pthread_mutex_unlock(&lock);
}

gboolean
ct_register_plugin(const CtPlugin *plugin, GError **error)
{
    g_autoptr(GPtrArray) memory = g_ptr_array_new_with_free_func(g_free);
    if (!ct_plugin_read(plugin, memory, error))
        return FALSE;
    pthread_mutex_lock(&registering);
    GPtrArray *before = exchange(plugin);
    /* Whether its stages and variants stand in no other plugin. */
    g_autoptr(CtRegistry) registry = ct_registry_new(error);
    if (registry)
        g_ptr_array_unref(before);
    else
        restore(before);
    pthread_mutex_unlock(&registering);
    return registry != NULL;
}
