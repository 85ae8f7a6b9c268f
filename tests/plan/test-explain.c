/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what a plan is said to cost with something else chosen: against all combinations. */
#include "json-at.h"
#include "plan/explain.h"
#include "planning.h"

#include <string.h>

/* Every combination of candidates and the variants that implement them. */
typedef struct {
    CtExplanation *explanation;
    CtCandidates forced;         /* one candidate of each node */
    CtCandidate *of_node;        /* [node] copies with one implementation */
    const CtAlternative **whose; /* [node] the alternative that it is a copy of */
    GHashTable *best;    /* CtAlternative → gdouble *, the least of all plans that have it */
    GHashTable *crossed; /* CtCrossing → gdouble *, the same */
    gdouble n;
} Enumeration;

static void
lower(GHashTable *table, gconstpointer key, gdouble seconds)
{
    gdouble *least = g_hash_table_lookup(table, key);
    if (!least) {
        least = g_new(gdouble, 1);
        *least = HUGE_VAL;
        g_hash_table_insert(table, (gpointer)key, least);
    }
    *least = MIN(*least, seconds);
}

static gboolean
same_placement(const CtPlacement *a, const CtPlacement *b)
{
    return a->place == b->place && ct_layout_equal(&a->layout, &b->layout);
}

static void
note(Enumeration *all, gdouble seconds)
{
    const CtExplanation *explanation = all->explanation;
    for (guint n = 0; n < all->forced.n_nodes; n++) {
        if (all->whose[n]->candidate->nodes[0] == n)
            lower(all->best, all->whose[n], seconds);
    }
    for (guint l = 0; l < explanation->links->len; l++) {
        const CtExplainedLink *link = g_ptr_array_index(explanation->links, l);
        const CtCandidate *from = all->whose[link->writer]->candidate;
        const CtCandidate *to = all->whose[link->reader]->candidate;
        if (from == to)
            continue;
        const CtPlacement written = {from->outputs[link->port], from->place};
        const CtPlacement wanted = {to->inputs[link->input], to->place};
        for (guint c = 0; c < link->crossings->len; c++) {
            const CtCrossing *crossing = &g_array_index(link->crossings, CtCrossing, c);
            if (same_placement(&crossing->from, &written) && same_placement(&crossing->to, &wanted))
                lower(all->crossed, crossing, seconds);
        }
    }
}

static void
enumerate(Enumeration *all, guint n)
{
    CtExplanation *explanation = all->explanation;
    while (n < all->forced.n_nodes && all->whose[n])
        n++;
    if (n == all->forced.n_nodes) {
        g_autoptr(CtChoice) choice =
            ct_planner_choose(&explanation->planner, &all->forced, explanation->fan_outs, NULL);
        all->n++;
        note(all, choice ? choice->seconds : HUGE_VAL);
        return;
    }
    for (guint a = 0; a < explanation->nodes[n]->len; a++) {
        const CtAlternative *one = &g_array_index(explanation->nodes[n], CtAlternative, a);
        CtCandidate forced = *one->candidate;
        forced.implementations = g_array_new(FALSE, FALSE, sizeof(CtImplementation));
        g_array_append_val(forced.implementations, *one->implementation);
        all->of_node[n] = forced;
        gboolean is_free = TRUE;
        for (guint k = 0; k < forced.n_nodes; k++)
            is_free &= all->whose[forced.nodes[k]] == NULL;
        for (guint k = 0; k < forced.n_nodes && is_free; k++) {
            all->whose[forced.nodes[k]] = one;
            g_ptr_array_set_size(all->forced.nodes[forced.nodes[k]], 0);
            g_ptr_array_add(all->forced.nodes[forced.nodes[k]], &all->of_node[n]);
        }
        if (is_free)
            enumerate(all, n + 1);
        for (guint k = 0; k < forced.n_nodes && is_free; k++)
            all->whose[forced.nodes[k]] = NULL;
        g_array_unref(forced.implementations);
    }
}

static void
check(GHashTable *table, gconstpointer key, gdouble said)
{
    const gdouble *found = g_hash_table_lookup(table, key);
    if (said == HUGE_VAL)
        g_assert_true(!found || *found == HUGE_VAL);
    else
        g_assert_cmpfloat_with_epsilon(*found, said, 1e-9 * said);
}

/* Compares with all combinations; returns their number. */
static gdouble
check_all(CtExplanation *explanation)
{
    const guint n = explanation->candidates->n_nodes;
    Enumeration all = {
        .explanation = explanation,
        .forced = *explanation->candidates,
        .of_node = g_new0(CtCandidate, n),
        .whose = g_new0(const CtAlternative *, n + 1),
        .best = g_hash_table_new_full(NULL, NULL, NULL, g_free),
        .crossed = g_hash_table_new_full(NULL, NULL, NULL, g_free),
    };
    all.forced.nodes = g_new(GPtrArray *, n);
    for (guint i = 0; i < n; i++)
        all.forced.nodes[i] = g_ptr_array_new();
    enumerate(&all, 0);
    for (guint i = 0; i < n; i++) {
        guint n_chosen = 0;
        for (guint a = 0; a < explanation->nodes[i]->len; a++) {
            const CtAlternative *one = &g_array_index(explanation->nodes[i], CtAlternative, a);
            check(all.best, one, one->seconds);
            n_chosen += one->is_chosen;
            g_assert_true(!one->is_chosen || one->seconds == explanation->choice->seconds);
        }
        g_assert_cmpuint(n_chosen, ==, explanation->choice->candidates[i]->nodes[0] == i);
    }
    for (guint l = 0; l < explanation->links->len; l++) {
        const CtExplainedLink *link = g_ptr_array_index(explanation->links, l);
        gdouble least = HUGE_VAL;
        for (guint c = 0; c < link->crossings->len; c++) {
            const CtCrossing *crossing = &g_array_index(link->crossings, CtCrossing, c);
            check(all.crossed, crossing, crossing->seconds);
            least = MIN(least, crossing->seconds);
        }
        g_assert_cmpfloat(least, >=, explanation->choice->seconds * (1 - 1e-9));
    }
    for (guint i = 0; i < n; i++)
        g_ptr_array_unref(all.forced.nodes[i]);
    g_free(all.forced.nodes);
    g_free(all.of_node);
    g_free(all.whose);
    g_hash_table_unref(all.best);
    g_hash_table_unref(all.crossed);
    return all.n;
}

