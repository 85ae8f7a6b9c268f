/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that no plan costs less: against every combination, and on graphs of any size. */
#include "plan/candidates.h"
#include "plan/choose.h"
#include "plan/conversion.h"
#include "plan/planner.h"
#include "planning.h"

#include <string.h>
#include <time.h>

/* The search over every combination of candidates, of their implementations, and of conversions
 * between placements. */
typedef struct {
    const Fixture *fixture;
    CtPlanner *planner;
    const GPtrArray *fan_outs;
    guint n_nodes, n_resources;
    const CtCandidate **chosen;
    GPtrArray *conversions; /* [fan-out, reader] of GArray of CtConversion */
    GArray *made;           /* of Made: the nodes inserted so far */
    gdouble busiest, sum;
} Search;

typedef struct {
    guint fan_out;
    CtPlacement placement;
} Made;

static void
add_cost(const Search *search, gdouble *busy, const CtCost *cost)
{
    for (guint p = 0; p < cost->n_parts; p++)
        busy[cost->parts[p].resource] += cost->parts[p].seconds;
    busy[search->n_resources] = MAX(busy[search->n_resources], cost->alone);
}

static gdouble
busiest_of(const Search *search, const gdouble *busy, gdouble *sum)
{
    gdouble busiest = 0;
    *sum = 0;
    for (guint r = 0; r <= search->n_resources; r++) {
        busiest = MAX(busiest, busy[r]);
        *sum += r < search->n_resources ? busy[r] : 0;
    }
    return busiest;
}

/* Whether it can still become the best. */
static gboolean
may_win(const Search *search, const gdouble *busy)
{
    gdouble sum;
    return busiest_of(search, busy, &sum) <= search->busiest * (1 + 1e-12);
}

static gboolean
is_made(const Search *search, guint fan_out, const CtPlacement *placement, const CtStream *stream)
{
    for (guint i = 0; i < search->made->len; i++) {
        const Made *made = &g_array_index(search->made, Made, i);
        if (made->fan_out == fan_out &&
            ct_placement_same_memory(&made->placement, placement, stream))
            return TRUE;
    }
    return FALSE;
}

static void
try_conversions(Search *search, guint o, guint reader, guint index, const gdouble *busy)
{
    if (o == search->fan_outs->len) {
        gdouble sum;
        const gdouble busiest = busiest_of(search, busy, &sum);
        const gboolean is_less = busiest < search->busiest * (1 - 1e-12);
        search->sum = is_less ? sum : MIN(sum, search->sum);
        search->busiest = MIN(busiest, search->busiest);
        return;
    }
    const CtFanOut *fan_out = g_ptr_array_index(search->fan_outs, o);
    if (reader == fan_out->readers->len) {
        try_conversions(search, o + 1, 0, index, busy);
        return;
    }
    const CtGraphNode *writer = g_ptr_array_index(search->fixture->graph->nodes, fan_out->node);
    const CtStream *stream = &writer->node.outputs[fan_out->port];
    const GArray *conversions = g_ptr_array_index(search->conversions, index);
    const guint n_made = search->made->len;
    for (guint b = 0; b < conversions->len; b++) {
        const CtConversion *conversion = &g_array_index(conversions, CtConversion, b);
        g_autofree gdouble *next = g_memdup2(busy, (search->n_resources + 1) * sizeof(*busy));
        for (guint s = 0; s < conversion->n_steps; s++) {
            const Made made = {o, conversion->steps[s].to};
            if (is_made(search, o, &made.placement, stream))
                continue;
            add_cost(search, next, &conversion->steps[s].cost);
            g_array_append_val(search->made, made);
        }
        if (may_win(search, next))
            try_conversions(search, o, reader + 1, index + 1, next);
        g_array_set_size(search->made, n_made);
    }
}

static void
try_implementations(Search *search, guint n, const gdouble *busy)
{
    if (n == search->n_nodes) {
        try_conversions(search, 0, 0, 0, busy);
        return;
    }
    const CtCandidate *candidate = search->chosen[n];
    if (candidate->nodes[0] != n) {
        try_implementations(search, n + 1, busy);
        return;
    }
    for (guint i = 0; i < candidate->implementations->len; i++) {
        const CtImplementation *implementation =
            &g_array_index(candidate->implementations, CtImplementation, i);
        g_autofree gdouble *next = g_memdup2(busy, (search->n_resources + 1) * sizeof(*busy));
        add_cost(search, next, &implementation->cost);
        if (may_win(search, next))
            try_implementations(search, n + 1, next);
    }
}

