/* SPDX-License-Identifier: BSD-3-Clause */
/* A graph with every node twice: for the tested way, and for the reference. */
#include "plan/plan.h"
#include "verify-private.h"

static void
pair_free(gpointer item)
{
    CtVerifyPair *pair = item;
    for (guint k = 0; k < 2; k++) {
        g_free(pair->taps[k]);
        g_free(pair->nodes[k]);
        g_free(pair->variants[k]);
    }
    g_free(pair->problem);
    g_free(pair);
}

static char *
twin_name(const char *name)
{
    return g_strconcat(name, "'", NULL);
}

/* Whether node `i` of the graph is `node` or feeds it, directly or not. */
static gboolean
leads_to(const CtGraph *graph, guint i, guint node)
{
    if (i == node)
        return TRUE;
    const CtGraphNode *reader = graph->nodes->pdata[node];
    for (guint k = 0; k < reader->node.n_inputs; k++)
        if (reader->from[k].node >= 0 && leads_to(graph, i, (guint)reader->from[k].node))
            return TRUE;
    return FALSE;
}

/* The nodes that are run: all except sinks, or those that feed the requested one. */
static gboolean *
find_nodes(const CtVerifyOptions *options)
{
    const GPtrArray *nodes = options->graph->nodes;
    gboolean *is_run = g_new0(gboolean, nodes->len);
    for (guint i = 0; i < nodes->len; i++) {
        const CtGraphNode *node = nodes->pdata[i];
        is_run[i] = node->node.n_outputs > 0 && !options->node;
        for (guint k = 0; k < nodes->len && options->node; k++)
            is_run[i] |=
                g_str_equal(((const CtGraphNode *)nodes->pdata[k])->node.name, options->node) &&
                leads_to(options->graph, i, k);
    }
    return is_run;
}

/* Whether a sink, or any node, reads the output's data. */
static gboolean
is_read(const CtGraph *graph, guint node, guint port, gboolean by_sink)
{
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *reader = graph->nodes->pdata[i];
        for (guint k = 0; k < reader->node.n_inputs; k++)
            if (reader->from[k].node == (gint)node && reader->from[k].port == port &&
                ct_node_input_flows(&reader->node, k) && (!by_sink || reader->node.n_outputs == 0))
                return TRUE;
    }
    return FALSE;
}

/* The first output with data of a node of which no output is read; −1: one is, or there is none. */
static gint
find_loose_end(const CtGraph *graph, guint i)
{
    const CtNode *node = &((const CtGraphNode *)graph->nodes->pdata[i])->node;
    gint first = -1;
    for (guint port = node->n_outputs; port-- > 0;) {
        if (is_read(graph, i, port, FALSE))
            return -1;
        if (node->outputs[port].type != CT_TYPE_NONE)
            first = (gint)port;
    }
    return first;
}

/* Whether the output is at an end of the whole graph. Other outputs that no node reads are not
 * taken: a run does not make them, and its plan may be one that could not. */
static gboolean
is_end(const CtGraph *graph, guint node, guint port)
{
    return is_read(graph, node, port, TRUE) || find_loose_end(graph, node) == (gint)port;
}

static gboolean
has_backend(CtRegistry *registry, const CtStage *stage, CtBackend backend)
{
    const GPtrArray *variants = ct_registry_variants(registry, stage->name);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (variant->backend == backend && !variant->covers[1])
            return TRUE;
    }
    return FALSE;
}

/* Whether variants of this name, "cuda:tile=32", run the stage only with others: as a node by
 * itself it cannot run so. */
static gboolean
wants_others(CtRegistry *registry, const CtStage *stage, const char *wanted)
{
    const GPtrArray *stages = ct_registry_stages(registry);
    g_autofree char *name = g_strndup(wanted, strcspn(wanted, ":"));
    gboolean is_known = FALSE;
    for (guint i = 0; i < stages->len; i++) {
        const GPtrArray *variants =
            ct_registry_variants(registry, ((const CtStage *)stages->pdata[i])->name);
        for (guint k = 0; k < variants->len; k++) {
            const CtVariant *variant = variants->pdata[k];
            if (!g_str_equal(variant->name, name) || !g_strv_contains(variant->covers, stage->name))
                continue;
            if (!variant->covers[1])
                return FALSE;
            is_known = TRUE;
        }
    }
    return is_known;
}

/* Copies the options for the node to its twin, which runs in the tested way. */
static void
copy_way(CtVerifyTwins *twins, const CtVerifyOptions *options, const CtGraphNode *node,
         CtConfigStage *twin)
{
    const char *name = node->node.name;
    const char *backend =
        options->plan->backends ? g_hash_table_lookup(options->plan->backends, name) : NULL;
    const char *variant =
        options->plan->variants ? g_hash_table_lookup(options->plan->variants, name) : NULL;
    const CtStage *stage = node->node.stage;
    if (backend)
        g_hash_table_insert(twins->backends, g_strdup(twin->name), g_strdup(backend));
    if (variant && (twins->together || !wants_others(options->registry, stage, variant)))
        g_hash_table_insert(twins->variants, g_strdup(twin->name), g_strdup(variant));
    if (twin->variant && !twins->together && wants_others(options->registry, stage, twin->variant))
        g_clear_pointer(&twin->variant, g_free);
}

