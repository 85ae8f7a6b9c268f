/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains element by element in double precision. */
#include "gains.h"

#include <complex.h>
#include <string.h>

typedef struct {
    CtBoxes boxes;
    CtFormTable table;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    if (!ct_gains_table(&prepare->nodes[0], &self->table, error))
        return FALSE;
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->boxes.table = self->table.data;
    gint64 stride = gains_are_real(&prepare->nodes[0]) ? sizeof(double) : sizeof(double complex);
    for (guint a = self->table.n_axes; a-- > 0; stride *= self->table.lengths[a])
        for (guint b = 0; b < self->boxes.n_axes && self->table.lengths[a] > 1; b++)
            if (self->boxes.axes[b].name == self->table.axes[a])
                self->boxes.axes[b].table = stride;
    return TRUE;
}

static void
multiply(gpointer data, const guint8 *in, const guint8 *factor, guint8 *out, const CtBoxAxis *run)
{
    const Reference *self = data;
    for (gint64 i = 0; i < run->length; i++) {
        const double *g = (const double *)factor; /* a real number, or two parts */
        if (self->boxes.in_type == CT_F32)
            *(float *)out = (float)(*g * *(const float *)in);
        else if (self->boxes.in_type == CT_F64)
            *(double *)out = *g * *(const double *)in;
        else if (self->boxes.in_type == CT_CF32)
            *(float complex *)out =
                (float complex)(*(const double complex *)factor * *(const float complex *)in);
        else
            *(double complex *)out = *(const double complex *)factor * *(const double complex *)in;
        in += run->in;
        factor += run->table;
        out += run->out;
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    ct_boxes_each_run(&self->boxes, work, multiply, self);
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (self)
        g_free(self->table.data);
    g_free(self);
}

const CtVariant ct_gains_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"gains", NULL},
    .rows = CT_REFERENCE_ROWS,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
