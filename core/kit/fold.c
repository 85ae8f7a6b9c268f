/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds on every backend: the description of the outputs, axes, counts of valid samples. */
#include "epilogue-private.h"
#include "fold-across.h"
#include "reserved.h"

#include <string.h>

void
ct_fold_infer(CtNode *node, gint64 length)
{
    const CtStream *in = &node->inputs[0];
    ct_stream_copy(&node->outputs[0], in);
    node->footprint = (CtFootprint){
        .kind = CT_FOOTPRINT_SUM,
        .window = length,
        .hop = length,
    };
    if (node->n_outputs < 2)
        return;
    CtStream *weights = &node->outputs[1];
    ct_stream_copy(weights, in);
    weights->type = CT_U32;
    for (guint a = 0; a < in->n_axes; a++)
        if (!in->axes[a].loses && in->axes[a].name != ct_axis_name("time"))
            ct_stream_remove_axis(weights, in->axes[a].name);
}

/* ---- axes ---- */

static gboolean
find_axes(CtFoldState *self, const CtPrepare *prepare, GError **error)
{
    const CtStream *in = prepare->inputs[0].stream, *out = prepare->outputs[0].stream;
    const CtLayout *from = &prepare->inputs[0].layout, *to = &prepare->outputs[0].layout;
    const gboolean has_weights =
        prepare->n_outputs > 1 && prepare->outputs[1].stream->type != CT_TYPE_NONE;
    self->in_time = ct_layout_axis(from, "time");
    self->out_time = ct_layout_axis(to, "time");
    self->weights_time = has_weights ? ct_layout_axis(&prepare->outputs[1].layout, "time") : -1;
    const CtGroupAxes *group = ct_epilogue_group(prepare->epilogue);
    self->n_groups = self->n_fast = 1;
    self->n_read = group && group->in == (gint)from->n_axes - 1 ? group->n_x : 1;
    for (gint a = 0; a < (gint)from->n_axes; a++) {
        const char *name = from->axes[a].name;
        if (a == self->in_time || (group && a == group->in))
            continue;
        CtFoldAxis *axis = &self->axes[self->n_axes++];
        *axis = (CtFoldAxis){
            .length = ct_stream_length(in, name),
            .in = a,
            .out = ct_layout_axis(to, name),
            .weights = has_weights ? ct_layout_axis(&prepare->outputs[1].layout, name) : -1,
            .lane = ct_stream_lane_step(in, name),
            .mark = ct_stream_lane_step(out, name),
        };
        if (axis->out < 0 || ct_stream_length(out, name) != axis->length) {
            g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                        "a fold wants the input's axis '%s' at its output", name);
            return FALSE;
        }
        self->n_slow += a < self->in_time;
        *(a < self->in_time ? &self->n_groups : &self->n_fast) *= axis->length;
    }
    return TRUE;
}

gboolean
ct_fold_init(CtFoldState *self, const CtPrepare *prepare, GError **error)
{
    const CtNode *node = &prepare->nodes[0];
    const CtPort *port = &node->stage->outputs[0];
    const CtFold *fold = prepare->variant->form;
    const CtFormKernel *kernel = self->form.kernel;
    if (!CT_RESERVED_CHECK(fold->form.plugin, CtFold, fold, error) ||
        (kernel && !CT_RESERVED_CHECK(fold->form.plugin, CtFoldKernel, kernel->fold, error)))
        return FALSE;
    self->hop = node->footprint.hop;
    self->is_marked = (port->flags & CT_PORT_MARKED) != 0;
    self->n_lanes = ct_stream_n_lanes(prepare->inputs[0].stream);
    if (!find_axes(self, prepare, error))
        return FALSE;
    /* Either port may have no reader. */
    self->max_made = prepare->outputs[0].max_samples;
    if (self->weights_time >= 0)
        self->max_made = MAX(self->max_made, prepare->outputs[1].max_samples);
    self->counts = CT_TABLE(guint32, (self->max_made + 2) * self->n_lanes, "counts", error);
    return self->counts != NULL;
}

