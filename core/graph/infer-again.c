/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a node with other parameters still describes the same outputs. */
#include "graph.h"

#include <string.h>

static gboolean
are_coordinates_equal(const CtCoordinate *a, const CtCoordinate *b)
{
    return a->unit == b->unit && a->first == b->first && a->step == b->step &&
           a->parent == b->parent && !a->table == !b->table &&
           (!a->table || g_bytes_equal(a->table, b->table));
}

static gboolean
are_streams_equal(const CtStream *a, const CtStream *b)
{
    gboolean equal = a->type == b->type && a->n_axes == b->n_axes && a->rate_num == b->rate_num &&
                     a->rate_den == b->rate_den && a->ticks_per_sample == b->ticks_per_sample &&
                     a->start == b->start && a->epoch == b->epoch &&
                     a->has_frequency == b->has_frequency && a->frequency == b->frequency &&
                     ct_observation_equal(a->observation, b->observation);
    for (guint i = 0; i < a->n_axes && equal; i++) {
        const CtAxis *x = &a->axes[i], *y = &b->axes[i];
        equal = x->name == y->name && x->length == y->length && x->loses == y->loses &&
                are_coordinates_equal(&x->coordinate, &y->coordinate) &&
                ct_labels_equal(x->labels, y->labels);
    }
    return equal;
}

static gboolean
check_outputs(const CtNode *node, const CtNode *again, GError **error)
{
    for (guint o = 0; o < node->n_outputs; o++) {
        if (are_streams_equal(&node->outputs[o], &again->outputs[o]))
            continue;
        g_autofree char *was = ct_stream_describe(&node->outputs[o]);
        g_autofree char *is = ct_stream_describe(&again->outputs[o]);
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "a change during a run wants output '%s' to stay as it is: %s %s, but makes it "
                    "%s %s%s",
                    node->stage->outputs[o].name, ct_type_info(node->outputs[o].type)->name, was,
                    ct_type_info(again->outputs[o].type)->name, is,
                    g_str_equal(was, is) ? " with another clock, other coordinates or other labels"
                                         : "");
        return FALSE;
    }
    return TRUE;
}

static gboolean
check_footprint(const CtFootprint *was, const CtFootprint *is, GError **error)
{
    if (was->kind == is->kind && was->window == is->window && was->hop == is->hop &&
        was->offset == is->offset && was->lanes == is->lanes)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "a change during a run wants windows to stay as they are: %" G_GINT64_FORMAT
                " samples, one every %" G_GINT64_FORMAT ", offset %" G_GINT64_FORMAT
                ", but makes them %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT,
                was->window, was->hop, was->offset, is->window, is->hop, is->offset);
    return FALSE;
}

static gboolean
check_layouts(const CtLayout *was, const CtLayout *is, guint n, GError **error)
{
    for (guint i = 0; i < n; i++)
        if (!ct_layout_equal(&was[i], &is[i])) {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                        "a change during a run wants layouts to stay as they are");
            return FALSE;
        }
    return TRUE;
}

gboolean
ct_node_infer_again(const CtNode *node, const CtParams *params, GError **error)
{
    CtNode again = *node;
    g_autofree CtLayout *input_layouts = g_new0(CtLayout, node->n_inputs + 1);
    g_autofree CtLayout *output_layouts = g_new0(CtLayout, node->n_outputs + 1);
    g_autofree CtStream *outputs = g_new0(CtStream, node->n_outputs + 1);
    again.params = params;
    again.outputs = outputs;
    again.input_layouts = input_layouts;
    again.output_layouts = output_layouts;
    again.footprint = (CtFootprint){CT_FOOTPRINT_WINDOW, 1, 1, 0, CT_LANES_ALL};
    for (guint o = 0; o < node->n_outputs; o++)
        ct_stream_init(&outputs[o]);
    const gboolean good =
        ct_node_infer(&again, error) &&
        check_footprint(&node->footprint, &again.footprint, error) &&
        check_outputs(node, &again, error) &&
        check_layouts(node->input_layouts, input_layouts, node->n_inputs, error) &&
        check_layouts(node->output_layouts, output_layouts, node->n_outputs, error);
    for (guint o = 0; o < node->n_outputs; o++)
        ct_stream_clear(&outputs[o]);
    return good;
}
