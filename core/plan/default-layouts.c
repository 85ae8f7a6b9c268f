/* SPDX-License-Identifier: BSD-3-Clause */
/* --default-layouts: each stage runs in the layouts that the published codes have for it, so that a
 * plan can be compared with the naive one. */
#include "default-layouts.h"

#include "candidates.h"

/* The default layouts of the node's stage; empty where it has none. */
static gboolean
default_row(const CtNode *node, CtRowPatterns *row, GError **error)
{
    *row = (CtRowPatterns){0};
    if (!node->stage->default_layouts || ct_row_parse(row, node->stage->default_layouts, error))
        return TRUE;
    g_prefix_error(error, "the plugin of stage '%s' is at fault: ", node->stage->name);
    return FALSE;
}

/* The pattern of a port; all inputs of a CT_PORT_MANY port have the last one. */
static const CtLayout *
pattern_at(const CtLayout *patterns, guint n, guint port)
{
    return n > 0 ? &patterns[MIN(port, n - 1)] : NULL;
}

gboolean
ct_default_orders(const CtNode *node, GArray *inputs, GArray *outputs, GError **error)
{
    CtRowPatterns row;
    if (!default_row(node, &row, error))
        return FALSE;
    g_array_append_vals(inputs, row.inputs, row.n_inputs);
    g_array_append_vals(outputs, row.outputs, row.n_outputs);
    return TRUE;
}

/* The number of pairs of axes that are in reverse order in the pattern, plus the number of axes
 * that are split into blocks. */
static guint
distance_at_port(const CtLayout *layout, const CtLayout *pattern)
{
    guint distance = 0;
    for (guint a = 0; a < layout->n_axes; a++) {
        if (layout->axes[a].count > 0) {
            distance++;
            continue;
        }
        const gint first = ct_layout_axis(pattern, layout->axes[a].name);
        for (guint b = a + 1; b < layout->n_axes; b++) {
            const gint second = ct_layout_axis(pattern, layout->axes[b].name);
            distance += layout->axes[b].count == 0 && first >= 0 && second >= 0 && second < first;
        }
    }
    return distance;
}

static guint
distance_of(const CtCandidate *candidate, const CtNode *node, const CtRowPatterns *row)
{
    guint distance = 0;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtLayout *pattern = pattern_at(row->inputs, row->n_inputs, i);
        distance += pattern ? distance_at_port(&candidate->inputs[i], pattern) : 0;
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtLayout *pattern = pattern_at(row->outputs, row->n_outputs, o);
        distance += pattern ? distance_at_port(&candidate->outputs[o], pattern) : 0;
    }
    return distance;
}

/* Reference variants are kept only where there is nothing else. */
static gboolean
is_reference(const CtCandidate *candidate)
{
    return candidate->variant->backend == CT_REFERENCE;
}

/* Whether `other` is preferred to `candidate` at the same place. */
static gboolean
is_nearer(const CtCandidate *other, const CtCandidate *candidate, const CtNode *node,
          const CtRowPatterns *row)
{
    if (other->n_nodes > 1 || other->place != candidate->place)
        return FALSE;
    if (is_reference(other) != is_reference(candidate))
        return is_reference(candidate);
    return distance_of(other, node, row) < distance_of(candidate, node, row);
}

/* Whether each node that a fused candidate covers also has a candidate of its own. */
static gboolean
can_part(const CtCandidates *candidates, const CtCandidate *candidate)
{
    for (guint k = 0; k < candidate->n_nodes; k++) {
        const GPtrArray *own = candidates->nodes[candidate->nodes[k]];
        gboolean has_own = FALSE;
        for (guint i = 0; i < own->len && !has_own; i++)
            has_own = ((const CtCandidate *)g_ptr_array_index(own, i))->n_nodes == 1;
        if (!has_own)
            return FALSE;
    }
    return TRUE;
}

static void
drop(CtCandidates *candidates, const CtCandidate *candidate)
{
    for (guint k = 0; k < candidate->n_nodes; k++)
        g_ptr_array_remove(candidates->nodes[candidate->nodes[k]], (gpointer)candidate);
}

gboolean
ct_default_keep(CtCandidates *candidates, const CtGraph *graph, GError **error)
{
    for (guint n = 0; n < candidates->n_nodes; n++) {
        const CtNode *node = &((const CtGraphNode *)ct_graph_node(graph, n))->node;
        CtRowPatterns row;
        if (!default_row(node, &row, error))
            return FALSE;
        if (!node->stage->default_layouts)
            continue;
        GPtrArray *own = candidates->nodes[n];
        g_autoptr(GPtrArray) far = g_ptr_array_new();
        for (guint i = 0; i < own->len; i++) {
            const CtCandidate *candidate = g_ptr_array_index(own, i);
            gboolean keeps = candidate->n_nodes == 1 || !can_part(candidates, candidate);
            for (guint k = 0; k < own->len && keeps && candidate->n_nodes == 1; k++)
                keeps = !is_nearer(g_ptr_array_index(own, k), candidate, node, &row);
            if (!keeps)
                g_ptr_array_add(far, (gpointer)candidate);
        }
        for (guint i = 0; i < far->len; i++)
            drop(candidates, g_ptr_array_index(far, i));
    }
    return TRUE;
}
