/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that the results of a node's advance and work are within their offers. */
#include "firing-check.h"

#include "graph/plugin-call.h"
#include "model/unknown.h"

#include <string.h>

/* The most times in a row that a source may give nothing: about a second. */
#define MAX_IDLE (1 << 20)

/* Whether advance has set a member that only newer headers have. */
static gboolean
sets_unknown(const CtRunNode *node, const CtAdvance *advance)
{
    gboolean is_set = CT_RESERVED_IS_SET(advance);
    for (guint i = 0; i < node->n_inputs; i++)
        is_set |= CT_RESERVED_IS_SET(&node->arrivals[i]);
    for (guint o = 0; o < node->n_outputs; o++)
        is_set |= CT_RESERVED_IS_SET(&node->departures[o]);
    return is_set;
}

/* Whether a function has changed only counters of the node, of CT_MAX_COUNTERS. */
static gboolean
check_counters(const CtRunNode *node, const char *function, const guint64 *counters, GError **error)
{
    const CtPlanNode *plan = node->plan;
    for (guint c = node->n_counters; c < CT_MAX_COUNTERS; c++)
        if (counters[c] != 0)
            return ct_variant_fault(plan->variant, error,
                                    "its %s adds to counter %u, but stage '%s' has %u counters",
                                    function, c, plan->nodes[0].stage->name, node->n_counters);
    return TRUE;
}

gboolean
ct_firing_call_advance(CtRunNode *node, GError **error)
{
    const gsize n_arrivals = node->n_inputs * sizeof *node->arrivals;
    const gsize n_departures = node->n_outputs * sizeof *node->departures;
    CtAdvance given = node->advance;
    memcpy(node->offered_arrivals, node->arrivals, n_arrivals);
    memcpy(node->offered_departures, node->departures, n_departures);
    const gboolean good =
        ct_call_advance(node->plan->variant, node->now.nodes, node->now.state, &given, error);
    node->advance.ended = given.ended;
    for (guint i = 0; i < node->n_inputs; i++) {
        node->arrivals[i].block = node->offered_arrivals[i].block;
        node->arrivals[i].ended = node->offered_arrivals[i].ended;
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        node->departures[o].room = node->offered_departures[o].room;
        node->departures[o].validity = node->offered_departures[o].validity;
        node->departures[o].validity_stride = node->offered_departures[o].validity_stride;
    }
    if (good && sets_unknown(node, &given))
        return ct_variant_fault(node->plan->variant, error, "its advance " CT_UNKNOWN_FAULT);
    return good && check_counters(node, "advance", node->advance_counters, error);
}

gboolean
ct_firing_call_work(CtRunNode *node, const CtWork *work, GError **error)
{
    const CtPlanNode *plan = node->plan;
    if (!ct_call_work(plan->variant, node->now.nodes, node->now.state, work, error))
        return FALSE;
    for (guint o = 0; o < node->n_outputs; o++)
        if (__atomic_load_n(&node->outputs[o].refused, __ATOMIC_RELAXED))
            return ct_variant_fault(plan->variant, error,
                                    "it marks samples of output '%s', which has no CT_PORT_MARKED",
                                    plan->nodes[plan->n_nodes - 1].stage->outputs[o].name);
    return plan->variant->backend == CT_CUDA || check_counters(node, "work", work->counters, error);
}

/* Whether a stage with its own advance has made samples and may make more: its outputs have room,
 * and are shorter than their streams were described. */
static gboolean
may_make_more(const CtRunNode *node)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        const gint64 produced = node->departures[o].produced;
        if (!ring || produced == 0)
            continue;
        const gint time = ct_stream_axis(ring->link->stream, "time");
        const gint64 length = time < 0 ? -1 : ring->link->stream->axes[time].length;
        if (length < 0 || ring->written + produced < length)
            return TRUE;
    }
    return FALSE;
}

/* A firing is the last if it uses up an input, since each output sample needs samples of all
 * inputs. A stage with its own advance says itself that it has ended, or has used up all inputs and
 * makes no more of them. */
gboolean
ct_firing_is_last(const CtRunNode *node)
{
    if (ct_run_node_is_source(node))
        return node->advance.ended;
    gboolean all = TRUE, any = FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtArrival *arrival = &node->arrivals[i];
        if (!node->inputs[i].ring || node->inputs[i].is_static)
            continue;
        const gboolean is_over = arrival->ended && arrival->consumed == arrival->block.n_samples;
        all &= is_over;
        any |= is_over;
    }
    if (node->plan->footprint.kind != CT_FOOTPRINT_OWN)
        return any;
    return node->advance.ended || (all && !may_make_more(node));
}

static gboolean
check_input(const CtRunNode *node, guint i, GError **error)
{
    const CtArrival *arrival = &node->arrivals[i];
    if (!node->inputs[i].ring || node->inputs[i].is_static)
        return TRUE;
    if (arrival->consumed >= 0 && arrival->used >= 0 &&
        arrival->consumed <= arrival->block.n_samples && arrival->used <= arrival->block.n_samples)
        return TRUE;
    return ct_variant_fault(node->plan->variant, error,
                            "its advance consumes %" G_GINT64_FORMAT " and uses %" G_GINT64_FORMAT
                            " of %" G_GINT64_FORMAT " samples of input %u",
                            arrival->consumed, arrival->used, arrival->block.n_samples, i);
}

static gboolean
check_output(const CtRunNode *node, guint o, GError **error)
{
    const CtVariant *variant = node->plan->variant;
    const CtDeparture *departure = &node->departures[o];
    const CtRing *ring = node->outputs[o].ring;
    if (departure->produced < 0 || departure->produced > departure->room)
        return ct_variant_fault(variant, error,
                                "its advance produces %" G_GINT64_FORMAT
                                " samples of output %u, where there is room for %" G_GINT64_FORMAT,
                                departure->produced, o, departure->room);
    if (!ring || departure->produced == 0)
        return TRUE;
    if (departure->produced % ring->granule > 0 && !ct_firing_is_last(node))
        return ct_variant_fault(variant, error,
                                "its advance produces %" G_GINT64_FORMAT
                                " samples of output %u, which comes in blocks of %" G_GINT64_FORMAT,
                                departure->produced, o, ring->granule);
    const gint64 due = ring->start + ring->written * ring->ticks;
    if (ring->started && departure->start != due)
        return ct_variant_fault(variant, error,
                                "its advance starts a block of output %u at tick %" G_GINT64_FORMAT
                                ", but %" G_GINT64_FORMAT " follows on the one before",
                                o, departure->start, due);
    return TRUE;
}

static gboolean
gives_nothing(const CtRunNode *node)
{
    if (!ct_run_node_is_source(node) || node->advance.ended || node->plan->variant->waits)
        return FALSE;
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->departures[o].produced > 0 ||
            (node->outputs[o].ring && node->departures[o].room == 0))
            return FALSE;
    return TRUE;
}

/* Refuses a source that neither gives anything nor ends, because it would be called for ever. */
static gboolean
check_source(CtRunNode *node, GError **error)
{
    node->n_idle = gives_nothing(node) ? node->n_idle + 1 : 0;
    return node->n_idle < MAX_IDLE ||
           ct_variant_fault(node->plan->variant, error,
                            "its advance has given nothing %d times in a row, and not ended; one "
                            "that waits for something sets `waits`",
                            MAX_IDLE);
}

gboolean
ct_firing_check_advance(CtRunNode *node, GError **error)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (!check_input(node, i, error))
            return FALSE;
    for (guint o = 0; o < node->n_outputs; o++)
        if (!check_output(node, o, error))
            return FALSE;
    return check_source(node, error);
}
