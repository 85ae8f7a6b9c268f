/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantisation on a device. */
#include <cornerturn/kit/device-map.h>
#include "quantise.h"

typedef struct {
    CtBoxes boxes;
    CtKernel *kernel;
    gfloat scale;
    guint threads, unroll;
} Quantise;

static const CtTunable tunables[] = {CT_DEVICE_MAP_TUNABLES, {NULL}};

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Quantise *self = *state = g_new0(Quantise, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->scale = (gfloat)ct_params_real(prepare->nodes[0].params, "scale");
    const CtTypeInfo *out = ct_type_info(self->boxes.out_type);
    g_autofree char *in_type = g_strdup_printf("IN=%s", ct_kernel_type(self->boxes.in_type));
    g_autofree char *out_type = g_strdup_printf("OUT=%s", ct_kernel_type(self->boxes.out_type));
    g_autofree char *most = g_strdup_printf("MOST=%d", (1 << (out->part_bits - 1)) - 1);
    self->threads = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_THREADS];
    self->unroll = (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_UNROLL];
    g_autofree char *threads = g_strdup_printf("CT_DEVICE_MAP_THREADS=%u", self->threads);
    g_autofree char *unroll = g_strdup_printf("CT_DEVICE_MAP_UNROLL=%u", self->unroll);
    self->kernel = ct_kernel_new(
        prepare->device,
        &(CtKernelSpec){
            .name = "quantise",
            .source = "/cornerturn/plugins/quantise/quantise.cu",
            .defines = (const char *const[]){in_type, out_type, most, threads, unroll,
                                             out->is_complex ? "PARTS=2" : "PARTS=1", NULL},
        },
        error);
    return self->kernel != NULL;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    Quantise *self = state;
    guint64 *n_clipped = work->counters + QUANTISE_CLIPPED;
    const CtDeviceMapCall call = {
        self->kernel, {&self->scale, &n_clipped}, 2, self->threads, self->unroll};
    return ct_device_map_work(&self->boxes, work, &call, NULL, error);
}

static void
finish(gpointer state)
{
    Quantise *self = state;
    if (self)
        ct_kernel_free(self->kernel);
    g_free(self);
}

const CtVariant ct_quantise_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"quantise", NULL},
    .rows =
        (const CtRow[]){
            {"f32|cf32{...} -> ci4|ci8|ci16|i8|i16{...}", 1},
            {NULL},
        },
    .tunables = tunables,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
