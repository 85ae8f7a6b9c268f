/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages each with a variant that is wrong in a way of its own, for the test of `test-stage`: y =
 * x, or a sum of 4, of cf32 with the axes time and station. */
#include "pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const CtPort faulty_inputs[] = {{"in", "cf32{time station}", 0, "samples"}, {0}};
static const CtPort faulty_outputs[] = {{"out", "cf32{time station}", 0, "the same"}, {0}};
static const CtRow faulty_rows[] = {{"cf32{time station} -> cf32{time station}", 0.5}, {0}};

/* The state: where the axes are, and how many workers there are. */
typedef struct {
    gint time, station;
    guint n_workers;
} Faulty;

typedef float Pair[2];

static Pair *
at(const CtBlock *block, const Faulty *self, gint64 t, gint64 s)
{
    return (Pair *)(block->data + t * block->stride[self->time] + s * block->stride[self->station]);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Faulty *self = *state = g_new0(Faulty, 1);
    self->time = ct_layout_axis(&prepare->outputs[0].layout, "time");
    self->station = ct_layout_axis(&prepare->outputs[0].layout, "station");
    self->n_workers = prepare->n_workers;
    return TRUE;
}

/* Copies samples begin … end − 1. */
static void
copy(const Faulty *self, const CtWork *work, gint64 begin, gint64 end)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 t = begin; t < end; t++)
        for (gint64 s = 0; s < in->length[self->station]; s++)
            memcpy(at(out, self, t, s), at(in, self, t, s), sizeof(Pair));
}

static gboolean
work_right(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    copy(state, work, work->begin, work->end);
    return TRUE;
}

/* Keeps what it reads from the compiler. */
static volatile float read_number;

/* Also reads the sample behind the last one of its input, or before the first. */
static gboolean
work_reads_behind(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *in = &work->inputs[0];
    if (in->length[0] > 0 && in->length[1] > 0)
        read_number = *(const float *)(in->data + (in->length[0] - 1) * in->stride[0] +
                                       (in->length[1] - 1) * in->stride[1] + sizeof(Pair));
    return work_right(state, work, error);
}

static gboolean
work_reads_before(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    if (work->begin < work->end)
        read_number = ((const float *)work->inputs[0].data)[-1];
    return work_right(state, work, error);
}

static gboolean
work_writes_input(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    work_right(state, work, error);
    (*at(&work->inputs[0], state, work->begin, 0))[0] = 1;
    return TRUE;
}

/* Writes the sample behind its items, if the output has it. */
static gboolean
work_writes_others(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    copy(state, work, work->begin, MIN(work->end + 1, work->outputs[0].n_samples));
    return TRUE;
}

/* Writes whole rows of the packed width, so also what is between the rows of a padded block. */
static gboolean
work_writes_padding(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *out = &work->outputs[0];
    if (out->length[0] > 1 && out->stride[0] > out->length[1] * out->stride[1])
        out->data[out->length[1] * out->stride[1]] = 0;
    return work_right(state, work, error);
}

static gboolean
work_leaves_last(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const gint64 n = work->outputs[0].n_samples;
    copy(state, work, work->begin, work->end == n && n > 4 ? n - 1 : work->end);
    return TRUE;
}

/* Negates the first sample of every firing but the first. */
static gboolean
work_depends_on_cuts(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    work_right(state, work, error);
    if (work->begin == 0 && work->end > 0 && work->outputs[0].index > 0)
        (*at(&work->outputs[0], state, 0, 0))[0] *= -1;
    return TRUE;
}

static gboolean
work_depends_on_workers(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Faulty *self = state;
    work_right(state, work, error);
    if (self->n_workers > 2 && work->begin < work->end)
        (*at(&work->outputs[0], self, work->begin, 0))[1] += 1;
    return TRUE;
}

/* All samples are valid, whatever the input's validity says. */
static gboolean
advance_ignores_gaps(G_GNUC_UNUSED gpointer state, CtAdvance *advance, GError **error)
{
    if (!ct_advance_default(advance, error))
        return FALSE;
    advance->outputs[0].invalid = FALSE;
    return TRUE;
}

static gboolean
work_writes_scratch(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    *(guint8 *)work->scratch = 1; /* prepare asks for none */
    return work_right(state, work, error);
}

static gboolean
work_marks(gpointer state, const CtWork *work, GError **error)
{
    ct_block_mark(&work->outputs[0], 0, 0);
    return work_right(state, work, error);
}

static gboolean
work_aborts(G_GNUC_UNUSED gpointer state, G_GNUC_UNUSED const CtWork *work,
            G_GNUC_UNUSED GError **error)
{
    abort();
}

static gboolean
work_counts(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    work->counters[0] += (guint64)(work->end - work->begin);
    return work_right(state, work, error);
}