void
ct_fold_clear(CtFoldState *self)
{
    ct_form_clear(&self->form);
    g_clear_pointer(&self->counts, g_free);
}

static void
add_place(CtFoldPlace *place, const CtFoldAxis *axes, guint n_axes, const CtWork *work,
          gint64 element)
{
    for (guint a = n_axes; a-- > 0;) {
        const gint64 i = element % axes[a].length;
        element /= axes[a].length;
        place->in += i * work->inputs[0].stride[axes[a].in];
        place->out += i * work->outputs[0].stride[axes[a].out];
        place->lane += i * axes[a].lane;
        place->mark += i * axes[a].mark;
    }
}

CtFoldPlace
ct_fold_place(const CtFoldState *self, const CtWork *work, gint64 group, gint64 element)
{
    CtFoldPlace place = {0};
    add_place(&place, self->axes, self->n_slow, work, group);
    add_place(&place, self->axes + self->n_slow, self->n_axes - self->n_slow, work, element);
    return place;
}

gboolean
ct_fold_is_packed(const CtFoldState *self, const CtBlock *block, gboolean is_input, gint64 *bytes)
{
    gboolean is_packed = TRUE;
    *bytes = (gint64)ct_type_info(block->type)->bytes * (is_input ? self->n_read : 1);
    for (guint a = self->n_axes; a-- > self->n_slow;) {
        const gint axis = is_input ? self->axes[a].in : self->axes[a].out;
        is_packed &= self->axes[a].length == 1 || block->stride[axis] == *bytes;
        *bytes *= self->axes[a].length;
    }
    return is_packed;
}

/* ---- counts ---- */

/* Adds the number of valid samples among m from `t` on to every lane's count. */
static void
count(const CtFoldState *self, const CtBlock *block, gint64 t, gint64 m, guint32 *counts)
{
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        guint32 n = (guint32)m;
        if (block->validity) {
            const guint8 *valid = block->validity + lane * block->validity_stride + t;
            n = 0;
            for (gint64 i = 0; i < m; i++)
                n += valid[i] != 0;
        }
        counts[lane] += n;
    }
}

gboolean
ct_fold_advance(gpointer state, CtAdvance *advance, GError **error)
{
    CtFoldState *self = state;
    if (self->is_across)
        return ct_fold_across_advance(state, advance, error);
    if (!ct_advance_default(advance, error))
        return FALSE;
    const gsize row = (gsize)self->n_lanes * sizeof *self->counts;
    const CtArrival *in = &advance->inputs[0];
    if (self->making > 0)
        memcpy(self->counts, self->counts + self->making * self->n_lanes, row);
    self->making = 0;
    gint64 position = in->block.index % self->hop;
    for (gint64 t = 0, m; t < in->consumed; t += m) {
        m = MIN(self->hop - position, in->consumed - t);
        count(self, &in->block, t, m, self->counts + self->making * self->n_lanes);
        position += m;
        if (position == self->hop) {
            position = 0;
            self->making++;
            memset(self->counts + self->making * self->n_lanes, 0, row);
        }
    }
    return TRUE;
}

void
ct_fold_write_weights(const CtFoldState *self, const CtWork *work)
{
    if (self->weights_time < 0 || !work->outputs[1].data)
        return;
    const CtBlock *out = &work->outputs[1];
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        guint8 *to = out->data;
        for (guint a = 0; a < self->n_axes; a++)
            if (self->axes[a].weights >= 0)
                to += lane / self->axes[a].lane % self->axes[a].length *
                      out->stride[self->axes[a].weights];
        for (gint64 o = 0; o < out->n_samples; o++)
            memcpy(to + o * out->stride[self->weights_time],
                   self->counts + o * self->n_lanes + lane, sizeof *self->counts);
    }
}
