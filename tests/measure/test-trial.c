/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of trials: every kind of node alone, in all candidates and implementations; and of fixed
 * choices in a plan. */
#include "device/device.h"
#include "measure/trial.h"
#include "plan/candidates.h"
#include "plan/planner.h"

#include <string.h>

/* This is short, but long enough for a firing. */
static const gdouble slice = 0.001;

typedef struct {
    CtRegistry *registry;
    CtConfig *config;
    CtGraph *graph;
    CtPlanOptions options;
    CtPlanner planner;
    CtCandidates *candidates;
} Fixture;

static void
set_up(Fixture *fixture, const char *stages, CtBackend backend)
{
    g_autoptr(GError) error = NULL;
    /* Each line is an entry. */
    g_auto(GStrv) entries = g_strsplit(stages, "\n", -1);
    g_autofree char *indented = g_strjoinv("\n  ", entries);
    g_autofree char *text = g_strdup_printf("stages:\n  %s", indented);
    fixture->registry = ct_registry_new(&error);
    g_assert_no_error(error);
    fixture->config = ct_config_parse(text, -1, "g.yaml", NULL, &error);
    g_assert_no_error(error);
    fixture->graph = ct_graph_new(fixture->config, fixture->registry, FALSE, &error);
    g_assert_no_error(error);
    fixture->options = (CtPlanOptions){
        .n_workers = 2,
        .backend = backend,
        .device = -1,
        .cache_bytes = 1 << 16,
        .device_bytes = 1 << 16,
    };
    ct_planner_init(&fixture->planner, fixture->graph, fixture->registry, &fixture->options);
    fixture->candidates = ct_candidates_new(&fixture->planner, &error);
    g_assert_no_error(error);
}

static void
tear_down(Fixture *fixture)
{
    ct_candidates_free(fixture->candidates);
    ct_planner_clear(&fixture->planner);
    ct_graph_free(fixture->graph);
    ct_config_free(fixture->config);
    ct_registry_free(fixture->registry);
}

static guint
find(const Fixture *fixture, const char *name)
{
    for (guint i = 0; i < fixture->graph->nodes->len; i++) {
        const CtGraphNode *node = g_ptr_array_index(fixture->graph->nodes, i);
        if (g_str_equal(node->node.name, name))
            return i;
    }
    g_error("no node '%s'", name);
}

/* ---- every kind of node ---- */

