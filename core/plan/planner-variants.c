/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants that may run: those that the machine supports, and that graph and command line ask
 * for. */
#include "planner-variants.h"

#include "choose.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/isa.h"
#include "model/suggest.h"
#include "planner.h"

#include <string.h>

const char *const ct_backend_names[CT_N_BACKENDS + 1] = {
    [CT_REFERENCE] = "reference",
    [CT_CPU] = "cpu",
    [CT_CUDA] = "cuda",
    [CT_N_BACKENDS] = "auto",
};

static gboolean
check_names(const CtPlanner *planner, GHashTable *table, const char *option, GError **error)
{
    if (!table)
        return TRUE;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < planner->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, i);
        g_ptr_array_add(names, node->config->name);
    }
    GHashTableIter iter;
    gpointer key;
    g_hash_table_iter_init(&iter, table);
    while (g_hash_table_iter_next(&iter, &key, NULL)) {
        if (g_ptr_array_find_with_equal_func(names, key, g_str_equal, NULL))
            continue;
        g_autofree char *remark =
            ct_suggest_remark(key, (const char *const *)names->pdata, names->len, "it has");
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "%s %s=…: the graph has no node '%s'%s",
                    option, (char *)key, (char *)key, remark);
        return FALSE;
    }
    return TRUE;
}

/* Whether the program does the variant's work: it feeds or takes the blocks. */
static gboolean
is_endpoint(const CtVariant *variant)
{
    return !variant->work;
}

/* Whether the stage has any variant for the backend, fused ones aside. */
static gboolean
knows_backend(const CtPlanner *planner, const CtStage *stage, CtBackend backend)
{
    const GPtrArray *variants = ct_registry_variants(planner->registry, stage->name);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        if (variant->backend == backend && !variant->covers[1])
            return TRUE;
    }
    return FALSE;
}

/* ---- requested backends ---- */

/* The backend and device of all nodes that name none. */
static CtConfigBackend
common_backend(const CtPlanner *planner)
{
    const CtPlanOptions *options = planner->options;
    return options->backend != CT_N_BACKENDS ? (CtConfigBackend){options->backend, options->device}
                                             : planner->graph->config->backend;
}

CtBackend
ct_planner_backend(const CtPlanner *planner)
{
    return common_backend(planner).backend;
}

/* Whether the common backend counts for this stage. It does not where the stage has no variant for
 * it: the host reads and writes files. Nor does `cuda` count for the stages at which the program
 * feeds and takes blocks, whose place the graph names. */
static gboolean
heeds(const CtPlanner *planner, const CtStage *stage, CtBackend backend)
{
    const GPtrArray *variants = ct_registry_variants(planner->registry, stage->name);
    const gboolean is_program = variants->len > 0 && is_endpoint(g_ptr_array_index(variants, 0));
    return knows_backend(planner, stage, backend) && !(is_program && backend == CT_CUDA);
}

/* The backend of this node: that of the command line, of the node, or the common one. *place,
 * unless `place` is NULL, is set to where it is given. */
static CtConfigBackend
backend_of(const CtPlanner *planner, const CtGraphNode *node, CtPlace *place)
{
    const char *given = planner->options->backends
                            ? g_hash_table_lookup(planner->options->backends, node->config->name)
                            : NULL;
    CtConfigBackend backend = node->config->backend;
    CtPlace where = node->config->backend_place;
    if (given && ct_config_backend_parse(&backend, given, NULL))
        where = (CtPlace){.file = "--backend"};
    const CtConfigBackend common = common_backend(planner);
    if (backend.backend == CT_N_BACKENDS && heeds(planner, node->node.stage, common.backend)) {
        backend = common;
        where = planner->graph->config->backend_place;
    }
    /* `cuda` by itself is the common device, if there is one. */
    if (backend.backend == CT_CUDA && backend.device < 0)
        backend.device = common.backend == CT_CUDA ? common.device : -1;
    if (place)
        *place = where;
    return backend;
}

