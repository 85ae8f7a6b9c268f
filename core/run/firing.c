/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing: the samples that a node finds in its inputs, the room in its outputs, and what it does
 * with them. */
#include "firing-check.h"
#include "graph/plugin-call.h"
#include "graph/tuning.h"
#include "model/node-params.h"
#include "model/strided.h"
#include "submission.h"

#include <string.h>

/* ---- set-up ---- */

gboolean
ct_firing_is_source(const CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring && !node->inputs[i].is_static)
            return FALSE;
    return TRUE;
}

gboolean
ct_firing_is_unread(const CtRunNode *node)
{
    guint n_rings = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtRing *ring = node->outputs[o].ring;
        n_rings += ring != NULL;
        for (guint r = 0; ring && r < ring->n_readers; r++)
            if (ring->readers[r].position != CT_RING_GONE)
                return FALSE;
    }
    return n_rings > 0;
}

static gboolean
is_static_port(const CtPlanNode *plan, guint input)
{
    const CtPort *ports = plan->nodes[0].stage->inputs;
    return !(ports[0].flags & CT_PORT_MANY) && (ports[input].flags & CT_PORT_STATIC);
}

/* Maps the ticks of static inputs to the clock of the first input that flows. Clocks that do not
 * relate are allowed where there is only one block. */
static void
relate_clocks(CtRunNode *node)
{
    guint flows = 0;
    while (flows < node->n_inputs && (!node->inputs[flows].ring || node->inputs[flows].is_static))
        flows++;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtRunInput *input = &node->inputs[i];
        input->clock = (CtClockMap){1, 1, 0, 1, 1};
        if (input->is_static && flows < node->n_inputs)
            ct_clock_map_init(&input->clock, input->ring->link->stream,
                              node->inputs[flows].ring->link->stream);
    }
}

static gboolean
connect_output(CtRunNode *node, CtRunOutput *output, const CtStream *stream, GError **error)
{
    const CtPlanNode *plan = node->plan;
    output->maps = g_new0(CtLaneMap, MAX(plan->n_inputs, 1));
    output->carry = CT_TABLE(guint8, output->ring->n_lanes, "lanes", error);
    gboolean good = output->carry != NULL;
    for (guint i = 0; i < plan->n_inputs && good; i++)
        if (node->inputs[i].ring && !node->inputs[i].is_static)
            good =
                ct_lane_map_init(&output->maps[i], plan->input_bindings[i].stream, stream, error);
    return good;
}

static gboolean
connect(CtRunNode *node, guint index, CtRing *const *rings, GError **error)
{
    const CtPlanNode *plan = node->plan;
    node->n_inputs = plan->n_inputs;
    node->inputs = g_new0(CtRunInput, MAX(plan->n_inputs, 1));
    node->n_outputs = plan->n_outputs;
    node->outputs = g_new0(CtRunOutput, MAX(plan->n_outputs, 1));
    gint64 longest = 1;
    for (guint i = 0; i < plan->n_inputs; i++) {
        if (plan->inputs[i] < 0)
            continue;
        CtRing *ring = rings[plan->inputs[i]];
        for (guint r = 0; r < ring->n_readers; r++) {
            const CtPlanReader *reader = &g_array_index(ring->link->readers, CtPlanReader, r);
            if (reader->node != index || reader->port != i)
                continue;
            node->inputs[i] = (CtRunInput){
                .ring = ring,
                .reader = r,
                .is_static = is_static_port(plan, i),
            };
        }
        longest = MAX(longest, ring->history + ring->capacity);
    }
    relate_clocks(node);
    for (guint o = 0; o < plan->n_outputs; o++) {
        if (plan->outputs[o] < 0)
            continue;
        CtRunOutput *output = &node->outputs[o];
        output->ring = rings[plan->outputs[o]];
        if (!connect_output(node, output, plan->output_bindings[o].stream, error))
            return FALSE;
        longest = MAX(longest, 2 * output->ring->link->max_samples);
    }
    node->lane = CT_TABLE(guint8, longest, "validity", error);
    return node->lane != NULL;
}

