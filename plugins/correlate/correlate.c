/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage correlate: V[b][p][q] = Σ_t x[i][p] conj(x[j][q]) for all pairs of stations i ≥ j,
 * summed over an integration. */
#include "correlate.h"

#include <cornerturn/kit/align.h>

static const char *const overs[] = {"station", "beam", NULL};
static const char *const precisions[] = {
    [CORRELATE_SINGLE] = "single", [CORRELATE_SPLIT] = "split", NULL};
static const char *const types[] = {"cf32", "cf64", "ci64", NULL};

static const CtParam params[] = {
    {"integration", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL, 1,
     G_MAXUINT32,
     .help =
         "spectra of a visibility, counted from the start of the stream; the last may be short"},
    {"over", CT_PARAM_CHOICE, .fallback = "station", .choices = overs,
     .help = "the axis of which all pairs are correlated"},
    {"output", CT_PARAM_CHOICE, .fallback = "cf32", .choices = types,
     .help = "type of the visibilities; sums of integers are exact and rounded once, to this"},
    {"precision", CT_PARAM_CHOICE, .fallback = "single", .choices = precisions,
     .help = "of products of cf32 to cf32; split: devices may make them from two shorter numbers "
             "each, which is faster, with errors that may be larger"},
    CT_SUM_ALIGN,
    {NULL},
};

/* Sums of integers are exact only if voltages are not converted to floats before: the type is a
 * wish, for axes in any order and in blocks. */
static void
keep_integers(CtNode *node)
{
    const CtType type = node->inputs[0].type;
    if (!ct_type_info(type)->is_float)
        node->input_layouts[0].types = 1u << type;
}

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    const char *over = overs[ct_params_choice(node->params, "over")];
    CtStream *visibilities = &node->outputs[0];
    CtStream *weights = &node->outputs[1];
    const gint station = ct_stream_axis(in, over);
    const gint pol = ct_stream_axis(in, "pol");

    if (station < 0) {
        g_autofree char *given = ct_stream_describe(in);
        return ct_params_error(node->params, "over", error,
                               "wants a stream with the axis %s, but is given %s", over, given);
    }
    if (ct_stream_axis(in, "baseline") >= 0 || ct_stream_axis(in, "pol'") >= 0) {
        g_autofree char *given = ct_stream_describe(in);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants a stream of voltages, but is given %s",
                    given);
        return FALSE;
    }
    const CtType type = ct_type_from_name(types[ct_params_choice(node->params, "output")]);
    if (type == CT_CI64 && in->type != CT_CI4 && in->type != CT_CI8 && in->type != CT_CI16)
        return ct_params_error(node->params, "output", error,
                               "ci64 wants voltages of type ci4, ci8 or ci16, but is given %s",
                               ct_type_info(in->type)->name);

    if (in->type == CT_CF32 && type == CT_CF32)
        ct_params_use(node->params, "precision");

    const gint64 n = in->axes[station].length;
    ct_stream_copy(visibilities, in);
    visibilities->type = type;
    ct_stream_remove_axis(visibilities, over);
    CtAxis *baseline = ct_stream_add_axis(visibilities, "baseline", n * (n + 1) / 2);
    CtLabels *of = in->axes[station].labels;
    g_autoptr(CtLabels) names = of ? ct_labels_ref(of) : ct_labels_new(NULL, (gsize)n);
    ct_axis_take_labels(baseline, ct_labels_new_pairs(names, NULL, 0));
    if (pol >= 0) {
        CtAxis *q = ct_stream_add_axis(visibilities, "pol'", in->axes[pol].length);
        if (!q) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "wants a stream of fewer axes, but is given %u", in->n_axes);
            return FALSE;
        }
        q->coordinate = in->axes[pol].coordinate;
        if (q->coordinate.table)
            g_bytes_ref(q->coordinate.table);
        if (in->axes[pol].labels)
            ct_axis_take_labels(q, ct_labels_ref(in->axes[pol].labels));
    }

    ct_stream_copy(weights, visibilities);
    weights->type = CT_U32;
    if (pol >= 0 && !in->axes[pol].loses) {
        ct_stream_remove_axis(weights, "pol");
        ct_stream_remove_axis(weights, "pol'");
    }

    const gint64 integration = ct_params_int(node->params, "integration");
    node->footprint = (CtFootprint){
        .kind = CT_FOOTPRINT_SUM,
        .window = integration,
        .hop = integration,
        .lanes = CT_LANES_ANY,
    };
    keep_integers(node);
    return !ct_params_bool(node->params, "align") ||
           ct_sum_align(node, "align", "integration", error);
}