static void
add_nodes(CtVerifyTwins *twins, const CtVerifyOptions *options, const CtGraphNode *node,
          gboolean together)
{
    const char *name = node->node.name;
    g_autofree char *twin = twin_name(name);
    CtConfigStage *other = ct_config_add_copy(twins->config, node->config, name);
    g_clear_pointer(&other->variant, g_free);
    other->backend = (CtConfigBackend){CT_N_BACKENDS, -1};
    if (has_backend(options->registry, node->node.stage, options->against.backend))
        other->backend = options->against;
    CtConfigStage *looked_into = ct_config_add_copy(twins->config, node->config, twin);
    copy_way(twins, options, node, looked_into);
    for (guint i = 0; i < looked_into->links->len && together; i++) {
        CtConfigLink *link = &g_array_index(looked_into->links, CtConfigLink, i);
        char *from = twin_name(link->node);
        g_free(link->node);
        link->node = from;
    }
}

/* Adds a node of stage `output` that takes an output; returns its name. */
static char *
add_tap(CtVerifyTwins *twins, const CtGraphNode *node, guint port, const char *from)
{
    const char *output = node->node.stage->outputs[port].name;
    char *name = g_strdup_printf("%s.%s", from, output);
    CtConfigStage *tap = ct_config_add(twins->config, name, "output", &node->config->place);
    const CtConfigLink link = {
        .node = g_strdup(from),
        .output = g_strdup(output),
        .place = node->config->place,
    };
    g_array_append_val(tap->links, link);
    tap->backend.backend = CT_CPU;
    /* whole axes, in any order */
    ct_value_set(tap->params, "layout", ct_value_new_text(&node->config->place, "{...}"));
    return name;
}

void
ct_verify_twins_init(CtVerifyTwins *twins, const CtVerifyOptions *options, gboolean together)
{
    const CtGraph *graph = options->graph;
    g_autofree gboolean *is_run = find_nodes(options);
    *twins = (CtVerifyTwins){
        .together = together,
        .config = ct_config_new(graph->config),
        .backends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .variants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
        .fixed =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)ct_fixed_free),
        .pairs = g_ptr_array_new_with_free_func(pair_free),
    };
    for (guint i = 0; i < graph->nodes->len; i++) {
        const CtGraphNode *node = graph->nodes->pdata[i];
        if (!is_run[i])
            continue;
        add_nodes(twins, options, node, together);
        for (guint port = 0; port < node->node.n_outputs; port++) {
            if (node->node.outputs[port].type == CT_TYPE_NONE ||
                (together && !is_end(graph, i, port)))
                continue;
            CtVerifyPair *pair = g_new0(CtVerifyPair, 1);
            pair->node = i;
            pair->port = port;
            pair->nodes[0] = twin_name(node->node.name);
            pair->nodes[1] = g_strdup(node->node.name);
            for (guint k = 0; k < 2; k++)
                pair->taps[k] = add_tap(twins, node, port, pair->nodes[k]);
            g_ptr_array_add(twins->pairs, pair);
        }
    }
}

/* The way in which a node of a plan runs. */
static CtFixed *
fix(const CtPlanNode *node)
{
    g_autofree CtLayout *layouts = g_new0(CtLayout, node->n_inputs + node->n_outputs + 1);
    CtLayout *outputs = &layouts[node->n_inputs];
    for (guint i = 0; i < node->n_inputs; i++)
        layouts[i] = node->input_bindings[i].layout;
    for (guint o = 0; o < node->n_outputs; o++)
        outputs[o] = node->output_bindings[o].layout;
    return ct_fixed_new(node->variant, node->row, node->tuning, node->place, node->n_inputs,
                        layouts, node->n_outputs, outputs);
}

gboolean
ct_verify_twins_fix(CtVerifyTwins *twins, const CtVerifyOptions *options, GError **error)
{
    g_autoptr(CtPlan) plan = ct_plan_new(options->graph, options->registry, options->plan, error);
    if (!plan)
        return FALSE;
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = ct_plan_node(plan, i);
        if (!node->inserted && node->n_outputs > 0)
            g_hash_table_insert(twins->fixed, twin_name(node->nodes[0].name), fix(node));
    }
    return TRUE;
}

void
ct_verify_twins_clear(CtVerifyTwins *twins)
{
    g_clear_pointer(&twins->config, ct_config_free);
    g_clear_pointer(&twins->backends, g_hash_table_unref);
    g_clear_pointer(&twins->variants, g_hash_table_unref);
    g_clear_pointer(&twins->fixed, g_hash_table_unref);
    g_clear_pointer(&twins->pairs, g_ptr_array_unref);
}
