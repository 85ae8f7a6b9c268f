/* SPDX-License-Identifier: BSD-3-Clause */
/* Picks elements on the host: cuts the tables of indices into strided boxes, and copies them. */
#include "pick-private.h"

#include <cornerturn/kit/walk.h>
#include <string.h>

/* Bytes of the output that several boxes fill in turn, before they go on in time: so many that what
 * they read stays in a core's cache. */
#define TILE_BYTES (64 * 1024)

/* ---- pieces ---- */

/* The index of element `i` on the k-th axis of the input that the axis names. */
static gint64
index_at(const CtPickAxis *axis, guint k, gint64 i)
{
    return k < axis->n_of ? axis->index[k][i] : 0;
}

/* Whether the indices go from element i to i + d as they go from j to j + d. */
static gboolean
same_step(const CtPickAxis *axis, gint64 i, gint64 j, gint64 d)
{
    for (guint k = 0; k < axis->n_of; k++)
        if (axis->index[k][i + d] - axis->index[k][i] != axis->index[k][j + d] - axis->index[k][j])
            return FALSE;
    return TRUE;
}

/* The elements from `i` on whose indices have a constant step. */
static gint64
run_at(const CtPickAxis *axis, gint64 i)
{
    gint64 n = MIN(2, axis->length - i);
    while (i + n < axis->length && same_step(axis, i, i + n - 1, 1))
        n++;
    return n;
}

/* The piece from element `i` on: a run, and the runs after it that are like it, at a constant
 * step. */
static PickPiece
piece_at(const CtPickAxis *axis, gint64 i)
{
    const gint64 run = run_at(axis, i);
    gint64 n = 1;
    while (i + (n + 1) * run <= axis->length && same_step(axis, i, i + (n - 1) * run, run) &&
           run_at(axis, i + n * run) >= run && (run == 1 || same_step(axis, i, i + n * run, 1)))
        n++;
    PickPiece piece = {.out = i, .length = {n, run}};
    for (guint k = 0; k < axis->n_of; k++) {
        piece.first[k] = axis->index[k][i];
        piece.step[0][k] = n > 1 ? axis->index[k][i + run] - axis->index[k][i] : 0;
        piece.step[1][k] = run > 1 ? axis->index[k][i + 1] - axis->index[k][i] : 0;
    }
    return piece;
}

static gboolean
find_pieces(PickAxis *axis, gint64 length, GError **error)
{
    const CtPickAxis *picked = axis->picked;
    const PickPiece whole = {.length = {1, length}, .step = {{0}, {1}}};
    for (gint64 i = 0; picked && i < length; axis->n_pieces++) {
        const PickPiece piece = piece_at(picked, i);
        i += piece.length[0] * piece.length[1];
    }
    axis->n_pieces = picked ? axis->n_pieces : 1;
    axis->pieces = CT_TABLE(PickPiece, axis->n_pieces, "picked elements", error);
    if (!axis->pieces)
        return FALSE;
    axis->pieces[0] = whole;
    gint64 i = 0;
    for (guint p = 0; picked && p < axis->n_pieces; p++) {
        axis->pieces[p] = piece_at(picked, i);
        i += axis->pieces[p].length[0] * axis->pieces[p].length[1];
    }
    return TRUE;
}

/* ---- the state ---- */

/* Finds the lane of the input of which each lane of the output is made. */
static gboolean
find_lanes(Pick *self, GError **error)
{
    const CtStream *in = self->in->stream, *out = self->out->stream;
    self->n_lanes = ct_stream_n_lanes(out);
    self->lane_of = CT_TABLE(guint32, self->n_lanes, "lanes", error);
    for (gint64 lane = 0; self->lane_of && lane < self->n_lanes; lane++) {
        gint64 from = 0;
        for (guint a = 0; a < self->out->layout.n_axes; a++) {
            const char *name = self->out->layout.axes[a].name;
            const CtPickAxis *picked = self->axes[a].picked;
            const gint64 step = ct_stream_lane_step(out, name);
            const gint64 i = step > 0 ? lane / step % ct_stream_length(out, name) : 0;
            for (guint k = 0; k < (picked ? picked->n_of : 1); k++)
                from += (picked ? picked->index[k][i] : i) *
                        ct_stream_lane_step(in, picked ? picked->of[k] : name);
        }
        self->lane_of[lane] = (guint32)from;
    }
    return self->lane_of != NULL;
}