gint
ct_planner_place(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant)
{
    if (variant->backend != CT_CUDA)
        return CT_HOST;
    const CtConfigBackend backend = backend_of(planner, node, NULL);
    return backend.backend == CT_CUDA ? MAX(backend.device, 0) : 0;
}

/* ---- available devices ---- */

/* The reason why the requested device is not available, allocated; NULL where it is. */
static char *
lacks_device(const CtPlanner *planner, const CtConfigBackend *backend)
{
    const guint n = planner->machine.n_devices;
    if (n == 0)
        return g_strdup_printf("backend 'cuda' is asked for, but cuda is not available: %s",
                               planner->machine.no_device);
    if (backend->device < (gint)n)
        return NULL;
    if (n == 1)
        return g_strdup_printf("backend 'cuda:%d' is asked for, but this machine has one CUDA "
                               "device, cuda:0",
                               backend->device);
    return g_strdup_printf("backend 'cuda:%d' is asked for, but this machine has %u CUDA devices, "
                           "cuda:0 to cuda:%u",
                           backend->device, n, n - 1);
}

/* The common backend `cuda` may leave stages out, but not all of them. */
static gboolean
check_common(const CtPlanner *planner, GError **error)
{
    static const CtPlace option = {.file = "--backend"};
    const CtConfigBackend backend = common_backend(planner);
    const gboolean is_option = planner->options->backend != CT_N_BACKENDS;
    const CtPlace *place = is_option ? &option : &planner->graph->config->backend_place;
    if (backend.backend != CT_CUDA)
        return TRUE;
    gboolean any = FALSE;
    for (guint i = 0; i < planner->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, i);
        any |= heeds(planner, node->node.stage, CT_CUDA);
    }
    if (!any)
        return ct_place_error(place, CT_ERROR_DEVICE, error,
                              "backend 'cuda' is asked for, but no stage of this graph has a "
                              "variant for it");
    g_autofree char *lack = lacks_device(planner, &backend);
    return !lack || ct_place_error(place, CT_ERROR_DEVICE, error, "%s", lack);
}

static gboolean
check_nodes(const CtPlanner *planner, GError **error)
{
    for (guint i = 0; i < planner->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, i);
        CtPlace place;
        const CtConfigBackend backend = backend_of(planner, node, &place);
        if (backend.backend != CT_CUDA || !knows_backend(planner, node->node.stage, CT_CUDA))
            continue;
        g_autofree char *lack = lacks_device(planner, &backend);
        if (lack)
            return ct_graph_error(node, &place, CT_ERROR_DEVICE, error, "%s", lack);
    }
    return TRUE;
}

/* ---- requested variants and tunings ---- */

static gboolean
is_named(const CtVariant *variant, const char *wanted)
{
    const gsize length = strcspn(wanted, ":");
    return strlen(variant->name) == length && strncmp(variant->name, wanted, length) == 0;
}

/* Whether the stage has variants of this name, fused ones included, and all of them run on another
 * backend. */
static gboolean
is_elsewhere(const CtPlanner *planner, const char *stage, const char *wanted, CtBackend backend)
{
    const GPtrArray *stages = ct_registry_stages(planner->registry);
    gboolean any = FALSE;
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *first = g_ptr_array_index(stages, i);
        const GPtrArray *variants = ct_registry_variants(planner->registry, first->name);
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = g_ptr_array_index(variants, v);
            if (!g_strv_contains(variant->covers, stage) || !is_named(variant, wanted))
                continue;
            if (variant->backend == backend)
                return FALSE;
            any = TRUE;
        }
    }
    return any;
}

/* "NAME" or "NAME:tile=4,…" as the graph or the command line asks for it; NULL: neither does. The
 * command line goes before the graph: a backend that it gives overrides a variant of another
 * backend that the graph names. */