/* Finds the conversions between the chosen candidates; FALSE: two can't be joined. */
static gboolean
find_conversions(Search *search)
{
    g_ptr_array_set_size(search->conversions, 0);
    for (guint o = 0; o < search->fan_outs->len; o++) {
        const CtFanOut *fan_out = g_ptr_array_index(search->fan_outs, o);
        const CtGraphNode *writer = g_ptr_array_index(search->fixture->graph->nodes, fan_out->node);
        const CtCandidate *from = search->chosen[fan_out->node];
        for (guint r = 0; r < fan_out->readers->len; r++) {
            const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, r);
            const CtCandidate *to = search->chosen[reader->node];
            const gboolean leaves = from->nodes[from->n_nodes - 1] == fan_out->node;
            if (!leaves || to->nodes[0] != reader->node) {
                const CtConversion none = {0};
                GArray *inside = g_array_new(FALSE, FALSE, sizeof(CtConversion));
                if (from == to)
                    g_array_append_val(inside, none);
                g_ptr_array_add(search->conversions, inside);
                continue;
            }
            const CtPlacement here = {from->outputs[fan_out->port], from->place};
            const CtPlacement there = {to->inputs[reader->port], to->place};
            g_ptr_array_add(search->conversions,
                            ct_conversions_new(search->planner,
                                               &writer->node.outputs[fan_out->port], &here,
                                               &there));
        }
    }
    for (guint i = 0; i < search->conversions->len; i++) {
        if (((const GArray *)g_ptr_array_index(search->conversions, i))->len == 0)
            return FALSE;
    }
    return TRUE;
}

static void
search_all(Search *search, const CtCandidates *candidates)
{
    const guint n = candidates->n_nodes;
    g_autofree guint *digits = g_new0(guint, n);
    g_autofree gdouble *nothing = g_new0(gdouble, search->n_resources + 1);
    for (;;) {
        for (guint i = 0; i < n; i++)
            search->chosen[i] = g_ptr_array_index(candidates->nodes[i], digits[i]);
        if (find_conversions(search))
            try_implementations(search, 0, nothing);
        guint i = 0;
        while (i < n && ++digits[i] == candidates->nodes[i]->len)
            digits[i++] = 0;
        if (i == n)
            return;
    }
}

static const char *
random_of(const char *const *names, guint n)
{
    return names[g_test_rand_int_range(0, n)];
}

/* A few random nodes, each with one input or (stack) two from earlier nodes; some are on one of the
 * devices. */
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
    guint n_checked = 0, n_more = 0, n_fused = 0, n_inserted = 0, n_copied = 0, n_exact = 0;
    for (guint trial = 0; trial < 1200; trial++) {
        CtPlanOptions options = usual;
        options.n_devices = trial % 3;
        options.no_peers = g_test_rand_bit();
        g_autofree char *text = random_graph(g_test_rand_int_range(2, 6), options.n_devices);
        plan(fixture, text, &options);
        g_auto(CtPlanner) planner;
        ct_planner_init(&planner, fixture->graph, fixture->registry, &options);
        g_autoptr(CtCandidates) candidates = ct_candidates_new(&planner, NULL);
        g_autoptr(GPtrArray) fan_outs = ct_fan_outs_new(fixture->graph);
        gdouble combinations = 1;
        for (guint i = 0; i < candidates->n_nodes; i++)
            combinations *= candidates->nodes[i]->len;
        if (combinations > 20000)
            continue;
        Search search = {
            .fixture = fixture,
            .planner = &planner,
            .fan_outs = fan_outs,
            .n_nodes = candidates->n_nodes,
            .n_resources = ct_n_resources(&planner.machine),
            .chosen = g_new(const CtCandidate *, candidates->n_nodes),
            .conversions = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref),
            .made = g_array_new(FALSE, FALSE, sizeof(Made)),
            .busiest = HUGE_VAL,
            .sum = HUGE_VAL,
        };
        search_all(&search, candidates);
        g_free(search.chosen);
        g_ptr_array_unref(search.conversions);
        g_array_unref(search.made);
        const CtPlan *plan = fixture->plan;
        const gboolean exact = is_exact(plan);
        gdouble sum = 0;
        for (guint r = 0; r < plan->n_resources; r++)
            sum += plan->busy[r];
        /* If a fan-out has too many sets of placements, the plan is not called exact. */
        n_exact += exact;
        n_more += exact && sum > search.sum * (1 + 1e-9);
        if (plan->seconds < search.busiest * (1 - 1e-9) ||
            plan->least > search.busiest * (1 + 1e-9) ||
            (exact && plan->seconds > search.busiest * (1 + 1e-9)))
            g_error("the least is %.9g, %.9g in all; the plan's %.9g, %.9g in all, proven %.9g: %s",
                    search.busiest, search.sum, plan->seconds, sum, plan->least, text);
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
    /* The chosen one of several plans with equal costs may then not have the least sum. */
    g_assert_cmpuint(n_more, <=, n_checked / 100);
    g_assert_cmpuint(n_inserted, >, 200);
    g_assert_cmpuint(n_copied, >, 100);
    g_assert_cmpuint(n_fused, >, 2);
}

