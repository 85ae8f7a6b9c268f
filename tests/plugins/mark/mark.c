/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage that passes samples on and marks those of much power: a sample is invalid in a lane if
 * |x|² > limit for any element of the lane. Marked elements are not written. */
#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

#define MAX_AXES 6
#define THREADS  64

static const CtPort inputs[] = {{"in", "f32|cf32{time ...}", 0, "samples"}, {NULL}};
static const CtPort outputs[] = {{"out", "f32|cf32{time ...}", CT_PORT_MARKED, "the same"}, {NULL}};
static const CtParam params[] = {
    {.name = "limit", .kind = CT_PARAM_REAL, .fallback = "1", .help = "of |x|²"},
    {.name = "along",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "axes along which samples are marked separately"},
    {NULL},
};

static gboolean
infer(CtNode *node, GError **error)
{
    CtStream *out = &node->outputs[0];
    ct_stream_copy(out, &node->inputs[0]);
    for (guint i = 0; i < ct_params_count(node->params, "along"); i++) {
        const gint axis = ct_stream_axis(out, ct_params_string_at(node->params, "along", i));
        if (axis < 0)
            return ct_params_error(node->params, "along", error, "there is no such axis");
        out->axes[axis].loses = TRUE;
    }
    return TRUE;
}

/* The same structs as in mark.cu. */
typedef struct {
    gint64 length, in, out, lane;
} Axis;

typedef struct {
    Axis axes[MAX_AXES]; /* outside time, slowest first */
    gint64 n_axes, n_elements, time_in, time_out, n_parts, stride;
    gdouble limit;
} Shape;

typedef struct {
    Shape shape;
    gint time;
    gint64 lanes[CT_MAX_AXES]; /* of the axes of the layout */
    CtDevice *device;
    CtKernel *kernel;
} Mark;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Mark *self = *state = g_new0(Mark, 1);
    const CtStream *stream = prepare->outputs[0].stream;
    const CtLayout *layout = &prepare->outputs[0].layout;
    gint64 step = 1;
    for (guint a = stream->n_axes; a-- > 0;) {
        if (!stream->axes[a].loses)
            continue;
        self->lanes[ct_layout_axis(layout, stream->axes[a].name)] = step;
        step *= stream->axes[a].length;
    }
    self->time = ct_layout_axis(layout, "time");
    self->shape.limit = ct_params_real(prepare->nodes[0].params, "limit");
    self->shape.n_elements = prepare->n_items = ct_stream_width(stream);
    self->shape.n_parts = stream->type == CT_CF32 ? 2 : 1;
    self->device = prepare->device;
    const CtKernelSpec spec = {.name = "mark", .source = "/cornerturn/tests/mark.cu"};
    if (!self->device)
        return TRUE;
    self->kernel = ct_kernel_new(self->device, &spec, error);
    return self->kernel != NULL;
}

static void
finish(gpointer state)
{
    ct_kernel_free(((Mark *)state)->kernel);
    g_free(state);
}

/* The shape with the strides of these blocks. */
static Shape
shape_of(const Mark *self, const CtBlock *in, const CtBlock *out)
{
    Shape shape = self->shape;
    for (gint a = 0; a < (gint)out->n_axes; a++)
        if (a != self->time)
            shape.axes[shape.n_axes++] =
                (Axis){out->length[a], in->stride[a], out->stride[a], self->lanes[a]};
    shape.time_in = in->stride[self->time];
    shape.time_out = out->stride[self->time];
    shape.stride = out->validity_stride;
    return shape;
}

static void
mark_element(const Shape *shape, const CtBlock *in, const CtBlock *out, gint64 i, gint64 t)
{
    const guint8 *from = in->data + t * shape->time_in;
    guint8 *to = out->data + t * shape->time_out;
    gint64 lane = 0;
    for (gint64 a = shape->n_axes; a-- > 0;) {
        const Axis *axis = &shape->axes[a];
        from += i % axis->length * axis->in;
        to += i % axis->length * axis->out;
        lane += i % axis->length * axis->lane;
        i /= axis->length;
    }
    gdouble power = 0;
    for (gint64 p = 0; p < shape->n_parts; p++)
        power += pow((gdouble)((const gfloat *)(gconstpointer)from)[p], 2);
    if (power > shape->limit)
        ct_block_mark(out, lane, t);
    else
        memcpy(to, from, (gsize)shape->n_parts * sizeof(gfloat));
}

static gboolean
work_times(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Shape shape = shape_of(state, &work->inputs[0], &work->outputs[0]);
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 i = 0; i < shape.n_elements; i++)
            mark_element(&shape, &work->inputs[0], &work->outputs[0], i, t);
    return TRUE;
}

/* Several workers mark the same lane. */
static gboolean
work_elements(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Shape shape = shape_of(state, &work->inputs[0], &work->outputs[0]);
    for (gint64 i = work->begin; i < work->end; i++)
        for (gint64 t = 0; t < work->outputs[0].n_samples; t++)
            mark_element(&shape, &work->inputs[0], &work->outputs[0], i, t);
    return TRUE;
}

static gboolean
work_device(gpointer state, const CtWork *work, GError **error)
{
    const Mark *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    Shape shape = shape_of(self, in, out);
    const gint64 n = out->n_samples * shape.n_elements;
    gconstpointer arguments[] = {&shape, &in->data, &out->data, &out->validity, &out->n_samples};
    const CtLaunch launch = {
        .grid = {(guint)((n + THREADS - 1) / THREADS), 1, 1},
        .block = {THREADS, 1, 1},
    };
    return ct_queue_launch(work->queue, self->kernel, &launch, (gpointer *)arguments, error);
}

static const CtStage stage = {
    .name = "mark",
    .summary = "marks samples of much power",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};

#define VARIANT(name_, backend_, split_, work_)                                                    \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = (const char *const[]){"mark", NULL},         \
        .rows = (const CtRow[]){{"f32{time ...} -> f32{time ...}", 0.1},                           \
                                {"cf32{time ...} -> cf32{time ...}", 0.1},                         \
                                {NULL}},                                                           \
        .split = split_, .prepare = prepare, .work = work_, .finish = finish,                      \
    }
static const CtVariant variants[] = {
    VARIANT("cuda", CT_CUDA, NULL, work_device),
    VARIANT("cpu", CT_CPU, "*", work_elements),
    VARIANT("reference", CT_REFERENCE, "time", work_times),
};

CT_PLUGIN("mark", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){&variants[0], &variants[1], &variants[2], NULL}));