static void
allocate(CtRunNode *node)
{
    const CtStage *stage = node->plan->nodes[0].stage;
    while (stage->counters && stage->counters[node->n_counters])
        node->n_counters++;
    node->counters = g_new0(guint64, node->n_counters + 1);
    node->advance_counters = g_new0(guint64, node->n_counters + 1);
    node->arrivals = g_new0(CtArrival, node->n_inputs + 1);
    node->departures = g_new0(CtDeparture, node->n_outputs + 1);
    node->offered_arrivals = g_new0(CtArrival, node->n_inputs + 1);
    node->offered_departures = g_new0(CtDeparture, node->n_outputs + 1);
    node->input_blocks = g_new0(CtBlock, node->n_inputs + 1);
    node->output_blocks = g_new0(CtBlock, node->n_outputs + 1);
    node->advance = (CtAdvance){
        .inputs = node->arrivals,
        .outputs = node->departures,
        .counters = node->advance_counters,
        .core = node,
    };
    node->work = (CtWork){.inputs = node->input_blocks, .outputs = node->output_blocks};
    node->pending = TRUE;
}

/* Adds the node's place in the graph, if the node comes from one. */
gboolean
ct_firing_blame(const CtRunNode *node, GError **error, GError *cause)
{
    const CtPlanNode *plan = node->plan;
    g_propagate_prefixed_error(error, cause, "node '%s': ", plan->name);
    if (!plan->graph_node)
        return FALSE;
    CtPlace place = plan->graph_node->config->place;
    for (guint k = 0; k < plan->n_nodes; k++)
        ct_params_take_blame(plan->nodes[k].params, &place);
    g_autofree char *where = ct_place_to_string(&place);
    g_prefix_error(error, "%s: ", where);
    return FALSE;
}

gboolean
ct_firing_init(CtRunNode *node, const CtPlanNode *plan, guint index, CtRing *const *rings,
               const CtRunOptions *options, guint n_workers, GError **error)
{
    GError *cause = NULL;
    node->plan = plan;
    node->options = options;
    node->n_workers = n_workers;
    node->status = plan->variant->work ? CT_NODE_IDLE : CT_NODE_EXTERNAL;
    if (!connect(node, index, rings, &cause))
        return ct_firing_blame(node, error, cause);
    allocate(node);
    return TRUE;
}

static void
finish(CtRunNode *node)
{
    if (node->state && node->plan->variant->finish)
        node->plan->variant->finish(node->state);
    node->state = NULL;
}

static gboolean
prepare_with(CtRunNode *node, CtPrepare *prepare, const gint64 *tuning, GError **error)
{
    prepare->tuning = tuning;
    return ct_call_prepare(node->plan->variant, prepare, &node->state, error);
}

static void
warn_of_tuning(CtRunNode *node, const gint64 *defaults, const GError *cause)
{
    const CtVariant *variant = node->plan->variant;
    g_autofree char *tuned = ct_tuning_to_string(variant, node->plan->tuning, FALSE);
    g_autofree char *usual = ct_tuning_to_string(variant, defaults, FALSE);
    node->warning = g_strdup_printf(
        "runs '%s' with its default tuning, %s: %s, which was measured to be the best, cannot be "
        "prepared here: %s",
        variant->name, usual, tuned, cause->message);
}

gboolean
ct_firing_prepare(CtRunNode *node, CtDevice *device, gsize *scratch, gsize *upload, GError **error)
{
    const CtPlanNode *plan = node->plan;
    const CtPrepare fresh = {
        .nodes = plan->nodes,
        .n_nodes = plan->n_nodes,
        .n_inputs = plan->n_inputs,
        .inputs = plan->input_bindings,
        .n_outputs = plan->n_outputs,
        .outputs = plan->output_bindings,
        .n_workers = node->n_workers,
        .device = device,
        .n_items = 1,
    };
    CtPrepare prepare = fresh;
    GError *cause = NULL;
    gboolean is_prepared = prepare_with(node, &prepare, plan->tuning, &cause);
    if (!is_prepared && plan->estimate.is_tuned) {
        /* A tuning that was the best elsewhere may be impossible here. */
        gint64 defaults[CT_MAX_TUNABLES];
        ct_tuning_defaults(plan->variant, defaults);
        warn_of_tuning(node, defaults, cause);
        finish(node);
        g_clear_error(&cause);
        prepare = fresh;
        is_prepared = prepare_with(node, &prepare, defaults, &cause);
    }
    if (!is_prepared)
        return ct_firing_blame(node, error, cause);
    *scratch = MAX(*scratch, prepare.scratch_bytes);
    *upload = prepare.upload_bytes;
    node->fixed_items = prepare.n_items;
    return TRUE;
}

