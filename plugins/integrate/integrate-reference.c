/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums one number after the other, in any layout. */
#include "integrate.h"

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    static const IntegrateMethod one_by_one = {NULL, NULL};
    *state = ct_integrate_new(prepare, &one_by_one, error);
    return *state != NULL;
}

const CtVariant ct_integrate_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"integrate", NULL},
    .rows =
        (const CtRow[]){
            {"any: f32|f64|cf32|cf64{time ...} -> f32|f64|cf32|cf64{time ...}, u32{time ...}",
             0.01},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .advance = ct_integrate_advance,
    .work = ct_integrate_work,
    .finish = ct_integrate_finish,
};
