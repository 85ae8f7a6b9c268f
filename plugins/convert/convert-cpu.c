/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion on the processor: runs of each box through buffers in the cache. */
#include "../boxes.h"
#include "convert-kernels.h"
#include "convert.h"

#include <string.h>

enum {
    CHUNK = 512,     /* elements that go through the buffers at a time */
    MOST_BYTES = 16, /* of an element */
    N_BUFFERS = 4
};

typedef struct {
    Boxes boxes;
    ConvertSteps steps;
    gsize in_bytes, out_bytes; /* of an element */
    gsize n_parts, unpacked,
        packed; /* parts of an element; numbers that pack and unpack count for it */
} Convert;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Convert *self = *state = g_new0(Convert, 1);
    boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], prepare->n_workers);
    const CtTypeInfo *in = ct_type_info(self->boxes.in_type);
    const CtTypeInfo *out = ct_type_info(self->boxes.out_type);
    self->steps = CT_ISA(convert_steps)(self->boxes.in_type, self->boxes.out_type);
    self->in_bytes = in->bytes;
    self->out_bytes = out->bytes;
    self->n_parts = in->is_complex ? 2 : 1;
    self->unpacked = self->boxes.in_type == CT_CI4 ? 1 : self->n_parts;
    self->packed = self->boxes.out_type == CT_CI4 ? 1 : self->n_parts;
    prepare->n_items = self->boxes.n_items;
    prepare->scratch_bytes = (gsize)N_BUFFERS * CHUNK * MOST_BYTES;
    return TRUE;
}

/* Elements of a fixed length from place to place. */
static void
move(const guint8 *from, gint64 in, guint8 *to, gint64 out, gsize bytes, gsize n)
{
    for (gsize i = 0; i < n; i++)
        memcpy(to + (gint64)i * out, from + (gint64)i * in, bytes);
}

static void
convert_chunk(const Convert *self, const guint8 *from, gint64 in, guint8 *to, gint64 out, gsize n,
              guint8 *buffer)
{
    guint8 *const buffers[N_BUFFERS] = {buffer, buffer + CHUNK * MOST_BYTES,
                                        buffer + 2 * CHUNK * MOST_BYTES,
                                        buffer + 3 * CHUNK * MOST_BYTES};
    const gboolean scattered = out != (gint64)self->out_bytes;
    guint8 *const target = scattered ? buffers[3] : to;
    if (in != (gint64)self->in_bytes) {
        move(from, in, buffers[0], (gint64)self->in_bytes, self->in_bytes, n);
        from = buffers[0];
    }
    if (self->steps.unpack) {
        self->steps.unpack(from, buffers[1], n * self->unpacked);
        from = buffers[1];
    }
    guint8 *const converted = self->steps.pack ? buffers[2] : target;
    self->steps.run(from, converted, n * self->n_parts);
    if (self->steps.pack)
        self->steps.pack(converted, target, n * self->packed);
    if (scattered)
        move(target, (gint64)self->out_bytes, to, out, self->out_bytes, n);
}

/* Sorts the axes of a box, the output's fastest last, and merges those that both sides hold as one;
 * returns how many are left. */
static guint
simplify(const Box *box, BoxAxis *axes)
{
    guint n = 0;
    for (guint i = 0; i < box->n_axes; i++) {
        guint j = n++;
        for (; j > 0 && axes[j - 1].out < box->axes[i].out; j--)
            axes[j] = axes[j - 1];
        axes[j] = box->axes[i];
    }
    guint kept = 0;
    for (guint i = 0; i < n; i++) {
        const BoxAxis fast = axes[i];
        if (kept > 0 && axes[kept - 1].in == fast.length * fast.in &&
            axes[kept - 1].out == fast.length * fast.out)
            axes[kept - 1] = (BoxAxis){axes[kept - 1].length * fast.length, fast.in, fast.out};
        else
            axes[kept++] = fast;
    }
    return kept;
}

static void
convert_box(gpointer data, const Box *box, gpointer scratch)
{
    const Convert *self = data;
    BoxAxis axes[G_N_ELEMENTS(box->axes)];
    gint64 at[G_N_ELEMENTS(box->axes)] = {0};
    guint n = simplify(box, axes);
    const BoxAxis run =
        n > 0 ? axes[--n] : (BoxAxis){1, (gint64)self->in_bytes, (gint64)self->out_bytes};
    const guint8 *from = box->in;
    guint8 *to = box->out;
    guint left;
    do {
        for (gint64 i = 0; i < run.length; i += CHUNK)
            convert_chunk(self, from + i * run.in, run.in, to + i * run.out, run.out,
                          (gsize)MIN(run.length - i, CHUNK), scratch);
        for (left = n; left > 0; left--) {
            const BoxAxis *axis = &axes[left - 1];
            from += axis->in;
            to += axis->out;
            if (++at[left - 1] < axis->length)
                break;
            from -= axis->length * axis->in;
            to -= axis->length * axis->out;
            at[left - 1] = 0;
        }
    } while (left > 0);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Convert *self = state;
    boxes_each(&self->boxes, work, convert_box, self);
    return TRUE;
}

const CtVariant CT_ISA(ct_convert_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"convert", NULL},
    .rows =
        (const CtRow[]){
            {"{...} -> {...}", 0.9},
            {"any: [...] -> [...]", 0.15},
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
