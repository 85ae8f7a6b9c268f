/* SPDX-License-Identifier: BSD-3-Clause */
/* The lags of nodes behind one another, by a network simplex, as used to rank the nodes of drawn
 * graphs (Gansner, Koutsofios, North, Vo: A technique for drawing directed graphs, 1993).
 *
 * The cheapest lags follow from a forest of tight edges. A tree that loses one of its edges falls
 * into two parts, which can move apart. If that lowers the total cost, they move until another edge
 * between them becomes tight and replaces the first. */
#include "lags.h"

typedef struct {
    guint n;
    const CtLagEdge *edges;
    guint n_edges;
    gint64 *lags;
    gboolean *in_forest;
    const guint *first;    /* [node + 1] into `incident` */
    const guint *incident; /* [2 · n_edges] the edges at each node */
    guint *tree;           /* [node] while the forest grows */
    gboolean *is_here;     /* [node] on the side of an edge's `from` */
    guint *stack;          /* [node] */
} Simplex;

/* The most exchanges, for each edge: far more than are needed in practice. */
static const guint exchanges_per_edge = 8;

static gint64
slack(const Simplex *simplex, const CtLagEdge *edge)
{
    return simplex->lags[edge->to] - simplex->lags[edge->from] - edge->least;
}

/* Sets the least lags, starting from the nodes to which no edge leads. */
static void
find_least(const Simplex *simplex)
{
    for (gboolean changed = TRUE; changed;) {
        changed = FALSE;
        for (guint e = 0; e < simplex->n_edges; e++) {
            const gint64 more = -slack(simplex, &simplex->edges[e]);
            if (more > 0) {
                simplex->lags[simplex->edges[e].to] += more;
                changed = TRUE;
            }
        }
    }
}

/* Makes two trees one. */
static void
join_trees(const Simplex *simplex, guint kept, guint other)
{
    for (guint i = 0; i < simplex->n; i++)
        if (simplex->tree[i] == other)
            simplex->tree[i] = kept;
}

static void
move_tree(const Simplex *simplex, guint tree, gint64 by)
{
    for (guint i = 0; i < simplex->n; i++)
        if (simplex->tree[i] == tree)
            simplex->lags[i] += by;
}

/* Joins trees by the tightest edge between two trees, one after the other, and moves the tree at
 * the edge's end until the edge is tight. The tightest edge of all goes first, so that no other
 * edge to the moved tree is violated. */
static void
grow_forest(const Simplex *simplex)
{
    for (guint i = 0; i < simplex->n; i++)
        simplex->tree[i] = i;
    for (;;) {
        gint best = -1;
        for (guint e = 0; e < simplex->n_edges; e++) {
            const CtLagEdge *edge = &simplex->edges[e];
            if (simplex->tree[edge->from] != simplex->tree[edge->to] &&
                (best < 0 || slack(simplex, edge) < slack(simplex, &simplex->edges[best])))
                best = (gint)e;
        }
        if (best < 0)
            return;
        const CtLagEdge *edge = &simplex->edges[best];
        const guint from = simplex->tree[edge->from], to = simplex->tree[edge->to];
        move_tree(simplex, to, -slack(simplex, edge));
        join_trees(simplex, from, to);
        simplex->in_forest[best] = TRUE;
    }
}

/* Marks the nodes that are still joined with the beginning of edge `left_out` in the forest without
 * that edge. */
static void
mark_side(const Simplex *simplex, guint left_out)
{
    guint n_stacked = 0;
    for (guint i = 0; i < simplex->n; i++)
        simplex->is_here[i] = FALSE;
    simplex->stack[n_stacked++] = simplex->edges[left_out].from;
    simplex->is_here[simplex->edges[left_out].from] = TRUE;
    while (n_stacked > 0) {
        const guint node = simplex->stack[--n_stacked];
        for (guint k = simplex->first[node]; k < simplex->first[node + 1]; k++) {
            const guint e = simplex->incident[k];
            const CtLagEdge *edge = &simplex->edges[e];
            if (!simplex->in_forest[e] || e == left_out)
                continue;
            const guint other = edge->from == node ? edge->to : edge->from;
            if (!simplex->is_here[other])
                simplex->stack[n_stacked++] = other;
            simplex->is_here[other] = TRUE;
        }
    }
}

/* The change in cost for each tick by which the two sides move apart; 0 where it is only rounding,
 * or no gain. */
