/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the choice of the nearest measurement, by itself: distances of keys. */
#include "cost/estimate-private.h"

#include <math.h>
#include <string.h>

static const CtStage any_stage = {.name = "any"};
static const char *const any_covers[] = {"any", NULL};
static const CtRow old_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
static const CtRow new_rows[] = {{"[...] -> [...]", 0.5}, {NULL}};
static const CtVariant old_variant = {.name = "cpu-avx2",
                                      .backend = CT_CPU,
                                      .isa = CT_ISA_AVX2,
                                      .covers = any_covers,
                                      .rows = old_rows,
                                      .split = "time"};
static const CtVariant new_variant = {.name = "cpu-avx512",
                                      .backend = CT_CPU,
                                      .isa = CT_ISA_AVX512,
                                      .covers = any_covers,
                                      .rows = new_rows,
                                      .split = "time"};

/* One of the stage `any`, to be cleared. */
static CtMeasurement
measure(const char *layouts, const char *lengths, gdouble seconds)
{
    CtMeasurement measurement = {
        .key = {.stages = g_intern_string("any"),
                .variant = g_intern_string("cpu-avx2"),
                .row = g_intern_string("[...] -> [...]"),
                .way = g_intern_string(""),
                .machine = g_intern_string("abacus"),
                .n_workers = 2,
                .aim = 1 << 20,
                .code = g_intern_string("")},
        .operations = 1,
        .bytes = 1024,
        .seconds = seconds,
    };
    g_assert_true(ct_cost_key_parse(&measurement.key, CT_KEY_LAYOUTS, layouts));
    g_assert_true(ct_cost_key_parse(&measurement.key, CT_KEY_LENGTHS, lengths));
    g_assert_true(ct_cost_key_parse(&measurement.key, CT_KEY_PARAMETERS, ""));
    g_assert_true(ct_cost_key_parse(&measurement.key, CT_KEY_TUNING, ""));
    return measurement;
}

static CtKnown *
learn(CtKnowledge *knowledge, const CtVariant *variant, const CtMeasurement *measurement)
{
    CtKnown *known = ct_known_new(variant, measurement, FALSE, TRUE);
    g_assert_nonnull(known);
    ct_known_add(known, measurement);
    ct_knowledge_add(knowledge, known);
    return known;
}

/* Asks for cf32[time station] with so many stations, on so many workers. */
static const CtKnown *
nearest(const CtKnowledge *knowledge, const CtVariant *variant, const char *layout,
        gint64 n_stations, gint64 n_workers, gdouble *distance)
{
    CtStream in = {0}, out = {0};
    ct_stream_init(&in);
    in.type = CT_CF32;
    ct_stream_add_axis(&in, "time", 1000);
    ct_stream_add_axis(&in, "station", n_stations);
    ct_stream_copy(&out, &in);
    const CtNode node = {.stage = &any_stage,
                         .n_inputs = 1,
                         .inputs = &in,
                         .n_outputs = 1,
                         .outputs = &out,
                         .footprint = {CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL}};
    CtLayout concrete;
    g_assert_true(ct_layout_parse(&concrete, layout, NULL));
    const CtLoad load = {1, 16 * (gdouble)n_stations, 1};
    const CtEstimated what = {.variant = variant,
                              .row = variant->rows,
                              .nodes = &node,
                              .n_nodes = 1,
                              .inputs = &concrete,
                              .outputs = &concrete,
                              .load = &load,
                              .from = CT_HOST,
                              .to = CT_HOST};
    CtMachine machine;
    ct_machine_init(&machine, 2);
    g_auto(CtCostKey) setting;
    ct_estimate_setting_at(&what, g_intern_string("abacus"), n_workers, 1 << 20, &setting);
    const CtKnown *known = ct_knowledge_nearest(knowledge, &what, &setting, &machine, distance);
    ct_stream_clear(&in);
    ct_stream_clear(&out);
    return known;
}

/* Variants for several instruction sets have similar addresses, and so do their rows. */
static void
test_mix(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (guint64 a = 0; a < 64; a++) {
        for (guint64 b = 0; b < 64; b++) {
            const guint64 hash = ct_mix(ct_mix(0, 0x55550000 + 16 * a), 0x55560000 + 16 * b);
            g_assert_true(g_hash_table_add(seen, g_memdup2(&hash, sizeof(hash))));
        }
    }
}