void
ct_firing_view(const CtRunNode *node, guint input, CtBlock *block)
{
    const CtLayout *written = &node->inputs[input].ring->link->layout;
    const CtLayout *bound = &node->plan->input_bindings[input].layout;
    if (ct_layout_equal(written, bound))
        return;
    const CtBlock whole = *block;
    block->type = ct_layout_type(bound);
    block->n_axes = bound->n_axes;
    gint64 next = (gint64)ct_type_info(block->type)->bytes;
    for (guint a = bound->n_axes; a-- > 0;) {
        const CtLayoutAxis *axis = &bound->axes[a];
        const gint from = axis->count ? ct_layout_block_axis(written, axis->name)
                                      : ct_layout_axis(written, axis->name);
        block->length[a] = from >= 0 ? whole.length[from] : 2;
        /* An axis of length 1 has the stride of a longer one. */
        block->stride[a] = from >= 0 && whole.length[from] != 1 ? whole.stride[from] : next;
        next = block->stride[a] * block->length[a];
    }
}

/* ---- gathering, with the lock ---- */

/* The tick from which block `k` of a static input is in force, on the clock of the first input that
 * flows. */
static gint64
static_tick(const CtRunInput *input, gint64 k)
{
    const CtRing *ring = input->ring;
    return ct_clock_map(&input->clock, ring->start + k * ring->ticks);
}

/* The cause is known where the graph says that there are blocks, and the run was cut short. */
static void
fail_without_block(const CtRing *ring, gdouble duration, GError **error)
{
    const CtStream *stream = ring->link->stream;
    const gint time = ct_stream_axis(stream, "time");
    const gboolean is_cut =
        duration > 0 && !ring->interrupted && time >= 0 && stream->axes[time].length > 0;
    g_autofree char *cause =
        is_cut ? g_strdup_printf(": the duration of %g s ends before it comes", duration)
               : g_strdup("");
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "what feeds it ended without the one block that it waits for%s", cause);
}

/* The block of a static input that holds at `tick`; FALSE while it is not known. Limits `*n`, the
 * samples from `tick` on, to those for which it holds. */
static gboolean
gather_static(CtRunInput *input, CtArrival *arrival, gint64 tick, gint64 ticks, gint64 *n,
              gdouble duration, GError **error)
{
    CtRing *ring = input->ring;
    CtRingReader *reader = &ring->readers[input->reader];
    if (ring->shown == 0) {
        if (ring->ended)
            fail_without_block(ring, duration, error);
        return FALSE;
    }
    while (reader->position + 1 < ring->shown && static_tick(input, reader->position + 1) <= tick) {
        reader->position++;
        input->moved = TRUE;
    }
    ct_ring_window(ring, input->reader, &arrival->block);
    arrival->block.n_samples = 1;
    if (reader->position + 1 < ring->shown) {
        const gint64 next = static_tick(input, reader->position + 1);
        gint64 left;
        if (ticks > 0 && !__builtin_sub_overflow(next, tick, &left))
            *n = MIN(*n, (left - 1) / ticks + 1);
        return TRUE;
    }
    return ring->ended;
}

static gboolean
gather_inputs(CtRunNode *node, GError **error)
{
    gint64 tick = 0, ticks = 0, limit = G_MAXINT64;
    gboolean known = FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtRunInput *input = &node->inputs[i];
        CtArrival *arrival = &node->arrivals[i];
        *arrival = (CtArrival){0};
        if (!input->ring)
            continue;
        node->interrupted = node->interrupted || input->ring->interrupted;
        if (input->is_static)
            continue;
        ct_ring_window(input->ring, input->reader, &arrival->block);
        arrival->ended = input->ring->ended &&
                         arrival->block.index + arrival->block.n_samples == input->ring->written;
        if (!known) {
            tick = arrival->block.start;
            ticks = input->ring->ticks;
            known = TRUE;
        }
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i].is_static)
            continue;
        if (!gather_static(&node->inputs[i], &node->arrivals[i], tick, ticks, &limit,
                           node->options->duration, error))
            return FALSE;
        ct_firing_view(node, i, &node->arrivals[i].block);
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        CtArrival *arrival = &node->arrivals[i];
        if (!node->inputs[i].ring || node->inputs[i].is_static)
            continue;
        if (arrival->block.n_samples > limit) {
            arrival->block.n_samples = limit;
            arrival->ended = FALSE;
        }
        /* Without this limit, one firing would take a whole ring, which is sized for several. */
        arrival->block.n_samples =
            MIN(arrival->block.n_samples, node->plan->input_bindings[i].max_samples);
        arrival->ended = arrival->ended && arrival->block.index + arrival->block.n_samples ==
                                               node->inputs[i].ring->written;
    }
    return TRUE;
}

/* The samples that a source may still give before the end of `--duration`, which counts stream
 * time. */
