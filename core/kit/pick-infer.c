/* SPDX-License-Identifier: BSD-3-Clause */
/* What stages that pick elements describe: lengths, coordinates, labels, time. */
#include "reserved.h"

#include <cornerturn/kit/pick.h>
#include <math.h>

CtPickAxis *
ct_pick_add(CtPick *pick, const char *name, gint64 length, const char *first, const char *second,
            GError **error)
{
    const char *const of[] = {first, second};
    if (pick->n_axes == CT_MAX_AXES) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants at most %d axes", CT_MAX_AXES);
        return NULL;
    }
    CtPickAxis *axis = &pick->axes[pick->n_axes++];
    *axis =
        (CtPickAxis){.name = ct_axis_name(name), .length = length, .n_of = second != NULL ? 2 : 1};
    for (guint k = 0; k < axis->n_of; k++) {
        axis->of[k] = ct_axis_name(of[k]);
        if (!(axis->index[k] = CT_TABLE(gint64, length, "picked indices", error)))
            return NULL;
    }
    return axis;
}

void
ct_pick_clear(CtPick *pick)
{
    for (guint a = 0; a < pick->n_axes; a++)
        for (guint k = 0; k < 2; k++)
            g_clear_pointer(&pick->axes[a].index[k], g_free);
    pick->n_axes = 0;
}

static const CtPickAxis *
find_axis(const CtPick *pick, const char *name)
{
    for (guint a = 0; a < pick->n_axes; a++)
        if (pick->axes[a].name == name)
            return &pick->axes[a];
    return NULL;
}

/* How many axes of the output name an axis of the input. */
static guint
count_users(const CtPick *pick, const char *name)
{
    guint n = 0;
    for (guint a = 0; a < pick->n_axes; a++)
        for (guint k = 0; k < pick->axes[a].n_of; k++)
            n += pick->axes[a].of[k] == name;
    return n;
}

static const CtAxis *
axis_of(const CtStream *stream, const char *name)
{
    return &stream->axes[ct_stream_axis(stream, name)];
}

gboolean
ct_pick_coordinate(const CtStream *input, const CtPickAxis *axis, gint64 i, gdouble *value)
{
    for (guint k = axis->n_of; k-- > 0;) {
        const CtAxis *own = axis_of(input, axis->of[k]);
        const CtAxis *other = axis->n_of == 2 ? axis_of(input, axis->of[1 - k]) : NULL;
        const char *parent = own->coordinate.parent;
        /* That of the other one does not matter if it is the parent, or has one element. */
        const gboolean is_alone = !parent && (!other || other->length == 1);
        if (!own->coordinate.unit || !(is_alone || (other && parent == other->name)))
            continue;
        *value = ct_stream_coordinate(input, (guint)ct_stream_axis(input, own->name),
                                      axis->index[k][i], parent ? axis->index[1 - k][i] : 0);
        return TRUE;
    }
    return FALSE;
}

/* Whether the indices have a constant step. */
static gboolean
is_even(const gint64 *index, gint64 n)
{
    for (gint64 i = 2; i < n; i++)
        if (index[i] - index[i - 1] != index[1] - index[0])
            return FALSE;
    return TRUE;
}

/* Coordinates of an axis of two axes: affine if they are evenly spaced. */
static gboolean
merge_coordinates(const CtStream *input, const CtPickAxis *axis, CtCoordinate *made, GError **error)
{
    gdouble value, largest = 0;
    if (!ct_pick_coordinate(input, axis, 0, &value))
        return TRUE;
    g_autofree gdouble *table = CT_TABLE(gdouble, axis->length, "coordinates", error);
    if (!table)
        return FALSE;
    for (gint64 i = 0; i < axis->length; i++) {
        ct_pick_coordinate(input, axis, i, &table[i]);
        largest = MAX(largest, fabs(table[i]));
    }
    const gint64 last = axis->length - 1;
    const gdouble step = last > 0 ? (table[last] - table[0]) / (gdouble)last : 0;
    gboolean affine = TRUE;
    for (gint64 i = 0; i < axis->length && affine; i++)
        affine = fabs(table[0] + (gdouble)i * step - table[i]) <= 8 * 0x1p-53 * largest;
    const char *unit = axis_of(input, axis->of[1])->coordinate.unit;
    if (!unit || (axis_of(input, axis->of[0])->coordinate.parent == axis->of[1]))
        unit = axis_of(input, axis->of[0])->coordinate.unit;
    *made = (CtCoordinate){.unit = unit, .first = table[0], .step = step};
    if (!affine)
        made->table =
            g_bytes_new_take(g_steal_pointer(&table), (gsize)axis->length * sizeof *table);
    return TRUE;
}

