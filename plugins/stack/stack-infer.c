/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape rule of stack: inputs must agree except along the stacked axis. */
#include "stack.h"

#include <string.h>

#define JOINS_BANDS "bands are joined along 'subband', before 'fft' makes channels of them"

/* Checks an axis of input `i` against that of the first input; the stacked axis may differ in
 * length. */
static gboolean
check_axis(const CtNode *node, guint i, const CtAxis *first, const char *axis, GError **error)
{
    const gint place = ct_stream_axis(&node->inputs[i], first->name);
    if (place < 0)
        return ct_join_differ(node, i, error, "differ: only the first has an axis '%s'",
                              first->name);
    if (strcmp(first->name, "time") == 0)
        return TRUE;
    const CtCoordinate *a = &first->coordinate;
    const CtCoordinate *b = &node->inputs[i].axes[place].coordinate;
    const gboolean is_stacked = strcmp(first->name, axis) == 0;
    if (!is_stacked && !ct_join_check_length(node, i, first->name, error))
        return FALSE;
    const gboolean hangs = g_strcmp0(a->parent, axis) == 0 && a->table && b->table;
    if (is_stacked ? a->unit == b->unit && a->parent == b->parent
                   : hangs || ct_join_same_coordinate(a, b))
        return TRUE;
    return ct_join_differ(node, i, error, "have other coordinates along '%s'%s", first->name,
                          strcmp(first->name, "channel") == 0 ? ": " JOINS_BANDS : "");
}

static gboolean
check_input(const CtNode *node, guint i, const char *axis, GError **error)
{
    const CtStream *first = &node->inputs[0], *other = &node->inputs[i];
    if (first->type != other->type)
        return ct_join_differ(
            node, i, error,
            "are of types %s and %s: a node 'convert' gives either the type of the other",
            ct_type_info(first->type)->name, ct_type_info(other->type)->name);
    if (!ct_join_check_clock(node, i, TRUE, error))
        return FALSE;
    if ((other->start - first->start) % first->ticks_per_sample != 0)
        return ct_join_differ(node, i, error,
                              "begin at ticks %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT
                              ", which are not whole samples of %" G_GINT64_FORMAT " ticks apart",
                              first->start, other->start, first->ticks_per_sample);
    const gboolean by_subband =
        strcmp(axis, "subband") == 0 || ct_stream_axis(first, "subband") >= 0;
    const gdouble of_first = first->has_frequency ? first->frequency : 0;
    const gdouble of_other = other->has_frequency ? other->frequency : 0;
    if (!by_subband && (first->has_frequency != other->has_frequency || of_first != of_other))
        return ct_join_differ(node, i, error, "are of bands at %g and %g MHz: " JOINS_BANDS,
                              1e-6 * of_first, 1e-6 * of_other);
    for (guint k = 0; k < first->n_axes; k++)
        if (!check_axis(node, i, &first->axes[k], axis, error))
            return FALSE;
    for (guint k = 0; k < other->n_axes; k++)
        if (ct_stream_axis(first, other->axes[k].name) < 0)
            return ct_join_differ(node, i, error, "differ: only the second has an axis '%s'",
                                  other->axes[k].name);
    return TRUE;
}

/* The coordinates of the stacked axis: affine if each input continues the one before, else a table
 * of [parent length][length]. */
static gboolean
join_coordinates(const CtNode *node, const char *name, CtStream *output, GError **error)
{
    CtAxis *axis = &output->axes[ct_stream_axis(output, name)];
    if (!axis->coordinate.unit)
        return TRUE;
    gint64 n_parents =
        axis->coordinate.parent ? ct_stream_length(output, axis->coordinate.parent) : 1;
    g_autofree gdouble *table = CT_TABLE(gdouble, n_parents * axis->length, "coordinates", error);
    if (!table)
        return FALSE;
    for (gint64 parent = 0; parent < n_parents; parent++) {
        gdouble *row = table + parent * axis->length;
        for (guint i = 0; i < node->n_inputs; i++) {
            const CtStream *input = &node->inputs[i];
            gint place = ct_stream_axis(input, name);
            for (gint64 k = 0; k < input->axes[place].length; k++)
                *row++ = ct_stream_coordinate(input, place, k, parent);
        }
    }
    gboolean affine = !axis->coordinate.table && !axis->coordinate.parent;
    for (gint64 k = 0; affine && k < axis->length; k++)
        affine = table[k] == axis->coordinate.first + axis->coordinate.step * k;
    if (affine)
        return TRUE;
    g_clear_pointer(&axis->coordinate.table, g_bytes_unref);
    axis->coordinate.table =
        g_bytes_new_take(g_steal_pointer(&table), n_parents * axis->length * sizeof(gdouble));
    return TRUE;
}

