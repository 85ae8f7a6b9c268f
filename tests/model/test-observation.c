/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of observations, places on the Earth, and labels. */
#include <cornerturn/observation.h>
#include <math.h>
#include <string.h>

/* Places whose coordinates follow from the definition of WGS 84: on the equator, at a pole, and the
 * Effelsberg telescope's neighbourhood by its latitude alone. */
static void
test_definition(void)
{
    const gdouble pole = 6356752.314245179; /* the semi-minor axis of WGS 84 */
    gdouble at[3];
    ct_position_from_geodetic(0, 0, 100, at);
    g_assert_cmpfloat_with_epsilon(at[0], 6378237, 1e-8);
    g_assert_cmpfloat(at[1], ==, 0);
    g_assert_cmpfloat(at[2], ==, 0);
    ct_position_from_geodetic(1, -G_PI / 2, 7, at);
    g_assert_cmpfloat_with_epsilon(hypot(at[0], at[1]), 0, 1e-8);
    g_assert_cmpfloat_with_epsilon(at[2], -pole - 7, 1e-8);
}

static void
test_round_trip(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (guint i = 0; i < 10000; i++) {
        const gdouble given[3] = {g_rand_double_range(random, -G_PI, G_PI),
                                  asin(g_rand_double_range(random, -1, 1)),
                                  g_rand_double_range(random, -500, 9000)};
        gdouble at[3], back[3];
        ct_position_from_geodetic(given[0], given[1], given[2], at);
        ct_position_to_geodetic(at, &back[0], &back[1], &back[2]);
        /* A micrometre on the Earth, in radians and metres. */
        g_assert_cmpfloat_with_epsilon(remainder(back[0] - given[0], 2 * G_PI) * cos(given[1]), 0,
                                       2e-13);
        g_assert_cmpfloat_with_epsilon(back[1], given[1], 2e-13);
        g_assert_cmpfloat_with_epsilon(back[2], given[2], 1e-6);
    }
}

