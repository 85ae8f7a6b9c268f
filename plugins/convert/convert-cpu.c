/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion on the processor: steps over chunks that stay in the cache. */
#include <cornerturn/kit/boxes.h>
#include "convert-kernels.h"
#include "convert.h"

typedef struct {
    CtBoxes boxes;
    ConvertSteps steps;
    gsize n_parts;          /* of an element */
    gsize unpacked, packed; /* numbers that unpack and pack count for an element */
} Convert;

static const CtTunable tunables[] = {
    {"chunk", CT_VALUES(128, 256, 512, 1024, 2048), CT_BOXES_CHUNK,
     "elements that each step takes at a time"},
    {NULL},
};

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Convert *self = *state = g_new0(Convert, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], prepare->n_workers);
    self->steps = CT_ISA(convert_steps)(self->boxes.in_type, self->boxes.out_type);
    self->n_parts = ct_type_info(self->boxes.in_type)->is_complex ? 2 : 1;
    self->unpacked = self->boxes.in_type == CT_CI4 ? 1 : self->n_parts;
    self->packed = self->boxes.out_type == CT_CI4 ? 1 : self->n_parts;
    prepare->n_items = self->boxes.n_items;
    self->boxes.chunk = (gsize)prepare->tuning[0];
    prepare->scratch_bytes = 2 * CT_BOXES_SCRATCH_OF(self->boxes.chunk);
    return TRUE;
}

static void
convert(gpointer data, const guint8 *in, guint8 *out, gsize n, guint8 *scratch)
{
    const Convert *self = data;
    guint8 *const converted = self->steps.pack ? scratch + self->boxes.chunk * 16 : out;
    if (self->steps.unpack) {
        self->steps.unpack(in, scratch, n * self->unpacked);
        in = scratch;
    }
    self->steps.run(in, converted, n * self->n_parts);
    if (self->steps.pack)
        self->steps.pack(converted, out, n * self->packed);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Convert *self = state;
    ct_boxes_map(&self->boxes, work, convert, self);
    return TRUE;
}

const CtVariant CT_ISA(ct_convert_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"convert", NULL},
    .rows =
        (const CtRow[]){
            {"{...} -> {...}", 0.85},
            {"any: [...] -> [...]", 0.35},
            {NULL},
        },
    .tunables = tunables,
    .split = "*",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
