/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage gains: y = g[station pol channel] · x. */
#include "gains.h"

#include "gains.kernel.h"

#include <math.h>

static const CtParam params[] = {
    {"gains", CT_PARAM_PATH, CT_PARAM_LIVE,
     .help = "factors as .npy [station pol channel], real for a real stream; instead of the port"},
    {"gain", CT_PARAM_REAL, CT_PARAM_LIST | CT_PARAM_LIVE,
     .help =
         "in place of a file or the port, one factor for all: real, or real and imaginary part"},
    {"axes", CT_PARAM_STRING, CT_PARAM_LIST,
     .help = "of the file; left out: station pol channel, those that the stream has"},
    {"inverse", CT_PARAM_BOOL, CT_PARAM_LIVE, .fallback = "false",
     .help = "divide by the gains in place of multiplying"},
    {NULL},
};

/* A real stream stays real: its factors are. A file is checked when it is read. */
static gboolean
check_real(const CtNode *node, GError **error)
{
    if (!gains_are_real(node))
        return TRUE;
    if (ct_params_count(node->params, "gain") == 2)
        return ct_params_error(node->params, "gain", error,
                               "wants a real factor, for the stream is real (%s), but is given a "
                               "real and an imaginary part",
                               ct_type_info(node->inputs[GAINS_IN].type)->name);
    if (!ct_array_is_given(node, GAINS_PORT) ||
        !ct_type_info(node->inputs[GAINS_PORT].type)->is_complex)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "input 'gains' wants real factors, for input 'in' is real (%s), but is given %s",
                ct_type_info(node->inputs[GAINS_IN].type)->name,
                ct_type_info(node->inputs[GAINS_PORT].type)->name);
    return FALSE;
}

static gboolean
infer(CtNode *node, GError **error)
{
    const guint n_parts = ct_params_count(node->params, "gain");
    const gboolean has_port = ct_array_is_given(node, GAINS_PORT);
    if (!ct_array_check_alone(node, GAINS_PORT, "gains", error) ||
        !ct_array_check_alone(node, GAINS_PORT, "gain", error) ||
        (has_port && !ct_array_check_axes(node, GAINS_PORT, GAINS_IN, error)))
        return FALSE;
    if (!has_port && ct_params_has(node->params, "gains") == ct_params_has(node->params, "gain"))
        return ct_params_error(node->params, "gains", error,
                               "wants a file 'gains', a constant 'gain' or the port 'gains', but "
                               "is given %s",
                               n_parts > 0 ? "both" : "neither");
    if (n_parts > 2 || (n_parts == 0 && ct_params_has(node->params, "gain")))
        return ct_params_error(node->params, "gain", error,
                               "wants a real part or a real and an imaginary part, but is given %u "
                               "numbers",
                               n_parts);
    if (!check_real(node, error))
        return FALSE;
    if (n_parts == 0 && !has_port) {
        const char *axes[CT_MAX_AXES];
        g_autoptr(CtNpyArray) array = ct_gains_load(node, axes, error);
        if (!array)
            return FALSE;
    }
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_params_use(node->params, "inverse");
    return TRUE;
}

static gdouble
operations(const CtNode *node)
{
    const gdouble width = (gdouble)ct_stream_width(&node->inputs[GAINS_IN]);
    return width * (gains_are_real(node) ? 1 : 6); /* a complex product has six */
}

/* The largest modulus of a factor. If the port's gains are inverted, it is estimated: the root mean
 * square of the output, divided by that of the input. */
static gdouble
largest_gain(const CtNode *node, const CtAccuracy *inputs, const CtAccuracy *output)
{
    const gboolean inverts = ct_params_bool(node->params, "inverse");
    const char *axes[CT_MAX_AXES];
    if (ct_array_is_given(node, GAINS_PORT))
        return !inverts                   ? inputs[GAINS_PORT].largest
               : inputs[GAINS_IN].rms > 0 ? output->rms / inputs[GAINS_IN].rms
                                          : 0;
    if (!ct_params_has(node->params, "gains")) {
        const gdouble re = ct_params_real_at(node->params, "gain", 0);
        const gdouble im = ct_params_count(node->params, "gain") == 2
                               ? ct_params_real_at(node->params, "gain", 1)
                               : 0;
        return !inverts ? hypot(re, im) : re == 0 && im == 0 ? 0 : 1 / hypot(re, im);
    }
    g_autoptr(CtNpyArray) array = ct_gains_load(node, axes, NULL);
    gdouble largest = 0;
    const guint n_parts = array && array->kind == 'c' ? 2 : 1;
    for (gsize i = 0; array && i < array->n_items; i++) {
        const gdouble *gain = (const gdouble *)array->data + n_parts * i;
        const gdouble modulus = n_parts == 2 ? hypot(gain[0], gain[1]) : fabs(*gain);
        largest = MAX(largest, !inverts ? modulus : modulus == 0 ? 0 : 1 / modulus);
    }
    return largest;
}

static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const CtType type = node->inputs[0].type;
    const gdouble relative = 4 * (type == CT_CF64 || type == CT_F64 ? 0x1p-53 : 0x1p-24);
    outputs[0].error = relative * outputs[0].largest;
    outputs[0].rms_error = relative * outputs[0].rms +
                           largest_gain(node, inputs, &outputs[0]) * inputs[GAINS_IN].rms_error;
}

static const CtStage gains = {
    .name = "gains",
    .summary = "factors per station, polarisation and channel",
    .version = 3,
    .inputs = CT_PORTS({"in", "f32|f64|cf32|cf64{...}", 0, "voltages, spectra or powers"},
                       {"gains", "{...}", CT_PORT_OPTIONAL | CT_PORT_STATIC | CT_PORT_PREPARED,
                        "factors, of the stream's axes station, pol, channel or any others"}),
    .outputs = CT_PORTS({"out", "f32|f64|cf32|cf64{...}", 0, "the same, multiplied by the gains"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "4 u |g| |x|, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

static gboolean
choose(const CtNode *node, CtFormChoice *choice, GError **error)
{
    ct_form_kernel(choice, "gains", sizeof(CtNoSettings));
    return ct_gains_table(node, &choice->table, error);
}

static const CtForm form = CT_FORM("gains", choose);

CT_STAGE_PLUGIN("gains", gains,
                CT_FORM_TABLE_VARIANTS(form, "gains", CT_PORT_ROWS(0.72), CT_PORT_ROWS(0.98)),
                &ct_gains_reference);
