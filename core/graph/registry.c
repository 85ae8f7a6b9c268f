/* SPDX-License-Identifier: BSD-3-Clause */
/* The registry of plugins: finds, opens, checks and indexes them. */
#include "registry.h"

#include "endpoints.h"
#include "model/environment.h"
#include "model/isa.h"
#include "model/own-file.h"
#include "model/suggest.h"
#include "plugin-check.h"
#include "plugin-file.h"
#include "registered.h"

#include <cornerturn/kit/epilogue.h>
#include <errno.h>
#include <gmodule.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const char *const ct_inserted_stages[CT_N_INSERTED] = {
    [CT_INSERTED_TRANSPOSE] = "transpose",
    [CT_INSERTED_CONVERT] = "convert",
    [CT_INSERTED_COPY] = "copy",
};

/* The most left-out plugins that an error names if a stage is missing. */
#define MAX_TOLD 3

struct CtRegistry {
    GPtrArray *bare;         /* of char, NULL-terminated: searched folders without files ct-*.so */
    GPtrArray *stages;       /* of const CtStage, by name */
    GHashTable *by_name;     /* name → const CtStage */
    GHashTable *variants;    /* name of the first stage covered → GPtrArray of const CtVariant */
    GHashTable *variant_ids; /* "fir+fft/cpu" → const CtVariant */
    GHashTable *files;       /* const CtStage or CtVariant → char */
    GHashTable *covers;      /* const CtVariant → its `covers` as the plugin gives it */
    GPtrArray *memory;       /* of the stages and variants, see plugin-check.h */
    GPtrArray *problems;     /* of char, NULL-terminated */
    GPtrArray *none;         /* empty */
    pthread_mutex_t lock;    /* of `attached` */
    GHashTable *attached;    /* "base stage", addresses → CtVariant */
    gboolean is_capped;      /* only the sets that `cap` contains may be used */
    CtIsa cap;
};

void
ct_registry_free(CtRegistry *registry)
{
    if (!registry)
        return;
    g_clear_pointer(&registry->bare, g_ptr_array_unref);
    g_clear_pointer(&registry->stages, g_ptr_array_unref);
    g_clear_pointer(&registry->by_name, g_hash_table_unref);
    g_clear_pointer(&registry->variants, g_hash_table_unref);
    g_clear_pointer(&registry->variant_ids, g_hash_table_unref);
    g_clear_pointer(&registry->files, g_hash_table_unref);
    g_clear_pointer(&registry->covers, g_hash_table_unref);
    g_clear_pointer(&registry->memory, g_ptr_array_unref);
    g_clear_pointer(&registry->problems, g_ptr_array_unref);
    g_clear_pointer(&registry->none, g_ptr_array_unref);
    g_clear_pointer(&registry->attached, g_hash_table_unref);
    pthread_mutex_destroy(&registry->lock);
    g_free(registry);
}

/* ---- instruction sets ---- */

static gboolean
find_cap(CtRegistry *registry, GError **error)
{
    const char *cap = ct_environment("CORNERTURN_ISA");
    registry->is_capped = cap && *cap != '\0';
    if (!registry->is_capped || ct_isa_from_name(cap, &registry->cap))
        return TRUE;
    g_autofree char *names = ct_isa_names();
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "CORNERTURN_ISA wants %s, but is given '%s'",
                names, cap);
    return FALSE;
}

const char *
ct_registry_isa_refusal(const CtRegistry *registry, CtIsa isa)
{
    if (registry->is_capped && !ct_isa_contains(registry->cap, isa))
        return "CORNERTURN_ISA forbids it";
    return ct_isa_missing(isa);
}

/* ---- opening ---- */

/* Keeps the reason why the file, or a part of it, is left out. */
static void
leave_out(CtRegistry *registry, const char *path, const char *reason)
{
    g_ptr_array_add(registry->problems, g_strdup_printf("%s: %s", path, reason));
}

