/* SPDX-License-Identifier: BSD-3-Clause */
/* A text for people about a stream, in seconds, hertz and names. */
#include "stream-facts.h"

#include "model/clock.h"
#include "model/quantity.h"

/* Lists of more names are shortened. */
enum { MOST_NAMES = 8 };

static void append_item(GString *line, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
append_item(GString *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_string_append(line, line->len ? ", " : "");
    g_string_append_vprintf(line, format, arguments);
    va_end(arguments);
}

static void
append_quantity(GString *line, const char *format, gdouble value, const char *unit)
{
    g_autofree char *shown = ct_quantity_format(value, unit);
    g_string_append(line, line->len ? ", " : "");
    g_string_append_printf(line, format, shown);
}

/* "20 MHz samples, 60 ms from 2026-11-23T00:00:00.000000000Z to 2026-11-23T00:00:00.060000000Z" */
static void
append_time(GString *line, const CtStream *stream)
{
    const gint time = ct_stream_axis(stream, "time");
    const gdouble rate = ct_stream_sample_rate(stream);
    if (time < 0 || rate == 0)
        return;
    append_quantity(line, rate >= 1 ? "%s samples" : "a sample of %s", rate >= 1 ? rate : 1 / rate,
                    rate >= 1 ? "Hz" : "s");
    if (stream->axes[time].length >= 0)
        append_quantity(line, "%s", (gdouble)stream->axes[time].length / rate, "s");
    else
        append_item(line, "without a known end");
    g_autofree char *utc = ct_stream_utc(stream, stream->start);
    if (utc)
        g_string_append_printf(line, " from %s", utc);
    gint64 tick;
    if (stream->axes[time].length < 0 || !ct_stream_end(stream, &tick))
        return;
    g_autofree char *end = ct_stream_utc(stream, tick);
    if (end)
        g_string_append_printf(line, " to %s", end);
}

/* The least and the largest coordinate along an axis, with all of its parent. */
static void
find_range(const CtStream *stream, guint a, gdouble *least, gdouble *largest)
{
    const CtCoordinate *coordinate = &stream->axes[a].coordinate;
    const gint64 n_parents = coordinate->parent ? ct_stream_length(stream, coordinate->parent) : 1;
    const gint64 n = stream->axes[a].length;
    const gint64 step = coordinate->table || n < 2 ? 1 : n - 1;
    *least = *largest = ct_stream_coordinate(stream, a, 0, 0);
    for (gint64 parent = 0; parent < n_parents; parent++)
        for (gint64 i = 0; i < n; i += step) {
            const gdouble at = ct_stream_coordinate(stream, a, i, parent);
            *least = MIN(*least, at);
            *largest = MAX(*largest, at);
        }
}

/* " in steps of 24.4141 kHz" */
static void
append_step(GString *line, const CtAxis *axis)
{
    const CtCoordinate *coordinate = &axis->coordinate;
    if (coordinate->table || axis->length < 2)
        return;
    g_autofree char *step = ct_quantity_format(coordinate->step, coordinate->unit);
    g_string_append_printf(line, " in steps of %s", step);
}

static void
append_coordinates(GString *line, const CtStream *stream)
{
    if (stream->has_frequency && ct_stream_axis(stream, "subband") < 0 &&
        ct_stream_axis(stream, "channel") < 0)
        append_quantity(line, ct_type_info(stream->type)->is_complex ? "centre %s" : "band from %s",
                        stream->frequency, "Hz");
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        if (!axis->coordinate.unit || axis->name == ct_axis_name("time"))
            continue;
        gdouble least, largest;
        find_range(stream, a, &least, &largest);
        g_autofree char *from = ct_quantity_format(least, axis->coordinate.unit);
        g_autofree char *to = ct_quantity_format(largest, axis->coordinate.unit);
        if (least == largest)
            append_item(line, "%s %s", axis->name, from);
        else
            append_item(line, "%s %s to %s", axis->name, from, to);
        append_step(line, axis);
    }
}

/* "station CS001 CS002 … CS016" */
static void
append_names(GString *line, const CtAxis *axis)
{
    const CtLabels *names = ct_labels_names(axis->labels);
    const gsize n = ct_labels_count(names);
    append_item(line, "%s%s", axis->name, ct_labels_are_pairs(axis->labels) ? " of" : "");
    for (gsize i = 0; i < n; i++)
        if (n <= MOST_NAMES || i < 2)
            g_string_append_printf(line, " %s", ct_labels_name(names, i, 0));
    if (n > MOST_NAMES)
        g_string_append_printf(line, " … %s", ct_labels_name(names, n - 1, 0));
}

char *
ct_stream_facts(const CtStream *stream)
{
    g_autoptr(GString) time = g_string_new(NULL);
    g_autoptr(GString) names = g_string_new(NULL);
    append_time(time, stream);
    append_coordinates(time, stream);
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].labels)
            append_names(names, &stream->axes[a]);
    GString *text = g_string_new(NULL);
    if (time->len)
        g_string_append_printf(text, "    %s\n", time->str);
    if (names->len)
        g_string_append_printf(text, "    %s\n", names->str);
    return g_string_free(text, FALSE);
}