static gboolean
find_axes(Pick *self, GError **error)
{
    const CtLayout *in = &self->in->layout, *out = &self->out->layout;
    self->n_boxes = 1;
    for (guint a = 0; a < out->n_axes; a++) {
        PickAxis *axis = &self->axes[a];
        const char *name = out->axes[a].name;
        const gboolean is_time = (gint)a == self->time;
        for (guint p = 0; p < self->pick.n_axes; p++)
            if (self->pick.axes[p].name == name)
                axis->picked = &self->pick.axes[p];
        axis->n_of = axis->picked ? axis->picked->n_of : 1;
        for (guint k = 0; k < axis->n_of; k++)
            axis->of[k] = (guint)ct_layout_axis(in, axis->picked ? axis->picked->of[k] : name);
        if (!find_pieces(axis, is_time ? 1 : ct_stream_length(self->out->stream, name), error))
            return FALSE;
        self->n_boxes *= axis->n_pieces;
    }
    return TRUE;
}

gboolean
ct_pick_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtPickForm *form = prepare->variant->form;
    Pick *self = *state = g_new0(Pick, 1);
    self->in = &prepare->inputs[0];
    self->out = &prepare->outputs[0];
    self->pick.begin = G_MININT64;
    self->pick.end = G_MAXINT64;
    self->time = ct_layout_axis(&self->out->layout, "time");
    self->ticks = MAX(1, self->in->stream->ticks_per_sample);
    self->sample_bytes =
        ct_stream_width(self->out->stream) * (gint64)ct_type_info(self->out->stream->type)->bytes;
    self->n_items = MAX(1, prepare->n_items);
    return form->find(&prepare->nodes[0], &self->pick, error) && find_axes(self, error) &&
           find_lanes(self, error);
}

void
ct_pick_finish(gpointer state)
{
    Pick *self = state;
    if (!self)
        return;
    ct_pick_device_free(self->device);
    for (guint a = 0; a < CT_MAX_AXES; a++)
        g_free(self->axes[a].pieces);
    ct_pick_clear(&self->pick);
    g_free(self->lane_of);
    g_free(self);
}

/* ---- samples and validity ---- */

/* The samples of the block that begin before `tick`. */
static gint64
samples_before(const Pick *self, const CtBlock *block, gint64 tick)
{
    if (tick <= block->start)
        return 0;
    const guint64 ticks = (guint64)tick - (guint64)block->start - 1;
    return (gint64)MIN(ticks / (guint64)self->ticks, (guint64)G_MAXINT64 - 1) + 1;
}

gboolean
ct_pick_advance(gpointer state, CtAdvance *advance, G_GNUC_UNUSED GError **error)
{
    const Pick *self = state;
    CtArrival *input = &advance->inputs[0];
    CtDeparture *output = &advance->outputs[0];
    const CtBlock *block = &input->block;
    const gint64 early = samples_before(self, block, self->pick.begin);
    if (early > 0) {
        input->consumed = MIN(early, block->n_samples);
        return TRUE;
    }
    const gint64 left = samples_before(self, block, self->pick.end);
    const gint64 n = MIN(MIN(block->n_samples, output->room), left);
    input->consumed = input->used = output->produced = n;
    output->start = block->start;
    advance->ended = self->time >= 0 && n == left;
    if (!block->validity || n == 0)
        return TRUE;
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        const guint8 *from = block->validity + self->lane_of[lane] * block->validity_stride;
        memcpy(output->validity + lane * output->validity_stride, from, (gsize)n);
    }
    output->invalid = TRUE;
    return TRUE;
}

