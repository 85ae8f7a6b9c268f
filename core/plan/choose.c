/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of a candidate for every node such that the busiest resource, with all candidates and
 * the conversions between them, is as little busy as possible.
 *
 * In the terms of solve.h, each node is a variable, and its candidates are the choices. Each choice
 * has a cell, a list of cost vectors: one for each variant that implements the candidate. A
 * candidate over several nodes is a choice of each of them; pairs forbid that it is chosen for some
 * of them only. A link with one reader is a pair that costs the conversion between the two
 * placements. Fan-outs with several readers are in choose-fan-out.c. */
#include "choose-private.h"

#include <math.h>

static void
fan_out_free(gpointer data)
{
    CtFanOut *fan_out = data;
    g_array_unref(fan_out->readers);
    g_free(fan_out);
}

GPtrArray *
ct_fan_outs_new(const CtGraph *graph)
{
    GPtrArray *fan_outs = g_ptr_array_new_with_free_func(fan_out_free);
    g_autofree GPtrArray **of_node = g_new(GPtrArray *, graph->nodes->len + 1);
    for (guint n = 0; n < graph->nodes->len; n++) {
        const CtGraphNode *node = ct_graph_node(graph, n);
        of_node[n] = g_ptr_array_new();
        for (guint p = 0; p < node->node.n_outputs; p++) {
            CtFanOut *fan_out = g_new0(CtFanOut, 1);
            fan_out->node = n;
            fan_out->port = p;
            fan_out->readers = g_array_new(FALSE, FALSE, sizeof(CtPlanReader));
            g_ptr_array_add(of_node[n], fan_out);
        }
        for (guint i = 0; i < node->node.n_inputs; i++) {
            if (node->from[i].node < 0 || !ct_node_input_flows(&node->node, i))
                continue;
            const CtPlanReader reader = {n, i};
            CtFanOut *fan_out = g_ptr_array_index(of_node[node->from[i].node], node->from[i].port);
            g_array_append_val(fan_out->readers, reader);
        }
    }
    for (guint n = 0; n < graph->nodes->len; n++) {
        for (guint p = 0; p < of_node[n]->len; p++) {
            CtFanOut *fan_out = g_ptr_array_index(of_node[n], p);
            if (fan_out->readers->len > 0)
                g_ptr_array_add(fan_outs, fan_out);
            else
                fan_out_free(fan_out);
        }
        g_ptr_array_unref(of_node[n]);
    }
    return fan_outs;
}

guint
ct_problem_n_choices(const CtProblem *problem, guint node)
{
    return problem->candidates->nodes[node]->len;
}

static const CtCandidate *
candidate_at(const CtProblem *problem, guint node, guint i)
{
    return g_ptr_array_index(problem->candidates->nodes[node], i);
}

/* ---- costs ---- */

/* Numbers the resources that may be used; a device on which no candidate runs has none. */
static void
find_components(CtProblem *problem)
{
    const CtMachine *machine = &problem->planner->machine;
    for (guint r = 0; r < ct_n_resources(machine); r++)
        problem->components[r] = -1;
    guint n_devices = 0;
    for (guint i = 0; i < problem->candidates->all->len; i++) {
        const CtCandidate *candidate = g_ptr_array_index(problem->candidates->all, i);
        gint *first = &problem->components[ct_resource(candidate->place, CT_QUEUE_COMPUTE)];
        n_devices += candidate->place != CT_HOST && *first < 0;
        *first = 0;
    }
    for (gint d = 0; d < (gint)machine->n_devices; d++) {
        gint *of_device = &problem->components[ct_resource(d, CT_QUEUE_COMPUTE)];
        if (*of_device < 0)
            continue;
        for (guint kind = 0; kind < CT_N_QUEUE_KINDS; kind++)
            of_device[kind] = kind == CT_QUEUE_TO_PEER && n_devices < 2 ? -1 : 0;
    }
    problem->components[ct_resource(CT_HOST, CT_QUEUE_COMPUTE)] = 0;
    for (guint r = 0; r < ct_n_resources(machine); r++) {
        if (problem->components[r] >= 0)
            problem->components[r] = (gint)problem->n_sums++;
    }
}

