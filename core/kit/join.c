/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that are joined by their ticks. */
#include <cornerturn/kit/join.h>
#include <string.h>

/* ---- checks ---- */

gint64
ct_join_end(const CtStream *stream)
{
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    return length < 0 ? G_MAXINT64 : stream->start + length * stream->ticks_per_sample;
}

gboolean
ct_join_differ(const CtNode *node, guint i, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants inputs that agree, but '%s' and '%s' %s",
                node->input_names[0], node->input_names[i], what);
    return FALSE;
}

static gdouble
ticks_per_second(const CtStream *stream)
{
    return stream->rate_num ? (gdouble)stream->rate_num / (gdouble)stream->rate_den : 0;
}

gboolean
ct_join_check_clock(const CtNode *node, guint i, gboolean same_samples, GError **error)
{
    const CtStream *first = &node->inputs[0], *other = &node->inputs[i];
    if (first->rate_num != other->rate_num || first->rate_den != other->rate_den)
        return ct_join_differ(node, i, error, "have clocks of %g and %g ticks per second",
                              ticks_per_second(first), ticks_per_second(other));
    if (same_samples && first->ticks_per_sample != other->ticks_per_sample)
        return ct_join_differ(node, i, error,
                              "have samples of %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ticks",
                              first->ticks_per_sample, other->ticks_per_sample);
    if (first->epoch != other->epoch)
        return ct_join_differ(node, i, error, "count their ticks from different epochs");
    return TRUE;
}

static gboolean
same_bytes(GBytes *a, GBytes *b)
{
    return a == b || (a && b && g_bytes_equal(a, b));
}

gboolean
ct_join_same_coordinate(const CtCoordinate *a, const CtCoordinate *b)
{
    return a->unit == b->unit && a->parent == b->parent && same_bytes(a->table, b->table) &&
           (a->table || (a->first == b->first && a->step == b->step));
}

gboolean
ct_join_check_length(const CtNode *node, guint i, const char *axis, GError **error)
{
    const gint64 first = ct_stream_length(&node->inputs[0], axis);
    const gint64 other = ct_stream_length(&node->inputs[i], axis);
    return first == other ||
           ct_join_differ(node, i, error,
                          "have %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " along '%s'", first,
                          other, axis);
}

void
ct_join_add_losses(CtNode *node)
{
    CtStream *output = &node->outputs[0];
    for (guint i = 0; i < node->n_inputs; i++)
        for (guint k = 0; k < node->inputs[i].n_axes; k++)
            if (node->inputs[i].axes[k].loses)
                output->axes[ct_stream_axis(output, node->inputs[i].axes[k].name)].loses = TRUE;
}

/* Coordinates that only one input has do not contradict those of the other. */
static gboolean
check_axis(const CtNode *node, const CtAxis *axis, GError **error)
{
    const CtStream *x = &node->inputs[0];
    const gint place = ct_stream_axis(x, axis->name);
    if (axis->name == ct_axis_name("time"))
        return TRUE;
    if (place < 0)
        return ct_join_differ(node, 1, error, "differ: only the second has an axis '%s'",
                              axis->name);
    if (!ct_join_check_length(node, 1, axis->name, error))
        return FALSE;
    const CtCoordinate *a = &x->axes[place].coordinate, *b = &axis->coordinate;
    if (a->unit && b->unit && !ct_join_same_coordinate(a, b))
        return ct_join_differ(node, 1, error, "have other coordinates along '%s'", axis->name);
    return TRUE;
}

/* Whether w fits x. */
static gboolean
check_second(const CtNode *node, GError **error)
{
    const CtStream *x = &node->inputs[0], *w = &node->inputs[1];
    if (!ct_join_check_clock(node, 1, FALSE, error))
        return FALSE;
    if (w->ticks_per_sample < x->ticks_per_sample)
        return ct_join_differ(node, 1, error,
                              "have samples of %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                              " ticks: those of the second must be as long or longer",
                              x->ticks_per_sample, w->ticks_per_sample);
    for (guint k = 0; k < w->n_axes; k++)
        if (!check_axis(node, &w->axes[k], error))
            return FALSE;
    return TRUE;
}

