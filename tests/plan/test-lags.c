/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of lags, against all possible lags on small random graphs. */
#include "plan/lags.h"

enum { MOST_NODES = 5, MOST_EDGES = 9, FARTHEST = 9 };

static gdouble
cost_of(const CtLagEdge *edges, guint n_edges, const gint64 *lags)
{
    gdouble cost = 0;
    for (guint e = 0; e < n_edges; e++) {
        const gint64 difference = lags[edges[e].to] - lags[edges[e].from];
        if (difference < edges[e].least)
            return G_MAXDOUBLE;
        cost += edges[e].weight * (gdouble)difference;
    }
    return cost;
}

/* The least cost of all lags from 0 to FARTHEST − 1. */
static gdouble
try_all(guint n, const CtLagEdge *edges, guint n_edges)
{
    gdouble least = G_MAXDOUBLE;
    guint n_all = 1;
    for (guint i = 0; i < n; i++)
        n_all *= FARTHEST;
    for (guint k = 0; k < n_all; k++) {
        gint64 lags[MOST_NODES];
        guint rest = k;
        for (guint i = 0; i < n; i++, rest /= FARTHEST)
            lags[i] = rest % FARTHEST;
        least = MIN(least, cost_of(edges, n_edges, lags));
    }
    return least;
}

static void
test_least(void)
{
    for (guint trial = 0; trial < 300; trial++) {
        const guint n = (guint)g_test_rand_int_range(1, MOST_NODES);
        const guint n_edges = n > 1 ? (guint)g_test_rand_int_range(0, MOST_EDGES) : 0;
        CtLagEdge edges[MOST_EDGES];
        gboolean in_forest[MOST_EDGES] = {0};
        for (guint e = 0; e < n_edges; e++) {
            const guint from = (guint)g_test_rand_int_range(0, (gint32)n - 1);
            edges[e] = (CtLagEdge){
                .from = from,
                .to = (guint)g_test_rand_int_range((gint32)from + 1, (gint32)n),
                .least = g_test_rand_int_range(-2, 3),
                .weight = g_test_rand_int_range(0, 4),
            };
        }
        g_autofree gint64 *lags = ct_lags_new(n, edges, n_edges, in_forest);
        g_assert_cmpfloat(cost_of(edges, n_edges, lags), ==, try_all(n, edges, n_edges));
        for (guint e = 0; e < n_edges; e++)
            if (in_forest[e])
                g_assert_cmpint(lags[edges[e].to] - lags[edges[e].from], ==, edges[e].least);
    }
}

/* The edges are 0 → 1 → 3, 0 → 2 → 3, and 4 → 5. */
static void
test_way(void)
{
    const CtLagEdge edges[] = {
        {0, 1, 2, 1}, {1, 3, 5, 1}, {0, 2, 1, 1}, {2, 3, 1, 9}, {4, 5, 3, 1}};
    gboolean in_forest[G_N_ELEMENTS(edges)] = {0};
    g_autofree gint64 *lags = ct_lags_new(6, edges, G_N_ELEMENTS(edges), in_forest);
    g_assert_cmpint(lags[3] - lags[0], ==, 7);
    /* If skew can be held on several links, it is held on a cheap one. */
    g_assert_cmpint(lags[3] - lags[2], ==, 1);
    guint length;
    g_autofree guint *way = ct_lags_way(6, edges, G_N_ELEMENTS(edges), in_forest, 2, 0, &length);
    g_assert_cmpuint(length, ==, 3);
    g_assert_cmpuint(way[0], ==, 3);
    g_assert_cmpuint(way[1], ==, 1);
    g_assert_cmpuint(way[2], ==, 0);
    g_assert_null(ct_lags_way(6, edges, G_N_ELEMENTS(edges), in_forest, 2, 5, &length));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lags/least", test_least);
    g_test_add_func("/lags/way", test_way);
    return g_test_run();
}