static gint64
left_of_duration(const CtRunNode *node, const CtRing *ring)
{
    const CtStream *stream = ring->link->stream;
    const gdouble rate = ct_stream_sample_rate(stream);
    if (node->options->duration <= 0 || rate <= 0 || node->serves_static)
        return G_MAXINT64;
    const gdouble samples = node->options->duration * rate + 0.5;
    return samples < 0x1p62 ? MAX((gint64)samples - ring->written, 0) : G_MAXINT64;
}

static gboolean
gather_outputs(CtRunNode *node)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        CtRunOutput *output = &node->outputs[o];
        CtDeparture *departure = &node->departures[o];
        *departure = (CtDeparture){.room = G_MAXINT64};
        if (!output->ring)
            continue;
        gint64 wanted = output->ring->link->max_samples;
        if (ct_firing_is_source(node))
            wanted = MIN(wanted, left_of_duration(node, output->ring));
        departure->room = 0;
        if (wanted > 0) {
            departure->room = ct_ring_room(output->ring, wanted, &output->wraps);
            if (departure->room == 0)
                return FALSE;
        }
    }
    return TRUE;
}

/* Whether the node should wait for more input: not where the stream ends, a sum is complete, or a
 * static input or the end of a ring's generation limits the samples. */
static gboolean
wants_more(const CtRunNode *node)
{
    const CtFootprint *rule = &node->plan->footprint;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        const CtBlock *block = &node->arrivals[i].block;
        if (!input->ring || input->is_static)
            continue;
        const gboolean completes = rule->kind == CT_FOOTPRINT_SUM &&
                                   block->index % rule->hop + block->n_samples >= rule->hop;
        if (block->n_samples < node->plan->batch && !node->arrivals[i].ended && !completes &&
            block->index + block->n_samples == input->ring->shown)
            return TRUE;
    }
    return FALSE;
}

gboolean
ct_firing_gather(CtRunNode *node, GError **error)
{
    node->waits = FALSE;
    if (!gather_inputs(node, error) || !gather_outputs(node))
        return FALSE;
    node->waits = !node->hurried && wants_more(node);
    node->hurried = FALSE;
    if (node->waits)
        return FALSE;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring)
            ct_ring_hold(node->inputs[i].ring, node->inputs[i].reader, &node->arrivals[i].block);
    if (node->submissions)
        ct_submission_gather(node);
    return TRUE;
}

/* ---- deciding, without the lock ---- */

/* Whether the result is used: the node is a sink, or has a reader. */
static gboolean
is_wanted(const CtRunNode *node)
{
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring)
            return TRUE;
    return node->n_outputs == 0;
}

/* For a node that nobody reads: a source ends at once, other nodes drop their input. */
static void
drop_all(CtRunNode *node)
{
    node->advance.ended = ct_firing_is_source(node);
    for (guint i = 0; i < node->n_inputs; i++) {
        node->arrivals[i].consumed = node->arrivals[i].block.n_samples;
        node->arrivals[i].used = 0;
    }
    for (guint o = 0; o < node->n_outputs; o++)
        node->departures[o].produced = 0;
}

/* Finds memory for the outputs, and calls the advance to learn what the node consumes and
 * produces. */
static gboolean
advance(CtRunNode *node, GError **error)
{
    if (node->submissions && !ct_submission_begin(node, error))
        return FALSE;
    const CtRingMover mover =
        node->submissions ? ct_submission_mover(node->submissions->own) : (CtRingMover){0};
    for (guint o = 0; o < node->n_outputs; o++) {
        CtRunOutput *output = &node->outputs[o];
        CtDeparture *departure = &node->departures[o];
        if (!output->ring || departure->room == 0)
            continue;
        if (output->wraps && !ct_ring_wrap(output->ring, &output->generation,
                                           node->submissions ? &mover : NULL, error))
            return FALSE;
        CtBlock *block = &node->output_blocks[o];
        ct_ring_block(output->ring, output->wraps ? &output->generation : NULL, departure->room,
                      block);
        departure->validity = block->validity;
        departure->validity_stride = block->validity_stride;
        if (ct_ring_has_lost(output->ring))
            for (gint64 l = 0; l < output->ring->n_lanes; l++)
                memset(departure->validity + l * departure->validity_stride, 1,
                       (gsize)departure->room);
    }
    node->advance.ended = FALSE;
    if (!is_wanted(node)) {
        drop_all(node);
        return TRUE;
    }
    if (node->plan->variant->advance)
        return ct_firing_call_advance(node, error);
    return ct_advance_default(&node->advance, error);
}

