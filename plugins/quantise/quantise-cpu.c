/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation on the processor. */
#include <cornerturn/kit/boxes.h>
#include "quantise-kernels.h"
#include "quantise.h"

typedef struct {
    CtBoxes boxes;
    QuantiseRun run;
    float scale;
} Quantise;

typedef struct {
    const Quantise *self;
    guint64 *counters;
} Job;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Quantise *self = *state = g_new0(Quantise, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], prepare->n_workers);
    self->run = CT_ISA(quantise_run)(self->boxes.out_type);
    self->scale = (float)ct_params_real(prepare->nodes[0].params, "scale");
    prepare->n_items = self->boxes.n_items;
    prepare->scratch_bytes = CT_BOXES_SCRATCH_BYTES;
    return TRUE;
}

static void
quantise(gpointer data, const guint8 *in, guint8 *out, gsize n, G_GNUC_UNUSED guint8 *scratch)
{
    const Job *job = data;
    job->counters[QUANTISE_CLIPPED] += job->self->run((const float *)in, job->self->scale, out, n);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Quantise *self = state;
    Job job = {self, work->counters};
    ct_boxes_map(&self->boxes, work, quantise, &job);
    return TRUE;
}

const CtVariant CT_ISA(ct_quantise_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"quantise", NULL},
    .rows =
        (const CtRow[]){
            {"f32|cf32{...} -> ci4|ci8|ci16|i8|i16{...}", 0.55},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
