/* SPDX-License-Identifier: BSD-3-Clause */
/* stack, element by element. */
#include "../places.h"
#include "stack.h"

#include <string.h>

static gboolean
reference_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    *state = g_new0(StackState, 1);
    return stack_state_init(*state, prepare, error);
}

static void
copy_element(const StackState *state, const CtWork *work, const gint64 *index)
{
    const CtBlock *out = &work->outputs[0];
    guint i = 0;
    while (index[state->axis] >= state->inputs[i].offset + state->inputs[i].length)
        i++;
    const StackInput *input = &state->inputs[i];
    const CtBlock *in = &work->inputs[i];
    guint8 *to = out->data;
    const guint8 *from = in->data;
    gboolean missing = in->n_samples == 0;
    for (guint k = 0; k < out->n_axes; k++) {
        to += index[k] * out->stride[k];
        if (!missing && input->place[k] >= 0)
            from +=
                (index[k] - (k == state->axis ? input->offset : 0)) * in->stride[input->place[k]];
    }
    gsize bytes = ct_type_info(out->type)->bytes;
    if (missing)
        memset(to, 0, bytes);
    else
        memcpy(to, from, bytes);
}

static gboolean
reference_work(gpointer user_data, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const StackState *state = user_data;
    const CtBlock *out = &work->outputs[0];
    gint64 index[CT_MAX_AXES] = {0};
    if (!out->data || work->begin >= work->end)
        return TRUE;
    index[state->time] = work->begin;
    do
        copy_element(state, work, index);
    while (places_next(out, state->time, work->begin, work->end, index));
    return TRUE;
}

static void
reference_finish(gpointer state)
{
    if (state)
        stack_state_clear(state);
    g_free(state);
}

const CtVariant stack_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .covers = (const char *const[]){"stack", NULL},
    .rows = (const CtRow[]){{"[...] -> [...]", 0.05}, {NULL}},
    .split = "time",
    .prepare = reference_prepare,
    .advance = stack_advance,
    .work = reference_work,
    .finish = reference_finish,
};
