/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage beamform: y[c][b][t][p] = Σ_s w[c][b][s] · x[c][s][t][p]. */
#include "beamform.h"

#include "beamform-quantise.h"

#include <math.h>
#include <string.h>

static const char *const weights_as[] = {
    [BEAMFORM_GIVEN] = "given", [BEAMFORM_CI8] = "ci8", [BEAMFORM_CF16] = "cf16", NULL};

static const CtParam params[] = {
    {"weights", CT_PARAM_PATH, CT_PARAM_LIVE,
     .help = ".npy of [channel beam station] or [channel beam station pol], used as given, not "
             "conjugated; instead of the port"},
    {"weights_as", CT_PARAM_CHOICE, .fallback = "given", .choices = weights_as,
     .help = "rounds the weights to integers of 8 bits or to half precision, each beam with a "
             "scale of its own, for the matrix units of a GPU"},
    {NULL},
};

enum { VOLTAGES, WEIGHTS };

/* Every axis of the weights but beam must be one of the voltages, of the same length. */
static gboolean
check_weights(const CtStream *voltages, const CtStream *weights, GError **error)
{
    for (guint a = 0; a < weights->n_axes; a++) {
        const CtAxis *axis = &weights->axes[a];
        if (strcmp(axis->name, "beam") == 0 || strcmp(axis->name, "time") == 0)
            continue;
        const gint other = ct_stream_axis(voltages, axis->name);
        if (other >= 0 && voltages->axes[other].length == axis->length)
            continue;
        g_autofree char *wanted = ct_stream_describe(voltages);
        g_autofree char *given = ct_stream_describe(weights);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input 'weights' wants the axis %s of voltages of %s, but is given %s",
                    axis->name, wanted, given);
        return FALSE;
    }
    return TRUE;
}

/* The number of beams, and their coordinates if they come from the port. */
static gboolean
find_beams(const CtNode *node, CtAxis *beams, GError **error)
{
    const CtStream *weights = &node->inputs[WEIGHTS];
    const gboolean has_file = ct_params_has(node->params, "weights");
    const gboolean has_port = weights->type != CT_TYPE_NONE;
    if (has_file && has_port)
        return ct_params_error(node->params, "weights", error,
                               "wants to stand alone, but the port 'weights' is connected too");
    if (has_port) {
        if (!check_weights(&node->inputs[VOLTAGES], weights, error))
            return FALSE;
        *beams = weights->axes[ct_stream_axis(weights, "beam")];
        return TRUE;
    }
    if (!has_file) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants weights: a file, or the port 'weights' connected, but is given neither");
        return FALSE;
    }
    CtLayout layout;
    g_autoptr(CtNpyArray) array = ct_beamform_load(node, &layout, error);
    if (!array)
        return FALSE;
    *beams = (CtAxis){.length = (gint64)array->shape[ct_layout_axis(&layout, "beam")]};
    return TRUE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *voltages = &node->inputs[VOLTAGES];
    CtStream *out = &node->outputs[0];
    CtAxis beams = {0};

    if (ct_stream_axis(voltages, "beam") >= 0) {
        g_autofree char *given = ct_stream_describe(voltages);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "input 'voltages' wants a stream without the axis beam, but is given %s",
                    given);
        return FALSE;
    }
    if (!find_beams(node, &beams, error))
        return FALSE;
    ct_stream_copy(out, voltages);
    out->type = CT_CF32;
    ct_stream_remove_axis(out, "station");
    CtAxis *axis = ct_stream_add_axis(out, "beam", beams.length);
    if (!beams.coordinate.parent) {
        axis->coordinate = beams.coordinate;
        if (axis->coordinate.table)
            g_bytes_ref(axis->coordinate.table);
    }
    node->footprint = (CtFootprint){
        .kind = CT_FOOTPRINT_WINDOW,
        .window = 1,
        .hop = 1,
        .lanes = CT_LANES_ANY, /* a beam is valid where any station is */
    };
    return TRUE;
}

/* Four multiplications and four additions for each beam, station and polarisation. */
static gdouble
operations(const CtNode *node)
{
    return 8 * (gdouble)ct_stream_width(&node->outputs[0]) *
           (gdouble)ct_stream_length(&node->inputs[VOLTAGES], "station");
}

/* The largest modulus of the weights. */
static gdouble
largest_weight(const CtNode *node, const CtAccuracy *inputs)
{
    CtLayout layout;
    if (node->inputs[WEIGHTS].type != CT_TYPE_NONE)
        return inputs[WEIGHTS].largest;
    g_autoptr(CtNpyArray) array = ct_beamform_load(node, &layout, NULL);
    gdouble largest = 0;
    for (gsize i = 0; array && i < array->n_items; i++) {
        const gfloat *weight = (const gfloat *)array->data + 2 * i;
        largest = MAX(largest, hypot((gdouble)weight[0], (gdouble)weight[1]));
    }
    return largest;
}

/* Quantised parts differ from the given ones by 1 / 254 or 2⁻¹¹ of the largest. Matrix units round
 * sums of half precision more often than once for each addition. */
static const struct {
    gdouble largest, roundings;
} share[] = {
    [BEAMFORM_GIVEN] = {1, 2},
    [BEAMFORM_CI8] = {1 + 0x1p-7, 2},
    [BEAMFORM_CF16] = {1 + 0x1p-10, 5},
};

static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble n = (gdouble)ct_stream_length(&node->inputs[VOLTAGES], "station");
    const guint as = ct_params_choice(node->params, "weights_as");
    const gdouble weights = n * largest_weight(node, inputs) * share[as].largest;
    const gdouble relative = share[as].roundings * n * 0x1p-24 * weights;
    outputs[0].error = relative * inputs[VOLTAGES].largest;
    outputs[0].rms_error = relative * inputs[VOLTAGES].rms + weights * inputs[VOLTAGES].rms_error +
                           n * inputs[VOLTAGES].rms * inputs[WEIGHTS].rms_error;
}

static const CtStage beamform = {
    .name = "beamform",
    .summary = "beams: weighted sums over the stations",
    .version = 1,
    .inputs =
        CT_PORTS({"voltages", "ci4|ci8|ci16|cf32{time station ...}", 0, "spectra of every station"},
                 {"weights", "cf32{beam station ...}", CT_PORT_OPTIONAL | CT_PORT_STATIC,
                  "[channel beam station] or [channel beam station pol]"}),
    .outputs = CT_PORTS({"beams", "cf32{time beam ...}", 0, "weighted sums over the stations"}),
    .params = params,
    .infer = infer,
    .operations = operations,
    .accuracy = accuracy,
    .default_layouts = "any: [channel station time pol], [channel beam station] -> "
                       "[channel time beam pol]",
    .accuracy_rule = "2 S u Σ|w||x| of S stations, u = 2⁻²⁴; 5 S u Σ|w||x| with weights as cf16",
};

CT_STAGE_PLUGIN("beamform", beamform, &ct_beamform_mma_cuda, &ct_beamform_cuda,
                CT_ISA_ONLY(ct_beamform_cpu_amx) CT_ISA_ONLY(ct_beamform_cpu_avx512vnni)
                    CT_ISA_ONLY(ct_beamform_cpu_avxvnni) CT_ISA_VARIANTS(ct_beamform_cpu),
                &ct_beamform_reference);
