/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage level: factors that bring samples or powers to a wanted mean power. */
#include "level.kernel.h"

#include <cornerturn/kit/form.h>
#include <math.h>

static const CtParam params[] = {
    {"power", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = 1e-30, .maximum = 1e30,
     .help = "the mean power, |x|², of samples that are multiplied by the factors"},
    {"mean", CT_PARAM_REAL, CT_PARAM_RANGED, .minimum = 1e-30, .maximum = 1e30,
     .help = "in its place, the mean of powers that are multiplied by the factors"},
    {NULL},
};

/* The quotient, the root and the result are rounded. A relative error of the mean counts once in a
 * quotient, and half in its root. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble unit = node->outputs[0].type == CT_F64 ? 0x1p-53 : 0x1p-24;
    const gdouble relative = inputs[0].rms > 0 ? inputs[0].rms_error / inputs[0].rms : 0;
    outputs[0].error = 4 * unit * outputs[0].largest;
    outputs[0].rms_error = 4 * unit * outputs[0].rms + relative * outputs[0].largest;
}

static gboolean
set(const CtNode *node, gpointer settings, GError **error)
{
    Level *self = settings;
    const gboolean has_mean = ct_params_has(node->params, "mean");
    if (has_mean == ct_params_has(node->params, "power"))
        return ct_params_error(node->params, has_mean ? "mean" : "power", error,
                               "wants 'power', for samples, or 'mean', for powers, but is given %s",
                               has_mean ? "both" : "neither");
    self->of_powers = has_mean;
    self->wanted = ct_params_real(node->params, has_mean ? "mean" : "power");
    return TRUE;
}

static const CtForm form = CT_KERNEL_FORM("level", "level", .set = set);

static const CtStage stage = {
    .name = "level",
    .summary = "factors that bring samples or powers to a wanted mean power",
    .version = 2,
    .inputs = CT_PORTS({"in", "f32|f64{...}", 0, "mean powers"}),
    .outputs = CT_PORTS({"out", "f32|f64{...}", 0, "factors"}),
    .params = params,
    CT_FORM_STAGE(form),
    .operations_per_part = 2, /* at most: a quotient and its root */
    .accuracy = accuracy,
    .accuracy_rule = "4 u |y|, u = 2⁻²⁴ (2⁻⁵³ of double precision)",
};

/* ---- the reference, in double precision ---- */

typedef struct {
    CtBoxes boxes;
    Level settings;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    return set(&prepare->nodes[0], &self->settings, error);
}

static void
find_factors(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
             const CtBoxAxis *run)
{
    const Reference *self = data;
    const gboolean is_double = self->boxes.in_type == CT_F64;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out) {
        const gdouble x = is_double ? *(const gdouble *)in : (gdouble) * (const gfloat *)in;
        const gdouble quotient = self->settings.wanted / x;
        const gdouble y = !(x > 0) ? 0 : self->settings.of_powers ? quotient : sqrt(quotient);
        if (is_double)
            *(gdouble *)out = y;
        else
            *(gfloat *)out = (gfloat)y;
    }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    ct_boxes_each_run(&self->boxes, work, find_factors, self);
    return TRUE;
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"level", NULL},
    .rows = CT_REFERENCE_ROWS,
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};

CT_STAGE_PLUGIN("level", stage,
                CT_FORM_VARIANTS(form, "level", CT_PORT_ROWS(0.5), CT_PORT_ROWS(0.9)), &reference);