gboolean
ct_join_infer(CtNode *node, GError **error)
{
    if (node->inputs[1].type != CT_TYPE_NONE && !check_second(node, error))
        return FALSE;
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_join_add_losses(node);
    node->footprint.kind = CT_FOOTPRINT_OWN;
    return TRUE;
}

/* ---- the state ---- */

static void
map_lanes(CtJoinInput *input, const CtStream *stream, const CtStream *output, const char *axis)
{
    for (guint a = 0; a < output->n_axes; a++) {
        const char *name = output->axes[a].name;
        const gint64 step = ct_stream_lane_step(output, name);
        if (step == 0)
            continue;
        const gboolean is_joined = g_strcmp0(name, axis) == 0;
        CtBoxAxis *lanes = &input->lanes[input->n_lanes++];
        *lanes = (CtBoxAxis){
            .length = is_joined ? input->length : output->axes[a].length,
            .in = ct_stream_lane_step(stream, name),
            .out = step,
        };
        input->first_lane += is_joined ? input->offset * step : 0;
    }
}

static void
input_init(CtJoinInput *input, const CtBinding *binding, const CtBinding *output, const char *axis)
{
    const CtStream *stream = binding->stream;
    input->start = stream->start;
    input->end = ct_join_end(stream);
    input->ticks = stream->ticks_per_sample;
    input->length = axis && ct_stream_axis(stream, axis) >= 0 ? ct_stream_length(stream, axis) : 1;
    for (guint a = 0; a < output->layout.n_axes; a++)
        input->place[a] = ct_layout_axis(&binding->layout, output->layout.axes[a].name);
    map_lanes(input, stream, output->stream, axis);
}

void
ct_join_mask_clear(CtFormMask *mask)
{
    g_clear_pointer(&mask->lanes, g_free);
    g_clear_pointer(&mask->times, g_free);
}

void
ct_join_init(CtJoin *join, const CtPrepare *prepare, gint lead, const char *axis)
{
    const CtBinding *output = &prepare->outputs[0];
    gint64 offset = 0;
    guint n = 0;
    while (n < prepare->n_inputs && prepare->inputs[n].stream->type != CT_TYPE_NONE)
        n++;
    *join = (CtJoin){
        .n_inputs = n,
        .inputs = g_new0(CtJoinInput, n),
        .lead = lead,
        .tick = output->stream->start,
        .ticks = output->stream->ticks_per_sample,
        .time = ct_layout_axis(&output->layout, "time"),
        .axis = axis ? ct_layout_axis(&output->layout, axis) : -1,
        .n_items = prepare->n_items,
    };
    for (guint a = 0; a < output->layout.n_axes; a++)
        join->lanes[a] = ct_stream_lane_step(output->stream, output->layout.axes[a].name);
    for (guint i = 0; i < join->n_inputs; i++) {
        join->inputs[i].offset = offset;
        input_init(&join->inputs[i], &prepare->inputs[i], output, axis);
        offset += join->inputs[i].length;
    }
}

void
ct_join_clear(CtJoin *join)
{
    g_clear_pointer(&join->inputs, g_free);
}

/* ---- advance ---- */

/* The number of times t ≥ 0 for which offset + t · step is below 0. */
static gint64
steps_below(gint64 offset, gint64 step)
{
    return offset >= 0 ? 0 : (-offset - 1) / step + 1;
}

/* The number of output samples, from the next on, for which input `i` has arrived, or is known
 * never to come (*missing); 0: the stage must wait for it. */
