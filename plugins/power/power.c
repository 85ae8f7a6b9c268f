/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage power: squared modulus, or Stokes parameters of two polarisations. */
#include "power.h"

#include "power.kernel.h"
#include "stokes.kernel.h"

static const char *const stokes[] = {"none", "I", "IQUV", NULL};
static const char *const feeds[] = {"linear", "circular", NULL};

static const CtParam params[] = {
    {"stokes", CT_PARAM_CHOICE, .fallback = "none", .choices = stokes,
     .help = "the Stokes parameters; none: the squared modulus of every sample"},
    {"feed", CT_PARAM_CHOICE, .fallback = "linear", .choices = feeds,
     .help = "the polarisations on the axis pol: X (north), Y (east), or R, L of the IEEE"},
    {NULL},
};

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    CtStream *out = &node->outputs[0];
    const PowerStokes wanted = ct_params_choice(node->params, "stokes");
    if (wanted != POWER_NONE) {
        if (ct_stream_length(in, "pol") != 2 || !ct_type_info(in->type)->is_complex) {
            g_autofree char *given = ct_stream_describe(in);
            return ct_params_error(node->params, "stokes", error,
                                   "wants complex samples of two polarisations, but is given %s "
                                   "of %s",
                                   ct_type_info(in->type)->name, given);
        }
        if (ct_stream_axis(in, "stokes") >= 0 || ct_stream_axis(in, "pol'") >= 0) {
            g_autofree char *given = ct_stream_describe(in);
            return ct_params_error(node->params, "stokes", error,
                                   "wants a stream of voltages, but is given %s", given);
        }
    }
    ct_stream_copy(out, in);
    out->type = in->type == CT_CF64 || in->type == CT_F64 ? CT_F64 : CT_F32;
    if (wanted != POWER_NONE) {
        ct_stream_remove_axis(out, "pol");
        static const char *const names[] = {"I", "Q", "U", "V"};
        const guint n = wanted == POWER_I ? 1 : 4;
        ct_axis_take_labels(ct_stream_add_axis(out, "stokes", n), ct_labels_new(names, n));
    }
    /* The intensity does not depend on the feed. */
    if (wanted == POWER_IQUV)
        ct_params_use(node->params, "feed");
    return TRUE;
}

/* A squared modulus takes three operations, the four parameters of two samples fourteen. */
static gdouble
operations(const CtNode *node)
{
    const gdouble width = (gdouble)ct_stream_width(&node->inputs[0]);
    switch (ct_params_choice(node->params, "stokes")) {
    case POWER_I:
        return width * 3.5;
    case POWER_IQUV:
        return width * 7;
    default:
        return width * (ct_type_info(node->inputs[0].type)->is_complex ? 3 : 1);
    }
}

static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gboolean has_stokes = ct_params_choice(node->params, "stokes") != POWER_NONE;
    const gdouble relative = 8 * (node->outputs[0].type == CT_F64 ? 0x1p-53 : 0x1p-24);
    outputs[0].error = relative * outputs[0].largest;
    outputs[0].rms_error =
        relative * outputs[0].rms + (has_stokes ? 4 : 2) * inputs[0].largest * inputs[0].rms_error;
}

static const CtStage power = {
    .name = "power",
    .summary = "squared modulus, or Stokes parameters",
    .version = 1,
    .inputs = CT_PORTS(
        {"in", "ci4|ci8|ci16|cf16|cf32|cf64|i8|i16|f16|f32|f64{...}", 0, "voltages or spectra"}),
    .outputs = CT_PORTS({"out", "f32|f64{...}", 0, "powers"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "8 u I, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    const PowerStokes wanted = ct_params_choice(node->params, "stokes");
    if (wanted == POWER_NONE) {
        ct_form_kernel(choice, "power", sizeof(CtNoSettings));
        return TRUE;
    }
    Stokes *settings =
        ct_form_kernel(choice, wanted == POWER_I ? "stokes_i" : "stokes_iquv", sizeof(Stokes));
    settings->is_circular = ct_params_choice(node->params, "feed") == POWER_CIRCULAR;
    choice->group_in = "pol";
    choice->group_out = "stokes";
    return TRUE;
}

static const CtForm form = CT_FORM("power", choose);

CT_STAGE_PLUGIN("power", power,
                CT_FORM_VARIANTS(form, "power", CT_PORT_ROWS(0.95), CT_PORT_ROWS(0.95)),
                &ct_power_reference);
