/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that all variants of fold share: axes, counts of samples, and profiles from sums. */
#include "fold.h"

#include <string.h>

/* ---- prepare ---- */

static void
find_axes(Profile *self, const CtPrepare *prepare)
{
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    const CtBinding *counts = &prepare->outputs[1];
    const gboolean has_counts = counts->stream->type != CT_TYPE_NONE;
    self->in_time = ct_layout_axis(&in->layout, "time");
    self->out_time = ct_layout_axis(&out->layout, "time");
    self->out_bin = ct_layout_axis(&out->layout, "bin");
    self->counts_time = has_counts ? ct_layout_axis(&counts->layout, "time") : -1;
    self->counts_bin = has_counts ? ct_layout_axis(&counts->layout, "bin") : -1;
    self->n_elements = 1;
    for (guint a = 0; a < in->layout.n_axes; a++) {
        const char *name = in->layout.axes[a].name;
        if ((gint)a == self->in_time)
            continue;
        self->axes[self->n_axes] = (ProfileAxis){
            .length = ct_stream_length(in->stream, name),
            .in = (gint)a,
            .out = ct_layout_axis(&out->layout, name),
            .counts = has_counts ? ct_layout_axis(&counts->layout, name) : -1,
            .lane = ct_stream_lane_step(in->stream, name),
        };
        self->n_elements *= self->axes[self->n_axes++].length;
    }
}

gboolean
ct_profile_init(Profile *self, CtPrepare *prepare, GError **error)
{
    const CtNode *node = &prepare->nodes[0];
    if (!ct_turns_rule(&self->turns, node, error))
        return FALSE;
    self->hop = node->footprint.hop;
    self->n_bins = ct_params_int(node->params, "n_bins");
    self->averages = ct_params_bool(node->params, "average");
    self->n_lanes = ct_stream_n_lanes(prepare->inputs[0].stream);
    find_axes(self, prepare);
    /* Either port may have no reader. The unfinished profile has counts as well. */
    const gint64 n = MAX(prepare->outputs[0].max_samples, prepare->outputs[1].max_samples) + 2;
    self->bins = CT_TABLE(guint32, prepare->inputs[0].max_samples, "bins of samples", error);
    self->all = self->bins ? CT_TABLE(guint32, n * self->n_bins, "counts", error) : NULL;
    self->lost =
        self->all ? CT_TABLE(guint32, n * self->n_lanes * self->n_bins, "counts", error) : NULL;
    return self->lost != NULL;
}

gboolean
ct_profile_cut(Profile *self, CtPrepare *prepare, gint64 row, gint64 chunk, GError **error)
{
    self->row = row;
    self->chunk = chunk;
    self->n_chunks = (row + chunk - 1) / chunk;
    prepare->n_items = self->n_elements / row * self->n_chunks;
    prepare->scratch_bytes = sizeof(ProfileChunk);
    self->sums = CT_TABLE(gdouble, self->n_elements * self->n_bins, "unfinished sums", error);
    return self->sums != NULL;
}

void
ct_profile_finish(gpointer state)
{
    Profile *self = state;
    if (!self)
        return;
    g_free(self->bins);
    g_free(self->all);
    g_free(self->lost);
    g_free(self->sums);
    g_free(self);
}

/* ---- counts ---- */

/* Moves the counts of the unfinished profile to the first place. */
static void
begin_firing(Profile *self)
{
    const gsize n = (gsize)self->n_bins, n_lost = n * (gsize)self->n_lanes;
    if (self->making == 0)
        return;
    memcpy(self->all, self->all + (gsize)self->making * n, n * sizeof *self->all);
    memcpy(self->lost, self->lost + (gsize)self->making * n_lost, n_lost * sizeof *self->lost);
    self->making = 0;
}

static void
begin_profile(Profile *self)
{
    const gsize n = (gsize)self->n_bins, n_lost = n * (gsize)self->n_lanes;
    self->making++;
    memset(self->all + (gsize)self->making * n, 0, n * sizeof *self->all);
    memset(self->lost + (gsize)self->making * n_lost, 0, n_lost * sizeof *self->lost);
}

/* Counts m samples from `t` on, of the unfinished profile. */
static void
count(Profile *self, const CtBlock *block, gint64 t, gint64 m)
{
    guint32 *all = self->all + self->making * self->n_bins;
    guint32 *lost = self->lost + self->making * self->n_lanes * self->n_bins;
    for (gint64 i = t; i < t + m; i++)
        all[self->bins[i]]++;
    for (gint64 lane = 0; block->validity && lane < self->n_lanes; lane++, lost += self->n_bins) {
        const guint8 *valid = block->validity + lane * block->validity_stride;
        for (const guint8 *at = valid + t, *end = at + m;
             at < end && (at = memchr(at, 0, (gsize)(end - at))); at++)
            lost[self->bins[at - valid]]++;
    }
}

