/* SPDX-License-Identifier: BSD-3-Clause */
/* What check, plan and run share: the options on a graph, and the way from its file to its plan. */
#include "command-graph.h"

#include <string.h>

enum { MOST_WORKERS = 1024 };

void
ct_session_clear(CtSession *session)
{
    g_clear_pointer(&session->plan, ct_plan_free);
    g_clear_pointer(&session->graph, ct_graph_free);
    g_clear_pointer(&session->registry, ct_registry_free);
    g_clear_pointer(&session->config, ct_config_free);
    g_clear_pointer(&session->plan_options.backends, g_hash_table_unref);
    g_clear_pointer(&session->plan_options.variants, g_hash_table_unref);
    g_clear_pointer(&session->overrides, g_strfreev);
    g_clear_pointer(&session->backends, g_strfreev);
    g_clear_pointer(&session->variants, g_strfreev);
}

/* "NODE=NAME" each, into node → name. What stands without a node is for all, and goes to `common`,
 * where that may be. */
static GHashTable *
parse_assignments(char **texts, const char *option, char **common, GError **error)
{
    g_autoptr(GHashTable) table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (; texts && *texts; texts++) {
        const char *equals = strchr(*texts, '=');
        if (!equals && common && **texts != '\0') {
            g_free(*common);
            *common = g_strdup(*texts);
            continue;
        }
        if (!equals || equals == *texts || equals[1] == '\0') {
            g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                        "%s wants NODE=NAME, but is given '%s'", option, *texts);
            return NULL;
        }
        g_hash_table_insert(table, g_strndup(*texts, equals - *texts), g_strdup(equals + 1));
    }
    return g_steal_pointer(&table);
}

gboolean
ct_session_parse(CtSession *session, const CtCommand *command, const GOptionEntry *own, int *argc,
                 char ***argv, GError **error)
{
    const GOptionEntry shared[] = {
        {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &session->overrides,
         "Replace a parameter of the graph (repeatable)", "NODE.PARAMETER=VALUE"},
        {"backend", 0, 0, G_OPTION_ARG_STRING_ARRAY, &session->backends,
         "Take a backend for a node, or for all that the graph leaves open (repeatable)",
         "[NODE=]BACKEND"},
        {"variant", 0, 0, G_OPTION_ARG_STRING_ARRAY, &session->variants,
         "Take this variant for a node (repeatable)", "NODE=VARIANT"},
        {"workers", 0, 0, G_OPTION_ARG_INT, &session->workers,
         "Work with N threads; left out: one for each processor", "N"},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GArray) entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    for (; own->long_name; own++)
        g_array_append_val(entries, *own);
    g_array_append_vals(entries, shared, G_N_ELEMENTS(shared) - 1);
    if (!ct_command_parse(command, (const GOptionEntry *)entries->data, argc, argv, 1, 1, error))
        return FALSE;

    if (session->workers < 0 || session->workers > MOST_WORKERS) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--workers wants 1 to %d, but is given %d", MOST_WORKERS, session->workers);
        return FALSE;
    }
    CtPlanOptions *options = &session->plan_options;
    options->n_workers = session->workers ? session->workers : (gint)g_get_num_processors();
    g_autofree char *backend = NULL;
    options->backends = parse_assignments(session->backends, "--backend", &backend, error);
    if (!options->backends)
        return FALSE;
    options->variants = parse_assignments(session->variants, "--variant", NULL, error);
    if (!options->variants)
        return FALSE;
    CtConfigBackend common = {CT_N_BACKENDS, -1};
    if (backend && !ct_config_backend_parse(&common, backend, error)) {
        g_prefix_error(error, "--backend %s: ", backend);
        return FALSE;
    }
    options->backend = common.backend;
    return TRUE;
}

gboolean
ct_session_check(CtSession *session, const char *path, GError **error)
{
    session->config = ct_config_load(path, (const char *const *)session->overrides, error);
    if (!session->config)
        return FALSE;
    session->registry = ct_registry_new(error);
    if (!session->registry)
        return FALSE;
    session->graph = ct_graph_new(session->config, session->registry, error);
    return session->graph != NULL;
}

gboolean
ct_session_plan(CtSession *session, const char *path, GError **error)
{
    if (!ct_session_check(session, path, error))
        return FALSE;
    session->plan = ct_plan_new(session->graph, session->registry, &session->plan_options, error);
    return session->plan != NULL;
}