void
ct_problem_add(const CtProblem *problem, gdouble *vector, const CtCost *cost)
{
    for (guint p = 0; p < cost->n_parts; p++) {
        const gint component = problem->components[cost->parts[p].resource];
        g_assert(component >= 0);
        vector[component] += cost->parts[p].seconds;
    }
    vector[problem->n_sums] = MAX(vector[problem->n_sums], cost->alone);
}

static void
add_cost(CtProblem *problem, const CtCost *cost, gdouble share)
{
    g_autofree gdouble *vector = g_new0(gdouble, problem->n_sums + 1);
    ct_problem_add(problem, vector, cost);
    for (guint c = 0; c < problem->n_sums; c++)
        vector[c] *= share;
    ct_solver_add_vector(problem->solver, vector);
}

/* ---- nodes ---- */

/* Whether no cheaper implementation, that is, none before the `i`th, is within it. */
static gboolean
is_offered(const CtCandidate *candidate, guint i)
{
    const CtImplementation *implementation =
        &g_array_index(candidate->implementations, CtImplementation, i);
    for (guint k = 0; k < i; k++) {
        if (ct_cost_within(&g_array_index(candidate->implementations, CtImplementation, k).cost,
                           &implementation->cost))
            return FALSE;
    }
    return TRUE;
}

static guint
add_implementations(CtProblem *problem, const CtCandidate *candidate)
{
    const guint cell = ct_solver_add_cell(problem->solver);
    for (guint i = 0; i < candidate->implementations->len; i++) {
        if (is_offered(candidate, i))
            add_cost(problem, &g_array_index(candidate->implementations, CtImplementation, i).cost,
                     1);
    }
    return cell;
}

/* The implementation that belongs to the `way`th vector of the candidate's cell. */
static const CtImplementation *
implementation_of(const CtCandidate *candidate, guint way)
{
    guint i = 0;
    for (guint n = 0; !is_offered(candidate, i) || n++ < way; i++)
        ;
    return &g_array_index(candidate->implementations, CtImplementation, i);
}

static void
add_nodes(CtProblem *problem)
{
    for (guint n = 0; n < problem->candidates->n_nodes; n++) {
        const guint n_choices = ct_problem_n_choices(problem, n);
        g_autofree guint *cells = g_new(guint, n_choices + 1);
        for (guint i = 0; i < n_choices; i++) {
            const CtCandidate *candidate = candidate_at(problem, n, i);
            cells[i] =
                candidate->nodes[0] == n ? add_implementations(problem, candidate) : CT_CELL_FREE;
        }
        ct_solver_add_variable(problem->solver, n_choices, cells);
    }
}

/* ---- links ---- */

/* The placement that node `node` writes; FALSE where the output stays inside the candidate. */
static gboolean
written(const CtCandidate *candidate, guint node, guint port, CtPlacement *placement)
{
    if (candidate->nodes[candidate->n_nodes - 1] != node)
        return FALSE;
    *placement = (CtPlacement){candidate->outputs[port], candidate->place};
    return TRUE;
}

static gboolean
wanted(const CtCandidate *candidate, guint node, guint port, CtPlacement *placement)
{
    if (candidate->nodes[0] != node)
        return FALSE;
    *placement = ct_candidate_reads(candidate, port);
    return TRUE;
}

static const CtPlacement *
placement_at(const GArray *placements, guint i)
{
    return &g_array_index(placements, CtPlacement, i);
}

/* Adds `placement`, unless it is among them, and returns its index. */
static guint
placement_index(GArray *placements, const CtPlacement *placement)
{
    for (guint i = 0; i < placements->len; i++) {
        const CtPlacement *other = placement_at(placements, i);
        if (other->place == placement->place && ct_layout_equal(&other->layout, &placement->layout))
            return i;
    }
    g_array_append_val(placements, *placement);
    return placements->len - 1;
}