/* Leaves out the first sample of the stream. */
static gboolean
work_miscounts(gpointer state, const CtWork *work, GError **error)
{
    if (work->begin < work->end && work->begin + work->outputs[0].index == 0)
        work->counters[0]--;
    return work_counts(state, work, error);
}

/* Never takes more than the first ten samples. */
static gboolean
advance_stops(G_GNUC_UNUSED gpointer state, CtAdvance *advance, GError **error)
{
    if (!ct_advance_default(advance, error))
        return FALSE;
    if (advance->inputs[0].block.index + advance->inputs[0].consumed > 10) {
        advance->inputs[0].consumed = advance->inputs[0].used = 0;
        advance->outputs[0].produced = 0;
    }
    return TRUE;
}

static gboolean
infer_refuses(G_GNUC_UNUSED CtNode *node, GError **error)
{
    g_set_error_literal(error, CT_ERROR, CT_ERROR_SHAPE, "wants another stream");
    return FALSE;
}

/* Describes streams of an odd number of stations as the port does not declare it. */
static gboolean
infer_misdescribes(CtNode *node, GError **error)
{
    const gint station = ct_stream_axis(&node->inputs[0], "station");
    if (!pass_infer(node, error))
        return FALSE;
    if (node->inputs[0].axes[station].length % 2 == 1)
        node->outputs[0].type = CT_CF64;
    return TRUE;
}

static gboolean
fits_without_reason(const CtNode *nodes, G_GNUC_UNUSED char **reason)
{
    return nodes[0].inputs[0].ticks_per_sample == 1;
}

/* ---- on devices ---- */

typedef struct {
    CtKernel *kernel;
} Device;

/* Compiles the kernel with the fault that the stage's name says: "faulty.no-barrier", NO_BARRIER.
 */
static gboolean
device_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Device *self = *state = g_new0(Device, 1);
    g_autofree char *fault = g_ascii_strup(strchr(prepare->nodes[0].stage->name, '.') + 1, -1);
    g_strdelimit(fault, "-", '_');
    const char *const defines[] = {fault, NULL};
    const CtKernelSpec spec = {
        .name = "faulty", .source = "/cornerturn/tests/faulty.cu", .defines = defines};
    self->kernel = ct_kernel_new(prepare->device, &spec, error);
    return self->kernel != NULL;
}

static gboolean
device_work(gpointer state, const CtWork *work, GError **error)
{
    const Device *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gint64 n = out->n_samples * out->length[1];
    const CtLaunch launch = {.grid = {(guint)((n + 63) / 64), 1, 1}, .block = {64, 1, 1}};
    gconstpointer arguments[] = {&in->data, &out->data, &n};
    return n == 0 ||
           ct_queue_launch(work->queue, self->kernel, &launch, (gpointer *)arguments, error);
}

static void
device_finish(gpointer state)
{
    Device *self = state;
    ct_kernel_free(self->kernel);
    g_free(self);
}

#define STAGE(variable, name_, infer_)                                                             \
    static const CtStage variable = {                                                              \
        .name = name_,                                                                             \
        .summary = "Is wrong",                                                                     \
        .version = 1,                                                                              \
        .inputs = faulty_inputs,                                                                   \
        .outputs = faulty_outputs,                                                                 \
        .params = pass_params,                                                                     \
        .infer = infer_,                                                                           \
    }
#define VARIANT(variable, stage, name_, backend_, ...)                                             \
    static const CtVariant variable = {                                                            \
        .name = name_,                                                                             \
        .backend = backend_,                                                                       \
        .covers = (const char *const[]){stage, NULL},                                              \
        .rows = faulty_rows,                                                                       \
        .split = "time",                                                                           \
        .prepare = prepare,                                                                        \
        .finish = g_free,                                                                          \
        __VA_ARGS__,                                                                               \
    }
