/* SPDX-License-Identifier: BSD-3-Clause */
/* The copy by the device's copy engines, also to, from and between devices, for any blocks. */
#include "copy.h"

#include <cornerturn/kit/boxes.h>

/* The largest pitch, bytes from row to row, that the driver takes. */
#define MOST_PITCH G_MAXINT32

static gboolean
prepare(G_GNUC_UNUSED CtPrepare *prepare, G_GNUC_UNUSED gpointer *state,
        G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

/* Both blocks have one layout: the box has their axes, blocked ones included, in the order of
 * memory. */
static CtBox
whole_box(const CtBlock *in, const CtBlock *out)
{
    CtBox box = {.in = in->data, .out = out->data};
    for (guint a = 0; a < out->n_axes; a++)
        box.axes[box.n_axes++] =
            (CtBoxAxis){.length = out->length[a], .in = in->stride[a], .out = out->stride[a]};
    ct_box_simplify(&box);
    return box;
}

/* The longest axis along which the driver copies rows of `bytes`; −1: none. */
static gint
choose_rows(const CtBox *box, gint64 bytes)
{
    gint chosen = -1;
    for (guint a = 0; a < box->n_axes; a++) {
        const CtBoxAxis *axis = &box->axes[a];
        if (MIN(axis->in, axis->out) >= bytes && MAX(axis->in, axis->out) <= MOST_PITCH &&
            (chosen < 0 || axis->length > box->axes[chosen].length))
            chosen = (gint)a;
    }
    return chosen;
}

/* Makes one call for each index of all axes but that of the rows; blocks in which only the
 * outermost axis is padded need one call. */
static gboolean
copy_rows(const CtBox *box, gint64 bytes, CtQueue *queue, GError **error)
{
    CtBox rest = *box;
    const CtBoxAxis one = {1, bytes, bytes, 0};
    const gint chosen = choose_rows(box, bytes);
    const CtBoxAxis rows = chosen < 0 ? one : box->axes[chosen];
    if (chosen >= 0) {
        rest.n_axes--;
        for (guint a = (guint)chosen; a < rest.n_axes; a++)
            rest.axes[a] = box->axes[a + 1];
    }
    gint64 at[G_N_ELEMENTS(rest.axes)] = {0};
    guint a;
    do {
        const guint8 *from = rest.in;
        guint8 *to = rest.out;
        for (a = 0; a < rest.n_axes; a++) {
            from += at[a] * rest.axes[a].in;
            to += at[a] * rest.axes[a].out;
        }
        if (!ct_queue_copy_rows(queue, to, (gsize)rows.out, from, (gsize)rows.in, (gsize)bytes,
                                (gsize)rows.length, error))
            return FALSE;
        for (a = 0; a < rest.n_axes && ++at[a] == rest.axes[a].length; a++)
            at[a] = 0;
    } while (a < rest.n_axes);
    return TRUE;
}

static gboolean
work(G_GNUC_UNUSED gpointer state, const CtWork *work, GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gint64 bytes = (gint64)ct_type_info(out->type)->bytes;
    for (guint a = 0; a < out->n_axes; a++)
        if (out->length[a] == 0)
            return TRUE;
    CtBox box = whole_box(in, out);
    const CtBoxAxis *run = box.n_axes > 0 ? &box.axes[box.n_axes - 1] : NULL;
    if (run && run->in == bytes && run->out == bytes) {
        bytes *= run->length;
        box.n_axes--;
    }
    return copy_rows(&box, bytes, work->queue, error);
}

const CtVariant ct_copy_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"copy", NULL},
    .rows = CT_PORT_ROWS(1),
    .prepare = prepare,
    .work = work,
};
