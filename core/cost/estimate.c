/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of what candidates cost: from the database if it knows the candidate or a near one, or
 * else from the model. The database is read and parsed once. */
#include "ceilings.h"
#include "estimate-private.h"
#include "graph/plugin-call.h"
#include "graph/registry.h"
#include "graph/tuning.h"
#include "model/own-file.h"

#include <cornerturn/kit/epilogue.h>
#include <math.h>
#include <string.h>

const char *const ct_origin_names[CT_N_ORIGINS] = {
    [CT_ORIGIN_MODEL] = "model",
    [CT_ORIGIN_NEAREST] = "nearest",
    [CT_ORIGIN_SHIPPED] = "shipped",
    [CT_ORIGIN_MEASURED] = "measured",
};

/* The factor on the model's seconds for a candidate that failed: the highest cost of all, but one
 * that can still be chosen if there is no alternative. */
static const gdouble failed = 1e6;

/* The share of the cost of traffic between two stages that they save as members of a chain. Without
 * one, the traffic stays in the L2 cache as well: on one worker, chains of two to four maps took
 * 0.8 to 1 of the time of their stages, on two, which can be at several stages at once if these are
 * apart, 0.72 to 1.03. */
static const gdouble saved_in_chain = 0.15;

struct CtEstimates {
    const CtMachine *machine;
    CtRegistry *registry;
    const char **machines; /* names, interned, the host's first; NULL-terminated */
    gint64 aim;
    CtKnowledge *knowledge;
    GPtrArray *ceilings; /* of CtCeiling; NULL: none are known */
    GHashTable *codes;   /* file → its checksum */
    char *warning;
    CtEstimateJudge judge; /* NULL: none */
    gpointer judge_data;
};

static const char *
machine_at(const CtEstimates *estimates, gint place)
{
    return estimates->machines[place + 1];
}

static gint64
n_workers_at(const CtEstimates *estimates, gint place)
{
    return place == CT_HOST ? estimates->machine->n_workers : 0;
}

static gint64
aim_at(const CtEstimates *estimates, gint place)
{
    return place == CT_HOST ? estimates->aim : (gint64)estimates->machine->device_bytes;
}

/* The checksum of the file that the variant came from; "" for variants of the core. */
static const char *
code_of(CtEstimates *estimates, const CtVariant *variant)
{
    const char *file = ct_registry_variant_file(estimates->registry, variant);
    const char *known = g_hash_table_lookup(estimates->codes, file);
    if (known)
        return known;
    g_autofree char *bytes = NULL;
    gsize n;
    char *code = g_strdup("");
    if (g_file_get_contents(file, &bytes, &n, NULL)) {
        g_free(code);
        g_autofree char *sum =
            g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
        code = g_strndup(sum, 16);
    }
    g_hash_table_insert(estimates->codes, g_strdup(file), code);
    return code;
}

void
ct_estimate_setting(const CtEstimates *estimates, const CtEstimated *what, CtCostKey *setting)
{
    const gint place = ct_estimate_place(what);
    ct_estimate_setting_at(what, machine_at(estimates, place), n_workers_at(estimates, place),
                           aim_at(estimates, place), setting);
}

void
ct_estimate_key(CtEstimates *estimates, const CtEstimated *what, const gint64 *tuning,
                CtCostKey *key)
{
    ct_estimate_setting(estimates, what, key);
    key->variant = g_intern_string(what->variant->name);
    key->row = g_intern_string(what->row->layouts);
    key->code = g_intern_string(code_of(estimates, what->variant));
    key->tuning = ct_named_values_new();
    for (guint i = 0; i < ct_tuning_count(what->variant); i++)
        ct_named_values_add_number(key->tuning, what->variant->tunables[i].name, tuning[i]);
}

/* ---- from the database ---- */

/* Adds measurements to the knowledge. All tunings of one candidate are adjacent. */
static void
add_measurements(CtEstimates *estimates, GHashTable *variants, const GPtrArray *measurements,
                 gboolean is_shipped)
{
    for (guint i = 0, end; i < measurements->len; i = end) {
        const CtMeasurement *first = g_ptr_array_index(measurements, i);
        for (end = i + 1; end < measurements->len; end++) {
            const CtMeasurement *next = g_ptr_array_index(measurements, end);
            if (!ct_cost_key_equal_candidate(&first->key, &next->key))
                break;
        }
        g_autofree char *name = g_strconcat(first->key.stages, ":", first->key.variant, NULL);
        const CtVariant *variant = g_hash_table_lookup(variants, name);
        if (!variant || !g_strv_contains(estimates->machines, first->key.machine))
            continue;
        const gboolean is_code = g_str_equal(first->key.code, code_of(estimates, variant));
        CtKnown *known = ct_known_new(variant, first, is_shipped, is_code);
        for (guint k = i; known && k < end; k++)
            ct_known_add(known, g_ptr_array_index(measurements, k));
        if (known)
            ct_knowledge_add(estimates->knowledge, known);
    }
}