/* Four multiplications and four additions for each pair of inputs and spectrum; the redundant
 * triangle is not counted. */
static gdouble
operations(const CtNode *node)
{
    const CtStream *in = &node->inputs[0];
    const char *over = overs[ct_params_choice(node->params, "over")];
    const gdouble n = (gdouble)(ct_stream_length(in, over) * ct_stream_length(in, "pol"));
    return 8 * n * (n + 1) / 2 * (gdouble)ct_stream_width(in) / n * (gdouble)node->footprint.hop;
}

/* The worst errors of sums that are added to a running sum, in roundings of each: two sums in
 * single precision, or those of tensor cores. */
static gdouble
count_roundings(const CtNode *node)
{
    const gdouble n = (gdouble)node->footprint.hop;
    const gboolean is_single = node->outputs[0].type == CT_CF32;
    if (is_single && node->inputs[0].type == CT_CF16)
        return 5 * 64 + n / 64;
    if (is_single && node->inputs[0].type == CT_CF32 &&
        ct_params_choice(node->params, "precision") == CORRELATE_SPLIT)
        return 22 * 64 + n / 64;
    return 2 * 128 + n / 128;
}

/* Integers are exact. In the worst case the errors of the inputs add up. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gboolean is_wide = node->inputs[0].type == CT_CF64 || node->outputs[0].type == CT_CF64;
    const gdouble n = (gdouble)node->footprint.hop;
    gdouble relative = 0;
    if (ct_type_info(node->inputs[0].type)->is_float)
        relative = count_roundings(node) * (is_wide ? 0x1p-53 : 0x1p-24) +
                   (node->outputs[0].type == CT_CF32 ? 0x1p-24 : 0);
    outputs[0].error = relative * outputs[0].largest;
    outputs[0].rms_error =
        relative * outputs[0].largest + 2 * n * inputs[0].rms * inputs[0].rms_error;
}

static const CtStage correlate = {
    .name = "correlate",
    .summary = "visibilities: products of all pairs of stations, summed over time",
    .version = 1,
    .inputs = CT_PORTS(
        {"voltages", "ci4|ci8|ci16|cf16|cf32|cf64{time ...}", 0, "spectra of every station"}),
    .outputs = CT_PORTS(
        {"visibilities", "cf32|cf64|ci64{time baseline ...}", 0,
         "sums of the products of every pair, with autocorrelations"},
        {"weights", "u32{time baseline ...}", 0, "spectra in which both stations were valid"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .default_layouts = "any: [channel station time pol] -> [time baseline channel pol pol'], "
                       "[time baseline channel pol pol']",
    .accuracy_rule =
        "(2·128 + T/128) u Σ|x||y|, of the largest, an auto's, u = 2⁻²⁴ (2⁻⁵³ of double "
        "precision); (5·64 + T/64) u Σ|x||y| of cf16, (22·64 + T/64) u Σ|x||y| with `precision: "
        "split`; of integers nothing; weights are exact",
};

CT_STAGE_PLUGIN("correlate", correlate, &ct_correlate_split_cuda, &ct_correlate_cuda,
                CT_ISA_ONLY(ct_correlate_cpu_amx) CT_ISA_ONLY(ct_correlate_cpu_avx512vnni)
                    CT_ISA_ONLY(ct_correlate_cpu_avxvnni) CT_ISA_VARIANTS(ct_correlate_cpu),
                &ct_correlate_reference);
