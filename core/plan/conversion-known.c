/* SPDX-License-Identifier: BSD-3-Clause */
/* A cache of conversions, for many plans made from the same candidates. */
#include "conversion.h"
#include "placement.h"
#include "planner.h"

typedef struct {
    const CtStream *stream;
    CtPlacement from, to;
} Key;

static guint
hash_placement(const CtPlacement *placement, guint hash)
{
    hash = 31 * hash + (guint)placement->place;
    hash = 31 * hash + placement->layout.types;
    for (guint a = 0; a < placement->layout.n_axes; a++)
        hash = 31 * hash + g_direct_hash(placement->layout.axes[a].name) +
               (guint)placement->layout.axes[a].count;
    return hash;
}

static guint
key_hash(gconstpointer data)
{
    const Key *key = data;
    return hash_placement(&key->to, hash_placement(&key->from, g_direct_hash(key->stream)));
}

static gboolean
same_placement(const CtPlacement *a, const CtPlacement *b)
{
    return a->place == b->place && ct_layout_equal(&a->layout, &b->layout);
}

static gboolean
key_equal(gconstpointer a, gconstpointer b)
{
    const Key *x = a, *y = b;
    return x->stream == y->stream && same_placement(&x->from, &y->from) &&
           same_placement(&x->to, &y->to);
}

void
ct_planner_keep_conversions(CtPlanner *planner)
{
    planner->conversions_known =
        g_hash_table_new_full(key_hash, key_equal, g_free, (GDestroyNotify)g_array_unref);
}

GArray *
ct_conversions_known(CtPlanner *planner, const CtStream *stream, const CtPlacement *from,
                     const CtPlacement *to)
{
    if (!planner->conversions_known)
        return ct_conversions_new(planner, stream, from, to);
    const Key key = {stream, *from, *to};
    GArray *conversions = g_hash_table_lookup(planner->conversions_known, &key);
    if (!conversions) {
        conversions = ct_conversions_new(planner, stream, from, to);
        g_hash_table_insert(planner->conversions_known, g_memdup2(&key, sizeof(key)), conversions);
    }
    return g_array_ref(conversions);
}