/* The variants that a graph may use. */
typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    GHashTable *variants; /* "fir+fft:cpu" → variant */
    GPtrArray *stages;    /* those that they cover: "fir+fft" */
} Found;

/* The only node that reads node `n`, by its first input; −1: there is none, or others read it. */
static gint
only_reader(const CtGraph *graph, guint n)
{
    gint found = -1;
    for (guint k = 0; k < graph->nodes->len; k++) {
        const CtGraphNode *reader = ct_graph_node(graph, k);
        for (guint i = 0; i < reader->node.n_inputs; i++) {
            if (reader->from[i].node != (gint)n)
                continue;
            if (found >= 0 || i > 0)
                return -1;
            found = (gint)k;
        }
    }
    return found;
}

/* Adds a variant that begins at node `n` (−1: none of the graph), and what may be attached to it.
 */
static void
add_variants(Found *found, const CtVariant *variant, gint n)
{
    g_autofree char *covers = ct_estimate_stages(variant);
    g_hash_table_insert(found->variants, g_strconcat(covers, ":", variant->name, NULL),
                        (gpointer)variant);
    if (!g_ptr_array_find_with_equal_func(found->stages, covers, g_str_equal, NULL))
        g_ptr_array_add(found->stages, g_steal_pointer(&covers));
    gint next = n;
    for (guint k = 0; variant->covers[k] && next >= 0; k++)
        next = only_reader(found->graph, (guint)next);
    const CtVariant *attached =
        next < 0 ? NULL
                 : ct_registry_attach(found->registry, variant,
                                      ct_graph_node(found->graph, (guint)next)->node.stage);
    if (attached)
        add_variants(found, attached, n);
}

static void
find_variants(Found *found)
{
    const guint n = found->graph->nodes->len;
    found->variants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    found->stages = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < n + CT_N_INSERTED; i++) {
        const char *stage =
            i < n ? ct_graph_node(found->graph, i)->node.stage->name : ct_inserted_stages[i - n];
        const GPtrArray *own = ct_registry_variants(found->registry, stage);
        for (guint v = 0; v < own->len; v++)
            add_variants(found, g_ptr_array_index(own, v), i < n ? (gint)i : -1);
    }
    g_ptr_array_add(found->stages, NULL);
}

/* The arguments of reading measurements. */
typedef struct {
    CtEstimates *estimates;
    CtMachine *machine;
    GHashTable *variants;
    const char *const *stages;   /* NULL-terminated */
    const char *const *machines; /* NULL-terminated */
} Reading;

static gboolean
read_database(const Reading *reading, const char *path, GError **error)
{
    g_autoptr(CtDatabase) database = ct_database_open(path, FALSE, error);
    g_autoptr(GPtrArray) measurements =
        database ? ct_database_list(database, reading->stages, error) : NULL;
    g_autoptr(GPtrArray) ceilings =
        measurements ? ct_database_list_ceilings(database, error) : NULL;
    if (!ceilings)
        return FALSE;
    ct_ceilings_apply(reading->machine, ceilings);
    reading->estimates->ceilings = g_steal_pointer(&ceilings);
    add_measurements(reading->estimates, reading->variants, measurements, FALSE);
    return TRUE;
}

static gboolean
read_shipped_file(const Reading *reading, const char *path, GError **error)
{
    g_autofree char *text = NULL;
    gsize length;
    const CtStoreFilter filter = {reading->stages, reading->machines};
    g_autoptr(GPtrArray) measurements =
        g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    if (!g_file_get_contents(path, &text, &length, error) ||
        !ct_database_parse(text, length, path, &filter, measurements, NULL, error))
        return FALSE;
    add_measurements(reading->estimates, reading->variants, measurements, TRUE);
    return TRUE;
}

