/* SPDX-License-Identifier: BSD-3-Clause */
/* A firing: the samples that a node finds in its inputs, the room in its outputs, and what it does
 * with them. */
#include "arrays.h"
#include "change.h"
#include "firing-check.h"
#include "place.h"

#include <string.h>

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

/* The tick from which block `k` of a static input is in effect, on the clock of the first input
 * that flows. */
static gint64
static_tick(const CtRunInput *input, gint64 k)
{
    const CtRing *ring = input->ring;
    return ct_clock_map(&input->clock, ring->start + k * ring->ticks);
}

/* Sets the error of a static input that has ended without a block. If the stream should have had
 * blocks, and no interrupt ended it, `--duration` was shorter than the time until its first block.
 */
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

/* Finds the block of a static input that holds at `tick`; FALSE while it is not known. Lowers
 * *until to the tick of the next block. */
static gboolean
gather_static(CtRunInput *input, CtArrival *arrival, gint64 tick, gint64 *until, gdouble duration,
              GError **error)
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
        *until = MIN(*until, static_tick(input, reader->position + 1));
        return TRUE;
    }
    return ring->ended;
}

/* The samples of `block` from which the output before the tick `until` is made; without a limit at
 * G_MAXINT64. */
static gint64
samples_before(const CtFootprint *rule, const CtBlock *block, gint64 ticks, gint64 until)
{
    const gboolean is_window = rule->kind == CT_FOOTPRINT_WINDOW;
    const gint64 hop = is_window ? rule->hop : 1, offset = is_window ? rule->offset : 0;
    gint64 left;
    if (until == G_MAXINT64 || ticks <= 0 ||
        __builtin_sub_overflow(until, block->start + offset * ticks, &left))
        return G_MAXINT64;
    const gint64 n = left > 0 ? (left - 1) / (hop * ticks) + 1 : 0;
    if (!is_window || n == 0)
        return n;
    return ct_saturating_add(ct_saturating_multiply(n - 1, hop), MAX(rule->window, hop));
}

/* Gathers the samples up to those for the output at the tick `until`, where a static input or a
 * parameter changes. */
static gboolean
gather_inputs(CtRunNode *node, GError **error)
{
    const gint64 tick = ct_change_next_tick(node);
    gint64 until = ct_change_take(node, tick);
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
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i].is_static)
            continue;
        if (!gather_static(&node->inputs[i], &node->arrivals[i], tick, &until,
                           node->options->duration, error))
            return FALSE;
        ct_firing_view(node, i, &node->arrivals[i].block);
    }
    ct_arrays_gather(node);
    for (guint i = 0; i < node->n_inputs; i++) {
        CtArrival *arrival = &node->arrivals[i];
        if (!node->inputs[i].ring || node->inputs[i].is_static)
            continue;
        const gint64 limit = samples_before(&node->plan->footprint, &arrival->block,
                                            node->inputs[i].ring->ticks, until);
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
        if (ct_run_node_is_source(node))
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

/* Whether the node should wait for more input. It should not if the stream ends, if a sum is
 * complete, or if a change or the end of a ring's generation limits the samples. */
static gboolean
wants_more(const CtRunNode *node)
{
    const CtFootprint *rule = &node->plan->footprint;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        const CtBlock *block = &node->arrivals[i].block;
        if (!input->ring || input->is_static)
            continue;
        const gboolean completes =
            rule->kind == CT_FOOTPRINT_SUM &&
            (block->index - node->n_early) % rule->hop + block->n_samples >= rule->hop;
        if (block->n_samples < node->plan->batch && !node->arrivals[i].ended && !completes &&
            block->index + block->n_samples == input->ring->shown)
            return TRUE;
    }
    return FALSE;
}

/* Whether the firing would do nothing, because no input has samples and none has ended. A stage
 * with an advance of its own may make more from what it has kept. */
static gboolean
is_idle(const CtRunNode *node)
{
    if (node->plan->variant->advance || ct_run_node_is_source(node))
        return FALSE;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring && !node->inputs[i].is_static &&
            (node->arrivals[i].block.n_samples > 0 || node->arrivals[i].ended))
            return FALSE;
    return TRUE;
}

/* The end of the output that the firing may make from what was gathered, as a tick. */
static gint64
find_until(const CtRunNode *node)
{
    const CtFootprint *rule = &node->plan->footprint;
    const guint flows = ct_run_node_first_flow(node);
    if (flows == node->n_inputs || rule->kind != CT_FOOTPRINT_WINDOW)
        return G_MAXINT64;
    const gint64 n = node->arrivals[flows].block.n_samples - rule->window;
    gint64 n_made = n >= 0 ? n / rule->hop + 1 : 0;
    for (guint o = 0; o < node->n_outputs; o++)
        n_made = MIN(n_made, node->departures[o].room);
    return ct_change_next_tick(node) + n_made * rule->hop * node->inputs[flows].ring->ticks;
}

