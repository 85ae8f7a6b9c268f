/* @STAGE@: samples times a weight for each station, y = w[station] · x. */
#include "@PLUGIN@.kernel.h"

#include <cornerturn/kit/form.h>

static const CtParam params[] = {
    {"weights", CT_PARAM_REAL, CT_PARAM_LIST | CT_PARAM_REQUIRED, .help = "of the stations"}, {0}};

static gboolean
infer(CtNode *node, GError **error)
{
    const gint64 n_stations = ct_stream_length(&node->inputs[0], "station");
    const guint n = ct_params_count(node->params, "weights");
    if (ct_stream_axis(&node->inputs[0], "station") < 0 || n != n_stations) {
        g_autofree char *given = ct_stream_describe(&node->inputs[0]);
        return ct_params_error(node->params, "weights", error,
                               "wants a weight for each station, but is given %u for %s", n, given);
    }
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gdouble
largest_weight(const CtParams *params)
{
    gdouble largest = 0;
    for (guint i = 0; i < ct_params_count(params, "weights"); i++)
        largest = MAX(largest, ABS(ct_params_real_at(params, "weights", i)));
    return largest;
}

/* The rounding of single precision, for `cornerturn verify`. */
static void
accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs)
{
    outputs[0].error = 2 * 0x1p-24 * outputs[0].largest;
    outputs[0].rms_error =
        2 * 0x1p-24 * outputs[0].rms + largest_weight(node->params) * inputs[0].rms_error;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples times a weight for each station",
    .version = 1,
    .inputs = CT_PORTS({"in", "cf32{...}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "cf32{...}", 0, "the weighted samples"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .operations_per_part = 1, /* of a sample of the input; plans and statistics use the number */
    .accuracy = accuracy,
    .accuracy_rule = "2 u |y|, u = 2⁻²⁴",
};

/* ---- every instruction set and devices, from the kernel ---- */

/* An array over the axis station, in double precision; the kit frees it. */
static gboolean
choose(const CtNode *node, CtFormChoice *choice, GError **error)
{
    const guint n = ct_params_count(node->params, "weights");
    gdouble *weights = CT_TABLE(gdouble, n, "weights", error);
    ct_form_kernel(choice, "weigh", sizeof(CtNoSettings));
    choice->table = (CtFormTable){
        .type = CT_F64,
        .n_axes = 1,
        .axes = {ct_axis_name("station")},
        .lengths = {n},
        .data = weights,
    };
    for (guint i = 0; weights && i < n; i++)
        weights[i] = ct_params_real_at(node->params, "weights", i);
    return weights != NULL;
}

static const CtForm form = CT_FORM("@PLUGIN@", choose);

/* ---- the reference: the same by hand, in double precision, to check the others ---- */

typedef struct {
    CtBoxes boxes; /* the walk over any two layouts */
    gfloat *weights;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Reference *self = *state = g_new0(Reference, 1);
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    const CtParams *params = prepare->nodes[0].params;
    const guint n = ct_params_count(params, "weights");
    self->weights = CT_TABLE(gfloat, n, "weights", error);
    for (guint i = 0; self->weights && i < n; i++)
        self->weights[i] = (gfloat)ct_params_real_at(params, "weights", i);
    /* The walk reads the table along the axis station. */
    self->boxes.table = (const guint8 *)self->weights;
    for (guint a = 0; a < self->boxes.n_axes; a++)
        if (self->boxes.axes[a].name == ct_axis_name("station"))
            self->boxes.axes[a].table = sizeof(gfloat);
    return self->weights != NULL;
}

/* A run of elements along one axis; strides are bytes. */
static void
reference_run(G_GNUC_UNUSED gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    for (gint64 i = 0; i < run->length; i++, in += run->in, table += run->table, out += run->out)
        for (guint k = 0; k < 2; k++)
            ((float *)out)[k] = (float)((double)*(const float *)table * ((const float *)in)[k]);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Reference *self = state;
    ct_boxes_each_run(&self->boxes, work, reference_run, self);
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (self)
        g_free(self->weights);
    g_free(self);
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"any: cf32{...} -> cf32{...}", 0.01}, {0}},
    .prepare = prepare,
    .work = work,
    .finish = finish,
};

/* The axes may have any order, the same on both sides. The numbers are the shares of the memory's
 * bandwidth that the variants reach, on the host and on devices, as `cornerturn tune` measures
 * them. */
CT_STAGE_PLUGIN("@PLUGIN@", stage,
                CT_FORM_TABLE_VARIANTS(form, "@STAGE@", CT_PORT_ROWS(0.8), CT_PORT_ROWS(0.8)),
                &reference);