/* ---- size ---- */

/* Seconds of this process, whatever else the machine does. */
static gdouble
processor_seconds(void)
{
    return (gdouble)clock() / CLOCKS_PER_SEC;
}

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
        const gdouble begin = processor_seconds();
        fixture->plan = ct_plan_new(fixture->graph, fixture->registry, &options, &error);
        best = MIN(best, processor_seconds() - begin);
        g_assert_no_error(error);
    }
    g_assert_true(is_exact(fixture->plan));
    g_test_message("200 nodes planned in %.4f s", best);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    g_assert_cmpfloat(best, <, 0.1);
#endif
}

/* Every pair of these nodes is joined: too many for tables, so the plan prints its proven bound. */
static void
test_entangled(Fixture *fixture, gconstpointer data)
{
    enum { N = 9 };
    CtPlanOptions options = usual;
    options.n_devices = GPOINTER_TO_UINT(data);
    static const char *const passes[] = {"test.pass", "test.either", "test.writes-both",
                                         "test.any"};
    g_autoptr(GString) text = g_string_new("  s: {stage: test.source, type: ci8}\n");
    for (guint i = 0; i < N; i++)
        g_string_append_printf(text, "  n%u: {stage: %s, from: s}\n", i,
                               passes[i % G_N_ELEMENTS(passes)]);
    for (guint i = 0; i < N; i++) {
        for (guint k = 0; k < i; k++)
            g_string_append_printf(text, "  m%u-%u: {stage: test.many, from: [n%u, n%u]}\n", i, k,
                                   i, k);
    }
    const gdouble begin = processor_seconds();
    plan(fixture, text->str, &options);
    g_test_message("%u nodes: at most %.3f times the least, in %.3f s", fixture->plan->nodes->len,
                   fixture->plan->seconds / fixture->plan->least, processor_seconds() - begin);
    g_free(summarise(fixture->plan));
    g_assert_cmpfloat(fixture->plan->least, >, 0.1 * fixture->plan->seconds);
    g_autofree char *printed = ct_plan_to_text(fixture->plan);
    g_assert_true((strstr(printed, " times the least\n") == NULL) == is_exact(fixture->plan));
}

/* Many readers of one output with different layouts: each layout is made once. */
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
    g_assert_true(is_exact(fixture->plan) == exact);
    g_free(summarise(fixture->plan));
    /* There is one step to every layout but the written one. */
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
    /* Readers that accept any layout take that of the readers which do not. */
    g_autoptr(GString) text = g_string_new("  s: " ORDERED "\n");
    for (guint i = 0; i < 40; i++)
        g_string_append_printf(text, "  e%u: {stage: %s, from: s}\n", i,
                               i == 7  ? "test.channel-first"
                               : i % 2 ? "test.either"
                                       : "test.pass");
    plan(fixture, text->str, &usual);
    g_assert_true(is_exact(fixture->plan));
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
    g_test_add("/plan-least/entangled", Fixture, NULL, set_up, test_entangled, tear_down);
    g_test_add("/plan-least/entangled-on-a-device", Fixture, GUINT_TO_POINTER(1), set_up,
               test_entangled, tear_down);
    g_test_add("/plan-least/stars", Fixture, NULL, set_up, test_stars, tear_down);
    return g_test_run();
}
