/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy element by element, between blocks of any strides in one order. */
#include "copy.h"

#include <string.h>

static gboolean
prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
        G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
work(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gsize bytes = ct_type_info(out->type)->bytes;
    gint64 at[CT_MAX_AXES] = {0};
    for (guint a = 0; a < out->n_axes; a++)
        if (out->length[a] == 0)
            return TRUE;
    guint a;
    do {
        const guint8 *from = in->data;
        guint8 *to = out->data;
        for (a = 0; a < out->n_axes; a++) {
            from += at[a] * in->stride[a];
            to += at[a] * out->stride[a];
        }
        memcpy(to, from, bytes);
        for (a = 0; a < out->n_axes && ++at[a] == out->length[a]; a++)
            at[a] = 0;
    } while (a < out->n_axes);
    return TRUE;
}

const CtVariant ct_copy_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"copy", NULL},
    .rows =
        (const CtRow[]){
            {"{...} -> {...}", 0.01},
            {NULL},
        },
    .prepare = prepare,
    .work = work,
};