/* Joins the tables of axes whose parent is the stacked axis. */
static gboolean
join_hanging(const CtNode *node, const char *name, CtStream *output, GError **error)
{
    for (guint k = 0; k < output->n_axes; k++) {
        CtCoordinate *coordinate = &output->axes[k].coordinate;
        if (g_strcmp0(coordinate->parent, name) != 0 || !coordinate->table)
            continue;
        const gint64 n = ct_stream_length(output, name) * output->axes[k].length;
        gdouble *table = CT_TABLE(gdouble, n, "coordinates", error);
        gdouble *to = table;
        if (!table)
            return FALSE;
        for (guint i = 0; i < node->n_inputs; i++) {
            const CtStream *input = &node->inputs[i];
            gint place = ct_stream_axis(input, output->axes[k].name);
            gsize length;
            const guint8 *bytes = g_bytes_get_data(input->axes[place].coordinate.table, &length);
            memcpy(to, bytes, length);
            to += length / sizeof *to;
        }
        g_bytes_unref(coordinate->table);
        coordinate->table = g_bytes_new_take(table, (gsize)n * sizeof *table);
    }
    return TRUE;
}

/* The labels of all inputs in a row; none if an input has none, or if two are the same. */
static CtLabels *
join_labels(const CtNode *node, const char *name)
{
    g_autofree CtLabels **labels = g_new(CtLabels *, node->n_inputs);
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtStream *input = &node->inputs[i];
        labels[i] = input->axes[ct_stream_axis(input, name)].labels;
        if (!labels[i])
            return NULL;
    }
    return ct_labels_join(labels, node->n_inputs);
}

/* Adds the new axis; subbands have the frequencies of their inputs. */
static gboolean
add_axis(const CtNode *node, const char *name, CtStream *output, GError **error)
{
    CtAxis *axis = ct_stream_add_axis(output, name, node->n_inputs);
    if (!axis) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants at most %d axes", CT_MAX_AXES);
        return FALSE;
    }
    gboolean has_frequency = strcmp(name, "subband") == 0;
    for (guint i = 0; i < node->n_inputs; i++)
        has_frequency = has_frequency && node->inputs[i].has_frequency;
    if (!has_frequency)
        return TRUE;
    gdouble *table = g_new(gdouble, node->n_inputs);
    for (guint i = 0; i < node->n_inputs; i++)
        table[i] = node->inputs[i].frequency;
    axis->coordinate.unit = g_intern_static_string("Hz");
    axis->coordinate.first = table[0];
    axis->coordinate.table = g_bytes_new_take(table, node->n_inputs * sizeof *table);
    return TRUE;
}

/* Finds the range from the first sample of any input to the last of any. An input without samples
 * is ignored. */
static void
find_span(const CtNode *node, gint64 *start, gint64 *end)
{
    gboolean found = FALSE;
    *start = *end = node->inputs[0].start;
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtStream *input = &node->inputs[i];
        if (ct_join_end(input) == input->start)
            continue;
        *start = found ? MIN(*start, input->start) : input->start;
        *end = found ? MAX(*end, ct_join_end(input)) : ct_join_end(input);
        found = TRUE;
    }
}

gboolean
stack_infer(CtNode *node, GError **error)
{
    const char *name = ct_params_string(node->params, "axis");
    const CtStream *first = &node->inputs[0];
    CtStream *output = &node->outputs[0];
    if (strcmp(name, "time") == 0)
        return ct_params_error(node->params, "axis", error,
                               "wants another axis than time, but is given "
                               "'time'");
    g_autofree char *pattern = g_strdup_printf("[%s]", name);
    CtLayout layout;
    if (!ct_layout_parse(&layout, pattern, NULL) || layout.n_axes != 1 || layout.axes[0].count ||
        strcmp(name, "...") == 0 || strcmp(name, "complex") == 0)
        return ct_params_error(node->params, "axis", error,
                               "wants a name of a-z, 0-9 and _, but is given '%s'", name);
    for (guint i = 1; i < node->n_inputs; i++)
        if (!check_input(node, i, name, error))
            return FALSE;

    ct_stream_copy(output, first);
    gint axis = ct_stream_axis(output, name);
    if (axis < 0) {
        if (!add_axis(node, name, output, error))
            return FALSE;
        axis = ct_stream_axis(output, name);
    } else {
        gint64 length = 0;
        for (guint i = 0; i < node->n_inputs; i++)
            length += ct_stream_length(&node->inputs[i], name);
        output->axes[axis].length = length;
        ct_axis_take_labels(&output->axes[axis], join_labels(node, name));
        if (!join_coordinates(node, name, output, error) ||
            !join_hanging(node, name, output, error))
            return FALSE;
    }
    output->axes[axis].loses = TRUE;
    ct_join_add_losses(node);
    gint64 start, end;
    find_span(node, &start, &end);
    output->start = start;
    output->axes[ct_stream_axis(output, "time")].length =
        end == G_MAXINT64 ? -1 : (end - start) / first->ticks_per_sample;
    node->footprint.kind = CT_FOOTPRINT_OWN;
    return TRUE;
}
