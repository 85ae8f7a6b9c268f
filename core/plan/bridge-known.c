/* SPDX-License-Identifier: BSD-3-Clause */
/* Bridges that are kept, where many plans are made of the same candidates. */
#include "bridge.h"
#include "placement.h"
#include "planner.h"

typedef struct {
    const CtStream *stream;
    CtSpot from, to;
} Key;

static guint
hash_spot(const CtSpot *spot, guint hash)
{
    hash = 31 * hash + (guint)spot->place;
    hash = 31 * hash + spot->layout.types;
    for (guint a = 0; a < spot->layout.n_axes; a++)
        hash = 31 * hash + g_direct_hash(spot->layout.axes[a].name) +
               (guint)spot->layout.axes[a].count;
    return hash;
}

static guint
key_hash(gconstpointer data)
{
    const Key *key = data;
    return hash_spot(&key->to, hash_spot(&key->from, g_direct_hash(key->stream)));
}

static gboolean
same_spot(const CtSpot *a, const CtSpot *b)
{
    return a->place == b->place && ct_layout_equal(&a->layout, &b->layout);
}

static gboolean
key_equal(gconstpointer a, gconstpointer b)
{
    const Key *x = a, *y = b;
    return x->stream == y->stream && same_spot(&x->from, &y->from) && same_spot(&x->to, &y->to);
}

void
ct_planner_keep_bridges(CtPlanner *planner)
{
    planner->bridges_known =
        g_hash_table_new_full(key_hash, key_equal, g_free, (GDestroyNotify)g_array_unref);
}

GArray *
ct_bridges_known(CtPlanner *planner, const CtStream *stream, const CtSpot *from, const CtSpot *to)
{
    if (!planner->bridges_known)
        return ct_bridges_new(planner, stream, from, to);
    const Key key = {stream, *from, *to};
    GArray *bridges = g_hash_table_lookup(planner->bridges_known, &key);
    if (!bridges) {
        bridges = ct_bridges_new(planner, stream, from, to);
        g_hash_table_insert(planner->bridges_known, g_memdup2(&key, sizeof(key)), bridges);
    }
    return g_array_ref(bridges);
}