static gint64
known_samples(const CtJoin *join, const CtArrival *arrival, guint i, gboolean *missing)
{
    const CtJoinInput *input = &join->inputs[i];
    const gint64 n = arrival->block.n_samples;
    *missing = FALSE;
    if ((gint)i == join->lead)
        return n;
    *missing = TRUE;
    if (input->start == input->end)
        return G_MAXINT64;
    /* The stage waits for an input that is known not to be empty, even if it has been cut off. */
    if (join->tick < input->start && (input->end < G_MAXINT64 || n > 0 || !arrival->ended))
        return steps_below(join->tick - input->start, join->ticks);
    /* It also waits for samples before the next output sample: nothing else would consume them. */
    if (n == 0 && (arrival->ended || arrival->block.start >= input->end))
        return G_MAXINT64;
    *missing = FALSE;
    return n == 0
               ? 0
               : steps_below(join->tick - (arrival->block.start + n * input->ticks), join->ticks);
}

/* Whether input `i` begins later, and is not empty. */
static gboolean
is_to_come(const CtJoin *join, guint i)
{
    const CtJoinInput *input = &join->inputs[i];
    return join->tick < input->start && input->end < G_MAXINT64 && input->start < input->end;
}

/* An input's validity of a firing, for one of its lanes. */
typedef struct {
    gint64 n;      /* samples of the output */
    gint64 n_from; /* samples of the input; 0: it is missing */
    gint64 ticks, from_ticks;
    gint64 since; /* ticks from the first sample of the input to that of the output */
} Merge;

static void
merge_lane(const Merge *merge, const guint8 *from, guint8 *to)
{
    if (merge->n_from == 0) {
        memset(to, 0, (gsize)merge->n);
        return;
    }
    if (merge->ticks == merge->from_ticks) {
        from += merge->since / merge->ticks;
        for (gint64 t = 0; t < merge->n; t++)
            to[t] &= from[t];
        return;
    }
    for (gint64 j = 0; j < merge->n_from; j++) {
        const gint64 begin = steps_below(merge->since - j * merge->from_ticks, merge->ticks);
        const gint64 end =
            MIN(merge->n, steps_below(merge->since - (j + 1) * merge->from_ticks, merge->ticks));
        if (!from[j] && begin < end)
            memset(to + begin, 0, (gsize)(end - begin));
    }
}

static void
merge_lanes(gpointer data, const guint8 *from, G_GNUC_UNUSED const guint8 *table, guint8 *to,
            const CtBoxAxis *lanes)
{
    for (gint64 l = 0; l < lanes->length; l++)
        merge_lane(data, from + l * lanes->in, to + l * lanes->out);
}

/* Merges the validity of input `i`, of which `used` samples take part, into that of the output. */
static void
merge_input(const CtJoin *join, guint i, const CtArrival *arrival, CtDeparture *output)
{
    static const CtBoxAxis element = {.length = 1};
    const CtJoinInput *input = &join->inputs[i];
    const CtBlock *block = &arrival->block;
    Merge merge = {
        .n = output->produced,
        .n_from = arrival->used,
        .ticks = join->ticks,
        .from_ticks = input->ticks,
        .since = output->start - block->start,
    };
    CtBox box = {
        .n_axes = input->n_lanes,
        .in = block->validity,
        .out = output->validity + input->first_lane * output->validity_stride,
    };
    if (merge.n_from > 0 && !block->validity)
        return;
    for (guint a = 0; a < box.n_axes; a++)
        box.axes[a] = (CtBoxAxis){
            .length = input->lanes[a].length,
            .in = input->lanes[a].in * block->validity_stride,
            .out = input->lanes[a].out * output->validity_stride,
        };
    ct_box_each_run(&box, &element, merge_lanes, &merge);
    output->invalid = TRUE;
}

/* Makes samples `begin` … `end` − 1 of a lane invalid. */
static void
invalidate(CtDeparture *output, gint64 lane, gint64 begin, gint64 end)
{
    if (begin >= end)
        return;
    memset(output->validity + lane * output->validity_stride + begin, 0, (gsize)(end - begin));
    output->invalid = TRUE;
}

