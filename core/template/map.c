/* @STAGE@: samples times a factor, y = factor · x. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/form.h>

static const CtParam params[] = {
    {"factor", CT_PARAM_REAL, .fallback = "1", .help = "a factor for the samples"}, {0}};
static const CtPort inputs[] = {{"in", "f32|cf32{...}", 0, "samples"}, {0}};
static const CtPort outputs[] = {{"out", "f32|cf32{...}", 0, "the products"}, {0}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    ct_params_use(node->params, "factor"); /* it has an effect: no warning */
    return TRUE;
}

/* One operation for each part of a sample; plans and statistics use the number. */
static gdouble
operations(const CtNode *node)
{
    const CtStream *in = &node->inputs[0];
    return (gdouble)ct_stream_width(in) * (ct_type_info(in->type)->is_complex ? 2 : 1);
}

/* The rounding of single precision, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    outputs[0].error = 2 * 0x1p-24 * outputs[0].largest;
    outputs[0].rms_error = 2 * 0x1p-24 * outputs[0].rms +
                           ABS(ct_params_real(node->params, "factor")) * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "2 u |y|, u = 2⁻²⁴",
};

/* ---- every instruction set and devices, from the kernel ---- */

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    Settings *settings = ct_form_kernel(choice, "scale", sizeof(Settings));
    settings->factor = (float)ct_params_real(node->params, "factor");
    return TRUE;
}

static const CtForm form = CT_FORM("@PLUGIN@", choose);

/* The axes may have any order, the same on both sides. The number is the share of the memory's
 * bandwidth that the variants reach, as `cornerturn tune` measures it. */
static const CtRow rows[] = {{"f32|cf32{...} -> f32|cf32{...}", 0.8}, {0}};

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

CT_PLUGIN("@PLUGIN@", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){CT_FORM_VARIANTS(form, "@STAGE@", rows, rows), &reference,
                                      NULL}));
