/* @STAGE@: samples less those of a background, y = x − factor · w. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/join.h>

static const CtParam params[] = {
    {"factor", CT_PARAM_REAL, .fallback = "1", .help = "a factor for the background"}, {0}};

/* The roundings of a product and a difference, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    const gdouble factor = ABS(ct_params_real(node->params, "factor"));
    outputs[0].error = 2 * 0x1p-24 * (inputs[0].largest + factor * inputs[1].largest);
    outputs[0].rms_error = 2 * 0x1p-24 * (inputs[0].rms + factor * inputs[1].rms) +
                           inputs[0].rms_error + factor * inputs[1].rms_error;
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

static const CtForm form = CT_KERNEL_FORM("@PLUGIN@", "subtract", .set = set);

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples less those of a background",
    .version = 1,
    .inputs = CT_PORTS(
        {"in", "f32{time ...}", 0, "samples"},
        {"background", "f32{time ...}", 0, "what is subtracted; each sample holds until the next"}),
    .outputs = CT_PORTS({"out", "f32{time ...}", 0, "the differences"}),
    .params = params,
    CT_FORM_STAGE(form),      /* the two clocks and the axes are checked */
    .operations_per_part = 2, /* of a sample of `in`; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "2 u (|x| + |factor w|), u = 2⁻²⁴",
};

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

/* The axes may have any order, the same on both sides. The numbers are the shares of the memory's
 * bandwidth that the variants reach, on the host and on devices, as `cornerturn tune` measures
 * them. */
CT_STAGE_PLUGIN("@PLUGIN@", stage,
                CT_JOIN_VARIANTS(form, "@STAGE@", CT_PORT_ROWS(0.8), CT_PORT_ROWS(0.8)),
                CT_JOIN_REFERENCE("@STAGE@", CT_REFERENCE_ROWS, work));
