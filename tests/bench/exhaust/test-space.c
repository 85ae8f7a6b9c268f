/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the combinations and the search of an exhaustive run, against every combination of small
 * graphs, with random seconds for every part. */
#include "planning.h"
#include "space.h"

#include <string.h>

typedef struct {
    CtSpace *space;
    const CtWay **of; /* [node] the way that covers it */
    GArray *bounds;   /* gdouble, of all combinations that can be planned */
    guint n;          /* number of combinations */
} Every;

/* The least seconds of `resource` from placement to placement; HUGE_VAL: there is no way. */
static gdouble
least_between(const GPtrArray *crossing, guint resource)
{
    gdouble least = HUGE_VAL;
    for (guint b = 0; b < crossing->len; b++) {
        const GArray *steps = g_ptr_array_index(crossing, b);
        gdouble sum = 0;
        for (guint s = 0; s < steps->len; s++) {
            const CtPart *part = g_array_index(steps, CtStepPart, s).part;
            sum += part->resource == resource ? part->least : 0;
        }
        least = MIN(least, sum);
    }
    return least;
}

static gdouble
seconds_of_fan_out(const Every *every, guint o, guint resource)
{
    const CtFanOut *fan_out = g_ptr_array_index(every->space->fan_outs, o);
    const CtPassage *passage = g_ptr_array_index(every->space->passages, o);
    const CtWay *writer = every->of[fan_out->node];
    gdouble most = 0;
    for (guint r = 0; r < fan_out->readers->len; r++) {
        const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, r);
        const CtWay *way = every->of[reader->node];
        if (way != writer)
            most = MAX(
                most,
                least_between(
                    passage->crossings[writer->out_placements[fan_out->port] * passage->to->len +
                                       way->in_placements[reader->port]],
                    resource));
    }
    return most;
}

static void
add_bound(Every *every)
{
    const CtSpace *space = every->space;
    gdouble bound = 0;
    every->n++;
    for (guint resource = 0; resource < space->n_resources; resource++) {
        gdouble sum = 0;
        for (guint n = 0; n < space->n_nodes; n++) {
            const CtPart *part = &every->of[n]->part;
            if (every->of[n]->candidate->nodes[0] == n && part->resource == resource)
                sum += part->least;
        }
        for (guint o = 0; o < space->fan_outs->len; o++)
            sum += seconds_of_fan_out(every, o, resource);
        bound = MAX(bound, sum);
    }
    if (bound < HUGE_VAL)
        g_array_append_val(every->bounds, bound);
}

static void
try_every(Every *every, guint n)
{
    if (n == every->space->n_nodes) {
        add_bound(every);
        return;
    }
    if (every->of[n]) {
        try_every(every, n + 1);
        return;
    }
    for (guint i = 0; i < every->space->ways[n]->len; i++) {
        const CtWay *way = ct_space_way(every->space, n, i);
        if (way->is_double)
            continue;
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            every->of[way->candidate->nodes[k]] = way;
        try_every(every, n + 1);
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            every->of[way->candidate->nodes[k]] = NULL;
    }
}

