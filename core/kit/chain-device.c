/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains of maps, and of a stage of groups among them, on devices: a kernel that only moves
 * elements has all their stages as its epilogue. */
#include "epilogue-private.h"

#include <cornerturn/kit/device-map.h>

typedef struct {
    CtBoxes boxes;
    CtEpilogue *epilogue;
    CtKernel *kernel;
    CtKernel *together; /* of groups whose elements are contiguous; NULL: they are not */
    CtKernel *zero;     /* fills the rest of blocks; NULL: the output has none */
    guint threads, unroll;
} State;

/* The most units of a thread if a unit has the elements of a group: with more, registers spill. */
#define MOST_GROUP_UNITS 4

/* Variants with a table have no tunables for maps. */
static void
set_tuning(State *self, const CtPrepare *prepare)
{
    const CtTunable *tunables = prepare->variant->tunables;
    const gboolean is_map = tunables && tunables[0].name && tunables[1].name;
    self->threads =
        is_map ? (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_THREADS] : CT_DEVICE_MAP_THREADS;
    self->unroll =
        is_map ? (guint)prepare->tuning[CT_DEVICE_MAP_TUNABLE_UNROLL] : CT_DEVICE_MAP_UNROLL;
    if (ct_epilogue_group(self->epilogue))
        self->unroll = MIN(self->unroll, MOST_GROUP_UNITS);
}

static CtKernel *
compile(const State *self, const char *name, CtDevice *device, GError **error)
{
    g_autofree char *read = g_strdup_printf("READ=%s", ct_kernel_type((gint)self->boxes.in_type));
    g_autofree char *threads = g_strdup_printf("CT_DEVICE_MAP_THREADS=%u", self->threads);
    g_autofree char *unroll = g_strdup_printf("CT_DEVICE_MAP_UNROLL=%u", self->unroll);
    return ct_kernel_new(device,
                         &(CtKernelSpec){
                             .name = name,
                             .source = "/cornerturn/kernel/chain.cu",
                             .defines = (const char *const[]){read, threads, unroll, NULL},
                             .epilogue = self->epilogue,
                         },
                         error);
}

static gboolean
compile_kernels(State *self, const CtPrepare *prepare, GError **error)
{
    const CtGroupAxes *group = ct_epilogue_group(self->epilogue);
    self->kernel = compile(self, group ? "ct_chain_planes" : "ct_chain", prepare->device, error);
    if (!self->kernel || !group)
        return self->kernel != NULL;
    ct_group_leave(&self->boxes, group);
    if (!ct_group_is_together(&self->boxes, group, prepare))
        return TRUE;
    self->together = compile(self, "ct_chain_together", prepare->device, error);
    return self->together != NULL;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    State *self = *state = g_new0(State, 1);
    self->epilogue = prepare->epilogue;
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    set_tuning(self, prepare);
    if (!compile_kernels(self, prepare, error))
        return FALSE;
    gboolean has_gaps = FALSE;
    for (guint a = 0; a < self->boxes.n_axes; a++)
        has_gaps |= self->boxes.axes[a].out_count > 0;
    if (has_gaps)
        self->zero = ct_device_map_copy_new(prepare->device,
                                            ct_type_info(self->boxes.out_type)->bytes, error);
    return !has_gaps || self->zero;
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    gpointer epilogue = ct_epilogue_argument(self->epilogue, work, error);
    const CtDeviceMapCall call = {self->kernel, {epilogue}, 1, self->threads, self->unroll};
    const CtGroupAxes *group = ct_epilogue_group(self->epilogue);
    if (!epilogue)
        return FALSE;
    return group ? ct_group_work(&self->boxes, group, work, &call, self->together, error)
                 : ct_device_map_work(&self->boxes, work, &call, self->zero, error);
}

static void
finish(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_kernel_free(self->together);
    ct_kernel_free(self->zero);
    g_free(self);
}

const CtVariant ct_chain_device = {
    .name = "cuda",
    .backend = CT_CUDA,
    .prepare = prepare,
    .work = work,
    .finish = finish,
};