/* The indices in `placements` of each candidate's placement at a port; −1: the port is inside the
 * candidate. */
static gint *
port_indices(const CtProblem *problem, guint node, guint port, gboolean writes, GArray *placements)
{
    gint *indices = g_new(gint, ct_problem_n_choices(problem, node) + 1);
    for (guint i = 0; i < ct_problem_n_choices(problem, node); i++) {
        const CtCandidate *candidate = candidate_at(problem, node, i);
        CtPlacement placement;
        const gboolean there = writes ? written(candidate, node, port, &placement)
                                      : wanted(candidate, node, port, &placement);
        indices[i] = there ? (gint)placement_index(placements, &placement) : -1;
    }
    return indices;
}

static void
junction_free(gpointer data)
{
    CtJunction *junction = data;
    for (guint b = 0; b < junction->from->len * junction->to->len; b++)
        g_array_unref(junction->conversions[b]);
    g_free(junction->conversions);
    g_array_unref(junction->from);
    g_array_unref(junction->to);
    g_free(junction->writes);
    g_ptr_array_unref(junction->reads);
    if (junction->sets)
        g_array_unref(junction->sets);
    g_free(junction);
}

static CtJunction *
junction_new(const CtProblem *problem, const CtFanOut *fan_out)
{
    CtJunction *junction = g_new0(CtJunction, 1);
    junction->fan_out = fan_out;
    junction->stream =
        &ct_graph_node(problem->planner->graph, fan_out->node)->node.outputs[fan_out->port];
    junction->from = g_array_new(FALSE, FALSE, sizeof(CtPlacement));
    junction->to = g_array_new(FALSE, FALSE, sizeof(CtPlacement));
    junction->writes = port_indices(problem, fan_out->node, fan_out->port, TRUE, junction->from);
    junction->reads = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < fan_out->readers->len; i++) {
        const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, i);
        g_ptr_array_add(junction->reads,
                        port_indices(problem, reader->node, reader->port, FALSE, junction->to));
    }
    const guint n_from = junction->from->len, n_to = junction->to->len;
    junction->conversions = g_new(GArray *, (gsize)n_from * n_to + 1);
    for (guint b = 0; b < n_from * n_to; b++)
        junction->conversions[b] = ct_conversions_known(problem->planner, junction->stream,
                                                        placement_at(junction->from, b / n_to),
                                                        placement_at(junction->to, b % n_to));
    junction->is_whole = TRUE;
    return junction;
}

/* Adds a pair for each reader: the conversions, at a share of their cost; nothing inside a
 * candidate that covers both nodes. */
static void
add_links(CtProblem *problem, CtJunction *junction, gdouble share)
{
    const CtFanOut *fan_out = junction->fan_out;
    const guint n_to = junction->to->len;
    g_autofree guint *of_placements = g_new(guint, (gsize)junction->from->len * n_to + 1);
    for (guint b = 0; b < junction->from->len * n_to; b++) {
        const GArray *conversions = junction->conversions[b];
        of_placements[b] = ct_solver_add_cell(problem->solver);
        for (guint i = 0; i < conversions->len; i++)
            add_cost(problem, &g_array_index(conversions, CtConversion, i).cost, share);
    }
    const guint n_writes = ct_problem_n_choices(problem, fan_out->node);
    for (guint i = 0; i < fan_out->readers->len; i++) {
        const guint node = g_array_index(fan_out->readers, CtPlanReader, i).node;
        const gint *reads = g_ptr_array_index(junction->reads, i);
        const guint n_reads = ct_problem_n_choices(problem, node);
        guint *cells = g_new(guint, (gsize)n_writes * n_reads);
        for (guint w = 0; w < n_writes; w++) {
            for (guint r = 0; r < n_reads; r++) {
                const gboolean is_same =
                    candidate_at(problem, fan_out->node, w) == candidate_at(problem, node, r);
                cells[w * n_reads + r] =
                    junction->writes[w] >= 0 && reads[r] >= 0
                        ? of_placements[(guint)junction->writes[w] * n_to + (guint)reads[r]]
                    : is_same ? CT_CELL_FREE
                              : CT_CELL_FORBIDDEN;
            }
        }
        const guint pair = ct_solver_add_pair(problem->solver, fan_out->node, node, cells);
        if (i == 0)
            junction->first_pair = pair;
    }
}

