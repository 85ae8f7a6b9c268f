/* SPDX-License-Identifier: BSD-3-Clause */
/* delay in double precision, sample by sample. */
#include "../places.h"
#include "delay.h"

#include <complex.h>
#include <string.h>

static gboolean
reference_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    *state = g_new0(DelayState, 1);
    return delay_state_init(*state, prepare, error);
}

/* y[t] = x[t − D] exp(−2πi f τ(t)), with D = round(τ · rate) before a filter and 0 in spectra. */
static void
delay_element(const DelayState *state, const CtBlock *in, const CtBlock *out, const gint64 *index)
{
    gint64 at[DELAY_N_AXES] = {0};
    const guint8 *x = in->data;
    guint8 *y = out->data;
    for (guint k = 0; k < out->n_axes; k++) {
        x += index[k] * in->stride[k];
        y += index[k] * out->stride[k];
    }
    for (guint k = 0; k < DELAY_N_AXES; k++)
        at[k] = state->place[k] < 0 ? 0 : index[state->place[k]];
    gint64 tick = out->start + at[DELAY_TIME] * state->ticks_per_sample;
    gint64 series = delay_table_series(state->table, at[DELAY_STATION], at[DELAY_POL]);
    if (state->shifts)
        x +=
            (state->most - delay_whole(state, series, tick)) * in->stride[state->place[DELAY_TIME]];
    if (!state->is_complex) {
        memcpy(y, x, sizeof(gfloat));
        return;
    }
    gdouble turns = delay_frequency(state, at) * delay_table_at(state->table, series, tick, NULL);
    gdouble angle = -2 * G_PI * (turns - rint(turns));
    float complex value;
    memcpy(&value, x, sizeof value);
    value = (float complex)(value * (cos(angle) + I * sin(angle)));
    memcpy(y, &value, sizeof value);
}

static gboolean
reference_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const DelayState *state = user_data;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint time = state->place[DELAY_TIME];
    gint64 index[CT_MAX_AXES] = {0};
    if (!out->data || work->begin >= work->end)
        return TRUE;
    index[time] = work->begin;
    do
        delay_element(state, in, out, index);
    while (places_next(out, time, work->begin, work->end, index));
    return TRUE;
}

static void
reference_finish(gpointer state)
{
    if (state)
        delay_state_clear(state);
    g_free(state);
}

const CtVariant delay_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"delay", NULL},
    .rows =
        (const CtRow[]){{"cf32[...] -> cf32[...]", 0.02}, {"f32[...] -> f32[...]", 0.02}, {NULL}},
    .split = "time",
    .prepare = reference_prepare,
    .advance = delay_advance,
    .work = reference_work,
    .finish = reference_finish,
};