static void
test_distances(void)
{
    static const char order[] = "cf32[time station]", turned[] = "cf32[station time]";
    g_autoptr(CtKnowledge) knowledge = ct_knowledge_new();
    static const char same_layout[] = "cf32[time station] -> cf32[time station]";
    g_auto(CtMeasurement) first = measure(same_layout, "0 64 -> 0 64", 1e-6);
    const CtKnown *known = learn(knowledge, &old_variant, &first);
    gdouble same, longer, fewer, other_order, other_variant, none;
    g_assert_true(nearest(knowledge, &old_variant, order, 64, 2, &same) == known);
    g_assert_cmpfloat(same, ==, 0);
    /* Both ports have twice as many stations. */
    g_assert_true(nearest(knowledge, &old_variant, order, 128, 2, &longer) == known);
    g_assert_cmpfloat_with_epsilon(longer, 2 * log(2), 1e-12);
    g_assert_true(nearest(knowledge, &old_variant, order, 64, 1, &fewer) == known);
    g_assert_cmpfloat(fewer, >, 0);
    g_assert_cmpfloat(fewer, <, longer);
    g_assert_true(nearest(knowledge, &new_variant, order, 64, 2, &other_variant) == known);
    g_assert_cmpfloat(other_variant, >, fewer);
    g_assert_true(nearest(knowledge, &old_variant, turned, 64, 2, &other_order) == known);
    g_assert_cmpfloat(other_order, >, other_variant);
    g_assert_null(nearest(knowledge, &old_variant, order, 4096, 2, &none));
    g_assert_null(nearest(knowledge, &old_variant, "cf32[time]", 64, 2, &none));

    /* The slower of two equally near measurements counts; a failure only counts for itself. */
    g_auto(CtMeasurement) slower =
        measure("cf32[time station] -> cf32[station time]", "0 64 -> 64 0", 2e-6);
    g_auto(CtMeasurement) other = measure(same_layout, "0 65 -> 0 65", 1e-6);
    const CtKnown *slow = learn(knowledge, &old_variant, &slower);
    g_assert_true(nearest(knowledge, &old_variant, turned, 64, 2, &other_order) == slow);
    other.failure = g_strdup("no reason");
    const CtKnown *failed = learn(knowledge, &old_variant, &other);
    g_assert_true(nearest(knowledge, &old_variant, order, 65, 2, &same) == failed);
    g_assert_true(nearest(knowledge, &old_variant, order, 66, 2, &longer) == known);
}

static gdouble
distance_of_parameters(const char *a, const char *b)
{
    g_auto(CtCostKey) x = {0}, y = {0};
    g_assert_true(ct_cost_key_parse(&x, CT_KEY_PARAMETERS, a));
    g_assert_true(ct_cost_key_parse(&y, CT_KEY_PARAMETERS, b));
    const gdouble distance = ct_parameters_distance(x.parameters, y.parameters);
    g_assert_cmpfloat(ct_parameters_distance(y.parameters, x.parameters), ==, distance);
    return distance;
}

static void
test_parameters(void)
{
    g_assert_cmpfloat(distance_of_parameters("", ""), ==, 0);
    g_assert_cmpfloat(distance_of_parameters("x=", "x=2"), ==, 1);
    g_assert_cmpfloat(distance_of_parameters("x=old", "x=new"), ==, 1);
    g_assert_cmpfloat(distance_of_parameters("x=old", "x=old"), ==, 0);
    g_assert_cmpfloat(distance_of_parameters("x=-2", "x=2"), ==, 1);
    g_assert_cmpfloat(distance_of_parameters("x=a z=4", "x=a z=2"), ==, log(2));
    g_assert_cmpfloat(distance_of_parameters("x=3", ""), ==, 1);
    g_assert_cmpfloat(distance_of_parameters("n=4 n_taps=8", "n_taps=8 n=4"), ==, 0);
    g_assert_cmpfloat(distance_of_parameters("window=5 window=wide", "window=5 window=wide"), ==,
                      0);
    g_assert_cmpfloat(distance_of_parameters("block=2", ""), ==, 0.2);
    g_assert_cmpfloat_with_epsilon(distance_of_parameters("held=2", "held=4"), 0.5 * log(2), 1e-12);
}

/* A measurement of this machine has precedence over shipped ones, which are of another build. */

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/estimate-known/mix", test_mix);
    g_test_add_func("/estimate-known/distances", test_distances);
    g_test_add_func("/estimate-known/parameters", test_parameters);
    return g_test_run();
}
