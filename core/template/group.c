/* @STAGE@: sum and difference of two polarisations, y[0] = x[0] + x[1], y[1] = x[0] − x[1]. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/form.h>

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *in = &node->inputs[0];
    if (ct_stream_length(in, "pol") != 2 || ct_stream_axis(in, "sum") >= 0) {
        g_autofree char *given = ct_stream_describe(in);
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants two polarisations and no axis sum, but is given %s", given);
        return FALSE;
    }
    ct_stream_copy(&node->outputs[0], in);
    ct_stream_remove_axis(&node->outputs[0], "pol");
    ct_stream_add_axis(&node->outputs[0], "sum", 2);
    return TRUE;
}

/* The rounding of single precision, for `cornerturn verify`. */
static void
accuracy(G_GNUC_UNUSED const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    outputs[0].error = 2 * 0x1p-24 * outputs[0].largest;
    outputs[0].rms_error = 2 * 0x1p-24 * outputs[0].rms + 2 * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "sum and difference of two polarisations",
    .version = 1,
    .inputs = CT_PORTS({"in", "cf32{...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "cf32{...}", 0, "sum and difference"}),
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations_per_part = 1, /* of a sample of the input; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "2 u |y|, u = 2⁻²⁴",
};

/* ---- every instruction set and devices, from the kernel ---- */

static gboolean
choose(G_GNUC_UNUSED const CtNode *node, CtFormChoice *choice, G_GNUC_UNUSED GError **error)
{
    ct_form_kernel(choice, "combine", sizeof(CtNoSettings));
    choice->group_in = "pol";
    choice->group_out = "sum";
    return TRUE;
}

static const CtForm form = CT_FORM("@PLUGIN@", choose);

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

typedef struct {
    CtBoxes boxes;             /* the walk over any two layouts */
    gint pol, sum;             /* positions of the axes */
    gint64 x_stride, y_stride; /* bytes along them */
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->pol = ct_layout_axis(&prepare->inputs[0].layout, "pol");
    self->sum = ct_layout_axis(&prepare->outputs[0].layout, "sum");
    return TRUE;
}

/* A run of elements along one axis; strides are bytes. */
static void
reference_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    const Reference *self = data;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out)
        for (guint k = 0; k < 2; k++) {
            const double x = ((const float *)in)[k], y = ((const float *)(in + self->x_stride))[k];
            ((float *)out)[k] = (float)(x + y);
            ((float *)(out + self->y_stride))[k] = (float)(x - y);
        }
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    self->x_stride = work->inputs[0].stride[self->pol];
    self->y_stride = work->outputs[0].stride[self->sum];
    ct_boxes_each_run(&self->boxes, work, reference_run, self);
    return TRUE;
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"any: cf32{...} -> cf32{...}", 0.01}, {0}},
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
