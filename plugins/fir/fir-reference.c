/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter as its equation says, in double precision, for any order of axes and every type. */
#include "../parts.h"
#include "fir.h"

typedef struct {
    FirDesign design;
    const CtStream *in;
    CtType type;
    guint n_axes;                 /* of the output, phase among them */
    gint input_axis[CT_MAX_AXES]; /* where each stands in the input, −1 for phase */
    guint time, phase;            /* where they stand in the output */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtBinding *input = &prepare->inputs[0], *output = &prepare->outputs[0];
    Reference *self = *state = g_new0(Reference, 1);

    if (!ct_fir_design_init(&self->design, &prepare->nodes[0], error))
        return FALSE;
    self->in = input->stream;
    self->type = input->stream->type;
    self->n_axes = output->layout.n_axes;
    self->time = (guint)ct_layout_axis(&output->layout, "time");
    self->phase = (guint)ct_layout_axis(&output->layout, "phase");
    for (guint i = 0; i < self->n_axes; i++)
        self->input_axis[i] = ct_layout_axis(&input->layout, output->layout.axes[i].name);
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
    gint64 time_in = in->stride[self->input_axis[self->time]];
    gint64 time_out = out->stride[self->time];
    gint64 width = 1, n_channels = self->design.n_channels, hop = self->design.hop;
    FirRotation rotation = ct_fir_rotation(n_channels, hop, self->in, in->start);

    for (guint axis = 0; axis < self->n_axes; axis++)
        width *= axis == self->time ? 1 : out->length[axis];

    for (gint64 element = 0; element < width; element++) {
        /* The index of the element on each axis but time; the last axis is the fastest. */
        const guint8 *x = in->data;
        guint8 *y = out->data;
        gint64 left = element, phase = 0;
        for (guint axis = self->n_axes; axis-- > 0;) {
            if (axis == self->time)
                continue;
            gint64 index = left % out->length[axis];
            left /= out->length[axis];
            y += index * out->stride[axis];
            if (axis == self->phase)
                phase = index;
            else
                x += index * in->stride[self->input_axis[axis]];
        }
        for (gint64 t = work->begin; t < work->end; t++) {
            gint64 p = (phase + n_channels - fir_rotation_at(&rotation, t)) % n_channels;
            for (guint part = 0; part < n_parts; part++)
                ((float *)(y + t * time_out))[part] =
                    (float)filter(self, x + t * hop * time_in, time_in, p, part);
        }
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