/* ---- boxes ---- */

void
ct_pick_box(const Pick *self, const CtWork *work, const guint *at, gint64 begin, gint64 end,
            CtBox *box)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    /* Most axes of a box are not used: they are not cleared. */
    memset(box->reserved, 0, sizeof box->reserved);
    box->n_axes = 0;
    box->in = in->data;
    box->out = out->data;
    box->table = box->marks = NULL;
    for (guint a = 0; a < self->out->layout.n_axes; a++) {
        const PickAxis *axis = &self->axes[a];
        PickPiece piece = axis->pieces[at[a]];
        if ((gint)a == self->time) {
            piece.first[0] = piece.out = begin;
            piece.length[1] = end - begin;
        }
        gint64 steps[2] = {0, 0};
        for (guint k = 0; k < axis->n_of; k++) {
            const gint64 stride = in->stride[axis->of[k]];
            box->in += piece.first[k] * stride;
            steps[0] += piece.step[0][k] * stride;
            steps[1] += piece.step[1][k] * stride;
        }
        box->out += piece.out * out->stride[a];
        if (piece.length[0] > 1)
            box->axes[box->n_axes++] = (CtBoxAxis){
                .length = piece.length[0], .in = steps[0], .out = piece.length[1] * out->stride[a]};
        box->axes[box->n_axes++] =
            (CtBoxAxis){.length = piece.length[1], .in = steps[1], .out = out->stride[a]};
    }
}

gboolean
ct_pick_next(const Pick *self, const gboolean *skip, guint *at)
{
    for (guint a = self->out->layout.n_axes; a-- > 0;) {
        if (skip && skip[a])
            continue;
        if (++at[a] < self->axes[a].n_pieces)
            return TRUE;
        at[a] = 0;
    }
    return FALSE;
}

/* Copies all boxes of samples `begin` … `end` − 1, or the share of the work's items of each. */
static void
copy_boxes(const Pick *self, const CtWork *work, gint64 begin, gint64 end, gboolean shared)
{
    const gsize bytes = ct_type_info(work->outputs[0].type)->bytes;
    guint at[CT_MAX_AXES] = {0};
    do {
        CtBox box;
        ct_pick_box(self, work, at, begin, end, &box);
        if (!shared || ct_box_share(&box, work->begin, work->end, self->n_items))
            ct_box_copy(&box, bytes);
    } while (ct_pick_next(self, NULL, at));
}

gboolean
ct_pick_work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Pick *self = state;
    const gint64 n = work->outputs[0].n_samples;
    if (!work->outputs[0].data || n == 0)
        return TRUE;
    if (self->n_boxes == 1 || self->time < 0) {
        copy_boxes(self, work, 0, n, TRUE);
        return TRUE;
    }
    const gint64 tile = MAX(1, TILE_BYTES / self->sample_bytes);
    const gint64 last = n * work->end / self->n_items;
    for (gint64 begin = n * work->begin / self->n_items; begin < last; begin += tile)
        copy_boxes(self, work, begin, MIN(begin + tile, last), FALSE);
    return TRUE;
}

gboolean
ct_pick_work_reference(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Pick *self = state;
    const CtBlock *in = &work->inputs[0];
    const gsize bytes = ct_type_info(work->outputs[0].type)->bytes;
    CtWalk walk;
    if (!work->outputs[0].data)
        return TRUE;
    ct_walk_init(&walk, &self->out->layout, &work->outputs[0]);
    while (ct_walk_next(&walk)) {
        const guint8 *from = in->data;
        for (guint a = 0; a < self->out->layout.n_axes; a++) {
            const PickAxis *axis = &self->axes[a];
            for (guint k = 0; k < axis->n_of; k++)
                from += in->stride[axis->of[k]] *
                        (axis->picked ? index_at(axis->picked, k, walk.index[a]) : walk.index[a]);
        }
        memcpy(walk.at[0], from, bytes);
    }
    return TRUE;
}