static gdouble
cost_of_cut(const Simplex *simplex)
{
    gdouble sum = 0, all = 0;
    for (guint e = 0; e < simplex->n_edges; e++) {
        const CtLagEdge *edge = &simplex->edges[e];
        if (simplex->is_here[edge->from] == simplex->is_here[edge->to])
            continue;
        sum += simplex->is_here[edge->from] ? edge->weight : -edge->weight;
        all += edge->weight;
    }
    return sum < -1e-9 * all ? sum : 0;
}

/* Moves the sides apart until an edge becomes tight, and returns that edge; −1: there is none. */
static gint
move_apart(const Simplex *simplex)
{
    gint holds = -1;
    for (guint e = 0; e < simplex->n_edges; e++) {
        const CtLagEdge *edge = &simplex->edges[e];
        if (!simplex->is_here[edge->from] && simplex->is_here[edge->to] &&
            (holds < 0 || slack(simplex, edge) < slack(simplex, &simplex->edges[holds])))
            holds = (gint)e;
    }
    const gint64 by = holds < 0 ? 0 : slack(simplex, &simplex->edges[holds]);
    for (guint i = 0; i < simplex->n; i++)
        if (simplex->is_here[i])
            simplex->lags[i] -= by;
    return holds;
}

/* Exchanges the edges of the forest in turn; an edge that has just come in is tried last. */
static void
exchange_edges(const Simplex *simplex)
{
    const guint most = exchanges_per_edge * simplex->n_edges;
    guint n_exchanges = 0;
    for (guint e = 0, n_kept = 0; n_kept < simplex->n_edges && n_exchanges < most;
         e = (e + 1) % simplex->n_edges) {
        n_kept++;
        if (!simplex->in_forest[e])
            continue;
        mark_side(simplex, e);
        if (cost_of_cut(simplex) == 0)
            continue;
        const gint instead = move_apart(simplex);
        if (instead < 0)
            continue;
        simplex->in_forest[e] = FALSE;
        simplex->in_forest[instead] = TRUE;
        n_kept = 0;
        n_exchanges++;
    }
}

/* Lists the edges at each node: those of node i are incident[first[i]] … incident[first[i + 1] −
 * 1].
 */
static void
list_edges(guint n, const CtLagEdge *edges, guint n_edges, guint *first, guint *incident)
{
    for (guint e = 0; e < n_edges; e++) {
        first[edges[e].from + 1]++;
        first[edges[e].to + 1]++;
    }
    for (guint i = 0; i < n; i++)
        first[i + 1] += first[i];
    g_autofree guint *next = g_memdup2(first, (n + 1) * sizeof *first);
    for (guint e = 0; e < n_edges; e++) {
        incident[next[edges[e].from]++] = e;
        incident[next[edges[e].to]++] = e;
    }
}

gint64 *
ct_lags_new(guint n, const CtLagEdge *edges, guint n_edges, gboolean *in_forest)
{
    g_autofree guint *tree = g_new(guint, n + 1);
    g_autofree gboolean *is_here = g_new(gboolean, n + 1);
    g_autofree guint *stack = g_new(guint, n + 1);
    g_autofree guint *first = g_new0(guint, n + 2);
    g_autofree guint *incident = g_new(guint, 2 * n_edges + 1);
    list_edges(n, edges, n_edges, first, incident);
    const Simplex simplex = {
        n, edges, n_edges, g_new0(gint64, n + 1), in_forest, first, incident, tree, is_here, stack,
    };
    find_least(&simplex);
    grow_forest(&simplex);
    exchange_edges(&simplex);
    return simplex.lags;
}

guint *
ct_lags_way(guint n, const CtLagEdge *edges, guint n_edges, const gboolean *in_forest, guint from,
            guint to, guint *length)
{
    /* Search from `to` on, so that every node knows the next node on the way there. */
    g_autofree gint *next = g_new(gint, n + 1);
    g_autofree guint *queue = g_new(guint, n + 1);
    guint n_queued = 0;
    for (guint i = 0; i < n; i++)
        next[i] = -1;
    queue[n_queued++] = to;
    next[to] = (gint)to;
    for (guint q = 0; q < n_queued; q++) {
        for (guint e = 0; e < n_edges; e++) {
            if (!in_forest[e] || (edges[e].from != queue[q] && edges[e].to != queue[q]))
                continue;
            const guint other = edges[e].from == queue[q] ? edges[e].to : edges[e].from;
            if (next[other] >= 0)
                continue;
            next[other] = (gint)queue[q];
            queue[n_queued++] = other;
        }
    }
    if (next[from] < 0)
        return NULL;
    guint *way = g_new(guint, n + 1);
    *length = 0;
    for (guint i = from; i != to; i = (guint)next[i])
        way[(*length)++] = (guint)next[i];
    return way;
}
