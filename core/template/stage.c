/* @NAME@: samples times a factor, of any axes in any order.
 *
 *     y[…] = factor · x[…]
 */
#include <cornerturn/stage.h>

typedef struct {
    float factor;
    guint time; /* the axis of the blocks along which work is split */
} State;

static const CtParam params[] = {
    {.name = "factor",
     .kind = CT_PARAM_REAL,
     .fallback = "1",
     .help = "what samples are multiplied by"},
    {0},
};

static const CtPort inputs[] = {{"in", "cf32{time ...}", 0, "samples"}, {0}};
static const CtPort outputs[] = {{"out", "cf32{time ...}", 0, "the samples times `factor`"}, {0}};

static gboolean
infer(CtNode *node, GError **error)
{
    (void)error;
    ct_stream_copy(&node->outputs[0], &node->inputs[0]);
    return TRUE;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *result, GError **error)
{
    (void)error;
    State *state = *result = g_new0(State, 1);
    state->factor = ct_params_real(prepare->nodes[0].params, "factor");
    state->time = ct_layout_axis(&prepare->inputs[0].layout, "time");
    return TRUE;
}

/* Walks the axes from the slowest; `x` and `y` stand at the indices chosen so far. */
static void
multiply(const State *state, const CtWork *work, guint axis, const guint8 *x, guint8 *y)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gint64 begin = axis == state->time ? work->begin : 0;
    const gint64 end = axis == state->time ? work->end : in->length[axis];
    for (gint64 i = begin; i < end; i++) {
        const guint8 *from = x + i * in->stride[axis];
        guint8 *to = y + i * out->stride[axis];
        if (axis + 1 < in->n_axes) {
            multiply(state, work, axis + 1, from, to);
            continue;
        }
        ((float *)to)[0] = state->factor * ((const float *)from)[0];
        ((float *)to)[1] = state->factor * ((const float *)from)[1];
    }
}

static gboolean
work(gpointer state, const CtWork *work, GError **error)
{
    (void)error;
    multiply(state, work, 0, work->inputs[0].data, work->outputs[0].data);
    return TRUE;
}

static const CtStage stage = {
    .name = "@NAME@",
    .summary = "samples times a factor",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"@NAME@", NULL},
    .rows = (const CtRow[]){{"cf32{time ...} -> cf32{time ...}", 0.1}, {0}},
    .split = "time",
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};

CT_PLUGIN("@NAME@", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){&reference, NULL}));