static void
try_implementation(const Fixture *fixture, const CtCandidate *candidate,
                   const CtImplementation *implementation)
{
    g_autoptr(GError) error = NULL;
    CtNode nodes[4];
    for (guint k = 0; k < candidate->n_nodes; k++) {
        const CtGraphNode *node = g_ptr_array_index(fixture->graph->nodes, candidate->nodes[k]);
        nodes[k] = node->node;
    }
    const CtEstimated what = {
        .variant = implementation->variant,
        .row = implementation->row,
        .tuning = implementation->estimate.tuning,
        .nodes = nodes,
        .n_nodes = candidate->n_nodes,
        .inputs = candidate->inputs,
        .outputs = candidate->outputs,
        .load = &candidate->load,
        .from = candidate->place,
        .to = candidate->place,
    };
    g_autoptr(CtTrial) trial = ct_trial_new(&what, 1, fixture->registry, &fixture->options, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ct_trial_bytes(trial), >, 0);
    for (guint k = 0; k < 2; k++) {
        CtTrialResult result;
        ct_trial_run(trial, slice, &result, &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(result.samples, >, 0);
        g_assert_cmpfloat(result.seconds, >, 0);
    }
}

typedef struct {
    const char *name;
    const char *stages;
    gboolean on_host_alone;
} Case;

#define SKY                                                                                        \
    "sky: {stage: generate, type: ci8, sample_rate: 1 MHz, centre_frequency: 150 MHz, "            \
    "n_stations: 4, n_pols: 2, spiral: 100 m}\n"
#define SPECTRA                                                                                    \
    SKY "filter: {stage: fir, from: sky, n_channels: 16, n_taps: 4}\n"                             \
        "spectra: {stage: fft, from: filter}\n"

/* The node `tried` of each graph is run. */
static const Case cases[] = {
    {"window", SKY "tried: {stage: fir, from: sky, n_channels: 16, n_taps: 4}\n"
                   "out: {stage: discard, from: tried}\n"},
    {"decimating", SKY "tried: {stage: fir, from: sky, n_channels: 1, n_taps: 32, hop: 8}\n"
                       "out: {stage: discard, from: tried}\n"},
    {"fused", SKY "tried: {stage: fir, from: sky, n_channels: 16, n_taps: 4}\n"
                  "spectra: {stage: fft, from: tried}\n"
                  "out: {stage: discard, from: spectra}\n"},
    {"static", SPECTRA "weights: {stage: pointing, from: spectra, spiral: 100 m, disk: 0.05, "
                       "n_beams: 3}\n"
                       "tried: {stage: beamform, from: {voltages: spectra, weights: weights}}\n"
                       "out: {stage: discard, from: tried}\n"},
    {"sum", SPECTRA "tried: {stage: correlate, from: spectra, integration: 8}\n"
                    "out: {stage: discard, from: tried}\n"},
    {"long sum", SPECTRA "tried: {stage: correlate, from: spectra, integration: 1000000000}\n"
                         "out: {stage: discard, from: tried}\n"},
    {"any order", SKY "tried: {stage: transpose, from: sky, layout: '[pol station time]'}\n"
                      "out: {stage: discard, from: tried}\n"},
    {"own footprint", SKY "tried: {stage: delay, from: turned, spiral: 100 m, direction: [[0.1, "
                          "0.2]]}\n"
                          "turned: {stage: convert, from: sky, type: cf32}\n"
                          "out: {stage: discard, from: tried}\n"},
    {"many inputs", SKY "tried: {stage: stack, from: [sky, sky], axis: station}\n"
                        "out: {stage: discard, from: tried}\n"},
    {"source",
     "tried: {stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 4, n_pols: 2}\n"
     "out: {stage: discard, from: tried}\n",
     .on_host_alone = TRUE},
    {"short source",
     "tried: {stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 4, n_pols: 2, samples: "
     "100}\n"
     "out: {stage: discard, from: tried}\n",
     .on_host_alone = TRUE},
    {"sink", SKY "tried: {stage: discard, from: sky}\n"},
};

static void
check_kind(const Case *one, CtBackend backend)
{
    Fixture fixture;
    guint n_tried = 0;
    set_up(&fixture, one->stages, backend);
    const GPtrArray *all = fixture.candidates->nodes[find(&fixture, "tried")];
    /* On a device, kernels are compiled for each of them. */
    for (guint i = 0; i < (backend == CT_CUDA ? MIN(all->len, 3) : all->len); i++) {
        const CtCandidate *candidate = g_ptr_array_index(all, i);
        for (guint o = 0; o < candidate->implementations->len; o++) {
            const CtImplementation *implementation =
                &g_array_index(candidate->implementations, CtImplementation, o);
            if (implementation->variant->backend == CT_REFERENCE)
                continue;
            try_implementation(&fixture, candidate, implementation);
            n_tried++;
        }
    }
    g_assert_cmpuint(n_tried, >, 0);
    tear_down(&fixture);
}

static void
test_kind(gconstpointer data)
{
    check_kind(data, CT_CPU);
}

static void
test_kind_on_device(gconstpointer data)
{
    check_kind(data, CT_CUDA);
}

/* ---- impossible trials ---- */

static gboolean
refuse(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER, "wants another machine");
    return FALSE;
}

static gboolean
break_down(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "wants other data");
    return FALSE;
}

