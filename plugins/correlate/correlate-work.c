/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop over items and integrations that all variants share. */
#include "correlate.h"

#include <cornerturn/params.h>
#include <string.h>

static const char *
over(const CtNode *node)
{
    return ct_params_choice(node->params, "over") == 0 ? "station" : "beam";
}

/* The step of the lane along each axis; 0 along those that lose no data. */
static gint64
lane_step(const CtStream *stream, const char *name)
{
    gint64 step = 1;
    for (guint a = stream->n_axes; a-- > 0;) {
        const CtAxis *axis = &stream->axes[a];
        if (strcmp(axis->name, name) == 0)
            return axis->loses ? step : 0;
        if (axis->loses)
            step *= axis->length;
    }
    return 0;
}

gint64
ct_correlate_n_inputs(const CtNode *node)
{
    return ct_stream_length(&node->inputs[0], over(node)) *
           ct_stream_length(&node->inputs[0], "pol");
}

Correlate *
ct_correlate_new(const CtPrepare *prepare)
{
    const CtNode *node = &prepare->nodes[0];
    const CtStream *in = prepare->inputs[0].stream;
    const CtLayout *from = &prepare->inputs[0].layout;
    const CtLayout *to = &prepare->outputs[0].layout;
    const CtLayout *weights = &prepare->outputs[1].layout;
    Correlate *self = g_new0(Correlate, 1);

    self->input = ct_layout_type(from);
    self->output = node->outputs[0].type;
    self->n_stations = ct_stream_length(in, over(node));
    self->n_pols = ct_stream_length(in, "pol");
    self->n_baselines = self->n_stations * (self->n_stations + 1) / 2;
    self->integration = ct_params_int(node->params, "integration");
    const gint block = ct_layout_block_axis(from, "time");
    self->block = block < 0 ? 1 : from->axes[block].count;
    self->before_sums = node->footprint.offset;
    self->from_time = ct_layout_axis(from, "time");
    self->from_station = ct_layout_axis(from, over(node));
    self->from_pol = ct_layout_axis(from, "pol");
    self->to_time = ct_layout_axis(to, "time");
    self->to_baseline = ct_layout_axis(to, "baseline");
    self->to_p = ct_layout_axis(to, "pol");
    self->to_q = ct_layout_axis(to, "pol'");
    self->station_lane = lane_step(in, over(node));
    self->pol_lane = lane_step(in, "pol");
    self->has_weights = prepare->outputs[1].stream->type != CT_TYPE_NONE;
    self->weights_have_pol = self->pol_lane > 0;
    if (self->has_weights) {
        self->weights_time = ct_layout_axis(weights, "time");
        self->weights_baseline = ct_layout_axis(weights, "baseline");
        self->weights_p = ct_layout_axis(weights, "pol");
        self->weights_q = ct_layout_axis(weights, "pol'");
    }

    self->n_items = 1;
    for (guint a = 0; a < from->n_axes; a++) {
        const char *name = from->axes[a].name;
        if ((gint)a == self->from_time || (gint)a == block || (gint)a == self->from_station ||
            (gint)a == self->from_pol)
            continue;
        self->axes[self->n_axes++] = (CorrelateAxis){
            .length = ct_stream_length(in, name),
            .from = a,
            .to = (guint)ct_layout_axis(to, name),
            .weights = self->has_weights ? ct_layout_axis(weights, name) : -1,
            .lane = lane_step(in, name),
        };
        self->n_items *= ct_stream_length(in, name);
    }
    return self;
}

/* The sums of items that are summed together, of integrations within a firing. */
static gsize
inside_bytes(const Correlate *self)
{
    return (gsize)self->method.most_items * self->method.sums_bytes;
}

gboolean
ct_correlate_allocate(Correlate *self, CtPrepare *prepare, GError **error)
{
    CorrelateMethod *method = &self->method;
    method->sums_bytes = (method->sums_bytes + 63) / 64 * 64;
    method->scratch_bytes = (method->scratch_bytes + 63) / 64 * 64;
    self->counts_per_item = (gsize)self->n_baselines;
    if (self->weights_have_pol)
        self->counts_per_item *= (gsize)(self->n_pols * self->n_pols);

    /* Sums begin anew at their first spectrum, so they need not be cleared; those of integrations
     * that begin and end within one firing are in the scratch. */
    method->most_items = MAX(method->most_items, 1);
    const gsize n_items = (gsize)self->n_items;
    if (n_items > G_MAXSIZE / 2 / (method->sums_bytes + 4 * self->counts_per_item) ||
        posix_memalign((void **)&self->sums, 64, n_items * method->sums_bytes) != 0) {
        self->sums = NULL;
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY,
                    "wants %" G_GSIZE_FORMAT " bytes for each of %" G_GSIZE_FORMAT
                    " sums of an integration, but is given no such memory",
                    method->sums_bytes, n_items);
        return FALSE;
    }
    if (self->has_weights) {
        self->counts = CT_TABLE(guint32, n_items * self->counts_per_item, "counts", error);
        if (!self->counts)
            return FALSE;
    }
    prepare->n_items = self->n_items;
    prepare->scratch_bytes =
        method->scratch_bytes + inside_bytes(self) + ct_correlate_count_scratch(self);
    return TRUE;
}

