/* SPDX-License-Identifier: BSD-3-Clause */
/* The transpose element by element: for each element of the output, finds that of the input. */
#include "transpose.h"

#include <cornerturn/kit/walk.h>
#include <string.h>

typedef struct {
    CtLayout in, out;
    gint64 lengths[CT_MAX_AXES]; /* of the output's axes without blocks; −1: time */
    gsize bytes;                 /* of an element, or of a part if a layout names `complex` */
    gboolean in_parts, out_parts;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    self->in = prepare->inputs[0].layout;
    self->out = prepare->outputs[0].layout;
    self->in_parts = ct_layout_axis(&self->in, "complex") >= 0;
    self->out_parts = ct_layout_axis(&self->out, "complex") >= 0;
    const CtTypeInfo *type = ct_type_info(ct_layout_type(&self->in));
    if (self->in_parts != self->out_parts && !self->in_parts)
        type = ct_type_info(type->part);
    self->bytes = type->bytes;
    for (guint a = 0; a < self->out.n_axes; a++) {
        const char *name = self->out.axes[a].name;
        self->lengths[a] = strcmp(name, "time") == 0 ? -1
                           : strcmp(name, "complex") == 0
                               ? 2
                               : ct_stream_length(prepare->inputs[0].stream, name);
    }
    return TRUE;
}

/* The index along `name` of element `at` (an index of every axis of the layout). */
static gint64
find_index(const CtLayout *layout, const gint64 *at, const char *name)
{
    const gint whole = ct_layout_axis(layout, name), block = ct_layout_block_axis(layout, name);
    return block < 0 ? at[whole] : at[whole] * layout->axes[block].count + at[block];
}

/* The input's element for the output's element `at`; NULL in the rest of a last block. */
static const guint8 *
find_element(const Reference *self, const CtBlock *in, const CtBlock *out, const gint64 *at,
             guint part)
{
    const guint8 *element = in->data;
    for (guint a = 0; a < self->out.n_axes; a++) {
        const char *name = self->out.axes[a].name;
        if (self->out.axes[a].count)
            continue;
        const gint64 i = find_index(&self->out, at, name);
        if (i >= (self->lengths[a] < 0 ? out->n_samples : self->lengths[a]))
            return NULL;
        const gint whole = ct_layout_axis(&self->in, name);
        const gint block = ct_layout_block_axis(&self->in, name);
        if (whole < 0)
            element += (gsize)i * self->bytes;
        else if (block < 0)
            element += i * in->stride[whole];
        else
            element += i / self->in.axes[block].count * in->stride[whole] +
                       i % self->in.axes[block].count * in->stride[block];
    }
    return self->in_parts && !self->out_parts
               ? element + part * in->stride[ct_layout_axis(&self->in, "complex")]
               : element;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const guint n_parts = self->in_parts && !self->out_parts ? 2 : 1;
    CtWalk walk;
    ct_walk_init(&walk, &self->out, out);
    while (ct_walk_next(&walk))
        for (guint part = 0; part < n_parts; part++) {
            const guint8 *from = find_element(self, in, out, walk.index, part);
            guint8 *to = walk.at[0] + part * self->bytes;
            if (from)
                memcpy(to, from, self->bytes);
            else
                memset(to, 0, self->bytes);
        }
    return TRUE;
}

const CtVariant ct_transpose_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"transpose", NULL},
    .rows =
        (const CtRow[]){
            {"any: [...] -> [...]", 0.01},
            {NULL},
        },
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
