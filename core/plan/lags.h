/* SPDX-License-Identifier: BSD-3-Clause */
/* How far nodes lag behind one another, where each edge wants a least difference of lags. */
#pragma once

#include <glib.h>

/* lag[to] − lag[from] ≥ least. A tick of difference costs `weight`, which is not negative. */
typedef struct {
    guint from, to;
    gint64 least;
    gdouble weight;
} CtLagEdge;

/* `least` has no more bits than these, so that no sum of lags overflows. */
#define CT_LAG_BITS 48

/* The lags of `n` nodes for which the edges, which make no cycle, cost least together; allocated.
 * They follow from a forest of edges, those with in_forest[e] set: along these the difference is
 * `least`. */
gint64 *ct_lags_new(guint n, const CtLagEdge *edges, guint n_edges, gboolean *in_forest);

/* The way in the forest between two nodes of one tree, [n] at most: nodes behind `from`, the last
 * is `to`; *length is how many. Allocated; NULL where they are of two trees. */
guint *ct_lags_way(guint n, const CtLagEdge *edges, guint n_edges, const gboolean *in_forest,
                   guint from, guint to, guint *length);
