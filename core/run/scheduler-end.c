/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a run: its warnings, and the results that become final.
 *
 * A node with a result to complete waits until all other nodes have ended, and then until all
 * others with a result are closed. If one of them fails, or a warning is an error, no result of
 * the run becomes final. */
#include "change.h"
#include "graph/plugin-call.h"
#include "model/node-params.h"
#include "scheduler-private.h"

#include <cornerturn/kit/epilogue.h>
#include <string.h>

/* ---- what a run warns of ---- */

/* Whether the first output has samples, and all of them are invalid. */
static gboolean
is_all_invalid(const CtRunNode *node)
{
    const CtRing *ring = node->n_outputs > 0 ? node->outputs[0].ring : NULL;
    return ring && node->totals.samples > 0 &&
           node->totals.invalid == node->totals.samples * ring->n_lanes;
}

static gboolean
is_empty(const CtRunNode *node)
{
    gboolean is_read = FALSE;
    for (guint o = 0; o < node->n_outputs; o++)
        is_read |= node->outputs[o].ring != NULL;
    return is_read && node->totals.samples == 0;
}

/* Whether the same is true of a node that feeds this one, which is then to blame. */
static gboolean
is_fed_by(const CtScheduler *scheduler, const CtRunNode *node,
          gboolean (*is_so)(const CtRunNode *node))
{
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRing *ring = node->inputs[i].ring;
        if (ring && is_so(&scheduler->nodes[ring->link->writer]))
            return TRUE;
    }
    return FALSE;
}

/* Whether the graph has warned of this before. */
static gboolean
is_known(const CtScheduler *scheduler, const char *name, CtWarningKind kind)
{
    const GPtrArray *warned = scheduler->options.warned;
    return warned && ct_warnings_have(warned, kind, name);
}

/* Whether the input may have several blocks: a single one holds throughout. */
static gboolean
is_changing(const CtRunInput *input)
{
    const CtStream *stream = input->ring->link->stream;
    const gint time = ct_stream_axis(stream, "time");
    return time >= 0 && stream->axes[time].length != 1;
}

/* Warns of data that came before the first block of a static input, and used it. */
static void
warn_of_early_data(GPtrArray *warnings, const CtRunNode *node, const CtPlace *place)
{
    const CtPort *ports = node->plan->nodes[0].stage->inputs;
    const guint flows = ct_run_node_first_flow(node);
    if (flows == node->n_inputs || node->totals.consumed == 0)
        return;
    const gint64 start = node->inputs[flows].ring->start;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (!input->ring || !input->is_static || !is_changing(input))
            continue;
        const gint64 first = ct_clock_map(&input->clock, input->ring->start);
        if (first > start)
            ct_warnings_add(warnings, CT_WARNING_EARLY, node->plan->name, place,
                            "the first block of port '%s' stands at tick %" G_GINT64_FORMAT
                            " of port '%s', whose data begin at tick %" G_GINT64_FORMAT
                            ": the data before the block use it too",
                            ports[i].name, first, ports[flows].name, start);
    }
}

/* The user is warned if more than one element in so many was clipped. */
#define CLIPPED_ONE_IN 100

/* The samples that the last covered node was given, if it folds what the others make: an epilogue.
 */
static gint64
count_folded(const CtPlanNode *plan, gint64 consumed)
{
    const CtFootprint windows = ct_chain_footprint(plan->nodes, plan->n_nodes - 1);
    return consumed < windows.window ? 0 : (consumed - windows.window) / windows.hop + 1;
}

/* The elements of which the counter "clipped" of a covered node counts some (CtStage.counters); 0:
 * none. Behind another node, those that are given: an epilogue makes one of each. */
static gdouble
count_elements(const CtRunNode *node, const CtNode *counting)
{
    if (counting != &node->plan->nodes[0])
        return (gdouble)(ct_epilogue_variant_folds(node->plan->variant)
                             ? count_folded(node->plan, node->totals.consumed)
                             : node->totals.samples) *
               (gdouble)ct_stream_width(&counting->inputs[0]);
    const guint flows = ct_run_node_first_flow(node);
    const CtStream *stream = flows < node->n_inputs ? node->inputs[flows].ring->link->stream
                             : node->n_outputs > 0  ? node->plan->output_bindings[0].stream
                                                    : NULL;
    return stream ? (gdouble)ct_scheduler_progress(node) * (gdouble)ct_stream_width(stream) : 0;
}

/* The place is that of the covered node that clipped, not that of the last one. */
static void
warn_of_clipped(GPtrArray *warnings, const CtRunNode *node, const CtPlace *place)
{
    const char *names[CT_MAX_COUNTERS];
    ct_plan_counters(node->plan, names);
    for (guint c = 0; c < node->n_counters; c++) {
        const CtNode *counting = ct_plan_counting(node->plan, c);
        const gdouble n_elements = count_elements(node, counting);
        if (strcmp(names[c], "clipped") == 0 &&
            (gdouble)node->counters[c] * CLIPPED_ONE_IN > n_elements)
            ct_warnings_add(warnings, CT_WARNING_CLIPPED, counting->name,
                            counting->params ? ct_params_place(counting->params) : place,
                            "clipped %" G_GUINT64_FORMAT
                            " of %.0f elements: the type of its result can't hold their values%s",
                            node->counters[c], n_elements,
                            counting->params && ct_params_knows(counting->params, "scale")
                                ? "; use a smaller `scale`"
                                : "");
    }
}