static void
add_junction(CtProblem *problem, const CtFanOut *fan_out)
{
    CtJunction *junction = junction_new(problem, fan_out);
    g_ptr_array_add(problem->junctions, junction);
    if (fan_out->readers->len > 1 && junction->to->len <= CT_MAX_PLACEMENTS) {
        ct_problem_add_fan_out(problem, junction);
    } else {
        add_links(problem, junction, 1);
        junction->is_whole = fan_out->readers->len == 1;
    }
}

/* A lower bound of every choice for problems without all sets of placements: a set costs no less
 * than the conversion to any one placement in it, hence no less than their average. */
static gdouble
least_by_shares(const CtProblem *problem)
{
    g_autoptr(CtSolver) solver = ct_solver_new(problem->n_sums);
    CtProblem other = *problem;
    other.solver = solver;
    add_nodes(&other);
    for (guint o = 0; o < problem->junctions->len; o++) {
        CtJunction junction = *(const CtJunction *)g_ptr_array_index(problem->junctions, o);
        add_links(&other, &junction, 1.0 / junction.fan_out->readers->len);
    }
    g_autoptr(CtSolution) solution = ct_solver_run(solver, CT_SOLVER_LIMITS);
    return solution->least;
}

/* ---- the choice ---- */

/* Sets the error for a link over which no two candidates can be connected. */
static gboolean
report_stuck(const CtProblem *problem, GError **error)
{
    for (guint o = 0; o < problem->junctions->len; o++) {
        const CtJunction *junction = g_ptr_array_index(problem->junctions, o);
        const CtFanOut *fan_out = junction->fan_out;
        const CtGraphNode *writer = ct_graph_node(problem->planner->graph, fan_out->node);
        for (guint i = 0; i < fan_out->readers->len; i++) {
            const CtPlanReader *reader = &g_array_index(fan_out->readers, CtPlanReader, i);
            const CtGraphNode *node = ct_graph_node(problem->planner->graph, reader->node);
            const gint *reads = g_ptr_array_index(junction->reads, i);
            gint wants = -1;
            gboolean meets = junction->from->len == 0;
            for (guint r = 0; r < ct_problem_n_choices(problem, reader->node); r++) {
                wants = wants < 0 ? reads[r] : wants;
                for (guint w = 0; w < junction->from->len && reads[r] >= 0; w++)
                    meets |=
                        junction->conversions[w * junction->to->len + (guint)reads[r]]->len > 0;
            }
            if (meets || wants < 0)
                continue;
            g_autofree char *given = ct_layout_to_string(&placement_at(junction->from, 0)->layout);
            g_autofree char *layout =
                ct_layout_to_string(&placement_at(junction->to, (guint)wants)->layout);
            return ct_graph_error(node, &node->from[reader->port].place, CT_ERROR_LAYOUT, error,
                                  "port '%s' wants %s, but is given %s by '%s', and no transpose "
                                  "or conversion that is installed leads there",
                                  ct_node_input_port(&node->node, reader->port)->name, layout,
                                  given, writer->config->name);
        }
    }
    g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT,
                "no choice of variants and layouts suits all nodes of the graph at once");
    return FALSE;
}

