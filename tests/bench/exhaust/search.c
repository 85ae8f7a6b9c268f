/* SPDX-License-Identifier: BSD-3-Clause */
/* The search for the combinations with the least bounds, by branch and bound: node by node, in the
 * order of the graph, while the chosen ways plus the least of the others stay below the limit. */
#include "space.h"

#include <math.h>
#include <string.h>

/* The optimism for parts: one that never ran may take this share of the predicted time, one that
 * ran with few neighbours this share of its least time. */
static const gdouble never = 0.4, hardly = 0.5;

/* The most combinations that are counted, and the most ways that are tried in a search. */
static const gdouble most_counted = 1e6;
static const gsize most_looked_at = 50 * 1000 * 1000;

/* The state of a search. A vector has the seconds of each resource, which add up, and last the
 * seconds on one thread, of which the largest counts. */
typedef struct {
    CtSpace *space;
    const CtQuery *query;
    guint n;         /* length of a vector */
    gdouble **ways;  /* [node] vectors [ways]; HUGE_VAL first where the way may not be chosen */
    gdouble **links; /* [fan-out] vectors [from][to] */
    gdouble *least;  /* vectors [node]: the least share of the node in the ways that cover it */
    gdouble *sums;   /* vectors [node]: the sum of the ways chosen before the node */
    gdouble *rest;   /* vectors [node]: the least of all nodes not chosen by then */
    gdouble **made; /* [node] vectors [fan-out]: the cost of the steps inserted behind it by then */
    guint16 *chosen;  /* [node] */
    const CtWay **of; /* [node] the way that covers it; NULL: none yet */
    gdouble limit;
    GArray *found; /* of CtFound; NULL: combinations are only counted */
    gdouble count;
    gsize n_looked_at;
} Search;

static const CtGraphNode *
node_at(const CtSpace *space, guint n)
{
    return ct_graph_node(space->planner->graph, n);
}

/* ---- vectors ---- */

static void
add(const Search *search, gdouble *to, const gdouble *vector)
{
    for (guint r = 0; r + 1 < search->n; r++)
        to[r] += vector[r];
    to[search->n - 1] = MAX(to[search->n - 1], vector[search->n - 1]);
}

static void
add_part(const Search *search, gdouble *to, const CtPart *part, const CtCost *cost)
{
    gdouble *alone = &to[search->n - 1];
    if (part->n == 0) {
        for (guint p = 0; p < cost->n_parts; p++)
            to[cost->parts[p].resource] += never * cost->parts[p].seconds;
        *alone = MAX(*alone, never * cost->alone);
        return;
    }
    const gdouble share = part->n_neighbours < CT_ENOUGH_NEIGHBOURS ? hardly : 1;
    to[part->resource] += share * part->least;
    *alone = MAX(*alone, share * part->alone);
}

static void
take_least(const Search *search, gdouble *to, const gdouble *vector, gdouble share)
{
    for (guint r = 0; r < search->n; r++)
        to[r] = MIN(to[r], share * vector[r]);
}

static void
set_all(const Search *search, gdouble *vector, gdouble value)
{
    for (guint r = 0; r < search->n; r++)
        vector[r] = value;
}

/* ---- costs of parts ---- */

static gboolean
covers(const CtWay *way, guint node)
{
    for (guint k = 0; k < way->candidate->n_nodes; k++)
        if (way->candidate->nodes[k] == node)
            return TRUE;
    return FALSE;
}

static gboolean
may_be_chosen(const Search *search, guint n, guint index)
{
    const CtWay *way = ct_space_way(search->space, n, index), *with = search->query->with;
    if (way->fails || way->is_double)
        return FALSE;
    if (with && way != with)
        for (guint k = 0; k < with->candidate->n_nodes; k++)
            if (covers(way, with->candidate->nodes[k]))
                return FALSE;
    return way == with || !search->query->is_known || way->part.n > 0;
}