gboolean
ct_firing_gather(CtRunNode *node, GError **error)
{
    node->waits = FALSE;
    if (!gather_inputs(node, error) || !gather_outputs(node))
        return FALSE;
    node->waits = !node->hurried && wants_more(node);
    node->hurried = FALSE;
    if (node->waits || is_idle(node))
        return FALSE;
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].ring)
            ct_ring_hold(node->inputs[i].ring, node->inputs[i].reader, &node->arrivals[i].block);
    if (node->is_live)
        node->changes.until = find_until(node);
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

/* Drops the input of a node that nobody reads; a source without readers ends at once. */
static void
drop_all(CtRunNode *node)
{
    node->advance.ended = ct_run_node_is_source(node);
    for (guint i = 0; i < node->n_inputs; i++) {
        node->arrivals[i].consumed = node->arrivals[i].block.n_samples;
        node->arrivals[i].used = 0;
    }
    for (guint o = 0; o < node->n_outputs; o++)
        node->departures[o].produced = 0;
}

/* Drops the samples before the first sum. FALSE if there are none. */
static gboolean
drop_early(CtRunNode *node)
{
    const guint flows = ct_run_node_first_flow(node);
    if (node->n_early == 0 || flows == node->n_inputs || node->arrivals[flows].block.index >= 0)
        return FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtArrival *arrival = &node->arrivals[i];
        arrival->consumed = MIN(arrival->block.n_samples, -arrival->block.index);
        arrival->used = 0;
    }
    for (guint o = 0; o < node->n_outputs; o++)
        node->departures[o].produced = 0;
    return TRUE;
}

/* Finds memory for the outputs, and calls the advance to learn what the node consumes and
 * produces. */
static gboolean
advance(CtRunNode *node, GError **error)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        CtRunOutput *output = &node->outputs[o];
        CtDeparture *departure = &node->departures[o];
        if (!output->ring || departure->room == 0)
            continue;
        if (output->wraps && !ct_ring_wrap(output->ring, &output->generation, node->mover, error))
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
    if (drop_early(node))
        return TRUE;
    if (!ct_arrays_prepare(node, error))
        return FALSE;
    if (node->plan->variant->advance)
        return ct_firing_call_advance(node, error);
    return ct_advance_default(&node->advance, error);
}

gint64
ct_firing_count_items(const CtRunNode *node)
{
    const char *split = node->plan->variant->split;
    if (!split)
        return 1;
    if (g_str_equal(split, "*"))
        return node->now.n_items;
    const gboolean sink = node->n_outputs == 0;
    if (g_str_equal(split, "time"))
        return sink ? node->arrivals[0].used : node->departures[0].produced;
    const CtBinding *binding =
        sink ? &node->plan->input_bindings[0] : &node->plan->output_bindings[0];
    const gint inner = ct_layout_block_axis(&binding->layout, split);
    const gint64 count = inner >= 0 ? binding->layout.axes[inner].count : 1;
    return (ct_stream_length(binding->stream, split) + count - 1) / count;
}

/* Sets the blocks of the firing to the result of the advance; FALSE: there is no work. */
static gboolean
set_blocks(CtRunNode *node)
{
    gboolean any = FALSE;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtBlock *block = &node->input_blocks[i];
        const CtArrival *arrival = &node->arrivals[i];
        *block = (CtBlock){0};
        if (!node->inputs[i].ring || node->inputs[i].is_prepared)
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
        if (!departure->invalid && !node->marks)
            block->validity = NULL;
        block->refused = node->marks ? NULL : &output->refused;
    }
    return any;
}

static gboolean
poison_outputs(CtRunNode *node, GError **error)
{
    for (guint o = 0; o < node->n_outputs; o++)
        if (node->outputs[o].ring && node->departures[o].produced > 0 &&
            !node->place->poison(node, o, error))
            return FALSE;
    return TRUE;
}

gboolean
ct_firing_decide(CtRunNode *node, GError **error)
{
    for (guint i = 0; i < node->n_inputs; i++)
        if (!node->inputs[i].is_static)
            node->arrivals[i].block.index -= node->n_early;
    if (!advance(node, error) || !ct_firing_check_advance(node, error))
        return FALSE;
    const gboolean any = set_blocks(node);
    if (node->options->poison && !poison_outputs(node, error))
        return FALSE;
    if (ct_run_node_is_source(node) && node->options->duration > 0)
        for (guint o = 0; o < node->n_outputs; o++)
            if (node->outputs[o].ring &&
                left_of_duration(node, node->outputs[o].ring) <= node->departures[o].produced)
                node->is_last = TRUE;
    node->n_items = any && is_wanted(node) ? ct_firing_count_items(node) : 0;
    node->work.ended = node->is_last;
    /* Each worker gets two ranges, so that others can make up for a late one. */
    const gint64 ranges = node->n_workers == 1 ? 1 : 2 * (gint64)node->n_workers;
    node->chunk = MAX((node->n_items + ranges - 1) / ranges, 1);
    memset(node->taken, FALSE, 2 * node->n_workers);
    return TRUE;
}

void
ct_firing_decide_to_end(CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs; i++)
        node->arrivals[i] = (CtArrival){0};
    for (guint o = 0; o < node->n_outputs; o++)
        node->departures[o] = (CtDeparture){0};
    node->n_items = 0;
    node->is_last = TRUE;
}