static GModule *
load(const char *path, char **fault)
{
    *fault = ct_plugin_file_find_fault(path);
    if (*fault)
        return NULL;
    /* The path without links, so that the loader finds libraries beside the file. All symbols are
     * bound now: one that is missing would end the process later. */
    char *real = realpath(path, NULL);
    const char *name = real ? real : path;
    GModule *module = g_module_open(name, G_MODULE_BIND_LOCAL);
    if (!module) {
        const char *message = g_module_error();
        const gsize prefix = g_str_has_prefix(message, name) ? strlen(name) + strlen(": ") : 0;
        *fault = g_strdup(message + MIN(prefix, strlen(message)));
    }
    free(real);
    return module;
}

/* Opens a plugin and reads it. If the file cannot be used, keeps the reason and sets *plugin to
 * NULL. Returns FALSE only for lack of memory. */
static gboolean
open_plugin(CtRegistry *registry, const char *path, const CtPlugin **given, const CtPlugin **plugin,
            GError **error)
{
    gpointer symbol = NULL;
    g_autofree char *fault = NULL;
    g_autoptr(GError) cause = NULL;
    GModule *module = load(path, &fault);
    if (module && (!g_module_symbol(module, CT_PLUGIN_SYMBOL, &symbol) || !symbol))
        fault = g_strdup("is not a plugin of Cornerturn: it has no symbol " CT_PLUGIN_SYMBOL);
    *given = fault ? NULL : symbol;
    *plugin = *given ? ct_plugin_read(*given, registry->memory, &cause) : NULL;
    if (cause)
        fault = g_strdup(cause->message);
    if (*plugin)
        g_module_make_resident(module);
    else if (module)
        g_module_close(module);
    if (g_error_matches(cause, CT_ERROR, CT_ERROR_MEMORY)) {
        g_propagate_prefixed_error(error, g_steal_pointer(&cause), "%s: ", path);
        return FALSE;
    }
    if (fault)
        leave_out(registry, path, fault);
    return TRUE;
}

/* Plugins depend on the core's library. A program that is linked with the core statically loads the
 * library that belongs to it, so that plugins find it whatever their search path is. */
static void
load_library(CtRegistry *registry)
{
    g_autofree char *own = ct_own_file();
    g_autofree char *folder = ct_own_folder("core", CT_LIBDIR);
    g_autofree char *path = folder ? g_build_filename(folder, CT_SONAME, NULL) : NULL;
    g_autofree char *name = own ? g_path_get_basename(own) : NULL;
    if (!path || g_str_has_prefix(name, "libcornerturn.so") ||
        !g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return;
    g_autofree char *fault = NULL;
    GModule *module = load(path, &fault);
    if (module)
        g_module_make_resident(module);
    else
        leave_out(registry, path, fault);
}

/* ---- index ---- */

static gboolean
refuse_double(const CtRegistry *registry, const char *what, const char *name, gconstpointer first,
              const char *path, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "%s '%s' stands in two plugins: %s and %s", what,
                name, (const char *)g_hash_table_lookup(registry->files, first), path);
    return FALSE;
}

static gboolean
add_stage(CtRegistry *registry, const CtStage *stage, const char *path, GError **error)
{
    const CtStage *first = g_hash_table_lookup(registry->by_name, stage->name);
    if (first)
        return refuse_double(registry, "stage", stage->name, first, path, error);
    g_hash_table_insert(registry->by_name, (gpointer)stage->name, (gpointer)stage);
    g_hash_table_insert(registry->files, (gpointer)stage, g_strdup(path));
    g_ptr_array_add(registry->stages, (gpointer)stage);
    return TRUE;
}

/* The index at which a variant is inserted among those of its first stage: in front of those that
 * cover fewer stages, behind all others. */