/* Coordinates of an axis of the output that is picked (`own` is not NULL), or whose parent is. */
static gboolean
pick_coordinates(const CtPick *pick, const CtStream *input, CtStream *output, guint a,
                 GError **error)
{
    CtAxis *axis = &output->axes[a];
    CtCoordinate *made = &axis->coordinate;
    const CtPickAxis *own = find_axis(pick, axis->name);
    const CtPickAxis *parent = made->parent ? find_axis(pick, made->parent) : NULL;
    if (!made->unit || (!own && !(parent && made->table)))
        return TRUE;
    if (!made->table && is_even(own->index[0], own->length)) {
        made->first += made->step * (gdouble)own->index[0][0];
        made->step *= own->length > 1 ? (gdouble)(own->index[0][1] - own->index[0][0]) : 1;
        return TRUE;
    }
    const gint64 n_parents = made->parent ? ct_stream_length(output, made->parent) : 1;
    const guint place = (guint)ct_stream_axis(input, axis->name);
    gdouble *table = CT_TABLE(gdouble, n_parents * axis->length, "coordinates", error);
    if (!table)
        return FALSE;
    for (gint64 p = 0; p < n_parents; p++)
        for (gint64 i = 0; i < axis->length; i++)
            table[p * axis->length + i] = ct_stream_coordinate(
                input, place, own ? own->index[0][i] : i, parent ? parent->index[0][p] : p);
    g_clear_pointer(&made->table, g_bytes_unref);
    made->first = table[0];
    made->table = g_bytes_new_take(table, (gsize)(n_parents * axis->length) * sizeof *table);
    return TRUE;
}

/* Removes axes of the input that the output lacks, and gives its own their lengths, lanes and
 * labels. */
static gboolean
make_axes(const CtPick *pick, const CtStream *input, CtStream *output, GError **error)
{
    for (guint a = 0; a < input->n_axes; a++) {
        const char *name = input->axes[a].name;
        const CtPickAxis *same = find_axis(pick, name);
        const guint n_users = count_users(pick, name);
        if (n_users > 0 && !(n_users == 1 && same && same->n_of == 1))
            ct_stream_remove_axis(output, name);
    }
    for (guint p = 0; p < pick->n_axes; p++) {
        const CtPickAxis *picked = &pick->axes[p];
        const gint place = ct_stream_axis(output, picked->name);
        CtAxis *axis = place >= 0 ? &output->axes[place]
                                  : ct_stream_add_axis(output, picked->name, picked->length);
        if (!axis) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE, "wants at most %d axes", CT_MAX_AXES);
            return FALSE;
        }
        axis->length = picked->length;
        for (guint i = 0; i < picked->n_of; i++)
            axis->loses = axis->loses || axis_of(input, picked->of[i])->loses;
        if (place >= 0 && axis->labels)
            ct_axis_take_labels(
                axis, ct_labels_pick(axis->labels, picked->index[0], (gsize)picked->length));
    }
    return TRUE;
}

/* Sets start and length in time. */
static gboolean
cut_time(const CtNode *node, const CtPick *pick, CtStream *output, GError **error)
{
    const CtStream *input = &node->inputs[0];
    CtAxis *time = &output->axes[ct_stream_axis(output, "time")];
    const gint64 ticks = MAX(1, input->ticks_per_sample);
    gint64 end;
    const gboolean ends = time->length >= 0 && !__builtin_mul_overflow(time->length, ticks, &end) &&
                          !__builtin_add_overflow(end, input->start, &end);
    if (pick->begin > input->start)
        output->start += (pick->begin - input->start + ticks - 1) / ticks * ticks;
    if (!ends)
        return TRUE;
    end = MIN(end, pick->end);
    time->length = end > output->start ? (end - output->start + ticks - 1) / ticks : 0;
    if (time->length > 0 || input->axes[ct_stream_axis(input, "time")].length == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants a part of the stream, which has ticks %" G_GINT64_FORMAT
                " to %" G_GINT64_FORMAT ", but is given one from tick %" G_GINT64_FORMAT
                " up to %" G_GINT64_FORMAT,
                input->start,
                input->start + (input->axes[ct_stream_axis(input, "time")].length - 1) * ticks,
                pick->begin, pick->end);
    return FALSE;
}

gboolean
ct_pick_infer(CtNode *node, GError **error)
{
    const CtPickForm *form = node->stage->form;
    const CtStream *input = &node->inputs[0];
    CtStream *output = &node->outputs[0];
    CtPick pick = {.begin = G_MININT64, .end = G_MAXINT64};
    gboolean ok = CT_RESERVED_CHECK("a form that picks", CtPickForm, form, error) &&
                  form->find(node, &pick, error);
    if (ok) {
        ct_stream_copy(output, input);
        ok = make_axes(&pick, input, output, error);
    }
    for (guint a = 0; ok && a < output->n_axes; a++) {
        const CtPickAxis *own = find_axis(&pick, output->axes[a].name);
        ok = own && own->n_of == 2
                 ? merge_coordinates(input, own, &output->axes[a].coordinate, error)
                 : pick_coordinates(&pick, input, output, a, error);
    }
    if (ok && ct_stream_axis(output, "time") >= 0) {
        node->footprint.kind = CT_FOOTPRINT_OWN;
        ok = cut_time(node, &pick, output, error);
    }
    ct_pick_clear(&pick);
    return ok;
}
