/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy on the processor: the tiles of transpose, which come down to long runs. */
#include "../transpose/transpose-work.h"
#include "copy.h"

const CtVariant CT_ISA(ct_copy_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"copy", NULL},
    .rows =
        (const CtRow[]){
            {"{...} -> {...}", 1},
            {NULL},
        },
    .split = "*",
    .prepare = CT_ISA(transpose_prepare),
    .work = CT_ISA(transpose_work),
    .finish = g_free,
};