static gint
find_place(const GPtrArray *variants, const CtVariant *variant)
{
    const guint n = g_strv_length((char **)variant->covers);
    guint place = variants->len;
    while (place > 0 &&
           g_strv_length((char **)((const CtVariant *)variants->pdata[place - 1])->covers) < n)
        place--;
    return (gint)place;
}

static gboolean
add_variant(CtRegistry *registry, const CtVariant *variant, const char *const *given,
            const char *path, GError **error)
{
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    g_autofree char *id = g_strconcat(covers, "/", variant->name, NULL);
    const CtVariant *first = g_hash_table_lookup(registry->variant_ids, id);
    if (first)
        return refuse_double(registry, "variant", id, first, path, error);
    g_hash_table_insert(registry->variant_ids, g_steal_pointer(&id), (gpointer)variant);
    g_hash_table_insert(registry->files, (gpointer)variant, g_strdup(path));
    g_hash_table_insert(registry->covers, (gpointer)variant, (gpointer)given);

    GPtrArray *variants = g_hash_table_lookup(registry->variants, variant->covers[0]);
    if (!variants) {
        variants = g_ptr_array_new();
        g_hash_table_insert(registry->variants, (gpointer)variant->covers[0], variants);
    }
    g_ptr_array_insert(variants, find_place(variants, variant), (gpointer)variant);
    return TRUE;
}

/* `given` is the plugin as the file has it. */
static gboolean
add_plugin(CtRegistry *registry, const CtPlugin *plugin, const CtPlugin *given, const char *path,
           GError **error)
{
    for (guint i = 0; plugin->stages[i]; i++)
        if (!add_stage(registry, plugin->stages[i], path, error))
            return FALSE;
    for (guint i = 0; plugin->variants[i]; i++)
        if (!add_variant(registry, plugin->variants[i], given->variants[i]->covers, path, error))
            return FALSE;
    return TRUE;
}

/* Adds what the program has registered. */
static gboolean
add_registered(CtRegistry *registry, GError **error)
{
    g_autoptr(GPtrArray) plugins = ct_registered_plugins();
    for (guint i = 0; i < plugins->len; i++) {
        const CtPlugin *given = plugins->pdata[i];
        const CtPlugin *plugin = ct_plugin_read(given, registry->memory, error);
        g_autofree char *name = g_strdup_printf("the program (%s)", given->name);
        if (!plugin || !add_plugin(registry, plugin, given, name, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- folders ---- */

static gint
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the plugins of a folder: files named ct-NAME.so. `seen` holds the names in earlier
 * folders. */
static gboolean
add_folder(CtRegistry *registry, const char *folder, GHashTable *seen, GError **error)
{
    gboolean is_bare = TRUE;
    g_autoptr(GDir) listing = g_dir_open(folder, 0, NULL);
    if (!listing) {
        leave_out(registry, folder, g_strerror(errno));
        return TRUE;
    }
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(listing));) {
        if (!g_str_has_prefix(name, "ct-") || !g_str_has_suffix(name, ".so"))
            continue;
        is_bare = FALSE;
        if (!g_hash_table_contains(seen, name))
            g_ptr_array_add(names, g_strdup(name));
    }
    if (is_bare)
        g_ptr_array_add(registry->bare, g_strdup(folder));
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *path = g_build_filename(folder, names->pdata[i], NULL);
        g_hash_table_add(seen, g_strdup(names->pdata[i]));
        const CtPlugin *given, *plugin;
        if (!open_plugin(registry, path, &given, &plugin, error))
            return FALSE;
        if (plugin && !add_plugin(registry, plugin, given, path, error))
            return FALSE;
    }
    return TRUE;
}

static gint
compare_stages(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const CtStage *const *)a)->name, (*(const CtStage *const *)b)->name);
}

/* Leaves out variants that do not fit the stages they cover, which may be those of other
 * plugins. */
