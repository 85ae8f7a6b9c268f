/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion on a device. */
#include <cornerturn/kit/device-map.h>
#include "convert.h"

typedef struct {
    CtBoxes boxes;
    CtKernel *kernel, *zero;
    guint threads, unroll;
} Convert;

static const CtTunable tunables[] = {CT_DEVICE_MAP_TUNABLES, {NULL}};

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Convert *self = *state = g_new0(Convert, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    g_autofree char *in = g_strdup_printf("IN=%s", ct_kernel_type(self->boxes.in_type));
    g_autofree char *out = g_strdup_printf("OUT=%s", ct_kernel_type(self->boxes.out_type));
    self->threads = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_THREADS];
    self->unroll = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_UNROLL];
    g_autofree char *threads = g_strdup_printf("CT_DEVICE_MAP_THREADS=%u", self->threads);
    g_autofree char *unroll = g_strdup_printf("CT_DEVICE_MAP_UNROLL=%u", self->unroll);
    self->kernel =
        ct_kernel_new(prepare->device,
                      &(CtKernelSpec){
                          .name = "convert",
                          .source = "/cornerturn/plugins/convert/convert.cu",
                          .defines = (const char *const[]){in, out, threads, unroll, NULL},
                      },
                      error);
    if (!self->kernel)
        return FALSE;
    gboolean is_filled_up = FALSE;
    for (guint a = 0; a < self->boxes.n_axes; a++)
        is_filled_up |= self->boxes.axes[a].out_count > 0;
    if (is_filled_up)
        self->zero = ct_device_map_copy_new(prepare->device, ct_type_info(self->boxes.out_type)->bytes, error);
    return !is_filled_up || self->zero;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const Convert *self = state;
    const CtDeviceMapCall call = {
        .kernel = self->kernel, .threads = self->threads, .unroll = self->unroll};
    return ct_device_map_work(&self->boxes, work, &call, self->zero, error);
}

static void
finish(gpointer state)
{
    Convert *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_kernel_free(self->zero);
    g_free(self);
}

const CtVariant ct_convert_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"convert", NULL},
    .rows =
        (const CtRow[]){
            {"{...} -> {...}", 0.92},
            {"any: [...] -> [...]", 0.1},
            {NULL},
        },
    .tunables = tunables,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