static void
estimate_ways(Search *search)
{
    const CtSpace *space = search->space;
    for (guint n = 0; n < space->n_nodes; n++)
        set_all(search, &search->least[n * search->n], HUGE_VAL);
    for (guint n = 0; n < space->n_nodes; n++) {
        search->ways[n] = g_new0(gdouble, (gsize)space->ways[n]->len * search->n + 1);
        for (guint i = 0; i < space->ways[n]->len; i++) {
            const CtWay *way = ct_space_way(space, n, i);
            gdouble *vector = &search->ways[n][i * search->n];
            if (!may_be_chosen(search, n, i)) {
                vector[0] = HUGE_VAL;
                continue;
            }
            add_part(search, vector, &way->part, &way->implementation->cost);
            for (guint k = 0; k < way->candidate->n_nodes; k++)
                take_least(search, &search->least[way->candidate->nodes[k] * search->n], vector,
                           1.0 / way->candidate->n_nodes);
        }
    }
}

/* Sets, for each pair of placements, the least of each component over all ways between them. */
static void
estimate_links(Search *search)
{
    const CtSpace *space = search->space;
    g_autofree gdouble *vector = g_new(gdouble, search->n);
    for (guint o = 0; o < space->passages->len; o++) {
        const CtPassage *passage = g_ptr_array_index(space->passages, o);
        const guint n = passage->from->len * passage->to->len;
        search->links[o] = g_new(gdouble, (gsize)n * search->n + 1);
        for (guint c = 0; c < n; c++) {
            const GPtrArray *crossing = passage->crossings[c];
            gdouble *least = &search->links[o][c * search->n];
            set_all(search, least, HUGE_VAL);
            for (guint b = 0; b < crossing->len; b++) {
                const GArray *steps = g_ptr_array_index(crossing, b);
                memset(vector, 0, search->n * sizeof(*vector));
                for (guint s = 0; s < steps->len; s++) {
                    const CtStepPart *step = &g_array_index(steps, CtStepPart, s);
                    add_part(search, vector, step->part, &step->cost);
                }
                take_least(search, least, vector, 1);
            }
        }
    }
}

/* ---- the search ---- */

/* Adds the steps before the way's inputs. Steps behind a fan-out serve all its readers: together
 * these take no less than the one that takes most. */
static void
add_links(const Search *search, guint n, const CtWay *way, gdouble *sums, gdouble *made)
{
    const CtSpace *space = search->space;
    const CtGraphNode *node = node_at(space, n);
    for (guint i = 0; i < node->node.n_inputs; i++) {
        const gint o = space->input_fan_outs[n][i];
        if (o < 0)
            continue;
        const CtWay *writer = search->of[node->from[i].node];
        const CtPassage *passage = g_ptr_array_index(space->passages, (guint)o);
        const guint from = writer->out_placements[node->from[i].port], to = way->in_placements[i];
        const gdouble *link = &search->links[o][(from * passage->to->len + to) * search->n];
        gdouble *before = &made[(guint)o * search->n];
        for (guint r = 0; r < search->n; r++) {
            if (link[r] <= before[r])
                continue;
            if (r + 1 < search->n)
                sums[r] += link[r] - before[r];
            else
                sums[r] = MAX(sums[r], link[r]);
            before[r] = link[r];
        }
    }
}

static void
keep(Search *search, gdouble bound)
{
    const guint most = search->query->most, n_nodes = search->space->n_nodes;
    if (ct_space_is_tried(search->space, search->chosen))
        return;
    search->count += 1;
    if (!search->found)
        return;
    guint at = search->found->len;
    while (at > 0 && g_array_index(search->found, CtFound, at - 1).bound > bound)
        at--;
    const CtFound found = {bound, g_memdup2(search->chosen, n_nodes * sizeof(guint16))};
    g_array_insert_val(search->found, at, found);
    if (search->found->len > most)
        g_array_set_size(search->found, most);
    if (search->found->len == most)
        search->limit = MIN(search->limit, g_array_index(search->found, CtFound, most - 1).bound);
}

static gboolean
is_over(const Search *search)
{
    return search->n_looked_at > most_looked_at || (!search->found && search->count > most_counted);
}