static void
apply_mask(const CtJoin *join, CtDeparture *output)
{
    const CtFormMask *mask = join->mask;
    const gint64 n = output->produced;
    for (gint64 lane = 0; mask->lanes && lane < mask->n_lanes; lane++)
        if (mask->lanes[lane])
            invalidate(output, lane, 0, n);
    for (guint i = 0; i < mask->n_times; i++) {
        const gint64 begin = steps_below(output->start - mask->times[i][0], join->ticks);
        const gint64 end = steps_below(output->start - mask->times[i][1], join->ticks);
        for (gint64 lane = 0; lane < mask->n_lanes; lane++)
            invalidate(output, lane, begin, MIN(end, n));
    }
}

gboolean
ct_join_advance(CtJoin *join, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    CtDeparture *output = &advance->outputs[0];
    const gboolean has_lead = join->lead >= 0;
    gint64 n = output->room;
    gboolean stands = has_lead, missing;
    for (guint i = 0; i < join->n_inputs; i++) {
        n = MIN(n, known_samples(join, &advance->inputs[i], i, &missing));
        stands = stands || advance->inputs[i].block.n_samples > 0 || is_to_come(join, i);
    }
    n = stands ? n : 0;
    output->produced = n;
    output->start = join->tick;
    const gint64 end = join->tick + n * join->ticks; /* of the firing */
    for (guint i = 0; i < join->n_inputs; i++) {
        CtArrival *input = &advance->inputs[i];
        const gint64 ticks = join->inputs[i].ticks, have = input->block.n_samples;
        known_samples(join, input, i, &missing);
        /* Consumed: samples that end by the end of the firing. Used: samples that begin no later
         * than the last output sample of the firing. */
        input->consumed = missing ? 0 : MIN(have, MAX(0, end - input->block.start) / ticks);
        input->used =
            missing || n == 0 ? 0 : MIN(have, (end - join->ticks - input->block.start) / ticks + 1);
        if (n > 0)
            merge_input(join, i, input, output);
    }
    if (join->mask)
        apply_mask(join, output);
    join->tick = end;
    const CtArrival *lead = has_lead ? &advance->inputs[join->lead] : NULL;
    advance->ended = has_lead && lead->ended && lead->consumed == lead->block.n_samples;
    return TRUE;
}

/* ---- boxes ---- */

void
ct_join_box(const CtJoin *join, const CtWork *work, guint i, CtBox *box)
{
    const CtJoinInput *input = &join->inputs[i];
    const CtBlock *in = &work->inputs[i], *out = &work->outputs[0];
    const gboolean is_there = in->n_samples > 0;
    /* Most axes of a box are not used: they are not cleared. */
    memset(box->reserved, 0, sizeof box->reserved);
    box->n_axes = out->n_axes;
    box->in = is_there ? in->data : NULL;
    box->table = NULL;
    box->out = out->data;
    box->marks = NULL;
    if (join->axis >= 0)
        box->out += input->offset * out->stride[join->axis];
    for (guint a = 0; a < out->n_axes; a++)
        box->axes[a] = (CtBoxAxis){
            .length = (gint)a == join->axis ? input->length : out->length[a],
            .in = is_there && input->place[a] >= 0 ? in->stride[input->place[a]] : 0,
            .out = out->stride[a],
        };
}

static gint64
common_divisor(gint64 a, gint64 b)
{
    return b == 0 ? a : common_divisor(b, a % b);
}

/* A walk over the samples of w in a firing. */
typedef struct {
    const CtJoin *join;
    const CtWork *work;
    CtBoxesFunction function;
    gpointer data;
    CtBox box;          /* of one sample of x */
    CtBoxAxis time;     /* of samples of x */
    gint64 w_time;      /* bytes from a sample of w to the next */
    gint64 turn, apart; /* samples of w and of x after which the pattern repeats */
} Walk;

/* Calls the function for `n` samples of w from sample `j` on, `turn` apart, each of which holds for
 * `length` samples of x from `t` on, `apart` from those of the one before. */
