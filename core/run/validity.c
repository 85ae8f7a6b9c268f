/* SPDX-License-Identifier: BSD-3-Clause */
/* The default advance: the samples that a footprint consumes and produces, and their validity. */
#include "firing.h"
#include "graph/plugin-call.h"
#include "model/strided.h"

#include <string.h>

gboolean
ct_lane_map_init(CtLaneMap *map, const CtStream *input, const CtStream *output, GError **error)
{
    gint64 in_step[CT_MAX_AXES], out_step[CT_MAX_AXES], out_length[CT_MAX_AXES];
    for (guint a = 0; a < input->n_axes; a++) {
        in_step[a] = ct_stream_lane_step(input, input->axes[a].name);
        out_step[a] = ct_stream_lane_step(output, input->axes[a].name);
        out_length[a] = ct_stream_length(output, input->axes[a].name);
    }

    /* An output lane is made of all lanes along axes on which only the input loses data. */
    g_autofree guint *merged = CT_TABLE(guint, ct_stream_n_lanes(input), "lanes", error);
    guint n_merged = 1;
    if (!merged)
        return FALSE;
    for (guint a = 0; a < input->n_axes; a++) {
        if (!in_step[a] || out_step[a])
            continue;
        for (guint m = 0; m < n_merged; m++)
            for (gint64 i = 1; i < input->axes[a].length; i++)
                merged[(guint)i * n_merged + m] = merged[m] + (guint)(i * in_step[a]);
        n_merged *= (guint)input->axes[a].length;
    }

    map->n_lanes = (guint)ct_stream_n_lanes(output);
    if (!(map->offsets = CT_TABLE(guint, (gsize)map->n_lanes + 1, "lanes", error)) ||
        !(map->lanes = CT_TABLE(guint, (gsize)map->n_lanes * n_merged, "lanes", error)))
        return FALSE;
    for (guint o = 0; o < map->n_lanes; o++) {
        gint64 base = 0;
        for (guint a = 0; a < input->n_axes; a++)
            if (in_step[a] && out_step[a])
                base += o / out_step[a] % out_length[a] * in_step[a];
        map->offsets[o] = o * n_merged;
        for (guint m = 0; m < n_merged; m++)
            map->lanes[o * n_merged + m] = (guint)base + merged[m];
    }
    map->offsets[map->n_lanes] = map->n_lanes * n_merged;
    return TRUE;
}

void
ct_lane_map_clear(CtLaneMap *map)
{
    g_clear_pointer(&map->offsets, g_free);
    g_clear_pointer(&map->lanes, g_free);
}

/* Finds the first run of zeros in bytes[from … n − 1]; FALSE: there is none. */
static gboolean
next_zeros(const guint8 *bytes, gint64 from, gint64 n, gint64 *begin, gint64 *end)
{
    const guint8 *zero = from < n ? memchr(bytes + from, 0, (gsize)(n - from)) : NULL;
    if (!zero)
        return FALSE;
    *begin = zero - bytes;
    const guint8 *one = memchr(zero, 1, (gsize)(n - *begin));
    *end = one ? one - bytes : n;
    return TRUE;
}

/* The way from an input to an output. */
typedef struct {
    const CtRunNode *node;
    const CtFootprint *rule; /* of the windows */
    const CtArrival *arrival;
    const CtLaneMap *map;
    gint64 n;        /* windows */
    gint64 start;    /* the tick of the output sample that the first window makes */
    gint64 ticks;    /* of a sample of the output */
    CtFindTaps find; /* NULL: output samples are made of whole windows */
    gpointer state;
} Way;

/* Sets out[i] to 0 where a sample of those used in window i is invalid, of `n` windows. */
static void
spread_taps(guint8 *out, gint64 n, const guint8 *in, const CtTaps *taps, gint64 hop)
{
    const gint64 used = (n - 1) * hop + taps->first + taps->n;
    gint64 begin, end;
    for (gint64 from = taps->first; next_zeros(in, from, used, &begin, &end); from = end) {
        const gint64 before = begin - taps->first - taps->n;
        const gint64 first = before < 0 ? 0 : before / hop + 1;
        const gint64 last = MIN((end - 1 - taps->first) / hop, n - 1);
        if (first <= last)
            memset(out + first, 0, (gsize)(last - first + 1));
    }
}