static void
test_failures(void)
{
    static const CtRow rows[] = {{"any: [...] -> [...]", 1}, {NULL}};
    static const char *const covers[] = {"transpose", NULL};
    static const CtVariant refusing = {
        .name = "refusing",
        .backend = CT_CPU,
        .covers = covers,
        .rows = rows,
        .prepare = refuse,
        .work = break_down,
    };
    static const CtVariant breaking = {
        .name = "breaking",
        .backend = CT_CPU,
        .covers = covers,
        .rows = rows,
        .work = break_down,
    };
    Fixture fixture;
    set_up(&fixture,
           SKY "tried: {stage: transpose, from: sky, layout: '[pol station time]'}\n"
               "out: {stage: discard, from: tried}\n",
           CT_CPU);
    const CtGraphNode *node = g_ptr_array_index(fixture.graph->nodes, find(&fixture, "tried"));
    const CtCandidate *candidate =
        g_ptr_array_index(fixture.candidates->nodes[find(&fixture, "tried")], 0);
    const CtLoad load = {0};
    CtEstimated what = {
        .load = &load,
        .variant = &refusing,
        .row = rows,
        .nodes = &node->node,
        .n_nodes = 1,
        .inputs = candidate->inputs,
        .outputs = candidate->outputs,
        .from = CT_HOST,
        .to = CT_HOST,
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(CtTrial) trial = ct_trial_new(&what, 1, fixture.registry, &fixture.options, &error);
    g_assert_no_error(error);
    CtTrialResult result;
    g_assert_false(ct_trial_run(trial, slice, &result, &error));
    g_assert_nonnull(strstr(error->message, "wants another machine"));
    g_clear_error(&error);
    g_clear_pointer(&trial, ct_trial_free);

    what.variant = &breaking;
    trial = ct_trial_new(&what, 1, fixture.registry, &fixture.options, &error);
    g_assert_no_error(error);
    g_assert_false(ct_trial_run(trial, slice, &result, &error));
    g_assert_nonnull(strstr(error->message, "wants other data"));
    tear_down(&fixture);
}

/* ---- blocks ---- */

/* The bytes of the rings in a trial of node `name`, with its first candidate. */
static gsize
bytes_of_trial(const char *stages, const char *name, CtBackend backend)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    set_up(&fixture, stages, backend);
    const guint n = find(&fixture, name);
    const CtGraphNode *node = g_ptr_array_index(fixture.graph->nodes, n);
    const CtCandidate *candidate = g_ptr_array_index(fixture.candidates->nodes[n], 0);
    const CtEstimated what = {
        .variant = candidate->variant,
        .row = candidate->row,
        .nodes = &node->node,
        .n_nodes = 1,
        .inputs = candidate->inputs,
        .outputs = candidate->outputs,
        .load = &candidate->load,
        .from = candidate->place,
        .to = candidate->place,
    };
    g_autoptr(CtTrial) trial = ct_trial_new(&what, 1, fixture.registry, &fixture.options, &error);
    g_assert_no_error(error);
    const gsize bytes = ct_trial_bytes(trial);
    g_clear_pointer(&trial, ct_trial_free);
    tear_down(&fixture);
    return bytes;
}

#define BLOCKS(block_)                                                                             \
    "sky: {stage: generate, type: ci8, sample_rate: 1 MHz, n_stations: 4, n_pols: 2" block_ "}\n"  \
    "wide: {stage: convert, from: sky, type: cf32}\n"                                              \
    "turned: {stage: transpose, from: wide, layout: '[pol station time]'}\n"                       \
    "out: {stage: discard, from: turned}\n"

/* A trial's blocks are as long as the source's `block` makes them in the graph; on the host, a
 * longer block only affects the source's readers. */
static void
check_blocks(CtBackend backend)
{
    const gsize near = bytes_of_trial(BLOCKS(""), "wide", backend);
    const gsize far = bytes_of_trial(BLOCKS(""), "turned", backend);
    const char *wide = BLOCKS(", block: {time: 100000}"), *narrow = BLOCKS(", block: {time: 8}");
    g_assert_cmpuint(bytes_of_trial(wide, "wide", backend), >, MAX(near, (gsize)16 * 100000));
    if (backend == CT_CUDA)
        g_assert_cmpuint(bytes_of_trial(wide, "turned", backend), >, MAX(far, (gsize)64 * 100000));
    else
        g_assert_cmpuint(bytes_of_trial(wide, "turned", backend), ==, far);
    g_assert_cmpuint(bytes_of_trial(narrow, "wide", backend), <, near);
    g_assert_cmpuint(bytes_of_trial(narrow, "turned", backend), <, far);
}

static void
test_blocks(void)
{
    check_blocks(CT_CPU);
}

static void
test_blocks_on_device(void)
{
    check_blocks(CT_CUDA);
}

/* ---- readers that wait ---- */

/* An estimate depends on the samples that the node's reader takes at once in the plan, unless these
 * stay in caches. */
static void
test_held(void)
{
    static const struct {
        const char *stages;
        gint64 least, most;
    } graphs[] = {
        {SPECTRA "out: {stage: discard, from: spectra}\n", 0, 0},
        /* Sums are 5 KiB, spectra 1 KiB. */
        {SPECTRA "v: {stage: correlate, from: spectra, integration: 1000}\n"
                 "out: {stage: discard, from: v}\n",
         20, 20},
        {SPECTRA "v: {stage: correlate, from: spectra, integration: 3}\n"
                 "out: {stage: discard, from: v}\n",
         3, 3},
        /* Weights are 12.5 KiB; they are read for as many bytes of spectra. */
        {SPECTRA "weights: {stage: pointing, from: spectra, spiral: 100 m, disk: 0.05, "
                 "n_beams: 25}\n"
                 "v: {stage: beamform, from: {voltages: spectra, weights: weights}}\n"
                 "out: {stage: discard, from: v}\n",
         1, 12},
    };
    for (guint g = 0; g < G_N_ELEMENTS(graphs); g++) {
        Fixture fixture;
        g_autoptr(GError) error = NULL;
        set_up(&fixture, graphs[g].stages, CT_CPU);
        CtPlanOptions options = fixture.options;
        options.cache_bytes = 1 << 10;
        g_autoptr(CtPlan) plan = ct_plan_new(fixture.graph, fixture.registry, &options, &error);
        g_assert_no_error(error);
        gint64 held = 0, seen = 0;
        for (guint i = 0; i < plan->nodes->len; i++) {
            const CtPlanNode *node = g_ptr_array_index(plan->nodes, i);
            const char *last = node->nodes[node->n_nodes - 1].name;
            held = MAX(held, g_str_equal(last, "spectra") ? node->held : 0);
            if (g_str_equal(node->name, "v"))
                seen = node->input_bindings[0].max_samples;
        }
        g_assert_cmpint(held, ==, seen);
        g_assert_cmpint(held, >=, graphs[g].least);
        g_assert_cmpint(held, <=, graphs[g].most);
        tear_down(&fixture);
    }
}

