/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fold along another axis than time describes. */
#include "fold-across.h"

const char *
ct_fold_axis(const CtFold *fold, const CtNode *node)
{
    const char *axis = fold->axis ? ct_axis_name(ct_params_string(node->params, fold->axis)) : NULL;
    return axis == ct_axis_name("time") ? NULL : axis;
}

/* The coordinate of a sum is the mean of those of its elements. */
static gboolean
fold_coordinate(const CtStream *in, CtStream *out, guint a, gint64 length, GError **error)
{
    const CtAxis *was = &in->axes[a];
    CtCoordinate *made = &out->axes[ct_stream_axis(out, was->name)].coordinate;
    const gint64 n_out = (was->length + length - 1) / length;
    if (!made->unit)
        return TRUE;
    if (!made->table && was->length % length == 0) {
        made->first += made->step * (gdouble)(length - 1) / 2;
        made->step *= (gdouble)length;
        return TRUE;
    }
    const gint64 n_parents = made->parent ? ct_stream_length(in, made->parent) : 1;
    gdouble *means = CT_TABLE(gdouble, n_parents * n_out, "coordinates", error);
    if (!means)
        return FALSE;
    for (gint64 p = 0; p < n_parents; p++)
        for (gint64 i = 0; i < was->length; i++)
            means[p * n_out + i / length] +=
                ct_stream_coordinate(in, a, i, p) /
                (gdouble)MIN(length, was->length - i / length * length);
    g_clear_pointer(&made->table, g_bytes_unref);
    made->first = means[0];
    made->table = g_bytes_new_take(means, (gsize)(n_parents * n_out) * sizeof *means);
    return TRUE;
}

/* Gives the output's axis its length; coordinates that depend on its elements are dropped. */
static void
shorten(CtStream *stream, const char *axis, gint64 length)
{
    for (guint a = 0; a < stream->n_axes; a++) {
        CtAxis *one = &stream->axes[a];
        if (one->coordinate.parent == axis) {
            g_clear_pointer(&one->coordinate.table, g_bytes_unref);
            one->coordinate = (CtCoordinate){0};
        }
        if (one->name == axis) {
            one->length = length;
            ct_axis_take_labels(one, NULL);
        }
    }
}

gboolean
ct_fold_infer_axis(CtNode *node, const CtFold *fold, GError **error)
{
    const char *axis = ct_fold_axis(fold, node);
    if (!ct_form_infer(node, error))
        return FALSE;
    if (!axis)
        return TRUE;
    if (ct_params_is_time(node->params, fold->form.length))
        return ct_params_error(node->params, fold->form.length, error,
                               "wants a number of elements along '%s', but is given a time", axis);
    const CtType type = node->outputs[0].type;
    for (guint o = 0; o < node->n_outputs; o++)
        ct_stream_clear(&node->outputs[o]);
    const CtStream *in = &node->inputs[0];
    const gint64 length = ct_params_int(node->params, fold->form.length);
    const gint place = ct_stream_axis(in, axis);
    if (place < 0) {
        g_autofree char *given = ct_stream_describe(in);
        return ct_params_error(node->params, fold->axis, error,
                               "wants an axis of the input, but is given '%s', and the input has "
                               "%s",
                               axis, given);
    }
    if (length > in->axes[place].length)
        return ct_params_error(node->params, fold->form.length, error,
                               "wants at most the length of the axis '%s', %" G_GINT64_FORMAT
                               ", but is given %" G_GINT64_FORMAT,
                               axis, in->axes[place].length, length);
    const gint64 n_out = (in->axes[place].length + length - 1) / length;
    ct_stream_copy(&node->outputs[0], in);
    node->outputs[0].type = type;
    node->footprint =
        (CtFootprint){.kind = CT_FOOTPRINT_WINDOW, .window = 1, .hop = 1, .lanes = CT_LANES_ANY};
    if (node->n_outputs > 1) {
        CtStream *weights = &node->outputs[1];
        ct_stream_copy(weights, in);
        weights->type = CT_U32;
        for (guint a = 0; a < in->n_axes; a++)
            if (!in->axes[a].loses && in->axes[a].name != axis &&
                in->axes[a].name != ct_axis_name("time"))
                ct_stream_remove_axis(weights, in->axes[a].name);
    }
    for (guint o = 0; o < node->n_outputs; o++) {
        CtStream *out = &node->outputs[o];
        shorten(out, axis, n_out);
        if (!fold_coordinate(in, out, (guint)place, length, error))
            return FALSE;
    }
    return TRUE;
}
