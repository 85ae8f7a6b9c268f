/* SPDX-License-Identifier: BSD-3-Clause */
/* stack: joins streams along an axis, sample by sample of one clock. */
#include "stack.h"

static const CtParam stack_params[] = {
    {"axis", CT_PARAM_AXIS, CT_PARAM_REQUIRED,
     .help = "the axis along which the inputs are joined in their order: one that they have, or a "
             "new one"},
    {NULL},
};

static const CtStage stack = {
    .name = "stack",
    .summary = "joins streams along an axis",
    .version = 1,
    .inputs = CT_PORTS({"inputs", "{time ...}", CT_PORT_MANY,
                        .help = "streams of the same type, clock and other axes"}),
    .outputs = CT_PORTS(
        {"stacked", "{time ...}",
         .help =
             "from the first sample of any input to the last of any; missing samples of an input "
             "are invalid"}),
    .params = stack_params,
    .infer = stack_infer,
};

/* ---- on the host: it only moves bytes, so other instruction sets would not be faster ---- */

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    CtJoin *join = *state = g_new0(CtJoin, 1);
    ct_join_init(join, prepare, -1, ct_params_string(prepare->nodes[0].params, "axis"));
    prepare->n_items = join->n_items;
    return TRUE;
}

static gboolean
advance(gpointer state, CtAdvance *advance, GError **error)
{
    return ct_join_advance(state, advance, error);
}

/* The box of the work's share of input `i`; FALSE: it is empty, or the input is missing: then its
 * part of the output is invalid, and the core clears it. */
static gboolean
find_share(const CtJoin *join, const CtWork *work, guint i, CtBox *box)
{
    if (!work->outputs[0].data || work->outputs[0].n_samples == 0)
        return FALSE;
    ct_join_box(join, work, i, box);
    return box->in && ct_box_share(box, work->begin, work->end, join->n_items);
}

static gboolean
work_runs(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtJoin *join = state;
    CtBox box;
    for (guint i = 0; i < join->n_inputs; i++)
        if (find_share(join, work, i, &box))
            ct_box_copy(&box, ct_type_info(work->outputs[0].type)->bytes);
    return TRUE;
}

static void
copy_elements(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
              const CtBoxAxis *run)
{
    ct_box_move(in, run->in, out, run->out, *(const gsize *)data, (gsize)run->length);
}

static gboolean
work_elements(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtJoin *join = state;
    const CtBoxAxis element = {.length = 1};
    gsize bytes = ct_type_info(work->outputs[0].type)->bytes;
    CtBox box;
    for (guint i = 0; i < join->n_inputs; i++)
        if (find_share(join, work, i, &box))
            ct_box_each_run(&box, &element, copy_elements, &bytes);
    return TRUE;
}

static void
finish(gpointer state)
{
    if (state)
        ct_join_clear(state);
    g_free(state);
}

#define VARIANT(name_, backend_, efficiency_, work_)                                               \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = (const char *const[]){"stack", NULL},        \
        .rows = (const CtRow[]){{"[...] -> [...]", efficiency_}, {NULL}}, .split = "*",            \
        .prepare = prepare, .advance = advance, .work = work_, .finish = finish,                   \
    }
static const CtVariant cpu = VARIANT("cpu", CT_CPU, 0.7, work_runs);
static const CtVariant reference = VARIANT("reference", CT_REFERENCE, 0.05, work_elements);

CT_STAGE_PLUGIN("stack", stack, &stack_cuda, &cpu, &reference);
