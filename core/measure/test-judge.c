/* SPDX-License-Identifier: BSD-3-Clause */
/* A case of a stage's test, run by a variant and by the reference. */
#include "test-judge.h"

#include "graph/plugin-call.h"
#include "plan/placement.h"
#include "run/firing.h"
#include "test-run.h"
#include "verify-private.h"

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/convert.h>
#include <math.h>
#include <string.h>

/* ---- elements in canonical order ---- */

/* A whole stream, packed, in canonical order. */
typedef struct {
    CtStream stream; /* shallow */
    CtLayout layout;
    CtBlock block;
    guint8 *data, *validity; /* [lane][n_samples] */
} Elements;

static void
elements_init(Elements *self, const CtStream *stream, CtType type, gint64 n)
{
    const gsize lanes = (gsize)ct_stream_n_lanes(stream);
    self->stream = *stream;
    self->stream.type = type;
    ct_layout_canonical(&self->layout, &self->stream);
    const gsize bytes = ct_block_padded(&self->block, &self->layout, &self->stream, n, 0, 1);
    self->data = self->block.data = g_malloc0(bytes + 1);
    self->validity = self->block.validity = g_malloc0(lanes * (gsize)n + 1);
    memset(self->validity, 1, lanes * (gsize)n);
    self->block.validity_stride = n;
}

static void
elements_clear(Elements *self)
{
    g_free(self->data);
    g_free(self->validity);
    *self = (Elements){0};
}

static void
move_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
         const CtBoxAxis *run)
{
    ct_box_move(in, run->in, out, run->out, *(const gsize *)data, (gsize)run->length);
}

/* Moves all elements of a stream from one layout to another. */
static void
move(const CtStream *stream, const CtLayout *from, const CtBlock *in, const CtLayout *to,
     const CtBlock *out)
{
    const CtBinding bindings[2] = {{stream, *from, in->n_samples, {0}},
                                   {stream, *to, out->n_samples, {0}}};
    const CtWork work = {.inputs = in, .outputs = out, .end = 1};
    CtBoxes boxes;
    if (in->n_samples == 0)
        return;
    ct_boxes_init(&boxes, &bindings[0], &bindings[1], 1);
    gsize bytes = ct_type_info(boxes.out_type)->bytes;
    ct_boxes_each_run(&boxes, &work, move_run, &bytes);
}

/* Converts the elements to the type that the row takes. */
static void
convert(Elements *to, const Elements *from, CtType type)
{
    const gint64 n = from->block.n_samples * ct_stream_width(&from->stream);
    elements_init(to, &from->stream, type, from->block.n_samples);
    memcpy(to->validity, from->validity,
           (gsize)(ct_stream_n_lanes(&from->stream) * from->block.n_samples));
    const CtConvert steps = ct_convert_steps(CT_ISA_BASELINE, from->stream.type, type);
    if (from->stream.type == type) {
        memcpy(to->data, from->data, (gsize)n * ct_type_info(type)->bytes);
        return;
    }
    g_autofree guint8 *scratch = g_malloc(CT_CONVERT_SCRATCH(n) + 64);
    ct_convert(&steps, from->data, to->data, (gsize)n, scratch);
}

/* ---- one run ---- */

