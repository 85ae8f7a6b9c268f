/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that no plan costs less: against every combination, and on graphs of any size. */
#include "planning.h"

#include <string.h>

static gdouble
cost_of_outlet(const Fixture *fixture, CtPlanner *planner, const CtOutlet *outlet,
               const CtArrangement *const *chosen)
{
    const CtGraphNode *writer = g_ptr_array_index(fixture->graph->nodes, outlet->node);
    const CtArrangement *from = chosen[outlet->node];
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(CtSpot));
    gdouble sum = 0;
    for (guint r = 0; r < outlet->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(outlet->readers, CtPlanReader, r);
        const CtArrangement *to = chosen[reader->node];
        const gboolean leaves = from->nodes[from->n_nodes - 1] == outlet->node;
        if (!leaves || to->nodes[0] != reader->node) {
            if (from != to)
                return HUGE_VAL;
            continue;
        }
        const CtStream *stream = &writer->node.outputs[outlet->port];
        const CtSpot here = {from->outputs[outlet->port], from->place};
        const CtSpot there = {to->inputs[reader->port], to->place};
        CtBridge bridge;
        ct_bridge_find(&bridge, planner, stream, &here, &there);
        if (bridge.seconds == HUGE_VAL)
            return HUGE_VAL;
        for (guint s = 0; s < bridge.n_steps; s++) {
            gboolean made = FALSE;
            for (guint k = 0; k < steps->len; k++)
                made |= ct_spot_same_memory(&g_array_index(steps, CtSpot, k), &bridge.steps[s].to,
                                            stream);
            if (!made) {
                g_array_append_val(steps, bridge.steps[s].to);
                sum += ct_cost_longest(&bridge.steps[s].cost);
            }
        }
    }
    return sum;
}

static gdouble
least_cost(const Fixture *fixture, CtPlanner *planner, const CtCandidates *candidates,
           const GPtrArray *outlets)
{
    const guint n = candidates->n_nodes;
    g_autofree guint *digits = g_new0(guint, n);
    g_autofree const CtArrangement **chosen = g_new(const CtArrangement *, n);
    gdouble least = HUGE_VAL;
    for (;;) {
        gdouble sum = 0;
        for (guint i = 0; i < n; i++) {
            chosen[i] = g_ptr_array_index(candidates->nodes[i], digits[i]);
            sum += chosen[i]->nodes[0] == i ? ct_cost_longest(&chosen[i]->cost) : 0;
        }
        for (guint o = 0; o < outlets->len && sum < least; o++)
            sum += cost_of_outlet(fixture, planner, g_ptr_array_index(outlets, o), chosen);
        least = MIN(least, sum);
        guint i = 0;
        while (i < n && ++digits[i] == candidates->nodes[i]->len)
            digits[i++] = 0;
        if (i == n)
            return least;
    }
}

static const char *
random_of(const char *const *names, guint n)
{
    return names[g_test_rand_int_range(0, n)];
}

/* A few nodes, each fed by one or (stack) two of those before it; some on a device of those that
 * there are. */