static const char *
wanted_variant(const CtPlanner *planner, const CtGraphNode *node)
{
    const CtPlanOptions *options = planner->options;
    const char *name = node->config->name, *own = node->config->variant;
    const char *wanted = options->variants ? g_hash_table_lookup(options->variants, name) : NULL;
    const char *given =
        own && options->backends ? g_hash_table_lookup(options->backends, name) : NULL;
    CtConfigBackend backend;
    if (wanted)
        return wanted;
    if (given && ct_config_backend_parse(&backend, given, NULL) &&
        backend.backend != CT_N_BACKENDS &&
        is_elsewhere(planner, node->node.stage->name, own, backend.backend))
        return NULL;
    return own;
}

/* Overwrites `tuning` with the values that `wanted` gives, if any. */
static gboolean
apply_tuning(const CtVariant *variant, const char *wanted, gint64 tuning[CT_MAX_TUNABLES],
             GError **error)
{
    const char *colon = strchr(wanted, ':');
    return !colon || ct_tuning_parse(variant, colon + 1, tuning, error);
}

/* Whether the stage has a variant of the requested name, fused ones included, that takes the
 * requested tuning, if any. */
static gboolean
check_wanted(const CtPlanner *planner, const char *stage, const char *wanted, GError **error)
{
    const GPtrArray *stages = ct_registry_stages(planner->registry);
    g_autoptr(GError) cause = NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *first = g_ptr_array_index(stages, i);
        const GPtrArray *variants = ct_registry_variants(planner->registry, first->name);
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = g_ptr_array_index(variants, v);
            gint64 tuning[CT_MAX_TUNABLES] = {0};
            if (!g_strv_contains(variant->covers, stage))
                continue;
            if (!g_ptr_array_find_with_equal_func(names, variant->name, g_str_equal, NULL))
                g_ptr_array_add(names, (gpointer)variant->name);
            if (is_named(variant, wanted) &&
                apply_tuning(variant, wanted, tuning, cause ? NULL : &cause))
                return TRUE;
        }
    }
    if (cause) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    g_autofree char *name = g_strndup(wanted, strcspn(wanted, ":"));
    g_autofree char *remark =
        ct_suggest_remark(name, (const char *const *)names->pdata, names->len, "it has");
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "stage '%s' has no variant '%s'%s", stage, name,
                remark);
    return FALSE;
}

/* Whether the requested variant runs on the backend that is requested in the same place, graph or
 * command line. */
static gboolean
check_backend(const CtPlanner *planner, const CtGraphNode *node, const char *wanted, GError **error)
{
    const char *name = node->config->name;
    const gboolean is_own = wanted == node->config->variant;
    CtConfigBackend backend = node->config->backend;
    const char *given = !is_own && planner->options->backends
                            ? g_hash_table_lookup(planner->options->backends, name)
                            : NULL;
    if (!is_own && !(given && ct_config_backend_parse(&backend, given, NULL)))
        return TRUE;
    if (backend.backend == CT_N_BACKENDS ||
        !is_elsewhere(planner, node->node.stage->name, wanted, backend.backend))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                "wants a variant of backend '%s', which is asked for too, but is given '%s'",
                ct_backend_names[backend.backend], wanted);
    return FALSE;
}

static gboolean
check_variants(const CtPlanner *planner, GError **error)
{
    for (guint i = 0; i < planner->graph->nodes->len; i++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, i);
        const char *wanted = wanted_variant(planner, node);
        g_autoptr(GError) cause = NULL;
        if (!wanted || (check_wanted(planner, node->node.stage->name, wanted, &cause) &&
                        check_backend(planner, node, wanted, &cause)))
            continue;
        if (wanted == node->config->variant)
            return ct_graph_error(node, &node->config->variant_place, CT_ERROR_CONFIG, error, "%s",
                                  cause->message);
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG, "--variant %s=%s: %s", node->config->name,
                    wanted, cause->message);
        return FALSE;
    }
    return TRUE;
}

