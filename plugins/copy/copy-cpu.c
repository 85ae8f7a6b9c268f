/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy on the processor: the tiles of transpose, which are reduced to long runs. */
#include "../transpose/transpose-work.h"
#include "copy.h"

static const CtTunable of_transpose[] = TRANSPOSE_TUNABLES;
static const CtTunable tunables[] = {TRANSPOSE_STREAM_TUNABLE, {NULL}};

/* Long runs are not transposed; the only choice is whether to use streaming stores. */
static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const gint64 *own = prepare->tuning;
    gint64 tuning[G_N_ELEMENTS(of_transpose)];
    for (guint i = 0; i < G_N_ELEMENTS(of_transpose); i++)
        tuning[i] = of_transpose[i].fallback;
    tuning[TRANSPOSE_STREAM] = own[0];
    prepare->tuning = tuning;
    const gboolean fine = CT_ISA(transpose_prepare)(prepare, state, error);
    prepare->tuning = own;
    return fine;
}

const CtVariant CT_ISA(ct_copy_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"copy", NULL},
    .rows = CT_PORT_ROWS(1),
    .tunables = tunables,
    .split = "*",
    .prepare = prepare,
    .work = CT_ISA(transpose_work),
    .finish = g_free,
};