static void
visit(const Walk *walk, gint64 j, gint64 n, gint64 t, gint64 length)
{
    const CtBoxAxis *time = &walk->time;
    CtBox box = walk->box;
    if (n <= 0 || length <= 0)
        return;
    box.in += t * time->in;
    box.out += t * time->out;
    box.table += j * walk->w_time;
    box.marks += t * time->mark;
    box.axes[walk->join->time] = (CtBoxAxis){
        .length = n,
        .in = walk->apart * time->in,
        .out = walk->apart * time->out,
        .table = walk->turn * walk->w_time,
        .mark = walk->apart * time->mark,
    };
    box.axes[box.n_axes] = *time;
    box.axes[box.n_axes++].length = length;
    if (ct_box_share(&box, walk->work->begin, walk->work->end, walk->join->n_items))
        walk->function(walk->data, &box, walk->work->scratch);
}

static void
walk_init(Walk *walk, const CtJoin *join, const CtWork *work)
{
    const CtBlock *w = &work->inputs[1], *y = &work->outputs[0];
    CtBox *box = &walk->box;
    ct_join_box(join, work, 0, box);
    box->table = w->data;
    box->marks = y->validity;
    for (guint a = 0; a < box->n_axes; a++) {
        const gint place = join->inputs[1].place[a];
        box->axes[a].table = place < 0 ? 0 : w->stride[place];
        box->axes[a].mark = y->validity ? join->lanes[a] * y->validity_stride : 0;
    }
    walk->time = box->axes[join->time];
    walk->w_time = walk->time.table;
    walk->time.table = 0;
    walk->time.mark = y->validity ? 1 : 0;
}

/* Samples of w that are whole turns apart have their samples of x at the same distance, and equally
 * many of them. If a sample of w lasts as long as several of x, a turn is one sample. */
void
ct_join_each(const CtJoin *join, const CtWork *work, CtBoxesFunction function, gpointer data)
{
    const CtBlock *x = &work->inputs[0], *w = &work->inputs[1], *y = &work->outputs[0];
    const gint64 x_ticks = join->inputs[0].ticks, w_ticks = join->inputs[1].ticks;
    const gint64 divisor = common_divisor(w_ticks, x_ticks), n = y->n_samples;
    Walk walk = {
        .join = join,
        .work = work,
        .function = function,
        .data = data,
        .turn = x_ticks / divisor,
        .apart = w_ticks / divisor,
    };
    if (!y->data || n == 0 || w->n_samples == 0)
        return;
    walk_init(&walk, join, work);
    const gint64 since = x->start - w->start, first = since / w_ticks;
    for (gint64 j = first; j < first + walk.turn; j++) {
        /* The first sample of w may have begun before the firing. */
        const gint64 end = steps_below(since - (j + 1) * w_ticks, x_ticks);
        gint64 next = j, t = steps_below(since - (j + walk.turn) * w_ticks, x_ticks) - walk.apart;
        const gint64 length = end - t;
        if (t < 0) {
            visit(&walk, j, 1, 0, MIN(end, n));
            next += walk.turn;
            t += walk.apart;
        }
        const gint64 n_whole = n - t < length ? 0 : (n - t - length) / walk.apart + 1;
        visit(&walk, next, n_whole, t, length);
        next += n_whole * walk.turn;
        t += n_whole * walk.apart;
        visit(&walk, next, 1, t, n - t);
    }
}

/* ---- reference variants ---- */

gboolean
ct_join_reference_prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    CtJoinReference *self = *state = g_new0(CtJoinReference, 1);
    ct_join_init(&self->join, prepare, 0, NULL);
    self->join.n_items = 1;
    self->node = prepare->nodes;
    return TRUE;
}

gboolean
ct_join_reference_advance(gpointer state, CtAdvance *advance, GError **error)
{
    return ct_join_advance(&((CtJoinReference *)state)->join, advance, error);
}

void
ct_join_reference_finish(gpointer state)
{
    CtJoinReference *self = state;
    if (self)
        ct_join_clear(&self->join);
    g_free(self);
}
