/* SPDX-License-Identifier: BSD-3-Clause */
/* The stage flag: samples as they are, invalid where a statistic of them is not within limits. */
#include "../parts.h"
#include "../places.h"
#include "flag.kernel.h"

#include <cornerturn/kit/join.h>
#include <math.h>
#include <string.h>

static const CtParam params[] = {
    {"lower", CT_PARAM_REAL, .help = "the least value of the statistic; none: any"},
    {"upper", CT_PARAM_REAL, .help = "the largest value of the statistic; none: any"},
    {NULL},
};

static gboolean
set(const CtNode *node, gpointer settings, GError **error)
{
    const CtParams *params = node->params;
    Limits *self = settings;
    self->lower = ct_params_has(params, "lower") ? ct_params_real(params, "lower") : -HUGE_VAL;
    self->upper = ct_params_has(params, "upper") ? ct_params_real(params, "upper") : HUGE_VAL;
    return self->lower <= self->upper ||
           ct_params_error(params, "upper", error,
                           "wants at least the lower limit, %g, but is given %g", self->lower,
                           self->upper);
}

static const CtForm form = CT_KERNEL_FORM("flag", "flag", .set = set);

static const CtStage stage = {
    .name = "flag",
    .summary = "marks samples as invalid by a statistic of them",
    .version = 1,
    .inputs =
        CT_PORTS({"in", "{time ...}", 0, "samples"},
                 {"statistic", "i8|i16|i32|u8|u32|f16|f32|f64{time ...}", 0,
                  "of the same clock; its samples last at least as long, and hold until the next"}),
    .outputs = CT_PORTS(
        {"out", "{time ...}", CT_PORT_MARKED, "the samples, invalid where the statistic says so"}),
    .params = params,
    CT_FORM_STAGE(form),
};

/* ---- the reference: element by element ---- */

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtJoinReference *self = state;
    const CtJoinInput *of_x = &self->join.inputs[0], *of_w = &self->join.inputs[1];
    const CtBlock *x = &work->inputs[0], *w = &work->inputs[1], *y = &work->outputs[0];
    Limits limits;
    gint64 index[CT_MAX_AXES] = {0};
    set(self->node, &limits, NULL);
    if (!y->data || y->n_samples == 0 || w->n_samples == 0)
        return TRUE;
    do {
        const guint8 *from = x->data, *of = w->data;
        guint8 *to = y->data;
        gint64 lane = 0;
        for (gint a = 0; a < (gint)y->n_axes; a++) {
            const gint64 i = index[a], tick = x->start + i * of_x->ticks;
            from += i * x->stride[of_x->place[a]];
            to += i * y->stride[a];
            lane += i * self->join.lanes[a];
            if (a == self->join.time)
                of += (tick - w->start) / of_w->ticks * w->stride[of_w->place[a]];
            else if (of_w->place[a] >= 0)
                of += i * w->stride[of_w->place[a]];
        }
        const gdouble value = part_read(of, w->type, 0);
        memcpy(to, from, ct_type_info(y->type)->bytes);
        if (!(value >= limits.lower && value <= limits.upper))
            ct_block_mark(y, lane, index[self->join.time]);
    } while (places_next(y, self->join.time, 0, y->n_samples, index));
    return TRUE;
}

#define STATISTIC "i8|i16|i32|u8|u32|f16|f32|f64{...}"
static const CtRow rows[] = {{"{...}, " STATISTIC " -> {...}", 0.9}, {NULL}};
static const CtRow any_rows[] = {{"any: {...}, " STATISTIC " -> {...}", 0.01}, {NULL}};

CT_STAGE_PLUGIN("flag", stage, CT_JOIN_VARIANTS(form, "flag", rows, rows),
                CT_JOIN_REFERENCE("flag", any_rows, work));
