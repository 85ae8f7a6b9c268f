/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter as its equation says, in double precision, for any order of axes and every type. */
#include "../parts.h"
#include "fir.h"

#include <cornerturn/kit/walk.h>

typedef struct {
    FirDesign design;
    const CtBinding *in, *out;
    CtType type;
    guint time, phase; /* where they stand in the output */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    Reference *self = *state = g_new0(Reference, 1);

    if (!ct_fir_design_init(&self->design, &prepare->nodes[0], error))
        return FALSE;
    self->in = input;
    self->out = output;
    self->type = input->stream->type;
    self->time = (guint)ct_layout_axis(&output->layout, "time");
    self->phase = (guint)ct_layout_axis(&output->layout, "phase");
    return TRUE;
}

/* Σ_k h[k][p] · x[k·P + p] for a part of the samples of a window at x, `stride` bytes apart. */
static gdouble
filter(const Reference *self, const guint8 *x, gint64 stride, gint64 p, guint part)
{
    const FirDesign *design = &self->design;
    gdouble sum = 0;

    for (gint64 i = p; i < design->n_taps * design->n_channels; i += design->n_channels)
        sum += (gdouble)design->taps[i] * part_read(x + i * stride, self->type, part);
    return sum;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    guint n_parts = ct_type_info(self->type)->is_complex ? 2 : 1;
    gint64 n_channels = self->design.n_channels, hop = self->design.hop;
    FirRotation rotation = ct_fir_rotation(n_channels, hop, self->in->stream, in->start);
    CtWalk walk;

    ct_walk_init(&walk, &self->out->layout, out);
    ct_walk_add(&walk, &self->in->layout, in);
    ct_walk_leave(&walk, self->time);
    gint64 time_out = walk.stride[0][self->time], time_in = walk.stride[1][self->time];
    while (ct_walk_next(&walk))
        for (gint64 t = work->begin; t < work->end; t++) {
            gint64 phase = walk.index[self->phase];
            gint64 p = (phase + n_channels - fir_rotation_at(&rotation, t)) % n_channels;
            const guint8 *x = walk.at[1] + t * hop * time_in;
            for (guint part = 0; part < n_parts; part++)
                ((float *)(walk.at[0] + t * time_out))[part] =
                    (float)filter(self, x, time_in, p, part);
        }
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;

    if (self == NULL)
        return;
    ct_fir_design_clear(&self->design);
    g_free(self);
}

#define COMPLEX "ci4|ci8|ci16|ci32|ci64|cf16|cf32|cf64"
#define REAL    "i8|i16|i32|i64|u8|u32|f16|f32|f64"

const CtVariant ct_fir_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"fir", NULL},
    .rows =
        (const CtRow[]){
            {"any: " COMPLEX "{time ...} -> cf32{time phase ...}", 0.001},
            {"any: " REAL "{time ...} -> f32{time phase ...}", 0.001},
            {NULL, 0},
        },
    .split = "time",
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
