/* @STAGE@: the mean power of a number of samples, y = Σ |x|² / n over n valid samples. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/fold.h>

static const CtParam params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED, NULL, 1, G_MAXUINT32,
     .help = "samples of a mean, counted from the start of the stream; the last may be short"},
    {0}};
static const CtPort inputs[] = {{"in", "cf32{time ...}", 0, "samples"}, {0}};
static const CtPort outputs[] = {{"out", "f32{time ...}", 0, "mean powers"},
                                 {"weights", "u32{time ...}", 0, "valid samples of every mean"},
                                 {0}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_fold_infer(node, ct_params_int(node->params, "length"));
    node->outputs[0].type = CT_F32;
    return TRUE;
}

/* Four operations for each sample of the input; plans and statistics use the number. */
static gdouble
operations(const CtNode *node)
{
    return 4 * (gdouble)ct_stream_width(&node->inputs[0]) * (gdouble)node->footprint.hop;
}

/* The rounding of the result and of the sums, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble unit = 0x1p-24 + (gdouble)node->footprint.hop * 0x1p-53;
    outputs[0].error = unit * outputs[0].largest;
    outputs[0].rms_error = unit * outputs[0].rms + 2 * inputs[0].largest * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "the mean power of a number of samples",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "(u + length 2⁻⁵³) |y|, u = 2⁻²⁴; weights are exact",
};

/* ---- every instruction set and devices, from the kernel ---- */

static gboolean
choose(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(choice, "power", sizeof(CtNoSettings));
    return TRUE;
}

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

static void
reference_add(G_GNUC_UNUSED gconstpointer settings, gdouble *state, const gdouble *x,
              G_GNUC_UNUSED guint n_parts)
{
    state[0] += x[0] * x[0] + x[1] * x[1];
}

static gboolean
reference_give(G_GNUC_UNUSED gconstpointer settings, const gdouble *state, guint32 n, gdouble *y)
{
    y[0] = n > 0 ? state[0] / n : 0;
    return TRUE;
}

static const CtFold fold = {
    .form = CT_FORM("@PLUGIN@", choose),
    .n_numbers = 1,
    .add = reference_add,
    .give = reference_give,
};

/* The axes may have any order, the same on both sides. The number is the share of the memory's
 * bandwidth that the variants reach, as `cornerturn tune` measures it. The reference takes any
 * order on either side. */
static const CtRow rows[] = {{"cf32{time ...} -> f32{time ...}, u32{time ...}", 0.8}, {0}};
static const CtRow any[] = {{"any: cf32{time ...} -> f32{time ...}, u32{time ...}", 0.01}, {0}};

CT_PLUGIN("@PLUGIN@", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){CT_FOLD_VARIANTS(fold, "@STAGE@", rows, rows, any), NULL}));