static char *
random_graph(guint n_nodes, guint n_devices)
{
    static const char *const layouts[] = {
        "",
        ", layout: '[time channel station pol]'",
        ", layout: '[channel time station pol]'",
        ", layout: '[pol station channel time]'",
        ", layout: '[time ...]'",
    };
    static const char *const types[] = {"ci8", "cf32"};
    static const char *const passes[] = {
        "test.pass",  "test.time-last",   "test.channel-first", "test.either", "test.either",
        "test.float", "test.writes-both", "test.window",        "test.any",
    };
    static const char *const backends[] = {
        "",
        ", backend: cpu",
        ", backend: cuda",
        ", backend: 'cuda:1'",
    };
    static const char *const with_cuda[] = {"test.pass", "test.channel-first", "test.float",
                                            "test.window"};
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "  n0: {stage: test.source, type: %s%s}\n", random_of(types, 2),
                           random_of(layouts, G_N_ELEMENTS(layouts)));
    for (guint i = 1; i < n_nodes; i++) {
        const guint from = g_test_rand_bit() ? i - 1 : (guint)g_test_rand_int_range(0, i);
        if (i > 2 && g_test_rand_int_range(0, 4) == 0)
            g_string_append_printf(text, "  n%u: {stage: test.many, from: [n%u, n%u]}\n", i, from,
                                   g_test_rand_int_range(0, i));
        else if (n_devices > 0 && g_test_rand_bit())
            g_string_append_printf(text, "  n%u: {stage: %s, from: n%u%s}\n", i,
                                   random_of(with_cuda, G_N_ELEMENTS(with_cuda)), from,
                                   random_of(backends, 2 + n_devices));
        else
            g_string_append_printf(text, "  n%u: {stage: %s, from: n%u}\n", i,
                                   random_of(passes, G_N_ELEMENTS(passes)), from);
    }
    g_string_append_printf(text, "  o: {stage: test.sink, from: n%u%s}\n", n_nodes - 1,
                           random_of(layouts, G_N_ELEMENTS(layouts)));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
test_least(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    guint n_checked = 0, n_fused = 0, n_inserted = 0, n_copied = 0, n_exact = 0;
    for (guint trial = 0; trial < 1200; trial++) {
        CtPlanOptions options = usual;
        options.n_devices = trial % 3;
        options.no_peers = g_test_rand_bit();
        g_autofree char *text = random_graph(g_test_rand_int_range(2, 6), options.n_devices);
        plan(fixture, text, &options);
        g_auto(CtPlanner) planner;
        ct_planner_init(&planner, fixture->graph, fixture->registry, &options);
        g_autoptr(CtCandidates) candidates = ct_candidates_new(&planner, NULL);
        g_autoptr(GPtrArray) outlets = ct_outlets_new(fixture->graph);
        gdouble combinations = 1;
        for (guint i = 0; i < candidates->n_nodes; i++)
            combinations *= candidates->nodes[i]->len;
        if (combinations > 20000)
            continue;
        const gdouble least = least_cost(fixture, &planner, candidates, outlets);
        /* Where an outlet has too many sets of spots, it says so. */
        n_exact += fixture->plan->exact;
        if (fixture->plan->seconds < least * (1 - 1e-9) ||
            (fixture->plan->exact && fixture->plan->seconds > least * (1 + 1e-9)))
            g_error("the least is %g, the plan's %g: %s", least, fixture->plan->seconds, text);
        g_autofree char *given = summarise(fixture->plan);
        n_fused += strchr(given, '+') != NULL;
        n_inserted += strchr(given, '>') != NULL;
        n_copied += strstr(given, ">copy") != NULL;
        n_checked++;
    }
    g_test_message("%u graphs against every combination, %u with insertions, %u of them copies, "
                   "%u fused",
                   n_checked, n_inserted, n_copied, n_fused);
    g_assert_cmpuint(n_checked, >, 500);
    g_assert_cmpuint(n_exact, >=, n_checked - n_checked / 50);
    g_assert_cmpuint(n_inserted, >, 200);
    g_assert_cmpuint(n_copied, >, 100);
    g_assert_cmpuint(n_fused, >, 2);
}

/* ---- size ---- */