/* Runs a variant with these layouts: the results are in canonical order. */
static gboolean
run_variant(CtDevice *device, const CtTestCase *one, const CtTestRun *run, const CtLayout *layouts,
            gsize padding, const Elements *given, Elements *results, guint64 *counters,
            GError **error)
{
    const guint n_in = one->node.n_inputs, n_out = one->node.n_outputs;
    CtBlock inputs[CT_TEST_PORTS + 1] = {{0}}, outputs[CT_TEST_PORTS + 1] = {{0}};
    Elements converted[CT_TEST_PORTS] = {{{0}}};
    CtStream narrowed[CT_TEST_PORTS];
    /* Rings on devices have such strides. */
    const gint64 alignment = run->variant->backend == CT_CUDA ? 16 : 1;
    CtNode node = one->node;
    memcpy(narrowed, one->inputs, sizeof narrowed);
    node.inputs = narrowed;
    for (guint i = 0; i < n_in; i++) {
        if (layouts[i].n_axes == 0)
            continue;
        narrowed[i].type = ct_layout_stream_type(&layouts[i]);
        convert(&converted[i], &given[i], narrowed[i].type);
        const gsize bytes = ct_block_padded(&inputs[i], &layouts[i], &narrowed[i],
                                            one->n_samples[i], padding, alignment);
        inputs[i].data = g_malloc0(bytes + 1);
        inputs[i].validity = converted[i].validity;
        inputs[i].validity_stride = one->n_samples[i];
        move(&narrowed[i], &converted[i].layout, &converted[i].block, &layouts[i], &inputs[i]);
    }
    for (guint o = 0; o < n_out; o++) {
        const CtStream *stream = &one->outputs[o];
        const gint time = ct_stream_axis(stream, "time");
        const gint64 n = time < 0 ? 1 : stream->axes[time].length;
        if (stream->type == CT_TYPE_NONE)
            continue;
        const gsize bytes =
            ct_block_padded(&outputs[o], &layouts[n_in + o], stream, MAX(0, n), padding, alignment);
        outputs[o].data = g_malloc0(bytes + 1);
        outputs[o].validity = g_malloc0((gsize)(ct_stream_n_lanes(stream) * MAX(0, n)) + 1);
        outputs[o].validity_stride = n;
    }
    CtTestRun own = *run;
    own.nodes = &node;
    own.n_nodes = 1;
    own.inputs = layouts;
    own.outputs = &layouts[n_in];
    own.device = own.variant->backend == CT_CUDA ? device : NULL;
    const gboolean good = ct_test_run(&own, inputs, outputs, counters, error);
    for (guint o = 0; o < n_out; o++) {
        const CtStream *stream = &one->outputs[o];
        if (good && outputs[o].data) {
            elements_init(&results[o], stream, stream->type, outputs[o].n_samples);
            results[o].block.start = outputs[o].start;
            move(stream, &layouts[n_in + o], &outputs[o], &results[o].layout, &results[o].block);
            for (gint64 l = 0; l < ct_stream_n_lanes(stream); l++)
                memcpy(results[o].validity + l * outputs[o].n_samples,
                       outputs[o].validity + l * outputs[o].validity_stride,
                       (gsize)outputs[o].n_samples);
        }
        g_free(outputs[o].data);
        g_free(outputs[o].validity);
    }
    for (guint i = 0; i < n_in; i++)
        g_free(inputs[i].data);
    for (guint i = 0; i < CT_TEST_PORTS; i++)
        elements_clear(&converted[i]);
    return good;
}

/* ---- the comparison ---- */

static void
add(CtComparison *found, const Elements *a, const Elements *b)
{
    const CtLayout *const layouts[2] = {&a->layout, &b->layout};
    const CtBlock *const blocks[2] = {&a->block, &b->block};
    if (a->block.n_samples > 0)
        ct_comparison_add(found, &b->stream, layouts, blocks, 0);
}

/* The largest modulus of the elements, and its root mean square. */
static CtAccuracy
measure(const Elements *elements)
{
    CtComparison found = {0};
    if (elements->data)
        add(&found, elements, elements);
    return (CtAccuracy){
        .largest = found.value_largest,
        .rms = found.n > 0 ? sqrt(found.value_squares / (gdouble)found.n) : 0,
    };
}

/* Whether the element with the largest difference is as the memory was before work. */
static gboolean
is_unwritten(const Elements *made, const CtComparison *found, guint8 poison)
{
    const gsize bytes = ct_type_info(made->stream.type)->bytes;
    const guint8 *at = made->data;
    for (guint a = 0; a < made->layout.n_axes; a++) {
        const gint axis = ct_stream_axis(&made->stream, made->layout.axes[a].name);
        at += found->worst[axis] * made->block.stride[a];
    }
    for (gsize i = 0; i < bytes; i++)
        if (at[i] != poison)
            return FALSE;
    return TRUE;
}

/* The difference of an output from the reference's, allocated; NULL: it is within the bound. */
static char *
find_difference(const CtTestCase *one, guint o, const Elements *made, const Elements *wanted,
                gdouble bound, guint8 poison)
{
    const char *port = one->node.stage->outputs[o].name;
    if (made->block.n_samples != wanted->block.n_samples)
        return g_strdup_printf("output '%s' has %" G_GINT64_FORMAT
                               " samples, where the reference has %" G_GINT64_FORMAT,
                               port, made->block.n_samples, wanted->block.n_samples);
    if (made->block.n_samples > 0 && made->block.start != wanted->block.start)
        return g_strdup_printf("output '%s' starts at tick %" G_GINT64_FORMAT
                               ", where the reference's starts at %" G_GINT64_FORMAT,
                               port, made->block.start, wanted->block.start);
    CtComparison found = {0};
    add(&found, made, wanted);
    if (found.n_validity > 0)
        return g_strdup_printf("%" G_GINT64_FORMAT
                               " samples of output '%s' are valid on one side alone",
                               found.n_validity, port);
    if (found.largest <= bound)
        return NULL;
    g_autofree char *place = ct_comparison_place(&made->stream, &found);
    return g_strdup_printf(
        "output '%s' is off by %.3g, where %.3g is allowed, %s%s", port, found.largest, bound,
        place, is_unwritten(made, &found, poison) ? ", an element that it does not write" : "");
}