static void
drop_unfit(CtRegistry *registry)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, registry->variants);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        GPtrArray *variants = value;
        for (guint i = variants->len; i-- > 0;) {
            const CtVariant *variant = variants->pdata[i];
            const CtStage *stages[CT_MAX_COVERS];
            for (guint k = 0; variant->covers[k]; k++)
                stages[k] = g_hash_table_lookup(registry->by_name, variant->covers[k]);
            g_autoptr(GError) cause = NULL;
            if (ct_variant_check(variant, g_hash_table_lookup(registry->covers, variant), stages,
                                 registry->memory, &cause))
                continue;
            leave_out(registry, g_hash_table_lookup(registry->files, variant), cause->message);
            g_ptr_array_remove_index(variants, i);
        }
    }
}

CtRegistry *
ct_registry_new_from(const char *const *folders, GError **error)
{
    g_autoptr(CtRegistry) registry = g_new0(CtRegistry, 1);
    pthread_mutex_init(&registry->lock, NULL);
    if (!find_cap(registry, error))
        return NULL;
    registry->bare = g_ptr_array_new_with_free_func(g_free);
    registry->stages = g_ptr_array_new();
    registry->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    registry->variants =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
    registry->variant_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    registry->files = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    registry->covers = g_hash_table_new(NULL, NULL);
    registry->memory = g_ptr_array_new_with_free_func(g_free);
    registry->problems = g_ptr_array_new_null_terminated(1, g_free, TRUE);
    registry->none = g_ptr_array_new();
    registry->attached = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                               (GDestroyNotify)ct_epilogue_variant_free);

    load_library(registry);
    if (!add_plugin(registry, &ct_endpoints, &ct_endpoints, "the core", error) ||
        !add_registered(registry, error))
        return NULL;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; folders[i]; i++)
        if (!add_folder(registry, folders[i], seen, error))
            return NULL;
    if (!folders[0])
        g_ptr_array_add(registry->bare, g_strdup("CORNERTURN_PLUGIN_PATH, which is empty"));
    g_ptr_array_add(registry->bare, NULL);
    drop_unfit(registry);
    g_ptr_array_sort(registry->stages, compare_stages);
    return g_steal_pointer(&registry);
}

CtRegistry *
ct_registry_new(GError **error)
{
    g_autoptr(GStrvBuilder) folders = g_strv_builder_new();
    const char *path = ct_environment("CORNERTURN_PLUGIN_PATH");
    g_auto(GStrv) given = g_strsplit(path ? path : "", G_SEARCHPATH_SEPARATOR_S, -1);
    for (guint i = 0; given[i]; i++)
        if (*given[i] != '\0')
            g_strv_builder_add(folders, given[i]);
    g_autofree char *own = ct_own_folder("plugins/kit", CT_PLUGIN_DIR_FROM_PREFIX);
    if (own)
        g_strv_builder_add(folders, own);
    g_auto(GStrv) list = g_strv_builder_end(folders);
    return ct_registry_new_from((const char *const *)list, error);
}

/* ---- looking up ---- */

/* Whether the problem is with the file that the stage is expected in: ct-file.so for
 * file.source. */
static gboolean
is_of_stage(const char *problem, const char *stage)
{
    g_autofree char *plugin = g_strndup(stage, strcspn(stage, "."));
    g_autofree char *file = g_strdup_printf("/ct-%s.so: ", plugin);
    return strstr(problem, file) != NULL;
}

char *
ct_registry_left_out(const CtRegistry *registry, const char *stage)
{
    const guint n = registry->problems->len;
    const char *const *problems = ct_registry_problems(registry);
    guint n_told = 0;
    g_autoptr(GString) text = g_string_new(NULL);
    for (gint of_stage = TRUE; of_stage >= FALSE && n_told == 0; of_stage--)
        for (guint i = 0; i < n && n_told < MAX_TOLD; i++)
            if (!of_stage || is_of_stage(problems[i], stage))
                g_string_append_printf(text, "%s%s", n_told++ ? "; " : "", problems[i]);
    if (n_told > 0 && n_told < n)
        g_string_append_printf(text, "; `cornerturn inspect` lists %u more", n - n_told);
    return n_told ? g_strdup_printf(" (left out: %s)", text->str) : g_strdup("");
}