static void
go_on(Search *search, guint n)
{
    const CtSpace *space = search->space;
    const guint n_fan_outs = space->passages->len, size = search->n;
    const gdouble *sums = &search->sums[n * size], *rest = &search->rest[n * size];
    if (n == space->n_nodes) {
        gdouble bound = 0;
        for (guint r = 0; r < size; r++)
            bound = MAX(bound, sums[r]);
        keep(search, bound);
        return;
    }
    gdouble *next_sums = &search->sums[(n + 1) * size], *next_rest = &search->rest[(n + 1) * size];
    memcpy(search->made[n + 1], search->made[n], n_fan_outs * size * sizeof(gdouble));
    if (search->of[n]) {
        search->chosen[n] = CT_COVERED;
        memcpy(next_sums, sums, size * sizeof(*sums));
        memcpy(next_rest, rest, size * sizeof(*rest));
        go_on(search, n + 1);
        return;
    }
    for (guint i = 0; i < space->ways[n]->len && !is_over(search); i++) {
        const CtWay *way = ct_space_way(space, n, i);
        const gdouble *vector = &search->ways[n][i * size];
        gboolean is_free = vector[0] < HUGE_VAL;
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            is_free &= !search->of[way->candidate->nodes[k]];
        if (!is_free)
            continue;
        search->n_looked_at++;
        memcpy(search->made[n + 1], search->made[n], n_fan_outs * size * sizeof(gdouble));
        memcpy(next_sums, sums, size * sizeof(*sums));
        memcpy(next_rest, rest, size * sizeof(*rest));
        add(search, next_sums, vector);
        add_links(search, n, way, next_sums, search->made[n + 1]);
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            for (guint r = 0; r + 1 < size; r++)
                next_rest[r] -= search->least[way->candidate->nodes[k] * size + r];
        gdouble bound = next_sums[size - 1];
        for (guint r = 0; r + 1 < size; r++)
            bound = MAX(bound, next_sums[r] + next_rest[r]);
        if (!(bound < search->limit))
            continue;
        search->chosen[n] = (guint16)i;
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            search->of[way->candidate->nodes[k]] = way;
        go_on(search, n + 1);
        for (guint k = 0; k < way->candidate->n_nodes; k++)
            search->of[way->candidate->nodes[k]] = NULL;
    }
}

static void
found_clear(gpointer data)
{
    g_free(((CtFound *)data)->chosen);
}

static void
run(Search *search)
{
    CtSpace *space = search->space;
    const guint n_nodes = space->n_nodes, n_fan_outs = space->passages->len;
    search->n = space->n_resources + 1;
    search->limit = search->query->limit;
    search->ways = g_new0(gdouble *, n_nodes + 1);
    search->links = g_new0(gdouble *, n_fan_outs + 1);
    search->least = g_new(gdouble, (gsize)n_nodes * search->n + 1);
    search->sums = g_new0(gdouble, (gsize)(n_nodes + 1) * search->n);
    search->rest = g_new0(gdouble, (gsize)(n_nodes + 1) * search->n);
    search->made = g_new(gdouble *, n_nodes + 1);
    for (guint n = 0; n <= n_nodes; n++)
        search->made[n] = g_new0(gdouble, (gsize)n_fan_outs * search->n + 1);
    search->chosen = g_new(guint16, n_nodes + 1);
    search->of = g_new0(const CtWay *, n_nodes + 1);
    estimate_ways(search);
    estimate_links(search);
    gboolean is_possible = TRUE;
    for (guint n = 0; n < n_nodes; n++) {
        is_possible &= search->least[n * search->n] < HUGE_VAL;
        for (guint r = 0; r + 1 < search->n; r++)
            search->rest[r] += search->least[n * search->n + r];
    }
    if (is_possible)
        go_on(search, 0);
    for (guint n = 0; n <= n_nodes; n++)
        g_free(search->made[n]);
    for (guint n = 0; n < n_nodes; n++)
        g_free(search->ways[n]);
    for (guint o = 0; o < n_fan_outs; o++)
        g_free(search->links[o]);
    g_free(search->ways);
    g_free(search->links);
    g_free(search->least);
    g_free(search->sums);
    g_free(search->rest);
    g_free(search->made);
    g_free(search->chosen);
    g_free(search->of);
}

GArray *
ct_space_find(CtSpace *space, const CtQuery *query)
{
    Search search = {.space = space, .query = query};
    search.found = g_array_new(FALSE, FALSE, sizeof(CtFound));
    g_array_set_clear_func(search.found, found_clear);
    run(&search);
    return search.found;
}

gdouble
ct_space_count_below(CtSpace *space, gdouble limit, gboolean *is_all)
{
    const CtQuery query = {.limit = limit};
    Search search = {.space = space, .query = &query};
    run(&search);
    *is_all = !is_over(&search);
    return search.count;
}