/* Steps north, east and up change latitude, longitude and height, and are orthonormal. */
static void
test_enu(void)
{
    static const gdouble steps[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    gdouble origin[3], at[3][3], place[3][3];
    ct_position_from_geodetic(0.3, 0.9, 50, origin);
    for (guint i = 0; i < 3; i++) {
        gdouble back[3];
        ct_position_from_enu(origin, steps[i], at[i]);
        ct_position_to_enu(origin, at[i], back);
        for (guint k = 0; k < 3; k++)
            g_assert_cmpfloat_with_epsilon(back[k], steps[i][k], 1e-8);
        ct_position_to_geodetic(at[i], &place[i][0], &place[i][1], &place[i][2]);
        for (guint k = 0; k < 3; k++)
            at[i][k] -= origin[k];
    }
    for (guint i = 0; i < 3; i++)
        for (guint k = 0; k < 3; k++)
            g_assert_cmpfloat_with_epsilon(
                at[i][0] * at[k][0] + at[i][1] * at[k][1] + at[i][2] * at[k][2], i == k, 1e-8);
    g_assert_cmpfloat(place[0][0], >, 0.3);
    g_assert_cmpfloat_with_epsilon(place[0][1], 0.9, 1e-12);
    g_assert_cmpfloat(place[1][1], >, 0.9);
    g_assert_cmpfloat_with_epsilon(place[1][0], 0.3, 1e-13);
    g_assert_cmpfloat_with_epsilon(place[2][2], 51, 1e-6);
}

static void
test_angles(void)
{
    static const struct {
        const char *text;
        gboolean is_hours;
        gdouble degrees; /* NAN: refused */
    } cases[] = {
        {"180 deg", FALSE, 180},    {"-90 deg", TRUE, -90},
        {"12:00:00", TRUE, 180},    {"-00:30:00", FALSE, -0.5},
        {"+01:00:36", FALSE, 1.01}, {"23:59:60", TRUE, NAN},
        {"1:2", FALSE, NAN},        {"01:60:00", FALSE, NAN},
        {"25:00:00", TRUE, NAN},    {"-1:-2:3", FALSE, NAN},
        {"", FALSE, NAN},           {"12:00:00 x", TRUE, NAN},
        {"north", FALSE, NAN},      {"05:34:31.97", TRUE, 83.633208333333333},
        {"1:00:0x10", TRUE, NAN},   {"1:00:1e1", FALSE, NAN},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        gdouble angle;
        const gboolean good = ct_angle_parse(cases[i].text, cases[i].is_hours, &angle, &error);
        g_assert_cmpint(good, ==, !isnan(cases[i].degrees));
        g_assert_cmpint(good, ==, error == NULL);
        if (good)
            g_assert_cmpfloat_with_epsilon(angle * 180 / G_PI, cases[i].degrees, 1e-12);
        else
            g_assert_nonnull(strstr(error->message, cases[i].text));
    }
}

static void
test_facts(void)
{
    static const char *const pols[] = {"X", "Y"};
    static const CtStation stations[] = {{.name = "a", .has_position = TRUE, .position = {1, 2, 3}},
                                         {.name = "b"}};
    CtObservationFacts facts = *ct_observation_facts(NULL);
    g_assert_null(facts.telescope);
    facts.telescope = "T";
    facts.n_stations = 2;
    facts.stations = stations;
    facts.n_polarisations = 2;
    facts.polarisations = pols;
    g_autoptr(CtObservation) one = ct_observation_new(&facts);
    g_autoptr(CtObservation) same = ct_observation_new(ct_observation_facts(one));
    g_assert_true(ct_observation_equal(one, same));
    g_assert_false(ct_observation_equal(one, NULL));
    g_assert_true(ct_observation_equal(NULL, NULL));
    g_assert_cmpfloat(ct_observation_station(same, "a")->position[2], ==, 3);
    g_assert_false(ct_observation_station(same, "b")->has_position);
    g_assert_null(ct_observation_station(same, "c"));
    facts.n_stations = 1;
    g_autoptr(CtObservation) other = ct_observation_new(&facts);
    g_assert_false(ct_observation_equal(one, other));
}

static void
test_pairs(void)
{
    static const char *const names[] = {"p", "q", "r"};
    static const gint64 some[] = {4, 2};
    g_autoptr(CtLabels) of = ct_labels_new(names, 3);
    g_autoptr(CtLabels) pairs = ct_labels_new_pairs(of, NULL, 0);
    g_assert_cmpuint(ct_labels_count(pairs), ==, 6);
    guint n = 0;
    for (guint32 i = 0; i < 3; i++)
        for (guint32 j = 0; j <= i; j++, n++) {
            guint32 pair[2];
            ct_labels_pair(pairs, n, pair);
            g_assert_cmpuint(pair[0], ==, i);
            g_assert_cmpuint(pair[1], ==, j);
            g_assert_cmpstr(ct_labels_name(pairs, n, 0), ==, names[i]);
            g_assert_cmpstr(ct_labels_name(pairs, n, 1), ==, names[j]);
        }
    g_autoptr(CtLabels) picked = ct_labels_pick(pairs, some, 2);
    g_assert_true(ct_labels_are_pairs(picked));
    g_assert_true(ct_labels_are_all_pairs(pairs));
    g_assert_false(ct_labels_are_all_pairs(picked));
    g_assert_cmpstr(ct_labels_name(picked, 0, 0), ==, "r");
    g_assert_cmpstr(ct_labels_name(picked, 0, 1), ==, "q");
    g_assert_cmpstr(ct_labels_name(picked, 1, 0), ==, "q");
    g_assert_false(ct_labels_equal(pairs, picked));
    g_assert_false(ct_labels_equal(pairs, of));

    /* Listed pairs equal those by rule. */
    static const gint64 all[] = {0, 1, 2, 3, 4, 5};
    g_autoptr(CtLabels) listed = ct_labels_pick(pairs, all, 6);
    g_assert_true(ct_labels_equal(pairs, listed));
    g_assert_true(ct_labels_equal(listed, pairs));
}

static void
test_names(void)
{
    static const char *const names[] = {"x", "y"};
    static const gint64 last[] = {1};
    g_autoptr(CtLabels) numbers = ct_labels_new(NULL, 3);
    g_autoptr(CtLabels) xy = ct_labels_new(names, 2);
    g_autoptr(CtLabels) y = ct_labels_pick(xy, last, 1);
    g_assert_cmpstr(ct_labels_name(numbers, 2, 0), ==, "2");
    g_assert_cmpint(ct_labels_find(xy, "y"), ==, 1);
    g_assert_cmpint(ct_labels_find(xy, "z"), ==, -1);
    g_assert_cmpstr(ct_labels_name(y, 0, 0), ==, "y");

    CtLabels *const good[] = {numbers, xy}, *const twice[] = {xy, y};
    g_autoptr(CtLabels) joined = ct_labels_join(good, 2);
    g_assert_cmpuint(ct_labels_count(joined), ==, 5);
    g_assert_cmpstr(ct_labels_name(joined, 3, 0), ==, "x");
    g_assert_null(ct_labels_join(twice, 2));
    g_autoptr(CtLabels) pairs = ct_labels_new_pairs(xy, NULL, 0);
    CtLabels *const mixed[] = {numbers, pairs};
    g_assert_null(ct_labels_join(mixed, 2));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/observation/definition", test_definition);
    g_test_add_func("/observation/round-trip", test_round_trip);
    g_test_add_func("/observation/enu", test_enu);
    g_test_add_func("/observation/angles", test_angles);
    g_test_add_func("/observation/facts", test_facts);
    g_test_add_func("/observation/pairs", test_pairs);
    g_test_add_func("/observation/names", test_names);
    return g_test_run();
}
