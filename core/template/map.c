/* @STAGE@: samples times a factor, y = factor · x. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/form.h>

static const CtParam params[] = {
    {"factor", CT_PARAM_REAL, .fallback = "1", .help = "a factor for the samples"}, {0}};

/* The rounding of single precision, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    outputs[0].error = 2 * 0x1p-24 * outputs[0].largest;
    outputs[0].rms_error = 2 * 0x1p-24 * outputs[0].rms +
                           ABS(ct_params_real(node->params, "factor")) * inputs[0].rms_error;
}

/* ---- every instruction set and devices, from the kernel ---- */

/* Fills in the settings of the kernel. */
static gboolean
set(const CtNode *node, gpointer settings, G_GNUC_UNUSED GError **error)
{
    Settings *self = settings;
    self->factor = (float)ct_params_real(node->params, "factor");
    return TRUE;
}

static const CtForm form = CT_KERNEL_FORM("@PLUGIN@", "scale", .set = set);

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = CT_PORTS({"in", "f32|cf32{...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "f32|cf32{...}", 0, "the products"}),
    .params = params,
    CT_FORM_STAGE(form),
    .operations_per_part = 1, /* of a sample; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "2 u |y|, u = 2⁻²⁴",
};

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

typedef struct {
    CtBoxes boxes; /* the walk over any two layouts */
    gdouble factor;
    guint n_parts; /* of an element */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->factor = (float)ct_params_real(prepare->nodes[0].params, "factor");
    self->n_parts = ct_type_info(self->boxes.in_type)->is_complex ? 2 : 1;
    return TRUE;
}

/* A run of elements along one axis; strides are bytes. */
static void
reference_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    const Reference *self = data;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out)
        for (guint k = 0; k < self->n_parts; k++)
            ((float *)out)[k] = (float)(self->factor * ((const float *)in)[k]);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    ct_boxes_each_run(&self->boxes, work, reference_run, self);
    return TRUE;
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"any: f32|cf32{...} -> f32|cf32{...}", 0.01}, {0}},
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};

/* The axes may have any order, the same on both sides. The numbers are the shares of the memory's
 * bandwidth that the variants reach, on the host and on devices, as `cornerturn tune` measures
 * them. */
CT_STAGE_PLUGIN("@PLUGIN@", stage,
                CT_FORM_VARIANTS(form, "@STAGE@", CT_PORT_ROWS(0.8), CT_PORT_ROWS(0.8)),
                &reference);
