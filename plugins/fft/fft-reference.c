/* SPDX-License-Identifier: BSD-3-Clause */
/* The transform as its equation says, in double precision, for any order of axes:
 * X[c] = Σ_p x[p] exp(−2πi c p / n). */
#include "fft.h"

#include <math.h>

typedef struct {
    FftDesign design;
    FftAxes axes;
    gdouble *turns; /* [length][2] exp(±2πi j / n), also divided by n for the inverse */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    Reference *self = *state = g_new0(Reference, 1);
    FftDesign *design = &self->design;

    if (!ct_fft_design_init(design, prepare->nodes[0].params, input->stream, error))
        return FALSE;
    ct_fft_axes_init(&self->axes, design, &input->layout, &output->layout);
    self->turns = CT_TABLE(gdouble, 2 * design->length, "a transform's factors", error);
    if (self->turns == NULL)
        return FALSE;
    for (gint64 j = 0; j < design->length; j++) {
        gdouble angle = 2 * G_PI * (gdouble)j / (gdouble)design->length;
        gdouble scale = design->inverse ? 1 / (gdouble)design->length : 1;
        self->turns[2 * j] = cos(angle) * scale;
        self->turns[2 * j + 1] = design->inverse ? sin(angle) * scale : -sin(angle);
    }
    return TRUE;
}

static void
read_sample(const FftDesign *design, const guint8 *x, gdouble sample[2])
{
    sample[0] = design->wide ? *(const gdouble *)x : *(const float *)x;
    sample[1] = 0;
    if (!design->real)
        sample[1] = design->wide ? ((const gdouble *)x)[1] : ((const float *)x)[1];
}

/* One transform. */
static void
transform(const Reference *self, const guint8 *x, gint64 step_in, guint8 *y, gint64 step_out)
{
    const FftDesign *design = &self->design;
    gint64 n = design->length;

    for (gint64 i = 0; i < design->out_length; i++, y += step_out) {
        gint64 c = design->inverse ? i : ct_fft_design_unshift(design, i);
        gdouble sum[2] = {0, 0}, sample[2];
        for (gint64 j = 0; j < n; j++) {
            gint64 p = design->inverse ? ct_fft_design_unshift(design, j) : j;
            const gdouble *turn = &self->turns[2 * (c * p % n)];
            read_sample(design, x + j * step_in, sample);
            sum[0] += sample[0] * turn[0] - sample[1] * turn[1];
            sum[1] += sample[0] * turn[1] + sample[1] * turn[0];
        }
        for (guint part = 0; part < 2; part++)
            if (design->wide)
                ((gdouble *)y)[part] = sum[part];
            else
                ((float *)y)[part] = (float)sum[part];
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    FftBatch batch;

    ct_fft_axes_apply(&self->axes, in, out, &batch);
    for (gint64 i = 0; i < batch.n_transforms; i++) {
        gint64 x, y;
        ct_fft_batch_offset(&batch, i, &x, &y);
        transform(self, in->data + x, batch.step_in, out->data + y, batch.step_out);
    }
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;

    if (self == NULL)
        return;
    g_free(self->turns);
    g_free(self);
}

const CtVariant ct_fft_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"fft", NULL},
    .rows =
        (const CtRow[]){
            {"any: cf32|f32{...} -> cf32{...}", 0.001},
            {"any: cf64|f64{...} -> cf64{...}", 0.001},
            {NULL, 0},
        },
    .split = NULL,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