/* Finds the k-th run of samples of which output sample `t` is made. */
static gboolean
find_taps(const Way *way, guint lane, guint from, guint k, gint64 t, CtTaps *taps)
{
    *taps = (CtTaps){0, way->rule->window, way->n};
    return way->find ? way->find(way->state, lane, from, k, way->start + t * way->ticks, taps)
                     : k == 0;
}

static gboolean
check_taps(const Way *way, const CtTaps *taps, GError **error)
{
    const gint64 window = way->rule->window;
    if (taps->first >= 0 && taps->n >= 0 && taps->n <= window && taps->first <= window - taps->n &&
        taps->steady >= 1)
        return TRUE;
    return ct_variant_fault(way->node->plan->variant, error,
                            "it uses %" G_GINT64_FORMAT " samples from %" G_GINT64_FORMAT
                            " on of windows of %" G_GINT64_FORMAT ", for %" G_GINT64_FORMAT
                            " output samples",
                            taps->n, taps->first, window, taps->steady);
}

/* Sets out[i] to 0 where a sample in lane `from` is invalid of which output sample i is made in
 * `lane`. */
static gboolean
spread_lane(const Way *way, guint lane, guint from, guint8 *out, GError **error)
{
    const gint64 produced = way->n, hop = way->rule->hop;
    const CtBlock *block = &way->arrival->block;
    const guint8 *in = block->validity + from * block->validity_stride;
    CtTaps taps;
    if (produced == 0 || !memchr(in, 0, (gsize)way->arrival->used))
        return TRUE;
    for (guint k = 0; find_taps(way, lane, from, k, 0, &taps); k++)
        for (gint64 t = 0, n; t < produced; t += n) {
            if (t > 0 && !find_taps(way, lane, from, k, t, &taps))
                break;
            if (!check_taps(way, &taps, error))
                return FALSE;
            n = MIN(taps.steady, produced - t);
            spread_taps(out + t, n, in + t * hop, &taps, hop);
        }
    return TRUE;
}

static gboolean
window_validity(const Way *way, guint lane, guint8 *out, GError **error)
{
    const CtLaneMap *map = way->map;
    const gint64 produced = way->n;
    if (way->rule->lanes == CT_LANES_ALL) {
        for (guint k = map->offsets[lane]; k < map->offsets[lane + 1]; k++)
            if (!spread_lane(way, lane, map->lanes[k], out, error))
                return FALSE;
        return TRUE;
    }
    guint8 *any = way->node->lane, *one = any + produced;
    memset(any, 0, (gsize)produced);
    for (guint k = map->offsets[lane]; k < map->offsets[lane + 1]; k++) {
        memset(one, 1, (gsize)produced);
        if (!spread_lane(way, lane, map->lanes[k], one, error))
            return FALSE;
        for (gint64 i = 0; i < produced; i++)
            any[i] |= one[i];
    }
    for (gint64 i = 0; i < produced; i++)
        out[i] &= any[i];
    return TRUE;
}

/* Sets good[i] to whether input sample i counts for this output lane. */
static void
sample_validity(CtRunNode *node, const CtLaneMap *map, guint lane, const CtArrival *arrival,
                guint8 *good)
{
    const CtBlock *in = &arrival->block;
    const gboolean all = node->plan->footprint.lanes == CT_LANES_ALL;
    memset(good, all, (gsize)arrival->used);
    for (guint k = map->offsets[lane]; k < map->offsets[lane + 1]; k++) {
        const guint8 *bytes = in->validity + map->lanes[k] * in->validity_stride;
        for (gint64 i = 0; i < arrival->used; i++)
            good[i] = all ? good[i] & bytes[i] : good[i] | bytes[i];
    }
}

/* Sets the validity of a SUM. A sum is valid if any of its samples is; an unfinished one is carried
 * on. */
static void
sum_validity(CtRunNode *node, CtRunOutput *output, guint lane, const CtArrival *arrival,
             guint8 *out, gint64 produced)
{
    const gint64 hop = node->plan->footprint.hop;
    guint8 *good = node->lane;
    if (arrival->block.validity)
        sample_validity(node, &output->maps[0], lane, arrival, good);
    gint64 position = arrival->block.index % hop, from = 0;
    for (gint64 i = 0; i <= produced; i++) {
        const gint64 n = MIN(hop - position, arrival->used - from);
        if (n > 0 && (!arrival->block.validity || memchr(good + from, 1, (gsize)n)))
            output->carry[lane] = 1;
        from += n;
        position = 0;
        if (i < produced) {
            out[i] = output->carry[lane];
            output->carry[lane] = 0;
        }
    }
}