/* The items of the firing, from the axis that the variant declares. */
static gint64
count_items(const CtRunNode *node)
{
    const char *split = node->plan->variant->split;
    if (!split)
        return 1;
    if (g_str_equal(split, "*"))
        return node->fixed_items;
    const gboolean sink = node->n_outputs == 0;
    if (g_str_equal(split, "time"))
        return sink ? node->arrivals[0].used : node->departures[0].produced;
    const CtBinding *binding =
        sink ? &node->plan->input_bindings[0] : &node->plan->output_bindings[0];
    const gint inner = ct_layout_block_axis(&binding->layout, split);
    const gint64 count = inner >= 0 ? binding->layout.axes[inner].count : 1;
    return (ct_stream_length(binding->stream, split) + count - 1) / count;
}

/* Sets the blocks of the firing to the result of the advance; FALSE where there is no work. */
static gboolean
set_blocks(CtRunNode *node)
{
    gboolean any = FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtBlock *block = &node->input_blocks[i];
        const CtArrival *arrival = &node->arrivals[i];
        *block = (CtBlock){0};
        if (!node->inputs[i].ring)
            continue;
        *block = arrival->block;
        const CtRing *ring = node->inputs[i].ring;
        if (!node->inputs[i].is_static) {
            block->n_samples = arrival->used;
            if (ring->time >= 0)
                block->length[ring->time] = (arrival->used + ring->granule - 1) / ring->granule;
            any |= arrival->used > 0;
            ct_firing_view(node, i, block);
        }
    }
    node->is_last = ct_firing_is_last(node);
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtDeparture *departure = &node->departures[o];
        CtRunOutput *output = &node->outputs[o];
        CtBlock *block = &node->output_blocks[o];
        if (!output->ring) {
            *block = (CtBlock){0};
            continue;
        }
        any |= departure->produced > 0;
        if (departure->room == 0)
            continue;
        ct_ring_block(output->ring, output->wraps ? &output->generation : NULL, departure->produced,
                      block);
        block->start = departure->start;
        if (!departure->invalid)
            block->validity = NULL;
        if (node->options->poison && departure->produced > 0 && !node->submissions)
            ct_strided_fill(block, 0xff);
    }
    return any;
}

gboolean
ct_firing_decide(CtRunNode *node, GError **error)
{
    if (!advance(node, error) || !ct_firing_check_advance(node, error))
        return FALSE;
    const gboolean any = set_blocks(node);
    if (ct_firing_is_source(node) && node->options->duration > 0)
        for (guint o = 0; o < node->n_outputs; o++)
            if (node->outputs[o].ring &&
                left_of_duration(node, node->outputs[o].ring) <= node->departures[o].produced)
                node->is_last = TRUE;
    node->n_items = any && is_wanted(node) ? count_items(node) : 0;
    node->work.ended = node->is_last;
    /* Two ranges per worker, so that others can make up for a late one. */
    const gint64 ranges = node->n_workers == 1 ? 1 : 2 * (gint64)node->n_workers;
    node->chunk = MAX((node->n_items + ranges - 1) / ranges, 1);
    return TRUE;
}

gboolean
ct_firing_decide_to_end(CtRunNode *node, GError **error)
{
    for (guint i = 0; i < node->n_inputs; i++)
        node->arrivals[i] = (CtArrival){0};
    for (guint o = 0; o < node->n_outputs; o++)
        node->departures[o] = (CtDeparture){0};
    node->n_items = 0;
    node->is_last = TRUE;
    return !node->submissions || ct_submission_begin(node, error);
}

gint64
ct_firing_zero_invalid(const CtRunNode *node)
{
    gint64 invalid = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtBinding *binding = &node->plan->output_bindings[o];
        if (!node->outputs[o].ring || !node->departures[o].invalid)
            continue;
        const gint64 n = ct_validity_zero(&node->output_blocks[o], &node->departures[o],
                                          binding->stream, &binding->layout);
        if (o == 0)
            invalid = n;
    }
    return invalid;
}

void
ct_firing_clear(CtRunNode *node)
{
    ct_submissions_free(node);
    finish(node);
    for (guint o = 0; o < node->n_outputs; o++) {
        for (guint i = 0; i < node->n_inputs && node->outputs[o].maps; i++)
            ct_lane_map_clear(&node->outputs[o].maps[i]);
        g_free(node->outputs[o].maps);
        g_free(node->outputs[o].carry);
    }
    g_free(node->inputs);
    g_free(node->outputs);
    g_free(node->counters);
    g_free(node->advance_counters);
    g_free(node->arrivals);
    g_free(node->departures);
    g_free(node->offered_arrivals);
    g_free(node->offered_departures);
    g_free(node->input_blocks);
    g_free(node->output_blocks);
    g_free(node->lane);
    g_free(node->warning);
}
