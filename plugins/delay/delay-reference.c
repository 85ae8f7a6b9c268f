/* SPDX-License-Identifier: BSD-3-Clause */
/* delay in double precision, sample by sample. */
#include "../places.h"
#include "delay.h"

#include <complex.h>
#include <string.h>

typedef struct {
    CtWindowTaps *taps;
    DelayTable *table;
    gdouble *frequencies; /* [subband][channel] hertz */
    gboolean is_complex;
    gint64 most;       /* samples of a window after that of the output's tick */
    gint64 n_channels; /* of a subband */
    gint time, subband, channel, station, pol; /* axes of the layouts; −1: none */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    const CtStream *stream = prepare->inputs[0].stream;
    const CtLayout *layout = &prepare->inputs[0].layout;
    self->is_complex = ct_type_info(stream->type)->is_complex;
    self->most = prepare->nodes[0].footprint.offset;
    self->n_channels = ct_stream_length(stream, "channel");
    self->time = ct_layout_axis(layout, "time");
    self->subband = ct_layout_axis(layout, "subband");
    self->channel = ct_layout_axis(layout, "channel");
    self->station = ct_layout_axis(layout, "station");
    self->pol = ct_layout_axis(layout, "pol");
    return (self->taps = ct_window_taps_new(&delay_window, prepare, error)) &&
           (self->table = delay_table_new(&prepare->nodes[0], error)) &&
           (self->frequencies = delay_frequencies(stream, error));
}

static gint64
at(const gint64 *index, gint axis)
{
    return axis < 0 ? 0 : index[axis];
}

/* y[t] = x[t − D] exp(−2πi f τ(t)), with D = round(τ · rate) before a filter and 0 in spectra. */
static void
delay_element(const Reference *self, const CtBlock *in, const CtBlock *out, const gint64 *index)
{
    const DelayTable *table = self->table;
    const guint8 *x = in->data;
    guint8 *y = out->data;
    for (guint k = 0; k < out->n_axes; k++) {
        x += index[k] * in->stride[k];
        y += index[k] * out->stride[k];
    }
    const gint64 tick = out->start + index[self->time] * table->ticks_per_sample;
    const gint64 series = (table->n_stations > 1 ? at(index, self->station) * table->n_pols : 0) +
                          (table->n_pols > 1 ? at(index, self->pol) : 0);
    x += (self->most - delay_table_whole(table, series, tick)) * in->stride[self->time];
    if (!self->is_complex) {
        memcpy(y, x, sizeof(gfloat));
        return;
    }
    const gdouble frequency =
        self->frequencies[at(index, self->subband) * self->n_channels + at(index, self->channel)];
    gdouble turns = frequency * delay_table_at(table, series, tick, NULL);
    gdouble angle = -2 * G_PI * (turns - rint(turns));
    float complex value;
    memcpy(&value, x, sizeof value);
    value = (float complex)(value * (cos(angle) + I * sin(angle)));
    memcpy(y, &value, sizeof value);
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
    do
        delay_element(self, in, out, index);
    while (places_next(out, self->time, work->begin, work->end, index));
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (!self)
        return;
    ct_window_taps_free(self->taps);
    delay_table_free(self->table);
    g_free(self->frequencies);
    g_free(self);
}

const CtVariant delay_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"delay", NULL},
    .rows =
        (const CtRow[]){{"cf32[...] -> cf32[...]", 0.02}, {"f32[...] -> f32[...]", 0.02}, {NULL}},
    .split = "time",
    .prepare = prepare,
    .advance = ct_window_advance,
    .work = work,
    .finish = finish,
};
