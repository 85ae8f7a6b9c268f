/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy on the processor: the tiles of transpose, which come down to long runs. */
#include "../transpose/transpose-work.h"
#include "copy.h"

static const CtTunable tunables[] = TRANSPOSE_TUNABLES;

/* Long runs are not turned. */
static gboolean
differs(G_GNUC_UNUSED const CtNode *nodes, const gint64 *tuning)
{
    return tuning[TRANSPOSE_RUN_IN] == tunables[TRANSPOSE_RUN_IN].fallback &&
           tuning[TRANSPOSE_RUN_OUT] == tunables[TRANSPOSE_RUN_OUT].fallback &&
           tuning[TRANSPOSE_TILE] == tunables[TRANSPOSE_TILE].fallback;
}

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
    .tunables = tunables,
    .differs = differs,
    .split = "*",
    .prepare = CT_ISA(transpose_prepare),
    .work = CT_ISA(transpose_work),
    .finish = g_free,
};
