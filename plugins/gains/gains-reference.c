/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains element by element in double precision. */
#include "gains.h"

#include <complex.h>

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    *state = ct_gains_new(prepare, 1, TRUE, error);
    return *state != NULL;
}

static void
multiply(gpointer data, const guint8 *in, const guint8 *factor, guint8 *out, const CtBoxAxis *run)
{
    const Gains *self = data;
    for (gint64 i = 0; i < run->length; i++) {
        const double complex g = *(const double complex *)factor;
        if (self->boxes.in_type == CT_CF32)
            *(float complex *)out = (float complex)(g * *(const float complex *)in);
        else
            *(double complex *)out = g * *(const double complex *)in;
        in += run->in;
        factor += run->table;
        out += run->out;
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_gains_each_run(state, work, multiply, state);
    return TRUE;
}

const CtVariant ct_gains_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"gains", NULL},
    .rows =
        (const CtRow[]){
            {"any: cf32|cf64{...} -> cf32|cf64{...}", 0.01},
            {NULL},
        },
    .prepare = prepare,
    .work = work,
    .finish = ct_gains_finish,
};