static gint64
stride(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

/* The work of a range of a firing: of some items along the innermost axis. */
typedef struct {
    const Correlate *self;
    const CtWork *work;
    gint64 item, n_items;
    gint64 from_offset, to_offset, weights_offset; /* of the first item */
    gint64 from_step, to_step, weights_step;       /* from item to item */
    gint64 lane, lane_step;
    gint64 produced;
} Walk;

/* Finds items from `item` on, before `end`. */
static void
find_items(Walk *walk, gint64 item, gint64 end)
{
    const Correlate *self = walk->self;
    const CtWork *work = walk->work;
    *walk = (Walk){.self = self, .work = work, .item = item, .n_items = 1};
    if (self->n_axes > 0) {
        const CorrelateAxis *last = &self->axes[self->n_axes - 1];
        walk->n_items = MIN(self->method.most_items, last->length - item % last->length);
        walk->n_items = MIN(walk->n_items, end - item);
        walk->from_step = work->inputs[0].stride[last->from];
        walk->to_step = work->outputs[0].stride[last->to];
        walk->weights_step = stride(&work->outputs[1], last->weights);
        walk->lane_step = last->lane;
    }
    for (guint a = self->n_axes; a-- > 0;) {
        const CorrelateAxis *axis = &self->axes[a];
        const gint64 i = item % axis->length;
        item /= axis->length;
        walk->from_offset += i * work->inputs[0].stride[axis->from];
        walk->to_offset += i * work->outputs[0].stride[axis->to];
        if (axis->weights >= 0)
            walk->weights_offset += i * work->outputs[1].stride[axis->weights];
        walk->lane += i * axis->lane;
    }
}

static Walk
one_of(const Walk *walk, gint64 k)
{
    Walk one = *walk;
    one.item += k;
    one.from_offset += k * walk->from_step;
    one.to_offset += k * walk->to_step;
    one.weights_offset += k * walk->weights_step;
    one.lane += k * walk->lane_step;
    return one;
}

static guint32 *
counts_of(const Walk *walk)
{
    return walk->self->counts + (gsize)walk->item * walk->self->counts_per_item;
}

static void
write_weights(const Walk *walk)
{
    const Correlate *self = walk->self;
    const CtBlock *block = &walk->work->outputs[1];
    const gint64 n_lanes = self->weights_have_pol ? self->n_pols : 1;
    guint8 *to =
        block->data + walk->weights_offset + walk->produced * stride(block, self->weights_time);
    guint32 *count = counts_of(walk);
    for (gint64 b = 0; b < self->n_baselines; b++, to += stride(block, self->weights_baseline))
        for (gint64 p = 0; p < n_lanes; p++)
            for (gint64 q = 0; q < n_lanes; q++, count++) {
                *(guint32 *)(to + p * stride(block, self->weights_p) +
                             q * stride(block, self->weights_q)) = *count;
                *count = 0;
            }
}

static void
write_item(const Walk *walk, gconstpointer sums, gint64 done)
{
    const Correlate *self = walk->self;
    const CtBlock *block = &walk->work->outputs[0];
    const CorrelateTo to = {stride(block, self->to_baseline), stride(block, self->to_p),
                            stride(block, self->to_q)};
    if (block->data)
        self->method.flush(self, sums, done,
                           block->data + walk->to_offset +
                               walk->produced * stride(block, self->to_time),
                           &to, walk->work->scratch);
    if (walk->work->outputs[1].data)
        write_weights(walk);
}

/* Ends an integration of `done` spectra. */
static void
write_integration(Walk *walk, const guint8 *sums, gint64 done)
{
    for (gint64 k = 0; k < walk->n_items; k++) {
        const Walk one = one_of(walk, k);
        write_item(&one, sums + (gsize)k * walk->self->method.sums_bytes, done);
    }
    walk->produced++;
}

static void
count_weights(const Walk *walk, gint64 t, gint64 n, gpointer scratch)
{
    const CtBlock *in = &walk->work->inputs[0];
    for (gint64 k = 0; k < walk->n_items; k++) {
        const Walk one = one_of(walk, k);
        ct_correlate_count(walk->self,
                           in->validity ? in->validity + one.lane * in->validity_stride + t : NULL,
                           in->validity_stride, n, counts_of(&one), scratch);
    }
}

static void
work_items(Walk *walk)
{
    const Correlate *self = walk->self;
    const CtBlock *in = &walk->work->inputs[0];
    const CorrelateFrom from = {stride(in, self->from_time), stride(in, self->from_station),
                                stride(in, self->from_pol), walk->from_step, walk->n_items};
    guint8 *scratch = walk->work->scratch;
    guint8 *inside = scratch + self->method.scratch_bytes;
    guint8 *kept = self->sums + (gsize)walk->item * self->method.sums_bytes;
    gint64 done = in->index % self->integration;

    for (gint64 t = 0, n; t < in->n_samples; t += n) {
        n = MIN(in->n_samples - t, self->integration - done);
        guint8 *sums = done == 0 && n == self->integration ? inside : kept;
        if (walk->work->outputs[0].data)
            self->method.accumulate(self, in->data + walk->from_offset + t * from.time, &from, n,
                                    done, sums, scratch);
        if (walk->work->outputs[1].data)
            count_weights(walk, t, n, inside + inside_bytes(self));
        done += n;
        if (done == self->integration) {
            write_integration(walk, sums, done);
            done = 0;
        }
    }
    if (walk->work->ended && done > 0)
        write_integration(walk, kept, done);
}

gboolean
ct_correlate_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Walk walk = {.self = state, .work = work};
    for (gint64 item = work->begin; item < work->end; item += walk.n_items) {
        find_items(&walk, item, work->end);
        work_items(&walk);
    }
    return TRUE;
}

void
ct_correlate_finish(gpointer state)
{
    Correlate *self = state;
    if (!self)
        return;
    free(self->sums);
    g_free(self->counts);
    g_free(self->own);
    g_free(self);
}
