/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains on the processor. */
#include "gains-kernels.h"
#include "gains.h"

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const gboolean is_double = ct_layout_type(&prepare->inputs[0].layout) == CT_CF64;
    Gains *self = *state = ct_gains_new(prepare, prepare->n_workers, is_double, error);
    if (!self)
        return FALSE;
    prepare->n_items = self->boxes.n_items;
    return TRUE;
}

static void
multiply(gpointer data, const guint8 *in, const guint8 *factors, guint8 *out, const CtBoxAxis *run)
{
    const Gains *self = data;
    (self->boxes.in_type == CT_CF64 ? CT_ISA(gains_multiply_double) : CT_ISA(gains_multiply_float))(
        in, run->in, factors, run->table, out, run->out, (gsize)run->length);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_gains_each_run(state, work, multiply, state);
    return TRUE;
}

const CtVariant CT_ISA(ct_gains_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"gains", NULL},
    .rows =
        (const CtRow[]){
            {"cf32|cf64{...} -> cf32|cf64{...}", 0.72},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = ct_gains_finish,
};
