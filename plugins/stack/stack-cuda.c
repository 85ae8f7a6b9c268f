/* SPDX-License-Identifier: BSD-3-Clause */
/* stack on a device: a copy for each input; or, if the stacked axis is inside time and runs may be
 * short, one kernel that gathers the output's words from all inputs. */
#include "stack-cuda.h"

#include "stack.h"

typedef struct {
    CtJoin join;
    CtDevice *device;
    CtKernel *copy;
    gsize element;    /* bytes */
    CtKernel *gather; /* NULL: each input is copied by itself */
    gsize row;        /* bytes of a row of the output: the stacked axis and those inside it */
    gsize unit;       /* bytes; the runs of all inputs are multiples of it */
    StackSource *sources;
    gpointer source_of; /* [unit of a row] guint16 on the device */
} Cuda;

/* Finds the parts of a row, and sends the table of the input of each of its units. */
static gboolean
send_sources(Cuda *cuda, gsize inner, GError **error)
{
    const CtJoin *join = &cuda->join;
    g_autofree guint16 *source_of =
        CT_TABLE(guint16, cuda->row / cuda->unit, "stacked rows", error);
    if (!source_of)
        return FALSE;
    cuda->sources = g_new0(StackSource, join->n_inputs);
    for (guint i = 0; i < join->n_inputs; i++) {
        const gsize first = (gsize)join->inputs[i].offset * inner;
        cuda->sources[i].offset = (guint)first;
        for (gsize k = 0; k < (gsize)join->inputs[i].length * inner; k += cuda->unit)
            source_of[(first + k) / cuda->unit] = (guint16)i;
    }
    const gsize bytes = cuda->row / cuda->unit * sizeof *source_of;
    cuda->source_of = ct_device_alloc(cuda->device, bytes, "stacked rows", error);
    return cuda->source_of &&
           ct_device_upload(cuda->device, cuda->source_of, source_of, bytes, error);
}

static gboolean
prepare_gather(Cuda *cuda, CtPrepare *prepare, GError **error)
{
    const CtJoin *join = &cuda->join;
    const CtBinding *output = &prepare->outputs[0];
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    ct_layout_strides(&output->layout, output->stream, 1, length, stride);
    const gsize inner = (gsize)stride[join->axis];
    gsize runs = 16;
    for (guint i = 0; i < join->n_inputs; i++)
        runs |= (gsize)join->inputs[i].length * inner;
    cuda->row = (gsize)length[join->axis] * inner;
    cuda->unit = runs & -runs;
    if (cuda->row > G_MAXINT32 / 2 || join->n_inputs > G_MAXUINT16)
        return TRUE;
    prepare->upload_bytes = join->n_inputs * sizeof *cuda->sources;
    g_autofree char *unit = g_strdup_printf("UNIT=%" G_GSIZE_FORMAT, cuda->unit);
    cuda->gather = ct_kernel_new(
        prepare->device,
        &(CtKernelSpec){
            .name = "stack_gather",
            .source = "/cornerturn/plugins/stack/stack.cu",
            .headers = (const char *const[]){"/cornerturn/plugins/stack/stack-cuda.h", NULL},
            .defines = (const char *const[]){unit, NULL},
        },
        error);
    return cuda->gather && send_sources(cuda, inner, error);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *user_data, GError **error)
{
    Cuda *cuda = *user_data = g_new0(Cuda, 1);
    cuda->device = prepare->device;
    cuda->element = ct_type_info(prepare->outputs[0].stream->type)->bytes;
    ct_join_init(&cuda->join, prepare, -1, ct_params_string(prepare->nodes[0].params, "axis"));
    cuda->copy = ct_device_map_copy_new(prepare->device, cuda->element, error);
    return cuda->copy &&
           (cuda->join.axis < cuda->join.time || prepare_gather(cuda, prepare, error));
}

static gboolean
advance(gpointer user_data, CtAdvance *advance, GError **error)
{
    return ct_join_advance(&((Cuda *)user_data)->join, advance, error);
}

/* Joins axes `begin` to `end` − 1 of a box to one, of length 1 and without strides if they have one
 * element; FALSE: they are not evenly spaced. */
static gboolean
join_axes(const CtBox *box, guint begin, guint end, CtBoxAxis *all)
{
    *all = (CtBoxAxis){.length = 1};
    for (guint a = end; a-- > begin;) {
        const CtBoxAxis *axis = &box->axes[a];
        if (axis->length == 1)
            continue;
        if (all->length == 1)
            *all = *axis;
        else if (axis->in != all->length * all->in || axis->out != all->length * all->out)
            return FALSE;
        else
            all->length *= axis->length;
    }
    return TRUE;
}

