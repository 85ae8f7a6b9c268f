/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that descriptions of streams are consistent. */
#include "stream-check.h"

#include "model/layout-private.h"
#include "model/unknown.h"

#include <math.h>

/* The number of values that the coordinate's table must have; −1: not known. */
static gint64
table_length(const CtStream *stream, const CtAxis *axis)
{
    const gint parent =
        axis->coordinate.parent ? ct_stream_axis(stream, axis->coordinate.parent) : -1;
    const gint64 rows = parent < 0 ? 1 : stream->axes[parent].length;
    gint64 n;
    return axis->length < 0 || rows < 0 || __builtin_mul_overflow(axis->length, rows, &n) ? -1 : n;
}

static char *
find_fault_of_coordinate(const CtStream *stream, const CtAxis *axis)
{
    const CtCoordinate *coordinate = &axis->coordinate;
    if (!coordinate->unit)
        return NULL;
    const gint parent = coordinate->parent ? ct_stream_axis(stream, coordinate->parent) : -1;
    if (parent >= 0 && stream->axes[parent].coordinate.parent)
        return g_strdup_printf(
            "has coordinates along '%s' on those along '%s', which hang on others", axis->name,
            coordinate->parent);
    if (!coordinate->table)
        return isfinite(coordinate->first) && isfinite(coordinate->step)
                   ? NULL
                   : g_strdup_printf("has coordinates %g + %g · i along '%s'", coordinate->first,
                                     coordinate->step, axis->name);
    gsize bytes;
    const gdouble *table = g_bytes_get_data(coordinate->table, &bytes);
    const gsize n = bytes / sizeof *table;
    const gint64 wanted = table_length(stream, axis);
    if (wanted >= 0 && n < (guint64)wanted)
        return g_strdup_printf("has %" G_GSIZE_FORMAT
                               " coordinates along '%s', but wants %" G_GINT64_FORMAT,
                               n, axis->name, wanted);
    for (gsize i = 0; i < n; i++)
        if (!isfinite(table[i]))
            return g_strdup_printf("has the coordinate %g along '%s'", table[i], axis->name);
    return NULL;
}

static char *
find_fault_of_axis(const CtStream *stream, guint a)
{
    const CtAxis *axis = &stream->axes[a];
    if (!axis->name || !ct_layout_is_axis_name(axis->name))
        return g_strdup_printf("has a %u. axis without a name", a + 1);
    if (axis->name != ct_axis_name(axis->name))
        return g_strdup_printf("has an axis '%s' whose name is not that of ct_axis_name",
                               axis->name);
    for (guint k = 0; k < a; k++)
        if (stream->axes[k].name == axis->name)
            return g_strdup_printf("has two axes '%s'", axis->name);
    const gint64 least = g_str_equal(axis->name, "time") ? -1 : 1;
    if (axis->length < least)
        return g_strdup_printf("has an axis '%s' of length %" G_GINT64_FORMAT, axis->name,
                               axis->length);
    return CT_RESERVED_IS_SET(axis) ? g_strdup(CT_UNKNOWN_FAULT) : NULL;
}

static char *
find_fault_of_clock(const CtStream *stream)
{
    if (stream->rate_num < 0 || (stream->rate_num > 0 && stream->rate_den < 1))
        return g_strdup_printf("has a clock of %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT
                               " ticks per second",
                               stream->rate_num, stream->rate_den);
    if (stream->ticks_per_sample < (ct_stream_axis(stream, "time") >= 0))
        return g_strdup_printf("has %" G_GINT64_FORMAT " ticks per sample",
                               stream->ticks_per_sample);
    if (stream->has_frequency && !isfinite(stream->frequency))
        return g_strdup_printf("has a frequency of %g Hz", stream->frequency);
    return NULL;
}

char *
ct_stream_find_fault(const CtStream *stream)
{
    if (stream->type == CT_TYPE_NONE && stream->n_axes <= CT_MAX_AXES)
        return NULL;
    if ((guint)stream->type >= CT_N_TYPES)
        return g_strdup_printf("is of type %d, which is none", (int)stream->type);
    if (stream->n_axes > CT_MAX_AXES)
        return g_strdup_printf("has %u axes, but wants %d at most", stream->n_axes, CT_MAX_AXES);
    char *fault = CT_RESERVED_IS_SET(stream) ? g_strdup(CT_UNKNOWN_FAULT) : NULL;
    for (guint a = 0; a < stream->n_axes && !fault; a++)
        fault = find_fault_of_axis(stream, a);
    for (guint a = 0; a < stream->n_axes && !fault; a++)
        fault = find_fault_of_coordinate(stream, &stream->axes[a]);
    return fault ? fault : find_fault_of_clock(stream);
}

char *
ct_footprint_find_fault(const CtFootprint *footprint)
{
    if ((guint)footprint->kind > CT_FOOTPRINT_OWN)
        return g_strdup_printf("is of kind %d, which is none", (int)footprint->kind);
    if ((guint)footprint->lanes > CT_LANES_ANY)
        return g_strdup_printf("merges lanes by rule %d, which is none", (int)footprint->lanes);
    if (footprint->window < 1 || footprint->hop < 1)
        return g_strdup_printf("has a window of %" G_GINT64_FORMAT " and a hop of %" G_GINT64_FORMAT
                               " samples",
                               footprint->window, footprint->hop);
    if (footprint->kind == CT_FOOTPRINT_SUM &&
        (footprint->offset < 0 || footprint->offset >= footprint->hop))
        return g_strdup_printf("has sums of %" G_GINT64_FORMAT
                               " samples, of which the first begins at sample %" G_GINT64_FORMAT,
                               footprint->hop, footprint->offset);
    if (footprint->needs < 0 || footprint->needs > footprint->window)
        return g_strdup_printf("needs %" G_GINT64_FORMAT " of a window of %" G_GINT64_FORMAT
                               " samples",
                               footprint->needs, footprint->window);
    return CT_RESERVED_IS_SET(footprint) ? g_strdup(CT_UNKNOWN_FAULT) : NULL;
}
