/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage flag: samples as they are, invalid where a statistic of them is not within limits, and
 * where parameters name them. */
#include "../parts.h"
#include "../places.h"
#include "flag-mask.h"
#include "flag.kernel.h"

#include <math.h>
#include <string.h>

static const CtParam params[] = {
    {"lower", CT_PARAM_REAL, .help = "the least value of the statistic; none: any"},
    {"upper", CT_PARAM_REAL, .help = "the largest value of the statistic; none: any"},
    FLAG_MASK_PARAMS,
    {NULL},
};

static gboolean
has_statistic(const CtNode *node)
{
    return node->inputs[1].type != CT_TYPE_NONE;
}

static gboolean
set(const CtNode *node, Limits *self, GError **error)
{
    const CtParams *params = node->params;
    self->lower = ct_params_has(params, "lower") ? ct_params_real(params, "lower") : -HUGE_VAL;
    self->upper = ct_params_has(params, "upper") ? ct_params_real(params, "upper") : HUGE_VAL;
    return self->lower <= self->upper ||
           ct_params_error(params, "upper", error,
                           "wants at least the lower limit, %g, but is given %g", self->lower,
                           self->upper);
}

static gboolean
choose(const CtNode *node, CtFormChoice *choice, GError **error)
{
    return flag_mask_make(node, &choice->mask, error) &&
           (!has_statistic(node) ||
            set(node, ct_form_kernel(choice, "flag", sizeof(Limits)), error));
}

static const CtForm form = CT_FORM("flag", choose);

static gboolean
infer(CtNode *node, GError **error)
{
    const CtStream *statistic = &node->inputs[1];
    Limits limits;
    if (!has_statistic(node) && !flag_mask_is_given(node->params)) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "port 'statistic' wants an input, or the node a parameter that names bad "
                    "samples, but is given neither: say `from: { in: NODE, statistic: NODE }`, or "
                    "for example `channel: [0]`");
        return FALSE;
    }
    if ((has_statistic(node) && !set(node, &limits, error)) || !ct_join_infer(node, error))
        return FALSE;
    for (guint a = 0; a < statistic->n_axes; a++)
        if (statistic->axes[a].name != ct_axis_name("time"))
            node->outputs[0]
                .axes[ct_stream_axis(&node->outputs[0], statistic->axes[a].name)]
                .loses = TRUE;
    node->footprint.is_unmarked = !has_statistic(node);
    return flag_mask_infer(node, error);
}

static const CtStage stage = {
    .name = "flag",
    .summary = "makes samples invalid, by a statistic of them or by name",
    .version = 1,
    .inputs =
        CT_PORTS({"in", "{time ...}", 0, "samples"},
                 {"statistic", "i8|i16|i32|u8|u32|f16|f32|f64{time ...}", CT_PORT_OPTIONAL,
                  "of the same clock; its samples last at least as long, and hold until the next"}),
    .outputs = CT_PORTS({"out", "{time ...}", CT_PORT_MARKED,
                         "the samples, invalid where the statistic or a parameter says so"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .form = &form,
};

/* ---- the reference: element by element ---- */

typedef struct {
    CtJoin join;
    CtFormMask mask;
    gboolean has_statistic;
    Limits limits;
} Reference;

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtNode *node = &prepare->nodes[0];
    Reference *self = *state = g_new0(Reference, 1);
    ct_join_init(&self->join, prepare, 0, NULL);
    self->join.mask = &self->mask;
    self->has_statistic = has_statistic(node);
    return flag_mask_make(node, &self->mask, error) &&
           (!self->has_statistic || set(node, &self->limits, error));
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    return ct_join_advance(&((Reference *)state)->join, advance, error);
}

/* Whether the statistic that holds for an element is within the limits. */
static gboolean
is_good(const Reference *self, const CtWork *work, const gint64 *index)
{
    const CtJoinInput *of = &self->join.inputs[1];
    const CtBlock *x = &work->inputs[0], *w = &work->inputs[1];
    const guint8 *at = w->data;
    for (gint a = 0; a < (gint)work->outputs[0].n_axes; a++) {
        const gint64 tick = x->start + index[a] * self->join.ticks;
        if (of->place[a] >= 0)
            at += (a == self->join.time ? (tick - w->start) / of->ticks : index[a]) *
                  w->stride[of->place[a]];
    }
    const gdouble value = part_read(at, w->type, 0);
    return value >= self->limits.lower && value <= self->limits.upper;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Reference *self = state;
    const CtBlock *x = &work->inputs[0], *y = &work->outputs[0];
    gint64 index[CT_MAX_AXES] = {0};
    if (!y->data || y->n_samples == 0 || (self->has_statistic && work->inputs[1].n_samples == 0))
        return TRUE;
    do {
        const guint8 *from = x->data;
        guint8 *to = y->data;
        gint64 lane = 0;
        for (guint a = 0; a < y->n_axes; a++) {
            from += index[a] * x->stride[self->join.inputs[0].place[a]];
            to += index[a] * y->stride[a];
            lane += index[a] * self->join.lanes[a];
        }
        memcpy(to, from, ct_type_info(y->type)->bytes);
        if (self->has_statistic && !is_good(self, work, index))
            ct_block_mark(y, lane, index[self->join.time]);
    } while (places_next(y, self->join.time, 0, y->n_samples, index));
    return TRUE;
}

static void
finish(gpointer state)
{
    Reference *self = state;
    if (!self)
        return;
    ct_join_clear(&self->join);
    ct_join_mask_clear(&self->mask);
    g_free(self);
}

static const CtVariant reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"flag", NULL},
    .rows = (const CtRow[]){{"any: ports", 0.01}, {NULL}},
    .prepare = prepare,
    .advance = advance,
    .work = work,
    .finish = finish,
};

static const CtRow rows[] = {
    {"{...}, i8|i16|i32|u8|u32|f16|f32|f64{...} -> {...}", 0.9},
    {NULL},
};

CT_STAGE_PLUGIN("flag", stage, CT_JOIN_VARIANTS(form, "flag", rows, rows), &reference);