/* ---- fixed choices ---- */

static char *
plan_layouts(const CtPlan *plan, const char *name)
{
    for (guint i = 0; i < plan->nodes->len; i++) {
        const CtPlanNode *node = g_ptr_array_index(plan->nodes, i);
        if (g_str_has_prefix(node->name, name))
            return g_strdup_printf("%s %s", node->name, node->variant->name);
    }
    return g_strdup("nothing");
}

/* Every candidate of a node can be fixed, and is then part of the plan. */
static void
test_fixed(void)
{
    Fixture fixture;
    set_up(&fixture, SPECTRA "out: {stage: discard, from: spectra}\n", CT_CPU);
    const guint filter = find(&fixture, "filter"), spectra = find(&fixture, "spectra");
    const GPtrArray *all = fixture.candidates->nodes[filter];
    guint n_fused = 0;
    for (guint i = 0; i < all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(all, i);
        const gboolean is_fused = candidate->n_nodes > 1;
        g_autoptr(GHashTable) fixed =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)ct_fixed_free);
        CtPlanOptions options = fixture.options;
        g_autoptr(GError) error = NULL;
        options.fixed = fixed;
        const CtNode *node = &ct_graph_node(fixture.graph, filter)->node;
        g_hash_table_insert(fixed, "filter",
                            ct_fixed_new(candidate->variant, candidate->row,
                                         candidate->estimate.tuning, candidate->place,
                                         node->n_inputs, candidate->inputs, 1, candidate->outputs));
        g_autoptr(CtPlan) plan = ct_plan_new(fixture.graph, fixture.registry, &options, &error);
        g_assert_no_error(error);
        g_autofree char *got = plan_layouts(plan, "filter");
        g_autofree char *wanted =
            g_strdup_printf("filter%s %s", is_fused ? "+spectra" : "", candidate->variant->name);
        g_assert_cmpstr(got, ==, wanted);
        n_fused += is_fused;

        /* These two contradict each other. */
        const CtCandidate *other = g_ptr_array_index(fixture.candidates->nodes[spectra], 0);
        if (!is_fused || other->n_nodes > 1)
            continue;
        g_hash_table_insert(fixed, "spectra",
                            ct_fixed_new(other->variant, other->row, other->estimate.tuning,
                                         other->place, 1, other->inputs, 1, other->outputs));
        g_autoptr(CtPlan) none = ct_plan_new(fixture.graph, fixture.registry, &options, &error);
        g_assert_null(none);
        g_assert_nonnull(strstr(error->message, "does not cover it here"));
    }
    g_assert_cmpuint(n_fused, >, 0);
    tear_down(&fixture);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    const char *reason;
    const gboolean has_device = ct_devices(NULL, &reason) > 0;
    /* If the environment names a backend, only that is tested. */
    const gboolean for_device = g_getenv("CORNERTURN_TEST_BACKEND") != NULL;
    if (for_device && !has_device) {
        g_print("1..0 # SKIP no device: %s\n", reason);
        return 0;
    }
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *path = g_strdup_printf("/trial/%s", cases[i].name);
        g_autofree char *there = g_strdup_printf("/trial/device/%s", cases[i].name);
        if (!for_device)
            g_test_add_data_func(path, &cases[i], test_kind);
        if (has_device && !cases[i].on_host_alone)
            g_test_add_data_func(there, &cases[i], test_kind_on_device);
    }
    if (has_device)
        g_test_add_func("/trial/device/blocks", test_blocks_on_device);
    if (!for_device) {
        g_test_add_func("/trial/blocks", test_blocks);
        g_test_add_func("/trial/held", test_held);
        g_test_add_func("/trial/failures", test_failures);
        g_test_add_func("/trial/fixed", test_fixed);
    }
    return g_test_run();
}