/* The conversions [reader] of a fan-out that the solution takes. */
static CtConversion *
conversions_of(const CtProblem *problem, const CtJunction *junction, const CtSolution *solution)
{
    const guint n_readers = junction->fan_out->readers->len, n_to = junction->to->len;
    CtConversion *conversions = g_new0(CtConversion, n_readers + 1);
    const gint from = junction->writes[solution->choices[junction->fan_out->node]];
    const CtConversion *of_set[CT_MAX_PLACEMENTS] = {NULL};
    if (from >= 0 && junction->sets) {
        const guint64 set =
            g_array_index(junction->sets, guint64, solution->choices[junction->variable]);
        ct_problem_conversions_of_set(problem, junction, (guint)from, set,
                                      solution->pair_ways[junction->first_pair], of_set);
    }
    for (guint i = 0; i < n_readers && from >= 0; i++) {
        const guint node = g_array_index(junction->fan_out->readers, CtPlanReader, i).node;
        const gint *reads = g_ptr_array_index(junction->reads, i);
        const gint to = reads[solution->choices[node]];
        if (to >= 0 && junction->sets)
            conversions[i] = *of_set[to];
        else if (to >= 0)
            conversions[i] =
                g_array_index(junction->conversions[(guint)from * n_to + (guint)to], CtConversion,
                              solution->pair_ways[junction->first_pair + i]);
    }
    return conversions;
}

static CtChoice *
choice_new(const CtProblem *problem, const CtSolution *solution)
{
    CtChoice *choice = g_new0(CtChoice, 1);
    choice->n_nodes = problem->candidates->n_nodes;
    choice->n_fan_outs = problem->junctions->len;
    choice->candidates = g_new0(const CtCandidate *, choice->n_nodes + 1);
    choice->implementations = g_new0(const CtImplementation *, choice->n_nodes + 1);
    choice->conversions = g_new0(CtConversion *, choice->n_fan_outs + 1);
    for (guint n = 0; n < choice->n_nodes; n++) {
        const CtCandidate *candidate = candidate_at(problem, n, solution->choices[n]);
        choice->candidates[n] = candidate;
        /* The variable of the first covered node has the implementations. */
        choice->implementations[n] = candidate->nodes[0] == n
                                         ? implementation_of(candidate, solution->ways[n])
                                         : choice->implementations[candidate->nodes[0]];
    }
    for (guint o = 0; o < choice->n_fan_outs; o++)
        choice->conversions[o] =
            conversions_of(problem, g_ptr_array_index(problem->junctions, o), solution);
    choice->seconds = solution->busiest;
    choice->least = solution->least;
    return choice;
}

void
ct_choice_free(CtChoice *choice)
{
    if (!choice)
        return;
    for (guint o = 0; o < choice->n_fan_outs; o++)
        g_free(choice->conversions[o]);
    g_free(choice->conversions);
    g_free(choice->implementations);
    g_free(choice->candidates);
    g_free(choice);
}

CtChoice *
ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates, const GPtrArray *fan_outs,
                  GError **error)
{
    g_autofree gint *components = g_new(gint, ct_n_resources(&planner->machine));
    CtProblem problem = {.planner = planner, .candidates = candidates, .components = components};
    find_components(&problem);
    g_autoptr(CtSolver) solver = ct_solver_new(problem.n_sums);
    g_autoptr(GPtrArray) junctions = g_ptr_array_new_with_free_func(junction_free);
    problem.solver = solver;
    problem.junctions = junctions;
    add_nodes(&problem);
    gboolean is_whole = TRUE;
    for (guint o = 0; o < fan_outs->len; o++) {
        add_junction(&problem, g_ptr_array_index(fan_outs, o));
        is_whole &= ((const CtJunction *)g_ptr_array_index(junctions, o))->is_whole;
    }
    g_autoptr(CtSolution) solution = ct_solver_run(solver, CT_SOLVER_LIMITS);
    if (solution->busiest == HUGE_VAL) {
        report_stuck(&problem, error);
        return NULL;
    }
    CtChoice *choice = choice_new(&problem, solution);
    if (!is_whole)
        choice->least = MIN(choice->least, least_by_shares(&problem));
    return choice;
}