/* Reads all .json files of the folder, which need not exist. The first error ends the reading. */
static gboolean
read_shipped(const Reading *reading, const char *folder, GError **error)
{
    g_autofree char *own =
        folder ? g_strdup(folder) : ct_own_folder("costs", CT_COSTS_DIR_FROM_PREFIX);
    g_autoptr(GError) cause = NULL;
    g_autoptr(GDir) names = own ? g_dir_open(own, 0, &cause) : NULL;
    if (cause && !g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
        g_propagate_error(error, g_steal_pointer(&cause));
        return FALSE;
    }
    for (const char *name = NULL; names && (name = g_dir_read_name(names));) {
        g_autofree char *path = g_build_filename(own, name, NULL);
        if (g_str_has_suffix(name, ".json") && !read_shipped_file(reading, path, error))
            return FALSE;
    }
    return TRUE;
}

static void
warn(CtEstimates *estimates, const GError *error)
{
    if (error && !estimates->warning)
        estimates->warning = g_strdup_printf("%s; costs are modelled", error->message);
}

static void
read_all(CtEstimates *estimates, CtMachine *machine, const CtGraph *graph,
         const CtEstimateSources *sources)
{
    g_autofree char *path = ct_database_path(sources->costs);
    if (!path)
        return;
    Found found = {.graph = graph, .registry = estimates->registry};
    find_variants(&found);
    g_autoptr(GPtrArray) stages = found.stages;
    g_autoptr(GHashTable) variants = found.variants;
    const Reading reading = {estimates, machine, variants, (const char *const *)stages->pdata,
                             estimates->machines};
    g_autoptr(GError) error = NULL, shipped_error = NULL;
    read_database(&reading, path, &error);
    read_shipped(&reading, sources->shipped, &shipped_error);
    warn(estimates, error);
    warn(estimates, shipped_error);
}

CtEstimates *
ct_estimates_new(CtMachine *machine, const CtGraph *graph, CtRegistry *registry,
                 const CtEstimateSources *sources, gsize aim)
{
    CtEstimates *estimates = g_new0(CtEstimates, 1);
    estimates->machine = machine;
    estimates->registry = registry;
    estimates->aim = (gint64)aim;
    estimates->machines = g_new0(const char *, machine->n_devices + 2);
    for (gint place = CT_HOST; place < (gint)machine->n_devices; place++)
        estimates->machines[place + 1] = ct_machine_name(machine, place);
    estimates->knowledge = ct_knowledge_new();
    estimates->codes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    read_all(estimates, machine, graph, sources);
    return estimates;
}

void
ct_estimates_free(CtEstimates *estimates)
{
    if (!estimates)
        return;
    ct_knowledge_free(estimates->knowledge);
    g_clear_pointer(&estimates->ceilings, g_ptr_array_unref);
    g_hash_table_unref(estimates->codes);
    g_free(estimates->machines);
    g_free(estimates->warning);
    g_free(estimates);
}

const CtCeiling *
ct_estimates_ceiling(const CtEstimates *estimates, gint place, const char *name)
{
    for (guint i = 0; estimates->ceilings && i < estimates->ceilings->len; i++) {
        const CtCeiling *ceiling = g_ptr_array_index(estimates->ceilings, i);
        if (g_str_equal(ceiling->name, name) &&
            g_str_equal(ceiling->machine, machine_at(estimates, place)))
            return ceiling;
    }
    return NULL;
}

const char *
ct_estimates_warning(const CtEstimates *estimates)
{
    return estimates->warning;
}

void
ct_estimates_set_judge(CtEstimates *estimates, CtEstimateJudge judge, gpointer data)
{
    estimates->judge = judge;
    estimates->judge_data = data;
}

/* ---- one estimate ---- */