/* Whether the input is a stream, that is, connected and not static. */
static gboolean
is_stream(const CtRunNode *node, guint i)
{
    return node->inputs[i].ring && !node->inputs[i].is_static;
}

static gboolean
set_validity(CtRunNode *node, CtAdvance *advance, CtFindTaps find, gpointer state, GError **error)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        CtDeparture *departure = &advance->outputs[o];
        CtRunOutput *output = &node->outputs[o];
        if (!output->ring)
            continue;
        const gboolean is_sum = node->plan->footprint.kind == CT_FOOTPRINT_SUM;
        for (guint i = 0; i < node->n_inputs; i++) {
            const CtArrival *arrival = &advance->inputs[i];
            if (!is_stream(node, i) || (!is_sum && !arrival->block.validity))
                continue;
            const Way way = {node,
                             &node->plan->footprint,
                             arrival,
                             &output->maps[i],
                             departure->produced,
                             departure->start,
                             output->ring->ticks,
                             find,
                             state};
            for (guint l = 0; l < output->maps[i].n_lanes; l++) {
                guint8 *out = departure->validity + l * departure->validity_stride;
                if (is_sum)
                    sum_validity(node, output, l, arrival, out, departure->produced);
                else if (!window_validity(&way, l, out, error))
                    return FALSE;
                if (departure->produced > 0 && memchr(out, 0, (gsize)departure->produced))
                    departure->invalid = TRUE;
            }
        }
    }
    return TRUE;
}

/* The output samples that a WINDOW makes of `n` input samples. */
static gint64
windows_in(const CtFootprint *rule, gint64 n, gboolean ended)
{
    /* If the hop is longer than the window, the samples between windows are consumed with it. */
    const gint64 needed = ended ? rule->window : MAX(rule->window, rule->hop);
    return n >= needed ? (n - needed) / rule->hop + 1 : 0;
}

/* Drops samples that come before the beginning of another input; FALSE: there are none. */
static gboolean
drop_early(const CtRunNode *node, CtAdvance *advance)
{
    gint64 begin = G_MININT64;
    gboolean any = FALSE;
    for (guint i = 0; i < node->n_inputs; i++)
        if (is_stream(node, i))
            begin = MAX(begin, advance->inputs[i].block.start);
    for (guint i = 0; i < node->n_inputs; i++)
        any |= is_stream(node, i) && advance->inputs[i].block.start < begin;
    for (guint i = 0; any && i < node->n_inputs; i++) {
        CtArrival *arrival = &advance->inputs[i];
        if (!is_stream(node, i))
            continue;
        const gint64 early = (begin - arrival->block.start) / MAX(1, node->inputs[i].ring->ticks);
        arrival->consumed = MIN(early, arrival->block.n_samples);
        arrival->used = 0;
    }
    for (guint o = 0; any && o < node->n_outputs; o++) {
        advance->outputs[o].produced = 0;
        advance->outputs[o].invalid = FALSE;
    }
    return any;
}

/* Of `n` samples from sample `index` of an input on, those up to the last whole block of time; all
 * if there is none. */
static gint64
end_with_block(const CtRunNode *node, guint input, gint64 index, gint64 n)
{
    const gint64 rest = (index + node->n_early + n) % node->inputs[input].ring->granule;
    return rest < n ? n - rest : n;
}

gboolean
ct_advance_default(CtAdvance *advance, GError **error)
{
    return ct_advance_taps(advance, NULL, NULL, error);
}