gboolean
ct_planner_tuning(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                  guint n_nodes, gint64 tuning[CT_MAX_TUNABLES])
{
    gboolean is_asked = FALSE;
    ct_tuning_defaults(variant, tuning);
    for (guint k = 0; k < n_nodes; k++) {
        const CtGraphNode *node = ct_graph_node(planner->graph, nodes[k]);
        const char *wanted = wanted_variant(planner, node);
        is_asked |= wanted && strchr(wanted, ':') && apply_tuning(variant, wanted, tuning, NULL);
    }
    return is_asked;
}

gboolean
ct_planner_check_options(const CtPlanner *planner, GError **error)
{
    const CtPlanOptions *options = planner->options;
    if (!check_names(planner, options->backends, "--backend", error) ||
        !check_names(planner, options->variants, "--variant", error))
        return FALSE;
    GHashTableIter iter;
    gpointer key, value;
    if (options->backends)
        g_hash_table_iter_init(&iter, options->backends);
    while (options->backends && g_hash_table_iter_next(&iter, &key, &value)) {
        CtConfigBackend backend;
        if (!ct_config_backend_parse(&backend, value, error)) {
            g_prefix_error(error, "--backend %s=%s: ", (char *)key, (char *)value);
            return FALSE;
        }
    }
    if (planner->processors_fault) {
        g_propagate_error(error, g_error_copy(planner->processors_fault));
        return FALSE;
    }
    return check_variants(planner, error) && check_common(planner, error) &&
           check_nodes(planner, error);
}