/* Estimates from the database; FALSE if it knows nothing. */
static gboolean
ask_database(const CtEstimates *estimates, const CtEstimated *what, CtEstimate *estimate)
{
    const CtMachine *machine = estimates->machine;
    const gint place = ct_estimate_place(what);
    g_auto(CtCostKey) setting;
    ct_estimate_setting(estimates, what, &setting);
    gdouble distance;
    const CtKnown *known =
        ct_knowledge_nearest(estimates->knowledge, what, &setting, machine, &distance);
    if (!known)
        return FALSE;
    const gboolean is_own = known->variant == what->variant;
    const CtTried *asked = is_own ? ct_known_find(known, what->tuning) : NULL;
    const CtTried *tried = asked ? asked : ct_known_find(known, NULL);
    if (!tried) {
        estimate->seconds *= failed;
        estimate->origin = CT_ORIGIN_MEASURED;
        estimate->failure = known->failure;
        return TRUE;
    }
    const CtLoad one = {what->load->operations, what->load->bytes, 1};
    const gdouble over = ct_known_over_ceiling(known, tried, machine, place);
    const gdouble ceiling = ct_cost_ceiling_seconds(machine, what->variant, what->row, &one, place);
    const gdouble seconds = over > 0 && ceiling > 0 ? over * ceiling : tried->seconds;
    const gboolean is_split = place == CT_HOST && what->variant->split;
    estimate->seconds = what->load->rate * seconds / (is_split ? (gdouble)machine->n_workers : 1);
    estimate->spread = tried->spread;
    estimate->origin = asked && distance == 0 ? CT_ORIGIN_MEASURED : CT_ORIGIN_NEAREST;
    if (asked && known->is_shipped && distance <= CT_DISTANCE_SHIPPED + CT_DISTANCE_CODE)
        estimate->origin = CT_ORIGIN_SHIPPED;
    if (is_own && !what->tuning) {
        estimate->is_tuned = !ct_tuning_equal(what->variant, estimate->tuning, tried->tuning);
        memcpy(estimate->tuning, tried->tuning, sizeof(estimate->tuning));
    }
    return TRUE;
}

static gdouble
sample_bytes(const CtStream *stream)
{
    return (gdouble)ct_type_info(stream->type)->bytes * (gdouble)ct_stream_width(stream);
}

/* The load of member k of a chain by itself, less the traffic that the chain saves. */
static void
load_member(const CtEstimated *what, guint k, CtLoad *load)
{
    const CtNode *node = &what->nodes[k];
    const gboolean is_first = k == 0, is_last = k + 1 == what->n_nodes;
    CtLayout in, out;
    ct_layout_canonical(&in, &node->inputs[0]);
    ct_layout_canonical(&out, &node->outputs[0]);
    ct_load_init(load, node, 1, is_first ? what->inputs : &in, is_last ? what->outputs : &out);
    load->bytes -= saved_in_chain * (is_first ? 0 : sample_bytes(&node->inputs[0]));
    load->bytes -= saved_in_chain * (is_last ? 0 : sample_bytes(&node->outputs[0]));
}

/* The sum of a chain's members. */
static gdouble
model_chain(const CtEstimated *what, const CtMachine *machine)
{
    gdouble seconds = 0;
    for (guint k = 0; k < what->n_nodes; k++) {
        const CtVariant *member = ct_epilogue_variant_member(what->variant, k);
        CtLoad load;
        load_member(what, k, &load);
        seconds += ct_cost_seconds(machine, member, &member->rows[0], &load, CT_HOST);
    }
    return seconds;
}

gdouble
ct_estimated_model(const CtEstimated *what, const CtMachine *machine)
{
    const CtVariant *variant = what->variant;
    if (what->from != what->to)
        return ct_cost_copy_seconds(machine, what->load, what->from, what->to);
    /* The embedding program feeds and takes blocks in its own time. */
    if (!variant->work)
        return 0;
    if (ct_epilogue_variant_member(variant, 0))
        return model_chain(what, machine);
    const gdouble share = ct_call_share(variant, what->nodes, what->inputs, what->outputs);
    return ct_cost_seconds(machine, variant, what->row, what->load, what->from) / share;
}

static void
ask_model(const CtEstimates *estimates, const CtEstimated *what, CtEstimate *estimate)
{
    *estimate = (CtEstimate){.origin = CT_ORIGIN_MODEL};
    ct_tuning_defaults(what->variant, estimate->tuning);
    if (what->tuning)
        memcpy(estimate->tuning, what->tuning, sizeof(estimate->tuning));
    estimate->seconds = ct_estimated_model(what, estimates->machine);
}

void
ct_estimate_find(CtEstimates *estimates, const CtEstimated *what, CtEstimate *estimate)
{
    ask_model(estimates, what, estimate);
    const gboolean is_known = ct_knowledge_has(estimates->knowledge, what->variant);
    if ((!is_known && !estimates->judge) || estimate->seconds == HUGE_VAL)
        return;
    if (is_known)
        ask_database(estimates, what, estimate);
    if (estimates->judge)
        estimate->seconds = estimates->judge(what, estimate, estimates->judge_data);
}
