/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation number by number in double precision, which holds the product of sample and scale
 * exactly. */
#include "quantise.h"

#include <cornerturn/kit/boxes.h>
#include <math.h>

typedef struct {
    CtBoxes boxes;
    gdouble scale, most;
    guint64 *counters;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->scale = (gfloat)ct_params_real(prepare->nodes[0].params, "scale");
    self->most = (1 << (ct_type_info(self->boxes.out_type)->part_bits - 1)) - 1;
    prepare->scratch_bytes = CT_BOXES_SCRATCH_BYTES;
    return TRUE;
}

static gint
round_number(const Reference *self, gfloat number, gboolean *clipped)
{
    const gdouble rounded = nearbyint(number * self->scale);
    if (fabs(rounded) <= self->most)
        return (gint)rounded;
    *clipped = TRUE;
    return isnan(rounded) ? 0 : rounded < 0 ? (gint)-self->most : (gint)self->most;
}

static void
quantise(gpointer data, const guint8 *in, guint8 *out, gsize n, G_GNUC_UNUSED guint8 *scratch)
{
    const Reference *self = data;
    const gfloat *x = (const gfloat *)in;
    const guint n_parts = ct_type_info(self->boxes.in_type)->is_complex ? 2 : 1;
    for (gsize i = 0; i < n; i++) {
        gboolean clipped = FALSE;
        gint parts[2] = {0};
        for (guint k = 0; k < n_parts; k++)
            parts[k] = round_number(self, x[i * n_parts + k], &clipped);
        self->counters[QUANTISE_CLIPPED] += clipped;
        if (self->boxes.out_type == CT_CI4)
            out[i] = (guint8)((guint)parts[0] << 4 | ((guint)parts[1] & 15));
        for (guint k = 0; k < n_parts; k++) {
            if (ct_type_info(self->boxes.out_type)->part_bits == 8)
                ((gint8 *)out)[i * n_parts + k] = (gint8)parts[k];
            else if (ct_type_info(self->boxes.out_type)->part_bits == 16)
                ((gint16 *)out)[i * n_parts + k] = (gint16)parts[k];
        }
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    self->counters = work->counters;
    ct_boxes_map(&self->boxes, work, quantise, self);
    return TRUE;
}

const CtVariant ct_quantise_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"quantise", NULL},
    .rows = CT_REFERENCE_ROWS,
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