static gint
compare_doubles(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

static void
make_up(CtPart *part, guint resource)
{
    *part = (CtPart){.n = 1,
                     .n_neighbours = CT_ENOUGH_NEIGHBOURS,
                     .least = g_test_rand_double(),
                     .resource = resource};
}

static void
make_up_parts(CtSpace *space)
{
    for (guint n = 0; n < space->n_nodes; n++)
        for (guint i = 0; i < space->ways[n]->len; i++) {
            CtWay *way = ct_space_way(space, n, i);
            make_up(&way->part, way->implementation->cost.parts[0].resource);
        }
    for (guint o = 0; o < space->passages->len; o++) {
        const CtPassage *passage = g_ptr_array_index(space->passages, o);
        for (guint c = 0; c < passage->from->len * passage->to->len; c++)
            for (guint b = 0; b < passage->crossings[c]->len; b++) {
                GArray *steps = g_ptr_array_index(passage->crossings[c], b);
                for (guint s = 0; s < steps->len; s++) {
                    CtStepPart *step = &g_array_index(steps, CtStepPart, s);
                    make_up(step->part, step->cost.parts[0].resource);
                }
            }
    }
}

static void
check_graph(Fixture *fixture, const char *stages, guint n_devices, guint *n_fused)
{
    CtPlanOptions options = usual;
    options.n_devices = n_devices;
    options.costs = "off";
    load(fixture, stages);
    g_auto(CtPlanner) planner;
    ct_planner_init(&planner, fixture->graph, fixture->registry, &options);
    CtSpace space;
    g_autoptr(GError) error = NULL;
    g_assert_true(ct_space_init(&space, &planner, &error));
    g_assert_no_error(error);
    if (ct_space_count(&space, CT_COUNT_DIFFERENT) > 20000) {
        ct_space_clear(&space);
        return;
    }
    make_up_parts(&space);
    Every every = {.space = &space,
                   .of = g_new0(const CtWay *, space.n_nodes),
                   .bounds = g_array_new(FALSE, FALSE, sizeof(gdouble))};
    try_every(&every, 0);
    g_array_sort(every.bounds, compare_doubles);
    g_assert_cmpfloat(ct_space_count(&space, CT_COUNT_DIFFERENT), ==, every.n);

    /* The search finds all in order, and always the least one that is not marked as tried. */
    const CtQuery all = {.limit = HUGE_VAL, .most = every.n + 1};
    g_autoptr(GArray) found = ct_space_find(&space, &all);
    g_assert_cmpuint(found->len, ==, every.bounds->len);
    for (guint i = 0; i < found->len; i++) {
        const CtFound *one = &g_array_index(found, CtFound, i);
        const gdouble bound = g_array_index(every.bounds, gdouble, i);
        g_assert_cmpfloat(fabs(one->bound - bound), <=, 1e-9 * bound);
        for (guint n = 0; n < space.n_nodes; n++)
            *n_fused += one->chosen[n] == CT_COVERED;
    }
    for (guint i = 0; i < MIN(found->len, 20); i++) {
        const CtQuery few = {.limit = HUGE_VAL, .most = 3};
        g_autoptr(GArray) next = ct_space_find(&space, &few);
        const CtFound *one = &g_array_index(next, CtFound, 0);
        g_assert_cmpuint(next->len, ==, MIN(3, found->len - i));
        g_assert_cmpfloat(fabs(one->bound - g_array_index(every.bounds, gdouble, i)), <=, 1e-9);
        ct_space_set_tried(&space, one->chosen);
    }
    const gdouble limit = g_array_index(every.bounds, gdouble, every.bounds->len / 2) * (1 + 1e-9);
    guint n_below = 0;
    for (guint i = 20; i < every.bounds->len; i++)
        n_below += g_array_index(every.bounds, gdouble, i) < limit;
    gboolean is_all;
    const gdouble counted = ct_space_count_below(&space, limit, &is_all);
    g_assert_true(is_all);
    g_assert_cmpfloat(counted, ==, n_below);

    /* A way that fails is in no combination. */
    CtWay *way = ct_space_way(&space, 0, 0);
    way->fails = TRUE;
    g_autoptr(GArray) rest = ct_space_find(&space, &all);
    for (guint i = 0; i < rest->len; i++)
        g_assert_cmpuint(g_array_index(rest, CtFound, i).chosen[0], !=, 0);
    g_assert_cmpfloat(ct_space_count(&space, CT_COUNT_RUNNING), <, every.n);
    g_array_unref(every.bounds);
    g_free(every.of);
    ct_space_clear(&space);
}

static void
test_rows_of_nodes(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const graphs[] = {
        "  s: " ORDERED "\n"
        "  a: {stage: test.time-last, from: s}\n"
        "  b: {stage: test.either, from: a}\n"
        "  o: {stage: test.sink, from: b}\n",
        "  s: " ORDERED "\n"
        "  a: {stage: test.pass, from: s}\n"
        "  b: {stage: test.window, from: a}\n"
        "  c: {stage: test.pass, from: b}\n"
        "  o: {stage: test.sink, from: c}\n",
        "  s: " ORDERED "\n"
        "  a: {stage: test.float, from: s}\n"
        "  b: {stage: test.window, from: a}\n"
        "  o: {stage: test.sink, from: b, backend: cpu}\n",
    };
    for (guint i = 0; i < G_N_ELEMENTS(graphs); i++) {
        guint n_fused = 0;
        check_graph(fixture, graphs[i], i == 2, &n_fused);
        g_assert_cmpuint(n_fused, >, 0);
    }
}

/* Nodes with one or two inputs from earlier nodes; some are on a device. */
static void
test_every_combination(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const passes[] = {"test.pass",         "test.either", "test.time-last",
                                         "test.writes-both",  "test.window", "test.float",
                                         "test.channel-first"};
    guint n_fused = 0;
    for (guint trial = 0; trial < 150; trial++) {
        g_autoptr(GString) text = g_string_new("  n0: {stage: test.source, type: ci8}\n");
        const guint n_nodes = (guint)g_test_rand_int_range(2, 5);
        for (guint i = 1; i < n_nodes; i++) {
            const guint from = g_test_rand_bit() ? i - 1 : (guint)g_test_rand_int_range(0, i);
            if (i > 2 && g_test_rand_bit())
                g_string_append_printf(text, "  n%u: {stage: test.many, from: [n%u, n%u]}\n", i,
                                       from, g_test_rand_int_range(0, i));
            else
                g_string_append_printf(text, "  n%u: {stage: %s, from: n%u}\n", i,
                                       passes[g_test_rand_int_range(0, G_N_ELEMENTS(passes))],
                                       from);
        }
        g_string_append_printf(text, "  o: {stage: test.sink, from: n%u}\n", n_nodes - 1);
        check_graph(fixture, text->str, trial % 3, &n_fused);
    }
    g_test_message("%u nodes in rows", n_fused);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/exhaust/every-combination", Fixture, NULL, set_up, test_every_combination,
               tear_down);
    g_test_add("/exhaust/rows-of-nodes", Fixture, NULL, set_up, test_rows_of_nodes, tear_down);
    return g_test_run();
}
