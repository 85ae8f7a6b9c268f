/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays over static ports: states for their blocks. */
#include "arrays.h"

#include "submission.h"

/* A packed block of zeros for the stream, with one sample. */
static gboolean
make_zeros(CtBlock *block, const CtStream *stream, GError **error)
{
    gint64 stride = (gint64)ct_type_info(stream->type)->bytes;
    *block = (CtBlock){.type = stream->type, .n_axes = stream->n_axes, .n_samples = 1};
    for (guint a = stream->n_axes; a-- > 0;) {
        const CtAxis *axis = &stream->axes[a];
        block->length[a] = g_str_equal(axis->name, "time") ? 1 : axis->length;
        block->stride[a] = stride;
        stride *= block->length[a];
    }
    block->data = ct_table_new((gsize)stride, 1, "an array over a port", error);
    return block->data != NULL;
}

gboolean
ct_arrays_init(CtRunNode *node, GError **error)
{
    for (guint i = 0; i < node->n_inputs; i++) {
        if (!node->inputs[i].is_prepared)
            continue;
        if (!node->arrays.zeros)
            node->arrays.zeros = g_new0(CtBlock, node->n_inputs);
        if (!make_zeros(&node->arrays.zeros[i], node->plan->input_bindings[i].stream, error))
            return FALSE;
    }
    return TRUE;
}

const CtNode *
ct_arrays_nodes(const CtRunNode *node, const CtNode *nodes, const CtBlock *blocks)
{
    if (!node->arrays.zeros)
        return nodes;
    CtNode *own = g_memdup2(nodes, node->plan->n_nodes * sizeof *nodes);
    own[0].blocks = blocks ? blocks : node->arrays.zeros;
    return own;
}

/* ---- states ----
 *
 * They are freed in the order in which they were replaced: if several share parameters, the last of
 * them owns these. */

static void
append(CtReplacedState **list, CtReplacedState *state)
{
    while (*list)
        list = &(*list)->next;
    *list = state;
}

/* Keeps a state until no submission uses it. */
static void
keep(CtRunNode *node, const CtRunState *state)
{
    CtReplacedState *replaced = g_new0(CtReplacedState, 1);
    replaced->state = *state;
    replaced->last = node->submissions ? node->submissions->n_submitted : 0;
    append(&node->arrays.replaced, replaced);
}

CtRunState
ct_arrays_replace(CtRunNode *node, CtRunState state)
{
    if (!node->arrays.zeros)
        return state;
    keep(node, &state);
    node->arrays.is_stale = TRUE;
    return (CtRunState){.nodes = node->plan->nodes};
}

/* Gives the states that no submission uses to the firing, which frees them. */
static void
retire(CtRunNode *node)
{
    CtArrays *arrays = &node->arrays;
    const CtSubmissions *submissions = node->submissions;
    for (CtReplacedState *state; (state = arrays->replaced) != NULL;) {
        if (submissions && submissions->n_submitted - submissions->n < state->last)
            return;
        arrays->replaced = state->next;
        state->next = NULL;
        append(&arrays->retired, state);
    }
}

/* Frees all of them. Fails if the variant's finish has a fault; the first is in the error. */
static gboolean
free_states(const CtRunNode *node, CtReplacedState **states, GError **error)
{
    gboolean good = TRUE;
    while (*states) {
        CtReplacedState *state = *states;
        *states = state->next;
        good = ct_run_state_clear(node, &state->state, good ? error : NULL) && good;
        g_free(state);
    }
    return good;
}

/* ---- firings ---- */

void
ct_arrays_gather(CtRunNode *node)
{
    if (!node->arrays.zeros)
        return;
    for (guint i = 0; i < node->n_inputs; i++) {
        CtRunInput *input = &node->inputs[i];
        const gint64 position = input->ring ? input->ring->readers[input->reader].position : 0;
        if (input->is_prepared && input->prepared != position) {
            input->prepared = position;
            node->arrays.is_stale = TRUE;
        }
    }
    if (node->arrays.is_stale)
        retire(node);
}

/* The block in effect, alone. */
static CtBlock
block_in_effect(const CtRunNode *node, guint input)
{
    CtBlock block = node->arrivals[input].block;
    const gint time = ct_stream_axis(node->plan->input_bindings[input].stream, "time");
    if (time >= 0)
        block.length[time] = 1;
    return block;
}

gboolean
ct_arrays_prepare(CtRunNode *node, GError **error)
{
    if (!node->arrays.is_stale)
        return TRUE;
    if (!free_states(node, &node->arrays.retired, error))
        return FALSE;
    g_autofree CtBlock *blocks = g_new0(CtBlock, node->n_inputs);
    for (guint i = 0; i < node->n_inputs; i++)
        if (node->inputs[i].is_prepared)
            blocks[i] = block_in_effect(node, i);
    CtRunState made = {0};
    const CtNode *nodes = ct_arrays_nodes(node, node->now.nodes, blocks);
    const gboolean good = ct_run_node_prepare_again(node, nodes, &made, error);
    ((CtNode *)nodes)[0].blocks = NULL;
    node->arrays.is_stale = FALSE;
    if (!good) {
        ct_run_state_clear(node, &made, NULL);
        return FALSE;
    }
    made.owns_params = node->now.owns_params;
    node->now.owns_params = FALSE;
    keep(node, &node->now);
    node->now = made;
    return TRUE;
}

gboolean
ct_arrays_finish(CtRunNode *node, GError **error)
{
    const gboolean good = free_states(node, &node->arrays.retired, error);
    return free_states(node, &node->arrays.replaced, good ? error : NULL) && good;
}

void
ct_arrays_clear(CtRunNode *node)
{
    for (guint i = 0; i < node->n_inputs && node->arrays.zeros; i++)
        g_free(node->arrays.zeros[i].data);
    g_clear_pointer(&node->arrays.zeros, g_free);
}