static char *
find_differences(const CtTestCase *one, const Elements *given, const Elements *made,
                 const Elements *wanted, guint8 poison)
{
    CtAccuracy inputs[CT_TEST_PORTS] = {{0}}, outputs[CT_TEST_PORTS] = {{0}};
    for (guint i = 0; i < one->node.n_inputs; i++)
        inputs[i] = measure(&given[i]);
    for (guint o = 0; o < one->node.n_outputs; o++)
        outputs[o] = measure(&wanted[o]);
    ct_call_accuracy(&one->node, inputs, outputs);
    for (guint o = 0; o < one->node.n_outputs; o++) {
        if (wanted[o].data && !(outputs[o].error >= 0 && isfinite(outputs[o].error)))
            return g_strdup_printf("the stage's accuracy allows an error of %g of output '%s', but "
                                   "wants a finite number, 0 or more",
                                   outputs[o].error, one->node.stage->outputs[o].name);
        char *difference = wanted[o].data ? find_difference(one, o, &made[o], &wanted[o],
                                                            2 * outputs[o].error, poison)
                                          : NULL;
        if (difference)
            return difference;
    }
    return NULL;
}

/* The first counter that differs from the reference's, allocated; NULL: none does. */
static char *
find_miscount(const CtStage *stage, const guint64 *made, const guint64 *wanted)
{
    for (guint c = 0; stage->counters && stage->counters[c]; c++)
        if (made[c] != wanted[c])
            return g_strdup_printf("counter '%s' is %" G_GUINT64_FORMAT
                                   ", where the reference's is %" G_GUINT64_FORMAT,
                                   stage->counters[c], made[c], wanted[c]);
    return NULL;
}

/* ---- the case ---- */

/* The elements of the inputs, before any conversion. */
static void
fill(const CtTestCase *one, Elements *given, GRand *random)
{
    for (guint i = 0; i < one->node.n_inputs; i++) {
        const CtStream *stream = &one->narrow[i];
        if (stream->type == CT_TYPE_NONE)
            continue;
        elements_init(&given[i], stream, stream->type, one->n_samples[i]);
        ct_test_case_fill(one, i, given[i].data, given[i].validity, random);
        const CtDeparture gaps = {
            .validity = given[i].validity,
            .validity_stride = one->n_samples[i],
            .produced = one->n_samples[i],
        };
        ct_validity_zero(&given[i].block, &gaps, stream, &given[i].layout);
    }
}

/* Layouts in which the reference can run the case. */
static gboolean
bind_reference(const CtVariant *reference, const CtTestCase *one, CtLayout *layouts, GError **error)
{
    for (const CtRow *row = reference->rows; row->layouts; row++) {
        g_clear_error(error);
        if (ct_test_case_bind(one, row, layouts, error))
            return TRUE;
    }
    return FALSE;
}

char *
ct_test_judge(const CtTestCase *one, const CtTestChoice *choice, const CtVariant *reference,
              CtDevice *device, GRand *random)
{
    static const guint8 poisons[] = {0xff, 0x5a};
    const guint8 poison = poisons[one->round % 2];
    Elements given[CT_TEST_PORTS] = {{{0}}}, wanted[CT_TEST_PORTS] = {{{0}}},
             made[CT_TEST_PORTS] = {{{0}}};
    CtLayout layouts[2 * CT_TEST_PORTS];
    guint64 counters[2][CT_MAX_COUNTERS];
    g_autoptr(GError) error = NULL;
    char *problem = NULL;
    const CtTestRun whole = {
        .variant = reference,
        .n_workers = 1,
        .cut_by = CT_CUT_ROOM,
        .poison = poison,
    };
    const CtTestRun cut = {
        .variant = choice->variant,
        .tuning = one->tuning,
        .n_workers = one->n_workers,
        .cut_by = one->is_whole ? CT_CUT_ROOM : one->cut_by,
        .cuts = one->cuts,
        .n_cuts = one->is_whole ? 0 : G_N_ELEMENTS(one->cuts),
        .side = one->side,
        .poison = poison,
        .random = one->is_whole ? NULL : random,
    };
    fill(one, given, random);
    if (!bind_reference(reference, one, layouts, &error))
        problem = g_strdup_printf("the reference has no row for it: %s", error->message);
    else if (!run_variant(device, one, &whole, layouts, 0, given, wanted, counters[0], &error))
        problem = g_strdup_printf("the reference fails: %s", error->message);
    else if (!run_variant(device, one, &cut, one->layouts, one->padding, given, made, counters[1],
                          &error))
        problem = g_strdup(error->message);
    else
        problem = find_differences(one, given, made, wanted, poison);
    if (!problem)
        problem = find_miscount(one->node.stage, counters[1], counters[0]);
    for (guint i = 0; i < CT_TEST_PORTS; i++) {
        elements_clear(&given[i]);
        elements_clear(&wanted[i]);
        elements_clear(&made[i]);
    }
    return problem;
}