static void
explain_graph(Fixture *fixture, const char *stages, guint n_devices)
{
    CtPlanOptions options = usual;
    options.n_devices = n_devices;
    plan(fixture, stages, &options);
    g_autoptr(GError) error = NULL;
    g_autoptr(CtExplanation) explanation =
        ct_explanation_new(fixture->plan, fixture->registry, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(explanation->choice->seconds, fixture->plan->seconds,
                                   1e-9 * fixture->plan->seconds);
    g_assert_cmpfloat(check_all(explanation), ==, explanation->n_variants);
    g_assert_cmpfloat(explanation->n_candidates, <=, explanation->n_variants);
}

static void
test_chain(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    explain_graph(fixture,
                  "  s: {stage: test.source}\n"
                  "  a: {stage: test.either, from: s}\n"
                  "  b: {stage: test.channel-first, from: a}\n"
                  "  o: {stage: test.sink, from: b, layout: '[time channel station pol]'}\n",
                  0);
}

static void
test_fan(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    explain_graph(fixture,
                  "  s: " ORDERED "\n"
                  "  a: {stage: test.either, from: s}\n"
                  "  b: {stage: test.time-last, from: a}\n"
                  "  c: {stage: test.channel-first, from: a}\n",
                  0);
}

static void
test_devices(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    explain_graph(fixture,
                  "  s: " ORDERED "\n"
                  "  a: {stage: test.pass, from: s}\n"
                  "  b: {stage: test.channel-first, from: a}\n",
                  1);
}

static void
test_fused(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    explain_graph(fixture,
                  "  s: " ORDERED "\n"
                  "  a: {stage: test.time-last, from: s}\n"
                  "  b: {stage: test.either, from: a}\n"
                  "  o: {stage: test.sink, from: b}\n",
                  0);
    explain_graph(fixture,
                  "  s: " ORDERED "\n"
                  "  a: {stage: test.pass, from: s}\n"
                  "  b: {stage: test.window, from: a}\n"
                  "  c: {stage: test.pass, from: b}\n"
                  "  d: {stage: test.pass, from: c}\n",
                  0);
}

static void
test_printing(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    plan(fixture,
         "  s: " ORDERED "\n"
         "  a: {stage: test.channel-first, from: s}\n"
         "  o: {stage: test.sink, from: a}\n",
         &usual);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ct_explain_to_text(fixture->plan, fixture->registry, &usual, &error);
    g_assert_no_error(error);
    const char *const wanted =
        "The plan takes * s for a second of stream.\n"
        "An exhaustive search would run * combinations of layouts and places, * with each "
        "variant.\n"
        "All times are for a second of stream. *\n"
        "\n"
        "What takes longest, and the next best way to do it:\n"
        " *by itself, s *known from *way *plan with the next, s *next way\n"
        "s -> a *model *cf32?time channel station pol?, transpose (cpu) -> cf32?channel time "
        "station pol? *\n"
        "*\n"
        "\n"
        "s: * way*\n"
        "*plan, s *by itself, s *known from *variant *place *layouts\n"
        "?  * *model *cpu *host *-> cf32?time channel station pol?\n"
        "*\n"
        "s -> a: *\n"
        "*plan, s *by itself, s *known from *way\n"
        "?  * *model *cf32?time channel station pol?, transpose (cpu) -> cf32?channel time "
        "station pol?\n"
        "*";
    if (!g_pattern_match_simple(wanted, text))
        g_error("wanted: %s\ngiven:  %s", wanted, text);
    g_autofree char *json = ct_explain_to_json(fixture->plan, fixture->registry, &usual, &error);
    g_assert_no_error(error);
    g_autofree char *links = json_at(json, "$.links");
    g_assert_nonnull(strstr(links, "\"writer\":\"s\",\"output\":\"out\",\"reader\":\"a\""));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/explain/chain", Fixture, NULL, set_up, test_chain, tear_down);
    g_test_add("/explain/fan", Fixture, NULL, set_up, test_fan, tear_down);
    g_test_add("/explain/devices", Fixture, NULL, set_up, test_devices, tear_down);
    g_test_add("/explain/fused", Fixture, NULL, set_up, test_fused, tear_down);
    g_test_add("/explain/printing", Fixture, NULL, set_up, test_printing, tear_down);
    return g_test_run();
}