gboolean
ct_profile_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Profile *self = state;
    if (!ct_advance_default(advance, error))
        return FALSE;
    const CtArrival *in = &advance->inputs[0];
    gint64 position = in->block.index % self->hop;
    begin_firing(self);
    ct_turns_bins(&self->turns, in->block.start, in->consumed, self->n_bins, self->bins);
    for (gint64 t = 0, m; t < in->consumed; t += m) {
        m = MIN(self->hop - position, in->consumed - t);
        count(self, &in->block, t, m);
        position = (position + m) % self->hop;
        if (position == 0)
            begin_profile(self);
    }
    return TRUE;
}

static guint32
count_of(const Profile *self, gint64 o, gint64 lane, gint64 bin)
{
    return self->all[o * self->n_bins + bin] -
           self->lost[(o * self->n_lanes + lane) * self->n_bins + bin];
}

static void
write_counts(const Profile *self, const CtWork *work)
{
    const CtBlock *out = &work->outputs[1];
    for (gint64 lane = 0; lane < self->n_lanes; lane++) {
        guint8 *to = out->data;
        for (guint a = 0; a < self->n_axes; a++)
            if (self->axes[a].counts >= 0)
                to += lane / self->axes[a].lane % self->axes[a].length *
                      out->stride[self->axes[a].counts];
        for (gint64 o = 0; o < out->n_samples; o++)
            for (gint64 b = 0; b < self->n_bins; b++)
                *(guint32 *)(to + o * out->stride[self->counts_time] +
                             b * out->stride[self->counts_bin]) = count_of(self, o, lane, b);
    }
}

/* ---- chunks ---- */

static void
find_elements(ProfileChunk *chunk, gint64 first)
{
    const Profile *self = chunk->profile;
    const CtBlock *in = &chunk->work->inputs[0], *out = &chunk->work->outputs[0];
    for (gint64 e = 0; e < chunk->n; e++) {
        gint64 rest = first + e;
        chunk->in[e] = chunk->out[e] = chunk->lanes[e] = 0;
        for (guint a = self->n_axes; a-- > 0; rest /= self->axes[a].length) {
            const gint64 i = rest % self->axes[a].length;
            chunk->in[e] += i * in->stride[self->axes[a].in];
            chunk->out[e] += i * out->stride[self->axes[a].out];
            chunk->lanes[e] += i * self->axes[a].lane;
        }
    }
}

/* Writes profile `o` of the firing, and clears its sums. */
static void
give(const ProfileChunk *chunk, gint64 o)
{
    const Profile *self = chunk->profile;
    const CtBlock *out = &chunk->work->outputs[0];
    for (gint64 b = 0; b < self->n_bins; b++) {
        guint8 *to = out->data + o * out->stride[self->out_time] + b * out->stride[self->out_bin];
        gdouble *sums = chunk->sums + b * chunk->n;
        for (gint64 e = 0; e < chunk->n; e++) {
            const guint32 n = self->averages ? count_of(self, o, chunk->lanes[e], b) : 1;
            const gdouble y = sums[e] / MAX(n, 1); /* the sum of no samples is 0 */
            if (out->type == CT_F64)
                *(gdouble *)(to + chunk->out[e]) = y;
            else
                *(gfloat *)(to + chunk->out[e]) = (gfloat)y;
        }
        memset(sums, 0, (gsize)chunk->n * sizeof *sums);
    }
}

static void
fold_chunk(ProfileChunk *chunk, gint64 item, ProfileAdd add)
{
    const Profile *self = chunk->profile;
    const CtBlock *in = &chunk->work->inputs[0];
    const gint64 in_row = item % self->n_chunks * self->chunk;
    const gint64 first = item / self->n_chunks * self->row + in_row;
    gint64 position = in->index % self->hop, o = 0;
    chunk->sums = self->sums + first * self->n_bins;
    chunk->n = MIN(self->chunk, self->row - in_row);
    chunk->in_time = in->stride[self->in_time];
    find_elements(chunk, first);
    for (gint64 t = 0, m; t < in->n_samples; t += m) {
        m = MIN(self->hop - position, in->n_samples - t);
        add(chunk, t, m);
        position = (position + m) % self->hop;
        if (position == 0)
            give(chunk, o++);
    }
    if (chunk->work->ended && position > 0)
        give(chunk, o);
}

void
ct_profile_work(const Profile *self, const CtWork *work, ProfileAdd add)
{
    ProfileChunk *chunk = work->scratch;
    if (work->begin == 0 && self->counts_time >= 0 && work->outputs[1].data)
        write_counts(self, work);
    if (!work->outputs[0].data)
        return;
    chunk->profile = self;
    chunk->work = work;
    for (gint64 item = work->begin; item < work->end; item++)
        fold_chunk(chunk, item, add);
}