/* Describes the rows of input `i` and, in *groups and *rows, those of the output. */
static gboolean
find_rows(Cuda *cuda, const CtWork *work, guint i, CtBoxAxis *groups, CtBoxAxis *rows)
{
    const gint64 element = (gint64)cuda->element;
    CtBoxAxis run;
    CtBox box;
    ct_join_box(&cuda->join, work, i, &box);
    const guint time = (guint)cuda->join.time, axis = (guint)cuda->join.axis;
    if (!join_axes(&box, 0, time, groups) || !join_axes(&box, time, axis, rows) ||
        !join_axes(&box, axis, box.n_axes, &run) ||
        (run.length > 1 && (run.out != element || (box.in && run.in != element))) ||
        (rows->length > 1 && rows->out != (gint64)cuda->row) || rows->in > G_MAXUINT32)
        return FALSE;
    cuda->sources[i].data = box.in;
    cuda->sources[i].group = groups->in;
    cuda->sources[i].row = (guint)rows->in;
    const guint64 places = GPOINTER_TO_SIZE(box.in) | GPOINTER_TO_SIZE(work->outputs[0].data) |
                           (guint64)(groups->in | groups->out | rows->in);
    return places % cuda->unit == 0;
}

/* Describes a firing; FALSE if the kernel cannot handle its blocks. */
static gboolean
find_target(Cuda *cuda, const CtWork *work, StackTarget *target, guint *n_blocks)
{
    CtBoxAxis groups, rows;
    for (guint i = 0; i < cuda->join.n_inputs; i++)
        if (!find_rows(cuda, work, i, &groups, &rows))
            return FALSE;
    const guint64 tile = 16 * STACK_THREADS * STACK_UNROLL;
    const guint64 tiles = ((guint64)rows.length * cuda->row + tile - 1) / tile;
    if (tiles > (guint64)(G_MAXINT32 / groups.length))
        return FALSE;
    *target = (StackTarget){
        .data = work->outputs[0].data,
        .group = groups.out,
        .rows = (guint64)rows.length,
        .row = ct_device_divisor((guint32)cuda->row),
        .tiles = ct_device_divisor((guint32)tiles),
    };
    *n_blocks = (guint)(tiles * (guint64)groups.length);
    return TRUE;
}

/* Copies input `i` to its part of the output; if it is missing, the core clears this. */
static gboolean
copy(const Cuda *cuda, const CtWork *work, guint i, GError **error)
{
    const CtDeviceMapCall call = {.kernel = cuda->copy};
    CtBox box;
    ct_join_box(&cuda->join, work, i, &box);
    return !box.in ||
           ct_device_map_box(&box, cuda->element, cuda->element, work->queue, &call, error);
}

static gboolean
work(gpointer user_data, const CtWork *work, GError **error)
{
    Cuda *cuda = user_data;
    const guint n_inputs = cuda->join.n_inputs;
    StackTarget target;
    CtLaunch launch = {.grid = {0, 1, 1}, .block = {STACK_THREADS, 1, 1}};
    if (!work->outputs[0].data || work->outputs[0].n_samples == 0)
        return TRUE;
    if (cuda->gather && find_target(cuda, work, &target, &launch.grid[0])) {
        gpointer sources =
            ct_queue_upload(work->queue, cuda->sources, n_inputs * sizeof *cuda->sources, error);
        gpointer arguments[] = {&target, &sources, &cuda->source_of};
        return sources && ct_queue_launch(work->queue, cuda->gather, &launch, arguments, error);
    }
    for (guint i = 0; i < n_inputs; i++)
        if (!copy(cuda, work, i, error))
            return FALSE;
    return TRUE;
}

static void
finish(gpointer user_data)
{
    Cuda *cuda = user_data;
    if (!cuda)
        return;
    ct_kernel_free(cuda->copy);
    ct_kernel_free(cuda->gather);
    ct_device_free(cuda->device, cuda->source_of);
    ct_join_clear(&cuda->join);
    g_free(cuda->sources);
    g_free(cuda);
}

const CtVariant stack_cuda = {
    .name = "cuda",
    .backend = CT_CUDA,
    .covers = (const char *const[]){"stack", NULL},
    .rows = (const CtRow[]){{"[...] -> [...]", 0.7}, {NULL}},
    .prepare = prepare,
    .advance = advance,
    .work = work,
    .finish = finish,
};