static void
test_200_nodes(Fixture *fixture, gconstpointer data)
{
    CtPlanOptions options = usual;
    options.n_devices = GPOINTER_TO_UINT(data);
    options.device_bytes = 1 << 18;
    static const char *const passes[] = {
        "test.pass",   "test.time-last", "test.channel-first", "test.either",
        "test.either", "test.float",     "test.writes-both",   "test.window",
    };
    g_autoptr(GString) text = g_string_new("  n0: {stage: test.source, type: ci8}\n");
    for (guint i = 1; i < 199; i++) {
        if (i % 10 == 9)
            g_string_append_printf(text, "  n%u: {stage: test.many, from: [n%u, n%u]}\n", i, i - 1,
                                   i - 5);
        else
            g_string_append_printf(text, "  n%u: {stage: %s, from: n%u}\n", i,
                                   passes[i * 7 % G_N_ELEMENTS(passes)], i - 1);
    }
    g_string_append(text, "  o: {stage: test.sink, from: n198}\n");
    gdouble best = HUGE_VAL;
    for (guint trial = 0; trial < 5; trial++) {
        load(fixture, text->str);
        g_autoptr(GError) error = NULL;
        const gint64 begin = g_get_monotonic_time();
        fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &options, &error);
        best = MIN(best, (g_get_monotonic_time() - begin) * 1e-6);
        g_assert_no_error(error);
    }
    g_assert_true(fixture->plan->exact);
    g_test_message("200 nodes planned in %.4f s", best);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    g_assert_cmpfloat(best, <, 0.1);
#endif
}

/* Many readers of one output that want all kinds of layouts: each kind is made once. */
static void
check_star(Fixture *fixture, guint n_orders, guint n_types, guint n_each, gboolean exact)
{
    static const char *const axes[] = {"time", "channel", "station", "pol"};
    static const char *const types[] = {"ci8", "cf32", "cf64", "ci16"};
    g_autoptr(GString) text = g_string_new(
        "  s: {stage: test.source, type: ci8, layout: '[time channel station pol]'}\n");
    for (guint i = 0; i < n_orders * n_types * n_each; i++) {
        guint order = i % n_orders, taken = 0;
        g_string_append_printf(text, "  o%u: {stage: test.sink, from: s, layout: '%s[", i,
                               types[i / n_orders % n_types]);
        for (guint left = 4; left > 0; left--) {
            guint pick = order % left, a = 0;
            order /= left;
            while (taken >> a & 1 || pick-- > 0)
                a++;
            taken |= 1u << a;
            g_string_append_printf(text, "%s%s", left < 4 ? " " : "", axes[a]);
        }
        g_string_append(text, "]'}\n");
    }
    plan(fixture, text->str, &usual);
    g_assert_true(fixture->plan->exact == exact);
    g_free(summarise(fixture->plan));
    /* All but the written one, each by one step from another. */
    g_assert_cmpuint(fixture->plan->inserted->len, ==, n_orders * n_types - 1);
    for (guint i = 0; i < fixture->plan->links->len; i++) {
        const CtPlanLink *link = g_ptr_array_index(fixture->plan->links, i);
        g_assert_cmpuint(link->readers->len, >=, n_each);
    }
}

static void
test_stars(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    check_star(fixture, 3, 1, 2, TRUE);
    check_star(fixture, 12, 1, 1, TRUE);
    check_star(fixture, 24, 1, 3, TRUE);
    check_star(fixture, 2, 2, 3, TRUE);
    check_star(fixture, 24, 3, 1, FALSE);
    /* Readers that would take any of them follow those that would not. */
    g_autoptr(GString) text = g_string_new("  s: " ORDERED "\n");
    for (guint i = 0; i < 40; i++)
        g_string_append_printf(text, "  e%u: {stage: %s, from: s}\n", i,
                               i == 7  ? "test.channel-first"
                               : i % 2 ? "test.either"
                                       : "test.pass");
    plan(fixture, text->str, &usual);
    g_assert_true(fixture->plan->exact);
    g_assert_cmpuint(fixture->plan->inserted->len, ==, 1);
    g_free(summarise(fixture->plan));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/plan-least/least", Fixture, NULL, set_up, test_least, tear_down);
    g_test_add("/plan-least/200-nodes", Fixture, NULL, set_up, test_200_nodes, tear_down);
    g_test_add("/plan-least/200-nodes-and-a-device", Fixture, GUINT_TO_POINTER(1), set_up,
               test_200_nodes, tear_down);
    g_test_add("/plan-least/stars", Fixture, NULL, set_up, test_stars, tear_down);
    return g_test_run();
}
