/* SPDX-License-Identifier: BSD-3-Clause */
/* Gains on a device: a factor for every element of the axes other than time. */
#include <cornerturn/kit/device-rows.h>
#include "gains.h"

typedef struct {
    CtDevice *device;
    CtKernel *kernel;
    gpointer factors; /* on the device */
    gint time;
    guint unroll;
} Cuda;

static gboolean
send_factors(Cuda *self, const CtPrepare *prepare, gboolean is_double, GError **error)
{
    gint64 n;
    g_autofree guint8 *factors = ct_gains_factors(prepare, 1, is_double, &n, error);
    if (!factors)
        return FALSE;
    const gsize bytes = (gsize)n * (is_double ? 16 : 8);
    self->factors = ct_device_alloc(prepare->device, bytes, "gains", error);
    return self->factors && ct_device_upload(prepare->device, self->factors, factors, bytes, error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtType type = ct_layout_type(&prepare->inputs[0].layout);
    Cuda *self = *state = g_new0(Cuda, 1);
    self->device = prepare->device;
    self->time = ct_layout_axis(&prepare->inputs[0].layout, "time");
    self->unroll = type == CT_CF64 ? 4 : 8;
    if (!send_factors(self, prepare, type == CT_CF64, error))
        return FALSE;
    g_autofree char *element = g_strdup_printf("ELEMENT=%s", ct_kernel_type((gint)type));
    g_autofree char *unroll = g_strdup_printf("UNROLL=%u", self->unroll);
    self->kernel = ct_kernel_new(prepare->device,
                                 &(CtKernelSpec){
                                     .name = "gains",
                                     .source = "/cornerturn/plugins/gains/gains.cu",
                                     .defines = (const char *const[]){element, unroll, NULL},
                                 },
                                 error);
    return self->kernel != NULL;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    Cuda *self = state;
    const CtDeviceMapCall call = {self->kernel, {&self->factors}, 1};
    return ct_device_rows_work(&work->inputs[0], &work->outputs[0], self->time, self->unroll,
                            work->queue, &call, error);
}

static void
finish(gpointer state)
{
    Cuda *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->factors);
    g_free(self);
}

const CtVariant ct_gains_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"gains", NULL},
    .rows =
        (const CtRow[]){
            {"cf32|cf64{...} -> cf32|cf64{...}", 0.98},
            {NULL},
        },
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
