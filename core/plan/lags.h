/* SPDX-License-Identifier: BSD-3-Clause */
/* The lags of nodes behind one another, where each edge demands a least difference. */
#pragma once

#include <glib.h>

/* The constraint lag[to] − lag[from] ≥ least. Each tick of difference costs `weight`, which is not
 * negative. */
typedef struct {
    guint from, to;
    gint64 least;
    gdouble weight;
} CtLagEdge;

/* The most bits of `least`, so that no sum of lags overflows. */
#define CT_LAG_BITS 48

/* The lags of `n` nodes for which the edges, which must form no cycle, cost the least together;
 * allocated. Sets in_forest[e] for a forest of edges along which the difference is exactly `least`,
 * and from which all lags follow. */
gint64 *ct_lags_new(guint n, const CtLagEdge *edges, guint n_edges, gboolean *in_forest);

/* The nodes on the way in the forest from `from` to `to`: without `from`, with `to`, *length in
 * number, at most `n`. Allocated; NULL where the two are in different trees. */
guint *ct_lags_way(guint n, const CtLagEdge *edges, guint n_edges, const gboolean *in_forest,
                   guint from, guint to, guint *length);
