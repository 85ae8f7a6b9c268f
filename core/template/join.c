/* @STAGE@: samples less those of a background, y = x − factor · w. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/join.h>

static const CtParam params[] = {
    {"factor", CT_PARAM_REAL, .fallback = "1", .help = "a factor for the background"}, {0}};
static const CtPort inputs[] = {
    {"in", "f32{time ...}", 0, "samples"},
    {"background", "f32{time ...}", 0, "what is subtracted; each sample holds until the next"},
    {0},
};
static const CtPort outputs[] = {{"out", "f32{time ...}", 0, "the differences"}, {0}};

/* The output is described as `in`; the two clocks and the axes are checked. */
static gboolean
infer(CtNode *node, GError **error)
{
    ct_params_use(node->params, "factor"); /* it has an effect: no warning */
    return ct_join_infer(node, error);
}

/* Two operations for each sample of the input; plans and statistics use the number. */
static gdouble
operations(const CtNode *node)
{
    return 2 * (gdouble)ct_stream_width(&node->inputs[0]);
}

/* The roundings of a product and a difference, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble factor = ABS(ct_params_real(node->params, "factor"));
    outputs[0].error = 2 * 0x1p-24 * (inputs[0].largest + factor * inputs[1].largest);
    outputs[0].rms_error = 2 * 0x1p-24 * (inputs[0].rms + factor * inputs[1].rms) +
                           inputs[0].rms_error + factor * inputs[1].rms_error;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples less those of a background",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations = operations,
    .accuracy = accuracy,
    .accuracy_rule = "2 u (|x| + |factor w|), u = 2⁻²⁴",
};

/* ---- every instruction set and devices, from the kernel ---- */

static gboolean
choose(const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    Settings *settings = ct_form_kernel(choice, "subtract", sizeof(Settings));
    settings->factor = (float)ct_params_real(node->params, "factor");
    return TRUE;
}

static const CtForm form = CT_FORM("@PLUGIN@", choose);

/* Any order of axes, the same everywhere; the share of the memory's bandwidth that it reaches, as
 * `cornerturn tune` measures it. */
static const CtRow rows[] = {{"f32{...}, f32{...} -> f32{...}", 0.8}, {0}};

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

/* A run of elements along one axis; strides are bytes. The second input is the table. */
static void
reference_run(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    const float factor = *(const float *)data;
    for (gint64 i = 0; i < run->length; i++, in += run->in, table += run->table, out += run->out)
        *(float *)out = (float)(*(const float *)in - (double)factor * *(const float *)table);
}

static void
reference_box(gpointer data, const CtBox *box, G_GNUC_UNUSED gpointer scratch)
{
    static const CtBoxAxis element = {.length = 1};
    CtBox simple = *box;
    ct_box_simplify(&simple);
    ct_box_each_run(&simple, &element, reference_run, data);
}

/* The state belongs to the kit. */
static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtJoinReference *self = state;
    float factor = (float)ct_params_real(self->node->params, "factor");
    ct_join_each(&self->join, work, reference_box, &factor);
    return TRUE;
}

static const CtRow any_rows[] = {{"any: f32{...}, f32{...} -> f32{...}", 0.01}, {0}};

CT_PLUGIN("@PLUGIN@", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){CT_JOIN_VARIANTS(form, "@STAGE@", rows, rows),
                                      CT_JOIN_REFERENCE("@STAGE@", any_rows, work), NULL}));