/* Warns of a node whose sums were all short, or of the last one that it covers. */
static void
warn_of_short(CtScheduler *scheduler, const CtRunNode *node, const CtPlace *place)
{
    const CtPlanNode *plan = node->plan;
    const CtNode *last = &plan->nodes[plan->n_nodes - 1];
    const gboolean folds = ct_epilogue_variant_folds(plan->variant);
    const char *name = folds ? last->name : plan->name;
    if ((plan->footprint.kind != CT_FOOTPRINT_SUM && !folds) ||
        is_known(scheduler, name, CT_WARNING_SHORT))
        return;
    ct_warnings_add_short(
        scheduler->warnings, name, place, folds ? last->footprint.hop : plan->footprint.hop,
        folds ? count_folded(plan, node->totals.consumed) : node->totals.consumed);
}

static void
warn_of_node(CtScheduler *scheduler, const CtRunNode *node)
{
    GPtrArray *warnings = scheduler->warnings;
    const CtPlanNode *plan = node->plan;
    const CtPlace *place = plan->graph_node ? &plan->graph_node->config->place : NULL;
    if (is_all_invalid(node) && !is_fed_by(scheduler, node, is_all_invalid))
        ct_warnings_add(warnings, CT_WARNING_INVALID, plan->name, place,
                        "all %" G_GINT64_FORMAT " samples that it gave are invalid",
                        node->totals.samples);
    warn_of_early_data(warnings, node, place);
    warn_of_clipped(warnings, node, place);
    /* What its variant has warned of since it was prepared. */
    for (guint k = 0; k < plan->n_nodes; k++)
        if (plan->nodes[k].params)
            ct_params_join_warnings(plan->nodes[k].params, plan->nodes[k].name, warnings);
    /* An interrupt explains the warnings that follow. */
    if (node->interrupted)
        return;
    for (const CtChange *change = node->changes.pending; change; change = change->next)
        ct_warnings_add(warnings, CT_WARNING_CHANGE, plan->name, place,
                        "the change %s had no effect: the output ended before tick "
                        "%" G_GINT64_FORMAT,
                        change->shown, change->tick);
    if (is_empty(node) && !is_fed_by(scheduler, node, is_empty) &&
        !is_known(scheduler, plan->name, CT_WARNING_EMPTY))
        ct_warnings_add(warnings, CT_WARNING_EMPTY, plan->name, place, "gave no samples");
    warn_of_short(scheduler, node, place);
}

/* With the lock. Collects the warnings at the end; FALSE: they are an error. */
static gboolean
warn_of_run(CtScheduler *scheduler)
{
    for (guint i = 0; i < scheduler->n_nodes; i++)
        warn_of_node(scheduler, &scheduler->nodes[i]);
    GError *error = NULL;
    if (!scheduler->options.strict || ct_warnings_refuse(scheduler->warnings, &error))
        return TRUE;
    ct_scheduler_fail(scheduler, error);
    return FALSE;
}

/* ---- results ---- */

static void
start_completing(CtScheduler *scheduler)
{
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        if (scheduler->nodes[i].status != CT_NODE_FINISHED)
            continue;
        scheduler->nodes[i].status = CT_NODE_COMPLETING;
        ct_scheduler_wake(scheduler, i);
    }
}

/* With the lock. Begins to complete nodes when all others have ended. */
static void
conclude(CtScheduler *scheduler)
{
    if (scheduler->unfinished > scheduler->n_finished || scheduler->stop)
        return;
    if (!scheduler->is_concluded) {
        scheduler->is_concluded = TRUE;
        if (!warn_of_run(scheduler))
            return;
        scheduler->n_closing = scheduler->n_finished;
        start_completing(scheduler);
    }
    if (scheduler->unfinished > 0)
        return;
    scheduler->finished = ct_scheduler_now();
    if (scheduler->energy)
        ct_energy_end(scheduler->energy);
    scheduler->stop = TRUE;
    ct_scheduler_wake_all(scheduler);
}

void
ct_scheduler_end_node(CtScheduler *scheduler, CtRunNode *node)
{
    scheduler->n_external -= node->status == CT_NODE_EXTERNAL;
    node->status = CT_NODE_ENDED;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (!node->outputs[o].ring)
            continue;
        node->outputs[o].ring->ended = TRUE;
        node->outputs[o].ring->interrupted = node->interrupted;
        if (node->outputs[o].ring->feed)
            ct_ring_reclaim(node->outputs[o].ring);
        ct_scheduler_wake_readers(scheduler, node->outputs[o].ring);
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        CtRunInput *input = &node->inputs[i];
        if (!input->ring)
            continue;
        input->ring->readers[input->reader].position = CT_RING_GONE;
        ct_scheduler_released(scheduler, input->ring);
    }
    scheduler->unfinished--;
    conclude(scheduler);
}

void
ct_scheduler_finish_node(CtScheduler *scheduler, CtRunNode *node)
{
    if (!node->plan->variant->complete) {
        ct_scheduler_end_node(scheduler, node);
        return;
    }
    node->status = CT_NODE_FINISHED;
    scheduler->n_finished++;
    conclude(scheduler);
}

void
ct_scheduler_complete_node(CtScheduler *scheduler, CtRunNode *node)
{
    const gboolean closes = scheduler->n_closing > 0;
    node->pending = FALSE;
    pthread_mutex_unlock(&scheduler->lock);
    GError *cause = NULL;
    const gboolean good = (closes ? ct_call_close : ct_call_complete)(
        node->plan->variant, node->now.nodes, node->now.state, node->interrupted, &cause);
    pthread_mutex_lock(&scheduler->lock);
    if (!good) {
        ct_scheduler_fail_node(scheduler, node, cause);
        return;
    }
    if (!closes) {
        scheduler->n_finished--;
        ct_scheduler_end_node(scheduler, node);
        return;
    }
    node->status = CT_NODE_FINISHED;
    if (--scheduler->n_closing == 0)
        start_completing(scheduler);
}
