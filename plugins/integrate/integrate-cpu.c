/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums on the processor. */
#include "integrate-kernels.h"
#include "integrate.h"

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    static const IntegrateMethod of_floats = {CT_ISA(integrate_rows_float),
                                              CT_ISA(integrate_partials_float)};
    static const IntegrateMethod of_doubles = {CT_ISA(integrate_rows_double),
                                               CT_ISA(integrate_partials_double)};
    const CtType part = ct_type_info(ct_layout_type(&prepare->inputs[0].layout))->part;
    *state = ct_integrate_new(prepare, part == CT_F32 ? &of_floats : &of_doubles, error);
    return *state != NULL;
}

const CtVariant CT_ISA(ct_integrate_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"integrate", NULL},
    .rows =
        (const CtRow[]){
            {"f32|f64|cf32|cf64{time ...} -> f32|f64|cf32|cf64{time ...}, u32{time ...}", 1},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .advance = ct_integrate_advance,
    .work = ct_integrate_work,
    .finish = ct_integrate_finish,
};