gboolean
ct_advance_taps(CtAdvance *advance, CtFindTaps find, gpointer state, GError **error)
{
    CtRunNode *node = advance->core;
    const CtFootprint *rule = &node->plan->footprint;
    if (drop_early(node, advance))
        return TRUE;
    gint64 n = G_MAXINT64;
    gboolean ended = FALSE;
    const CtArrival *first = NULL;
    guint first_index = 0;
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!is_stream(node, i))
            continue;
        const CtArrival *arrival = &advance->inputs[i];
        if (!first) {
            first = arrival;
            first_index = i;
        }
        if (arrival->block.n_samples < n)
            ended = arrival->ended;
        else if (arrival->block.n_samples == n)
            ended |= arrival->ended;
        n = MIN(n, arrival->block.n_samples);
    }
    if (!first) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "stage '%s' has no input and no advance of its own",
                    node->plan->nodes[0].stage->name);
        return FALSE;
    }

    gint64 room = G_MAXINT64, granule = MAX(node->plan->granule, 1);
    gboolean read = FALSE;
    for (guint o = 0; o < node->n_outputs; o++) {
        if (!node->outputs[o].ring)
            continue;
        read = TRUE;
        room = MIN(room, advance->outputs[o].room);
        granule = MAX(granule, node->outputs[o].ring->granule);
    }

    gint64 produced = 0, consumed = n, used = n, start = first->block.start;
    const gint64 ticks = node->inputs[first_index].ring->ticks;
    if (node->n_outputs == 0 || !read) {
        /* A sink, or a node without readers, takes all samples. */
    } else if (rule->kind == CT_FOOTPRINT_SUM) {
        const gint64 position = first->block.index % rule->hop;
        start -= position * ticks;
        if (room < G_MAXINT64 / rule->hop / 2)
            used = MIN(n, (room + 1) * rule->hop - 1 - position);
        if (!ended || used < n)
            used = end_with_block(node, first_index, first->block.index, used);
        const gboolean last = ended && used == n;
        produced = (position + used) / rule->hop;
        if (!last && produced % granule > 0) {
            produced -= produced % granule;
            used = MIN(used, (produced + 1) * rule->hop - 1 - position);
        }
        if (last && (position + used) % rule->hop > 0) {
            if (produced < room)
                produced++;
            else
                used -= 1;
        }
        consumed = used;
    } else {
        const gint64 possible = windows_in(rule, n, ended);
        produced = MIN(possible, room);
        const gboolean last = ended && produced == possible;
        if (!last)
            produced -= produced % granule;
        used = produced > 0 ? (produced - 1) * rule->hop + rule->window : 0;
        consumed = last ? n : MIN(produced * rule->hop, n);
        start += rule->offset * ticks;
    }
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!is_stream(node, i))
            continue;
        advance->inputs[i].consumed = consumed;
        advance->inputs[i].used = used;
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        advance->outputs[o].produced = produced;
        advance->outputs[o].start = start;
    }
    return set_validity(node, advance, find, state, error);
}

/* ---- sums of windows, all in one firing ---- */

/* The windows of which sums are made, without the stage that sums. */
static CtFootprint
find_windows(const CtPlanNode *plan)
{
    return ct_chain_footprint(plan->nodes, plan->n_nodes - 1);
}

/* Decides how many sums of `each` windows the firing makes; returns how many windows they have. */
static gint64
sum_windows(const CtRunNode *node, CtAdvance *advance, const CtFootprint *windows, gint64 each)
{
    CtArrival *arrival = &advance->inputs[0];
    const gint64 n = arrival->block.n_samples, granule = MAX(node->plan->granule, 1);
    const gint64 possible = windows_in(windows, n, arrival->ended);
    gint64 sums = arrival->ended ? (possible + each - 1) / each : possible / each;
    const gboolean last = arrival->ended && sums <= advance->outputs[0].room;
    sums = MIN(sums, advance->outputs[0].room);
    sums -= last ? 0 : sums % granule;
    const gint64 used = MIN(possible, sums * each);
    arrival->used = used > 0 ? (used - 1) * windows->hop + windows->window : 0;
    arrival->consumed = last ? n : MIN(used * windows->hop, n);
    advance->outputs[0].produced = sums;
    advance->outputs[0].start =
        arrival->block.start + windows->offset * node->inputs[0].ring->ticks;
    return used;
}

/* Sets the validity of the windows of each sum of a lane, and with it that of the sums. */
static gboolean
sum_lane(const Way *way, guint lane, gint64 each, guint8 *windows, guint8 *sums, gint64 n_sums,
         GError **error)
{
    memset(windows, 1, (gsize)way->n);
    memset(windows + way->n, 0, (gsize)(n_sums * each - way->n));
    if (!window_validity(way, lane, windows, error))
        return FALSE;
    for (gint64 i = 0; i < n_sums; i++)
        sums[i] = memchr(windows + i * each, 1, (gsize)each) != NULL;
    return TRUE;
}

