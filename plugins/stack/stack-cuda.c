/* SPDX-License-Identifier: BSD-3-Clause */
/* stack on a device: a copy for each input; or, if the stacked axis is inside time and runs may be
 * short, one kernel that gathers the output's words from all inputs. */
#include "stack-cuda.h"

#include "stack.h"

#include <cornerturn/kit/device-map.h>

typedef struct {
    StackState base; /* used by stack_advance */
    CtDevice *device;
    CtKernel *copy;
    gint64 element; /* bytes */
    /* rows of the output: time and the axes between it and the stacked one */
    CtKernel *gather; /* NULL: the stacked axis is outside time */
    gint64 rows;      /* of a sample */
    gint64 row;       /* bytes of a row of the output */
    guint unit;       /* bytes; the runs of all inputs are multiples of it */
    StackSource *sources;
    gpointer source_of; /* [unit of a row] guint16 on the device */
} Cuda;

/* Sends the table of the input of each unit of a row to the device. */
static gboolean
send_sources(Cuda *cuda, GError **error)
{
    const gsize n = (gsize)(cuda->row / cuda->unit);
    g_autofree guint16 *source_of = CT_TABLE(guint16, n, "stacked rows", error);
    gsize at = 0;
    if (!source_of)
        return FALSE;
    for (guint i = 0; i < cuda->base.n_inputs; i++)
        for (guint k = 0; k < cuda->sources[i].run / cuda->unit; k++)
            source_of[at++] = (guint16)i;
    cuda->source_of = ct_device_alloc(cuda->device, n * sizeof *source_of, "stacked rows", error);
    return cuda->source_of &&
           ct_device_upload(cuda->device, cuda->source_of, source_of, n * sizeof *source_of, error);
}

static gboolean
prepare_gather(Cuda *cuda, CtPrepare *prepare, GError **error)
{
    const StackState *state = &cuda->base;
    const CtBinding *output = &prepare->outputs[0];
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES], runs = 16;
    ct_layout_strides(&output->layout, output->stream, 1, length, stride);
    cuda->rows = 1;
    for (guint k = (guint)state->time + 1; k < state->axis; k++)
        cuda->rows *= length[k];
    cuda->row = length[state->axis] * stride[state->axis];
    if (cuda->row > G_MAXINT32 / 2 || state->n_inputs > G_MAXUINT16)
        return TRUE;
    cuda->sources = g_new0(StackSource, state->n_inputs);
    for (guint i = 0; i < state->n_inputs; i++) {
        cuda->sources[i].run = (guint)(state->inputs[i].length * stride[state->axis]);
        cuda->sources[i].offset = (guint)(state->inputs[i].offset * stride[state->axis]);
        runs |= cuda->sources[i].run;
    }
    cuda->unit = (guint)(runs & -runs);
    prepare->upload_bytes = state->n_inputs * sizeof *cuda->sources;
    g_autofree char *unit = g_strdup_printf("UNIT=%u", cuda->unit);
    cuda->gather = ct_kernel_new(
        prepare->device,
        &(CtKernelSpec){
            .name = "stack_gather",
            .source = "/cornerturn/plugins/stack/stack.cu",
            .headers = (const char *const[]){"/cornerturn/plugins/stack/stack-cuda.h", NULL},
            .defines = (const char *const[]){unit, NULL},
        },
        error);
    return cuda->gather && send_sources(cuda, error);
}

static gboolean
cuda_prepare(CtPrepare *prepare, gpointer *user_data, GError **error)
{
    Cuda *cuda = *user_data = g_new0(Cuda, 1);
    cuda->device = prepare->device;
    if (!stack_state_init(&cuda->base, prepare, error))
        return FALSE;
    cuda->element = (gint64)ct_type_info(prepare->outputs[0].stream->type)->bytes;
    cuda->copy = ct_device_map_copy_new(prepare->device, (gsize)cuda->element, error);
    return cuda->copy &&
           ((gint)cuda->base.axis < cuda->base.time || prepare_gather(cuda, prepare, error));
}

/* The stride of input `i`'s block along the output's axis `k`; for i = −1, that of the output. */
static gint64
stride_of(const StackState *state, const CtWork *work, gint i, guint k)
{
    if (i < 0)
        return work->outputs[0].stride[k];
    const gint place = state->inputs[i].place[k];
    return place < 0 ? 0 : work->inputs[i].stride[place];
}