static gboolean refuse(char **reason, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean
refuse(char **reason, const char *format, ...)
{
    if (reason) {
        va_list arguments;
        va_start(arguments, format);
        *reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
    }
    return FALSE;
}

gboolean
ct_planner_can_run(const CtPlanner *planner, const CtVariant *variant, char **reason)
{
    if (variant->backend == CT_CUDA && planner->machine.n_devices == 0)
        return refuse(reason, "not available: %s", planner->machine.no_device);
    const char *refusal = ct_registry_isa_refusal(planner->registry, variant->isa);
    if (refusal)
        return refuse(reason, "wants %s, but %s", ct_isa_name(variant->isa), refusal);
    return TRUE;
}

gboolean
ct_planner_leaves(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant,
                  char **reason)
{
    const char *wanted = wanted_variant(planner, node);
    gint64 tuning[CT_MAX_TUNABLES] = {0};
    if (wanted && (!is_named(variant, wanted) || !apply_tuning(variant, wanted, tuning, NULL)))
        return refuse(reason, "'%s' is asked for", wanted);
    const CtBackend backend = backend_of(planner, node, NULL).backend;
    if (!wanted && backend != CT_N_BACKENDS && backend != variant->backend)
        return refuse(reason, "backend '%s' is asked for", ct_backend_names[backend]);
    if (!wanted && backend != CT_CUDA && variant->backend == CT_CUDA && is_endpoint(variant))
        return refuse(reason, "no device is asked for");
    return TRUE;
}

gboolean
ct_planner_names(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant)
{
    const char *wanted = wanted_variant(planner, node);
    return wanted && is_named(variant, wanted);
}

/* Whether graph and options allow the variant for this node, and it can run here. */
static gboolean
allows(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant, char **reason)
{
    return ct_planner_leaves(planner, node, variant, reason) &&
           ct_planner_can_run(planner, variant, reason);
}

/* ---- covered nodes ---- */

static const CtGraphNode *
node_of(const CtGraph *graph, guint i)
{
    return ct_graph_node(graph, i);
}

gint
ct_planner_only_reader(const GPtrArray *fan_outs, guint node)
{
    gint reader = -1;
    for (guint i = 0; i < fan_outs->len; i++) {
        const CtFanOut *fan_out = g_ptr_array_index(fan_outs, i);
        if (fan_out->node != node)
            continue;
        const CtPlanReader *first = &g_array_index(fan_out->readers, CtPlanReader, 0);
        if (fan_out->port != 0 || fan_out->readers->len != 1 || first->port != 0)
            return -1;
        reader = first->node;
    }
    return reader;
}

gboolean
ct_planner_reads_others(const GPtrArray *fan_outs, guint node)
{
    for (guint i = 0; i < fan_outs->len; i++) {
        const CtFanOut *fan_out = g_ptr_array_index(fan_outs, i);
        if (fan_out->node == node && fan_out->port != 0)
            return TRUE;
    }
    return FALSE;
}

guint *
ct_planner_covers(const CtGraph *graph, const GPtrArray *fan_outs, guint first,
                  const CtVariant *variant, guint *n_nodes)
{
    guint n = 0;
    while (variant->covers[n])
        n++;
    g_autofree guint *nodes = g_new(guint, n + 1);
    for (guint k = 0; k < n; k++) {
        if (k == 0) {
            nodes[0] = first;
        } else {
            const gint reader = ct_planner_only_reader(fan_outs, nodes[k - 1]);
            if (reader < 0)
                return NULL;
            /* Only the first node of the chain may have other inputs. */
            const CtNode *node = &node_of(graph, reader)->node;
            for (guint i = 1; i < node->n_inputs; i++) {
                if (node->inputs[i].type != CT_TYPE_NONE)
                    return NULL;
            }
            if (node->inputs[0].type != node_of(graph, nodes[k - 1])->node.outputs[0].type)
                return NULL;
            nodes[k] = reader;
        }
        if (!g_str_equal(node_of(graph, nodes[k])->node.stage->name, variant->covers[k]))
            return NULL;
    }
    *n_nodes = n;
    return g_steal_pointer(&nodes);
}

/* Whether no two of the nodes ask for different values of a tunable. */
static gboolean
agree_on_tuning(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                guint n_nodes, char **reason)
{
    const guint n = ct_tuning_count(variant);
    gint64 asked[CT_MAX_TUNABLES], all[CT_MAX_TUNABLES];
    for (guint i = 0; i < n; i++)
        all[i] = G_MININT64;
    for (guint k = 0; k < n_nodes; k++) {
        const char *wanted = wanted_variant(planner, node_of(planner->graph, nodes[k]));
        for (guint i = 0; i < n; i++)
            asked[i] = G_MININT64;
        if (!wanted || !apply_tuning(variant, wanted, asked, NULL))
            continue;
        for (guint i = 0; i < n; i++) {
            if (asked[i] == G_MININT64)
                continue;
            if (all[i] != G_MININT64 && all[i] != asked[i])
                return refuse(
                    reason, "%s=%" G_GINT64_FORMAT " and %s=%" G_GINT64_FORMAT " are asked for",
                    variant->tunables[i].name, all[i], variant->tunables[i].name, asked[i]);
            all[i] = asked[i];
        }
    }
    return TRUE;
}

gboolean
ct_planner_fits(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                guint n_nodes, char **reason)
{
    const CtGraph *graph = planner->graph;
    const gint place = ct_planner_place(planner, node_of(graph, nodes[0]), variant);
    for (guint k = 0; k < n_nodes; k++) {
        const CtGraphNode *node = node_of(graph, nodes[k]);
        if (!allows(planner, node, variant, reason))
            return FALSE;
        if (ct_planner_place(planner, node, variant) != place) {
            *reason = g_strdup("its stages are to run on different devices");
            return FALSE;
        }
        if (place == CT_HOST && ct_plan_asked_numa(graph, node) !=
                                    ct_plan_asked_numa(graph, node_of(graph, nodes[0]))) {
            *reason = g_strdup("its stages are to run on different NUMA nodes");
            return FALSE;
        }
    }
    if (!agree_on_tuning(planner, variant, nodes, n_nodes, reason))
        return FALSE;
    g_autofree CtNode *covered = g_new(CtNode, n_nodes);
    for (guint k = 0; k < n_nodes; k++)
        covered[k] = node_of(graph, nodes[k])->node;
    return ct_call_fits(variant, covered, reason);
}
