/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy element by element, between blocks of any strides in one order. */
#include "copy.h"

#include <cornerturn/kit/walk.h>
#include <string.h>

/* The state is the layout, which is the core's. */
static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    *state = (gpointer)&prepare->outputs[0].layout;
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const gsize bytes = ct_type_info(work->outputs[0].type)->bytes;
    CtWalk walk;
    ct_walk_init(&walk, state, &work->outputs[0]);
    ct_walk_add(&walk, state, &work->inputs[0]);
    while (ct_walk_next(&walk))
        memcpy(walk.at[0], walk.at[1], bytes);
    return TRUE;
}

const CtVariant ct_copy_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"copy", NULL},
    .rows = CT_PORT_ROWS(0.01),
    .prepare = prepare,
    .work = work,
};