/* Whether a block (`i` as above) consists of groups of packed rows, *group bytes apart. */
static gboolean
is_rows(const Cuda *cuda, const CtWork *work, gint i, gint64 *group)
{
    const StackState *state = &cuda->base;
    const CtBlock *out = &work->outputs[0];
    gint64 packed = cuda->element, groups = 1;
    for (guint k = out->n_axes; k-- > 0;) {
        const gint64 stride = stride_of(state, work, i, k);
        if ((gint)k < state->time) {
            if (out->length[k] > 1 && groups == 1)
                *group = stride;
            if (out->length[k] > 1 && stride != groups * *group)
                return FALSE;
            groups *= out->length[k];
            continue;
        }
        const gboolean is_new = i >= 0 && state->inputs[i].place[k] < 0;
        const gint64 length = i >= 0 && k == state->axis ? state->inputs[i].length : out->length[k];
        if (!is_new && length > 1 && stride != packed)
            return FALSE;
        packed *= length;
    }
    const guint8 *data = i < 0 ? out->data : work->inputs[i].data;
    return GPOINTER_TO_SIZE(data) % cuda->unit == 0 && *group % cuda->unit == 0;
}

/* Describes the rows of a firing; FALSE if the kernel cannot handle its blocks. */
static gboolean
find_rows(Cuda *cuda, const CtWork *work, StackTarget *target, guint *n_blocks)
{
    const CtBlock *out = &work->outputs[0];
    gint64 group = 0, n_groups = 1;
    if (!is_rows(cuda, work, -1, &group))
        return FALSE;
    *target = (StackTarget){
        .data = out->data,
        .group = group,
        .rows = (guint64)(out->n_samples * cuda->rows),
        .row = ct_device_divisor((guint32)cuda->row),
    };
    for (guint i = 0; i < cuda->base.n_inputs; i++) {
        StackSource *source = &cuda->sources[i];
        source->data = work->inputs[i].n_samples == 0 ? NULL : work->inputs[i].data;
        group = 0;
        if (source->data && !is_rows(cuda, work, (gint)i, &group))
            return FALSE;
        source->group = group;
    }
    for (gint k = 0; k < cuda->base.time; k++)
        n_groups *= out->length[k];
    const guint64 tile = 16 * STACK_THREADS * STACK_UNROLL;
    const guint64 tiles = (target->rows * (guint64)cuda->row + tile - 1) / tile;
    if (tiles > (guint64)(G_MAXINT32 / n_groups))
        return FALSE;
    target->tiles = ct_device_divisor((guint32)tiles);
    *n_blocks = (guint)(tiles * (guint64)n_groups);
    return TRUE;
}

static gboolean
gather(const Cuda *cuda, const CtWork *work, StackTarget *target, guint n_blocks, GError **error)
{
    gpointer sources = ct_queue_upload(work->queue, cuda->sources,
                                       cuda->base.n_inputs * sizeof *cuda->sources, error);
    gpointer source_of = cuda->source_of;
    gpointer arguments[] = {target, &sources, &source_of};
    const CtLaunch launch = {.grid = {n_blocks, 1, 1}, .block = {STACK_THREADS, 1, 1}};
    return sources && ct_queue_launch(work->queue, cuda->gather, &launch, arguments, error);
}

/* Copies input `i` to its part of the output, or zeros if it is missing. */
static gboolean
copy(const Cuda *cuda, const CtWork *work, guint i, GError **error)
{
    const StackState *state = &cuda->base;
    const StackInput *input = &state->inputs[i];
    const CtBlock *out = &work->outputs[0], *in = &work->inputs[i];
    const gboolean missing = in->n_samples == 0;
    CtBox box = {
        .in = missing ? NULL : in->data,
        .out = out->data + input->offset * out->stride[state->axis],
    };
    for (guint k = 0; k < out->n_axes; k++)
        box.axes[box.n_axes++] = (CtBoxAxis){
            .length = k == state->axis ? input->length : out->length[k],
            .in = missing ? 0 : stride_of(state, work, (gint)i, k),
            .out = out->stride[k],
        };
    const CtDeviceMapCall call = {.kernel = cuda->copy};
    return ct_device_map_box(&box, (gsize)cuda->element, (gsize)cuda->element, work->queue, &call,
                             error);
}

static gboolean
cuda_work(gpointer user_data, const CtWork *work, GError **error)
{
    Cuda *cuda = user_data;
    StackTarget target;
    guint n_blocks;
    if (!work->outputs[0].data || work->outputs[0].n_samples == 0)
        return TRUE;
    if (cuda->gather && find_rows(cuda, work, &target, &n_blocks))
        return gather(cuda, work, &target, n_blocks, error);
    for (guint i = 0; i < cuda->base.n_inputs; i++)
        if (!copy(cuda, work, i, error))
            return FALSE;
    return TRUE;
}

static void
cuda_finish(gpointer user_data)
{
    Cuda *cuda = user_data;
    if (!cuda)
        return;
    ct_kernel_free(cuda->copy);
    ct_kernel_free(cuda->gather);
    ct_device_free(cuda->device, cuda->source_of);
    stack_state_clear(&cuda->base);
    g_free(cuda->sources);
    g_free(cuda);
}

const CtVariant stack_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"stack", NULL},
    .rows = (const CtRow[]){{"[...] -> [...]", 0.7}, {NULL}},
    .prepare = cuda_prepare,
    .advance = stack_advance,
    .work = cuda_work,
    .finish = cuda_finish,
};
