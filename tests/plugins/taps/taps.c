/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage whose lanes are made of a few samples of a window: y[i][d] = Σ_c x[i·hop + d·c][c], as
 * incoherent dedispersion does it. */
#include <cornerturn/stage.h>

static const char *const lanes[] = {"all", "any", NULL};
static const CtPort inputs[] = {{"in", "f32{time channel}", 0, "powers"}, {NULL}};
static const CtPort outputs[] = {{"out", "f32{time trial}", 0, "sums"}, {NULL}};
static const CtParam params[] = {
    {.name = "n_trials", .kind = CT_PARAM_INT, .fallback = "1", .help = "trials d"},
    {.name = "hop", .kind = CT_PARAM_INT, .fallback = "1", .help = "samples"},
    {.name = "lanes", .kind = CT_PARAM_CHOICE, .fallback = "all", .choices = lanes, .help = "rule"},
    {.name = "beyond", .kind = CT_PARAM_INT, .fallback = "0", .help = "adds to the last tap"},
    {NULL},
};

typedef struct {
    gint64 n_trials, n_channels, hop, beyond;
    gboolean are_apart; /* each channel is a lane */
} Taps;

static gboolean
infer(CtNode *node, G_GNUC_UNUSED GError **error)
{
    const CtStream *in = &node->inputs[0];
    const gint64 n = ct_params_int(node->params, "n_trials");
    ct_stream_copy(&node->outputs[0], in);
    ct_stream_remove_axis(&node->outputs[0], "channel");
    ct_stream_add_axis(&node->outputs[0], "trial", n)->loses = TRUE;
    node->footprint = (CtFootprint){
        .window = (n - 1) * (ct_stream_length(in, "channel") - 1) + 1,
        .hop = ct_params_int(node->params, "hop"),
        .needs = ct_stream_length(in, "channel"),
        .lanes = ct_params_choice(node->params, "lanes") ? CT_LANES_ANY : CT_LANES_ALL,
    };
    return TRUE;
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    const CtNode *node = &prepare->nodes[0];
    Taps *self = *state = g_new0(Taps, 1);
    self->n_trials = ct_params_int(node->params, "n_trials");
    self->n_channels = ct_stream_length(prepare->inputs[0].stream, "channel");
    self->hop = node->footprint.hop;
    self->beyond = ct_params_int(node->params, "beyond");
    self->are_apart = ct_stream_n_lanes(prepare->inputs[0].stream) > 1;
    return TRUE;
}

static gboolean
find_taps(gpointer state, gint64 lane, gint64 from, guint k, G_GNUC_UNUSED gint64 tick,
          CtTaps *taps)
{
    const Taps *self = state;
    const gint64 channel = self->are_apart ? from : k;
    if (k >= (self->are_apart ? 1 : self->n_channels))
        return FALSE;
    *taps = (CtTaps){
        .first = lane * channel,
        .n = channel == self->n_channels - 1 ? 1 + self->beyond : 1,
        .steady = 7,
    };
    return TRUE;
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    return ct_advance_taps(advance, find_taps, state, error);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Taps *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    for (gint64 i = work->begin; i < work->end; i++)
        for (gint64 d = 0; d < self->n_trials; d++) {
            gfloat sum = 0;
            for (gint64 c = 0; c < self->n_channels; c++)
                sum += *(const gfloat *)(gconstpointer)(in->data +
                                                        (i * self->hop + d * c) * in->stride[0] +
                                                        c * in->stride[1]);
            *(gfloat *)(gpointer)(out->data + i * out->stride[0] + d * out->stride[1]) = sum;
        }
    return TRUE;
}

static const CtStage stage = {
    .name = "taps",
    .summary = "sums of a few samples",
    .version = 1,
    .inputs = inputs,
    .outputs = outputs,
    .params = params,
    .infer = infer,
};
static const CtVariant variant = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"taps", NULL},
    .rows = (const CtRow[]){{"f32[time channel] -> f32[time trial]", 0.1}, {NULL}},
    .split = "time",
    .prepare = prepare,
    .advance = advance,
    .work = work,
    .finish = g_free,
};

CT_PLUGIN("taps", ((const CtStage *const[]){&stage, NULL}),
          ((const CtVariant *const[]){&variant, NULL}));
