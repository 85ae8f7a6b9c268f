/* @STAGE@: the mean power of a number of samples, y = Σ |x|² / n over n valid samples. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/fold.h>

static const CtParam params[] = {
    {"length", CT_PARAM_INT, CT_PARAM_REQUIRED | CT_PARAM_RANGED | CT_PARAM_SAMPLES, NULL, 1,
     G_MAXUINT32,
     .help = "samples of a mean, counted from the start of the stream; the last may be short"},
    {0}};

/* The rounding of the result and of the sums, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble unit = 0x1p-24 + (gdouble)node->footprint.hop * 0x1p-53;
    outputs[0].error = unit * outputs[0].largest;
    outputs[0].rms_error = unit * outputs[0].rms + 2 * inputs[0].largest * inputs[0].rms_error;
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

/* The name of the kernel, from which come all instruction sets and devices; that of the parameter
 * that gives the samples of a hop; and the reference. */
static const CtFold fold = {
    .form = CT_KERNEL_FORM("@PLUGIN@", "power", .length = "length"),
    .n_numbers = 1,
    .add = reference_add,
    .give = reference_give,
};

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "the mean power of a number of samples",
    .version = 1,
    .inputs = CT_PORTS({"in", "cf32{time ...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32{time ...}", 0, "mean powers"}, CT_FOLD_WEIGHTS("mean")),
    .params = params,
    CT_FORM_STAGE(fold.form),
    .operations_per_part = 2, /* of a sample of the input; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "(u + length 2⁻⁵³) |y|, u = 2⁻²⁴; weights are exact",
};

/* The axes may have any order, the same on both sides. The numbers are the shares of the memory's
 * bandwidth that the variants reach, on the host and on devices, as `cornerturn tune` measures
 * them. */
CT_STAGE_PLUGIN("@PLUGIN@", stage,
                CT_FOLD_VARIANTS(fold, "@STAGE@", CT_PORT_ROWS(0.8), CT_PORT_ROWS(0.8)));
