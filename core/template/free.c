/* @STAGE@: samples times a factor, y[t][s][p] = factor · x[t][s][p]. */
#include "@PLUGIN@.h"

static const CtParam params[] = {
    {"factor", CT_PARAM_REAL, .fallback = "1", .help = "a factor for the samples"}, {0}};

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    float *factor = *state = g_new(float, 1);
    *factor = (float)ct_params_real(prepare->nodes[0].params, "factor");
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const float factor = *(const float *)state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 t = work->begin; t < work->end; t++)
        for (gint64 s = 0; s < in->length[1]; s++)
            for (gint64 p = 0; p < in->length[2]; p++) {
                const guint8 *x = in->data + t * in->stride[0] + s * in->stride[1];
                guint8 *y = out->data + t * out->stride[0] + s * out->stride[1];
                *(_Complex float *)(y + p * out->stride[2]) =
                    factor * *(const _Complex float *)(x + p * in->stride[2]);
            }
    return TRUE;
}

static const CtStage stage = {
    .name = "@STAGE@",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = CT_PORTS({"in", "cf32{time station pol}", 0, "samples"}),
    .outputs = CT_PORTS({"out", "cf32{time station pol}", 0, "the products"}),
    .params = params,
    .infer = infer,
};

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@STAGE@", NULL},
    .rows = (const CtRow[]){{"cf32[time station pol] -> cf32[time station pol]", 0.01}, {0}},
    .split = "time",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};

CT_STAGE_PLUGIN("@PLUGIN@", stage, &times_cuda, CT_ISA_VARIANTS(times_cpu), &reference);