/* A stage with a right reference and one wrong variant. */
#define FAULT(id, name_, ...)                                                                      \
    STAGE(id##_stage, name_, pass_infer);                                                          \
    VARIANT(id##_reference, name_, "reference", CT_REFERENCE, .work = work_right);                 \
    VARIANT(id##_cpu, name_, "cpu", CT_CPU, __VA_ARGS__)

#define DEVICE_FAULT(id, name_)                                                                    \
    STAGE(id##_stage, name_, pass_infer);                                                          \
    VARIANT(id##_reference, name_, "reference", CT_REFERENCE, .work = work_right);                 \
    static const CtVariant id##_cpu = {                                                            \
        .name = "cuda",                                                                            \
        .backend = CT_CUDA,                                                                        \
        .covers = (const char *const[]){name_, NULL},                                              \
        .rows = (const CtRow[]){{"cf32[time station] -> cf32[time station]", 0.5}, {0}},           \
        .prepare = device_prepare,                                                                 \
        .work = device_work,                                                                       \
        .finish = device_finish,                                                                   \
    }

DEVICE_FAULT(kernel, "faulty.right-kernel");
DEVICE_FAULT(barrier, "faulty.no-barrier");
DEVICE_FAULT(part, "faulty.part-of-barrier");
DEVICE_FAULT(outside, "faulty.writes-behind");
DEVICE_FAULT(spills, "faulty.spills");
DEVICE_FAULT(early, "faulty.changes-products");
FAULT(right, "faulty.right", .work = work_right);
FAULT(behind, "faulty.reads-behind", .work = work_reads_behind);
FAULT(before, "faulty.reads-before", .work = work_reads_before);
FAULT(input, "faulty.writes-input", .work = work_writes_input);
FAULT(others, "faulty.writes-others", .work = work_writes_others);
FAULT(padding, "faulty.writes-padding", .work = work_writes_padding);
FAULT(last, "faulty.leaves-last", .work = work_leaves_last);
FAULT(cuts, "faulty.depends-on-cuts", .work = work_depends_on_cuts);
FAULT(workers, "faulty.depends-on-workers", .work = work_depends_on_workers);
FAULT(gaps, "faulty.ignores-gaps", .work = work_right, .advance = advance_ignores_gaps);
FAULT(scratch, "faulty.writes-scratch", .work = work_writes_scratch);
FAULT(marks, "faulty.marks", .work = work_marks);
FAULT(aborts, "faulty.aborts", .work = work_aborts);
FAULT(mute, "faulty.mute", .work = work_right, .fits = fits_without_reason);
FAULT(stops, "faulty.stops", .work = work_right, .advance = advance_stops);

/* Its accuracy would let any result pass. */
static void
accuracy_without_bound(G_GNUC_UNUSED const CtNode *node, G_GNUC_UNUSED const CtAccuracy *inputs,
                       CtAccuracy *outputs)
{
    outputs[0].error = INFINITY;
}

static const CtStage boundless_stage = {
    .name = "faulty.boundless",
    .summary = "Is wrong",
    .version = 1,
    .inputs = faulty_inputs,
    .outputs = faulty_outputs,
    .params = pass_params,
    .infer = pass_infer,
    .accuracy = accuracy_without_bound,
};
VARIANT(boundless_reference, "faulty.boundless", "reference", CT_REFERENCE, .work = work_right);
VARIANT(boundless_cpu, "faulty.boundless", "cpu", CT_CPU, .work = work_depends_on_workers);

static const CtStage miscounts_stage = {
    .name = "faulty.miscounts",
    .summary = "Is wrong",
    .version = 1,
    .inputs = faulty_inputs,
    .outputs = faulty_outputs,
    .params = pass_params,
    .infer = pass_infer,
    .counters = (const char *const[]){"samples", NULL},
};
VARIANT(miscounts_reference, "faulty.miscounts", "reference", CT_REFERENCE, .work = work_counts);
VARIANT(miscounts_cpu, "faulty.miscounts", "cpu", CT_CPU, .work = work_miscounts);

STAGE(refuses_stage, "faulty.refuses", infer_refuses);
VARIANT(refuses_reference, "faulty.refuses", "reference", CT_REFERENCE, .work = work_right);

STAGE(misdescribes_stage, "faulty.misdescribes", infer_misdescribes);
VARIANT(misdescribes_reference, "faulty.misdescribes", "reference", CT_REFERENCE,
        .work = work_right);

#define BOTH(id) &id##_cpu, &id##_reference

CT_PLUGIN(
    "faulty", ((const CtStage *const[]){&right_stage,        &behind_stage,
                                        &before_stage,       &input_stage,
                                        &others_stage,       &padding_stage,
                                        &last_stage,         &cuts_stage,
                                        &workers_stage,      &gaps_stage,
                                        &scratch_stage,      &aborts_stage,
                                        &marks_stage,        &stops_stage,
                                        &kernel_stage,       &barrier_stage,
                                        &part_stage,         &outside_stage,
                                        &spills_stage,       &refuses_stage,
                                        &misdescribes_stage, &boundless_stage,
                                        &early_stage,        &mute_stage,
                                        &miscounts_stage,    NULL}),
    ((const CtVariant *const[]){
        BOTH(right),   BOTH(behind), BOTH(before),    BOTH(input),        BOTH(others),
        BOTH(padding), BOTH(last),   BOTH(cuts),      BOTH(workers),      BOTH(gaps),
        BOTH(scratch), BOTH(marks),  BOTH(aborts),    BOTH(stops),        BOTH(kernel),
        BOTH(barrier), BOTH(part),   BOTH(outside),   BOTH(spills),       BOTH(boundless),
        BOTH(early),   BOTH(mute),   BOTH(miscounts), &refuses_reference, &misdescribes_reference,
        NULL}));