const CtStage *
ct_registry_stage(const CtRegistry *registry, const char *name, GError **error)
{
    const CtStage *stage = g_hash_table_lookup(registry->by_name, name);
    if (stage)
        return stage;
    g_autoptr(GString) message = g_string_new(NULL);
    g_string_printf(message, "there is no stage '%s'", name);

    const guint n = registry->stages->len;
    g_autofree const char **names = g_new(const char *, n + 1);
    for (guint i = 0; i < n; i++)
        names[i] = ((const CtStage *)registry->stages->pdata[i])->name;
    g_autofree char *remark = ct_suggest_remark(name, names, n, NULL);
    g_string_append(message, remark);
    if (registry->bare->pdata[0]) {
        g_autofree char *folders = g_strjoinv(", ", (char **)registry->bare->pdata);
        g_string_append_printf(
            message, *remark ? " (there are no plugins in %s)" : ": there are no plugins in %s",
            folders);
    }
    g_autofree char *left_out = ct_registry_left_out(registry, name);
    g_string_append(message, left_out);
    if (!*remark && !registry->bare->pdata[0] && !*left_out)
        g_string_append(message, " (`cornerturn inspect` lists what there is)");
    g_set_error_literal(error, CT_ERROR, CT_ERROR_PLUGIN, message->str);
    return NULL;
}

const GPtrArray *
ct_registry_variants(const CtRegistry *registry, const char *stage)
{
    const GPtrArray *variants = g_hash_table_lookup(registry->variants, stage);
    return variants ? variants : registry->none;
}

const GPtrArray *
ct_registry_stages(const CtRegistry *registry)
{
    return registry->stages;
}

const char *
ct_registry_stage_file(const CtRegistry *registry, const CtStage *stage)
{
    return g_hash_table_lookup(registry->files, stage);
}

const char *
ct_registry_variant_file(const CtRegistry *registry, const CtVariant *variant)
{
    return g_hash_table_lookup(registry->files, ct_epilogue_variant_base(variant));
}

static guint
count_counters(const CtStage *stage)
{
    return stage && stage->counters ? g_strv_length((char **)stage->counters) : 0;
}

static CtVariant *
attach(const CtRegistry *registry, const CtVariant *base, const CtStage *stage)
{
    const GPtrArray *variants = ct_registry_variants(registry, stage->name);
    const guint n = g_strv_length((char **)base->covers);
    guint n_counters = count_counters(stage);
    for (guint k = 0; k < n; k++)
        n_counters += count_counters(g_hash_table_lookup(registry->by_name, base->covers[k]));
    if (n >= CT_MAX_COVERS || n_counters > CT_MAX_COUNTERS)
        return NULL;
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *form = variants->pdata[i];
        CtVariant *attached = ct_epilogue_variant_new(base, form, stage);
        if (attached)
            return attached;
    }
    return NULL;
}

const CtVariant *
ct_registry_attach(CtRegistry *registry, const CtVariant *base, const CtStage *stage)
{
    gpointer attached;
    if (!ct_epilogue_variant_takes(base))
        return NULL;
    g_autofree char *key = g_strdup_printf("%p %p", (gconstpointer)base, (gconstpointer)stage);
    pthread_mutex_lock(&registry->lock);
    if (!g_hash_table_lookup_extended(registry->attached, key, NULL, &attached)) {
        attached = attach(registry, base, stage);
        g_hash_table_insert(registry->attached, g_steal_pointer(&key), attached);
    }
    pthread_mutex_unlock(&registry->lock);
    return attached;
}

const char *const *
ct_registry_problems(const CtRegistry *registry)
{
    return (const char *const *)registry->problems->pdata;
}
