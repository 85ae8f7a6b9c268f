/* SPDX-License-Identifier: BSD-3-Clause */
/* The transpose on the processor. */
#include "transpose-work.h"
#include "transpose.h"

const CtVariant CT_ISA(ct_transpose_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"transpose", NULL},
    .rows =
        (const CtRow[]){
            {"any: [...] -> [...]", 0.55},
            {NULL},
        },
    .tunables = (const CtTunable[])TRANSPOSE_TUNABLES,
    .split = "*",
    .prepare = CT_ISA(transpose_prepare),
    .work = CT_ISA(transpose_work),
    .finish = g_free,
};
