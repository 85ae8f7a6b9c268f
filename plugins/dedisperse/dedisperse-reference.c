/* SPDX-License-Identifier: BSD-3-Clause */
/* Dedispersion in double precision, sum by sum. */
#include "../parts.h"
#include "../places.h"
#include "dedisperse.h"

typedef struct {
    CtWindowTaps *taps;
    gint64 *shifts; /* [dm][subband][channel], from the window's first sample */
    gint64 n_subbands, n_channels;
    gint time, dm;             /* axes of the output's layout */
    gint in_axes[CT_MAX_AXES]; /* of the axes of the output's layout in the input's; −1: none */
    gint subband, channel;     /* axes of the input's layout; −1: none */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *in = &prepare->inputs[0], *out = &prepare->outputs[0];
    const CtNode *node = &prepare->nodes[0];
    Reference *self = *state = g_new0(Reference, 1);
    self->n_subbands = ct_stream_length(in->stream, "subband");
    self->n_channels = ct_stream_length(in->stream, "channel");
    self->time = ct_layout_axis(&out->layout, "time");
    self->dm = ct_layout_axis(&out->layout, "dm");
    self->subband = ct_layout_axis(&in->layout, "subband");
    self->channel = ct_layout_axis(&in->layout, "channel");
    for (guint a = 0; a < out->layout.n_axes; a++)
        self->in_axes[a] = ct_layout_axis(&in->layout, out->layout.axes[a].name);
    self->taps = ct_window_taps_new(&ct_dedisperse_window, prepare, error);
    self->shifts = self->taps ? ct_dedisperse_shifts(node, error) : NULL;
    const gint64 n = ct_stream_length(out->stream, "dm") * self->n_subbands * self->n_channels;
    for (gint64 i = 0; self->shifts && i < n; i++)
        self->shifts[i] += node->footprint.offset;
    return self->shifts != NULL;
}

static gint64
stride_of(const CtBlock *block, gint axis)
{
    return axis < 0 ? 0 : block->stride[axis];
}

/* The sum over subbands and channels; `x` is the window's first sample of the first channel. */
static gdouble
sum_of(const Reference *self, const CtBlock *in, const guint8 *x, const gint64 *shift)
{
    gdouble sum = 0;
    for (gint64 b = 0; b < self->n_subbands; b++)
        for (gint64 c = 0; c < self->n_channels; c++)
            sum +=
                part_read(x + *shift++ * stride_of(in, self->in_axes[self->time]) +
                              b * stride_of(in, self->subband) + c * stride_of(in, self->channel),
                          in->type, 0);
    return sum;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gint64 index[CT_MAX_AXES] = {0};
    if (!out->data || work->begin >= work->end)
        return TRUE;
    index[self->time] = work->begin;
    do {
        const guint8 *x = in->data;
        guint8 *y = out->data;
        for (guint a = 0; a < out->n_axes; a++) {
            x += index[a] * stride_of(in, self->in_axes[a]);
            y += index[a] * out->stride[a];
        }
        const gdouble sum = sum_of(
            self, in, x, self->shifts + index[self->dm] * self->n_subbands * self->n_channels);
        if (out->type == CT_F64)
            *(gdouble *)y = sum;
        else
            *(gfloat *)y = (gfloat)sum;
    } while (places_next(out, self->time, work->begin, work->end, index));
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (!self)
        return;
    ct_window_taps_free(self->taps);
    g_free(self->shifts);
    g_free(self);
}

const CtVariant ct_dedisperse_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"dedisperse", NULL},
    .rows = (const CtRow[]){{"any: i8|u8|i16|f16|f32|f64{...} -> f32|f64{...}", 0.01}, {NULL}},
    .split = "time",
    .prepare = prepare,
    .advance = ct_window_advance,
    .work = work,
    .finish = finish,
};
