/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys `start` and `stop` of a graph: the part of the time that its sources give. */
#include "part.h"

#include "model/clock.h"

/* ---- the keys ---- */

static gboolean
read_end(const CtValue *given, const char *key, CtGraphEnd *end, GError **error)
{
    g_autoptr(GError) cause = NULL;
    *end = (CtGraphEnd){.given = given};
    return !given || ct_utc_parse_exact(given->text, &end->utc, &cause) ||
           ct_place_error(&given->place, CT_ERROR_CONFIG, error, "key '%s': %s", key,
                          cause->message);
}

static gboolean
is_before(const CtUtc *a, const CtUtc *b)
{
    return a->seconds != b->seconds
               ? a->seconds < b->seconds
               : (__int128)a->numerator * b->denominator < (__int128)b->numerator * a->denominator;
}

gboolean
ct_graph_part_read(const CtConfig *config, CtGraphPart *part, GError **error)
{
    if (!read_end(config->start, "start", &part->start, error) ||
        !read_end(config->stop, "stop", &part->stop, error))
        return FALSE;
    return !config->start || !config->stop || is_before(&part->start.utc, &part->stop.utc) ||
           ct_place_error(&config->stop->place, CT_ERROR_CONFIG, error,
                          "key 'stop': wants a time after 'start', %s, but is given '%s'",
                          config->start->text, config->stop->text);
}

/* ---- sources ---- */

/* Sets "FILE:LINE:COLUMN: node 'NAME': …" at the place of the key. */
static gboolean blame(const CtGraphEnd *end, const CtGraphNode *node, GError **error,
                      const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean
blame(const CtGraphEnd *end, const CtGraphNode *node, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ct_graph_error(node, &end->given->place, CT_ERROR_CONFIG, error, "%s", message);
}

/* Finds the number of the stream's samples that are before a time; it may be negative. */
static gboolean
count_before(const CtGraphEnd *end, const char *key, const CtGraphNode *node,
             const CtStream *stream, gint64 *n, GError **error)
{
    gint64 tick;
    if (!node->node.seeks)
        return blame(end, node, error,
                     "'%s' wants sources that can begin and end at any sample, but '%s' can't", key,
                     node->node.stage->name);
    if (stream->rate_num == 0)
        return blame(end, node, error,
                     "'%s' wants a stream with a sample rate, but that of '%s' has none", key,
                     node->node.name);
    if (stream->epoch == CT_NO_EPOCH)
        return blame(end, node, error,
                     "'%s' wants a stream whose UTC is known, but that of '%s' is not: 'start' of "
                     "the graph's 'observation' gives it",
                     key, node->node.name);
    if (!ct_stream_tick_at(stream, &end->utc, &tick))
        return blame(end, node, error,
                     "'%s' wants a time whose tick can be counted, but is given '%s'", key,
                     end->given->text);
    const gint64 later = tick - stream->start, ticks = MAX(1, stream->ticks_per_sample);
    *n = later / ticks + (later % ticks > 0);
    return TRUE;
}

static char *
utc_text(const CtStream *stream, gint64 tick)
{
    char *utc = ct_stream_utc(stream, tick);
    return utc ? utc : g_strdup_printf("tick %" G_GINT64_FORMAT, tick);
}

/* Sets the error of a part that has no sample of the stream. */
static gboolean
refuse(const CtGraphEnd *end, const CtGraphNode *node, const char *key, const CtStream *stream,
       gint64 length, GError **error)
{
    const gboolean is_start = g_str_equal(key, "start");
    g_autofree char *utc =
        utc_text(stream, stream->start + (is_start ? length * stream->ticks_per_sample : 0));
    return blame(end, node, error,
                 "'%s' wants a time %s the stream of '%s', at %s, but is given '%s'", key,
                 is_start ? "before the end of" : "after the beginning of", node->node.name, utc,
                 end->given->text);
}

/* The coordinate of the axis time after its first `skip` samples, of which `length` stay. */
static void
cut_coordinate(CtCoordinate *coordinate, gint64 skip, gint64 length)
{
    coordinate->first += (gdouble)skip * coordinate->step;
    if (!coordinate->table)
        return;
    g_autoptr(GBytes) table = coordinate->table;
    coordinate->table = g_bytes_new_from_bytes(table, (gsize)skip * sizeof(gdouble),
                                               (gsize)length * sizeof(gdouble));
}

static gboolean
cut(const CtGraphPart *part, CtGraphNode *node, CtStream *stream, GError **error)
{
    CtAxis *time = &stream->axes[ct_stream_axis(stream, "time")];
    const gint64 length = time->length;
    gint64 skip = 0, stop = 0;
    if (length == 0)
        return TRUE;
    if ((part->start.given && !count_before(&part->start, "start", node, stream, &skip, error)) ||
        (part->stop.given && !count_before(&part->stop, "stop", node, stream, &stop, error)))
        return FALSE;
    if (length > 0 && skip >= length)
        return refuse(&part->start, node, "start", stream, length, error);
    if (part->stop.given && stop <= 0)
        return refuse(&part->stop, node, "stop", stream, length, error);
    node->begins_late = skip < 0;
    node->ends_early = part->stop.given && length >= 0 && stop > length;
    skip = MAX(skip, 0);
    const gboolean stops = part->stop.given && (length < 0 || stop < length);
    if (stops && stop <= skip)
        return blame(&part->stop, node, error,
                     "'stop' wants a time after the first sample from 'start' on of '%s', but is "
                     "given '%s', and no sample is between them",
                     node->node.name, part->stop.given->text);
    if (stops || length >= 0)
        time->length = (stops ? stop : length) - skip;
    cut_coordinate(&time->coordinate, skip, time->length);
    stream->start += skip * stream->ticks_per_sample;
    node->node.skip = skip;
    node->node.stops = stops;
    return TRUE;
}

gboolean
ct_graph_part_take(const CtGraphPart *part, CtGraphNode *node, GError **error)
{
    if (!part->start.given && !part->stop.given)
        return TRUE;
    for (guint o = 0; o < node->node.n_outputs; o++) {
        CtStream *stream = &node->node.outputs[o];
        if (stream->type != CT_TYPE_NONE && ct_stream_axis(stream, "time") >= 0 &&
            !cut(part, node, stream, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- warnings ---- */

void
ct_graph_part_warn(const CtConfig *config, const CtGraphNode *node, GPtrArray *warnings)
{
    const gint o = ct_node_source_output(&node->node);
    gint64 end;
    if (o < 0 || (!node->begins_late && !node->ends_early))
        return;
    const CtStream *stream = &node->node.outputs[o];
    if (node->begins_late) {
        g_autofree char *utc = utc_text(stream, stream->start);
        ct_warnings_add(warnings, CT_WARNING_PARAMETER, node->config->name, &config->start->place,
                        "'start' has no effect on its stream, which begins later, at %s", utc);
    }
    if (node->ends_early && ct_stream_end(stream, &end)) {
        g_autofree char *utc = utc_text(stream, end);
        ct_warnings_add(warnings, CT_WARNING_PARAMETER, node->config->name, &config->stop->place,
                        "'stop' has no effect on its stream, which ends earlier, at %s", utc);
    }
}