gboolean
ct_advance_summed(CtAdvance *advance, CtSummedWindows *windows, GError **error)
{
    CtRunNode *node = advance->core;
    const CtFootprint rule = find_windows(node->plan);
    const gint64 each = node->plan->nodes[node->plan->n_nodes - 1].footprint.hop;
    const CtArrival *arrival = &advance->inputs[0];
    CtDeparture *departure = &advance->outputs[0];
    const CtRunOutput *output = &node->outputs[0];
    windows->n = sum_windows(node, advance, &rule, each);
    windows->invalid = FALSE;
    if (!arrival->block.validity || departure->produced == 0)
        return TRUE;
    const Way way = {
        .node = node, .rule = &rule, .arrival = arrival, .map = &output->maps[0], .n = windows->n};
    const gint64 all = departure->produced * each;
    for (guint l = 0; l < way.map->n_lanes; l++) {
        guint8 *sums = departure->validity + l * departure->validity_stride;
        guint8 *own = windows->validity + l * all;
        if (!sum_lane(&way, l, each, own, sums, departure->produced, error))
            return FALSE;
        windows->invalid |= memchr(own, 0, (gsize)way.n) != NULL;
        departure->invalid |= memchr(sums, 0, (gsize)departure->produced) != NULL;
    }
    return TRUE;
}

/* The block narrowed to one lane. */
static CtBlock
narrow_to_lane(const CtBlock *block, const CtStream *stream, const CtLayout *layout, gint64 lane)
{
    CtBlock narrow = *block;
    for (guint a = stream->n_axes; a-- > 0;) {
        const CtAxis *axis = &stream->axes[a];
        if (!axis->loses)
            continue;
        const gint64 i = lane % axis->length;
        lane /= axis->length;
        const gint whole = ct_layout_axis(layout, axis->name);
        const gint inner = ct_layout_block_axis(layout, axis->name);
        const gint64 count = inner >= 0 ? layout->axes[inner].count : 1;
        narrow.data += i / count * block->stride[whole];
        narrow.length[whole] = 1;
        if (inner >= 0) {
            narrow.data += i % count * block->stride[inner];
            narrow.length[inner] = 1;
        }
    }
    return narrow;
}

static void
zero_samples(const CtBlock *lane, const CtLayout *layout, gint64 begin, gint64 end)
{
    const gint time = ct_layout_axis(layout, "time");
    const gint inner = ct_layout_block_axis(layout, "time");
    CtBlock part = *lane;
    if (time < 0) {
        ct_strided_fill(&part, 0);
    } else if (inner < 0) {
        part.data += begin * lane->stride[time];
        part.length[time] = end - begin;
        ct_strided_fill(&part, 0);
    } else {
        const gint64 count = layout->axes[inner].count;
        part.length[time] = part.length[inner] = 1;
        for (gint64 t = begin; t < end; t++) {
            part.data =
                lane->data + t / count * lane->stride[time] + t % count * lane->stride[inner];
            ct_strided_fill(&part, 0);
        }
    }
}

gint64
ct_validity_count(const CtDeparture *departure, gint64 n_lanes)
{
    gint64 n = 0;
    for (gint64 l = 0; l < n_lanes; l++) {
        const guint8 *valid = departure->validity + l * departure->validity_stride;
        for (gint64 t = 0; t < departure->produced; t++)
            n += !valid[t];
    }
    return n;
}

gint64
ct_validity_zero(const CtBlock *block, const CtDeparture *departure, const CtStream *stream,
                 const CtLayout *layout)
{
    const gint64 n_lanes = ct_stream_n_lanes(stream);
    gint64 n = 0;
    for (gint64 l = 0; l < n_lanes; l++) {
        const guint8 *valid = departure->validity + l * departure->validity_stride;
        gint64 begin, end;
        if (!next_zeros(valid, 0, block->n_samples, &begin, &end))
            continue;
        const CtBlock lane = narrow_to_lane(block, stream, layout, l);
        do {
            zero_samples(&lane, layout, begin, end);
            n += end - begin;
        } while (next_zeros(valid, end, block->n_samples, &begin, &end));
    }
    return n;
}
