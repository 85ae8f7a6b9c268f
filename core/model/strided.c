/* SPDX-License-Identifier: BSD-3-Clause */
/* Simple loops over strided blocks. */
#include "strided.h"

#include <string.h>

typedef struct {
    guint8 byte; /* to fill with */
    guint n_axes;
    const gint64 *length;
    const gint64 *to_stride;
    const gint64 *from_stride; /* NULL: fill */
    guint run_axes;            /* the number of innermost axes that are contiguous on both sides */
    gsize run;
} Walk;

/* Joins the innermost axes as long as both sides are contiguous there. */
static void
find_run(Walk *walk, gsize element)
{
    walk->run = element;
    walk->run_axes = 0;
    for (guint a = walk->n_axes; a > 0; a--) {
        const gint64 packed = (gint64)walk->run;
        if (walk->to_stride[a - 1] != packed ||
            (walk->from_stride && walk->from_stride[a - 1] != packed))
            break;
        walk->run *= (gsize)walk->length[a - 1];
        walk->run_axes++;
    }
}

static void
visit(const Walk *walk, guint axis, guint8 *to, const guint8 *from)
{
    if (axis == walk->n_axes - walk->run_axes) {
        if (from)
            memcpy(to, from, walk->run);
        else
            memset(to, walk->byte, walk->run);
        return;
    }
    for (gint64 i = 0; i < walk->length[axis]; i++)
        visit(walk, axis + 1, to + i * walk->to_stride[axis],
              from ? from + i * walk->from_stride[axis] : NULL);
}

void
ct_strided_copy(const CtBlock *to, const CtBlock *from)
{
    Walk walk = {
        .n_axes = from->n_axes,
        .length = from->length,
        .to_stride = to->stride,
        .from_stride = from->stride,
    };
    find_run(&walk, ct_type_info(from->type)->bytes);
    visit(&walk, 0, to->data, from->data);
}

void
ct_strided_fill(const CtBlock *block, guint8 byte)
{
    Walk walk = {
        .byte = byte,
        .n_axes = block->n_axes,
        .length = block->length,
        .to_stride = block->stride,
    };
    find_run(&walk, ct_type_info(block->type)->bytes);
    visit(&walk, 0, block->data, NULL);
}
