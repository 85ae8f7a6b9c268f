/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing PATH.json, a file beside an array that describes its axes. */
#include "sidecar-write.h"

#include "cornerturn/json.h"

#include <string.h>

static void
add_coordinate(CtJson *json, const CtCoordinate *coordinate)
{
    ct_json_add_text(json, "unit", coordinate->unit);
    if (coordinate->parent)
        ct_json_add_text(json, "parent", coordinate->parent);
    if (coordinate->table) {
        gsize bytes;
        const gdouble *values = g_bytes_get_data(coordinate->table, &bytes);
        ct_json_add_reals(json, "table", values, bytes / sizeof *values);
    } else {
        ct_json_add_real(json, "first", coordinate->first);
        ct_json_add_real(json, "step", coordinate->step);
    }
}

/* Names, and for pairs the indices of both in the names. */
static void
add_labels(CtJson *json, const CtLabels *labels)
{
    const CtLabels *names = ct_labels_names(labels);
    ct_json_begin_array(json, "labels");
    for (gsize i = 0; i < ct_labels_count(names); i++)
        ct_json_add_text(json, NULL, ct_labels_name(names, i, 0));
    ct_json_end_array(json);
    if (!ct_labels_are_pairs(labels))
        return;
    if (ct_labels_are_all_pairs(labels)) {
        ct_json_add_text(json, "pairs", "all");
        return;
    }
    const gsize n = ct_labels_count(labels);
    g_autofree gint64 *pairs = g_new(gint64, 2 * n);
    for (gsize i = 0; i < n; i++) {
        guint32 pair[2];
        ct_labels_pair(labels, i, pair);
        pairs[2 * i] = pair[0];
        pairs[2 * i + 1] = pair[1];
    }
    ct_json_add_integers(json, "pairs", pairs, 2 * n);
}

static void
add_known_text(CtJson *json, const char *key, const char *text)
{
    if (text)
        ct_json_add_text(json, key, text);
}

static void
add_scans(CtJson *json, const CtObservationFacts *facts)
{
    ct_json_begin_array(json, "scans");
    for (guint i = 0; i < facts->n_scans; i++) {
        const CtScan *scan = &facts->scans[i];
        const gint64 begin[] = {scan->begin.seconds, scan->begin.numerator,
                                scan->begin.denominator};
        ct_json_begin_object(json, NULL);
        ct_json_add_integers(json, "begin", begin, G_N_ELEMENTS(begin));
        add_known_text(json, "source", scan->source);
        if (scan->has_direction)
            ct_json_add_reals(json, "phase_centre", scan->direction, 2);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_observation(CtJson *json, const CtObservation *observation)
{
    const CtObservationFacts *facts = ct_observation_facts(observation);
    ct_json_begin_object(json, "observation");
    add_known_text(json, "telescope", facts->telescope);
    add_known_text(json, "source", facts->source);
    add_known_text(json, "project", facts->project);
    add_known_text(json, "observer", facts->observer);
    if (facts->has_location)
        ct_json_add_reals(json, "position", facts->location, 3);
    if (facts->has_direction)
        ct_json_add_reals(json, "phase_centre", facts->direction, 2);
    if (facts->n_scans)
        add_scans(json, facts);
    if (facts->start != G_MININT64)
        ct_json_add_integer(json, "start", facts->start);
    if (facts->n_polarisations) {
        ct_json_begin_array(json, "polarisations");
        for (guint i = 0; i < facts->n_polarisations; i++)
            ct_json_add_text(json, NULL, facts->polarisations[i]);
        ct_json_end_array(json);
    }
    ct_json_begin_array(json, "stations");
    for (guint i = 0; i < facts->n_stations; i++) {
        const CtStation *station = &facts->stations[i];
        ct_json_begin_object(json, NULL);
        ct_json_add_text(json, "name", station->name);
        if (station->has_position)
            ct_json_add_reals(json, "position", station->position, 3);
        ct_json_add_reals(json, "feeds", station->feeds, 2);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
    ct_json_end_object(json);
}

/* Numbers of a growing array are padded with spaces to this many digits. */
enum { GROWING_DIGITS = 20 };

static void
add_axis(CtJson *json, const CtStream *stream, const CtLayoutAxis *layout_axis, int digits)
{
    const gint a = ct_stream_axis(stream, layout_axis->name);
    ct_json_begin_object(json, NULL);
    ct_json_add_text(json, "name", layout_axis->name);
    if (a < 0 || layout_axis->count) {
        /* The parts of complex elements, or a block of an axis. */
        ct_json_add_integer(json, "length", layout_axis->count ? layout_axis->count : 2);
    } else {
        const CtAxis *axis = &stream->axes[a];
        const gboolean is_time = strcmp(axis->name, "time") == 0;
        const CtCoordinate seconds = {.unit = "s", .step = 1 / ct_stream_sample_rate(stream)};
        ct_json_add_padded(json, "length", axis->length, is_time ? digits : 0);
        if (is_time && stream->rate_num)
            add_coordinate(json, &seconds);
        else if (axis->coordinate.unit)
            add_coordinate(json, &axis->coordinate);
        if (axis->labels)
            add_labels(json, axis->labels);
    }
    ct_json_end_object(json);
}

static void
add_clock(CtJson *json, const CtStream *stream)
{
    if (ct_stream_axis(stream, "time") < 0 && stream->rate_num == 0)
        return;
    const gint64 rate[] = {stream->rate_num, stream->rate_den};
    if (stream->rate_num)
        ct_json_add_integers(json, "ticks_per_second", rate, G_N_ELEMENTS(rate));
    ct_json_add_integer(json, "ticks_per_sample", stream->ticks_per_sample);
    ct_json_add_integer(json, "start", stream->start);
    if (stream->rate_num == 0)
        return;
    ct_json_add_real(json, "sample_rate", ct_stream_sample_rate(stream));
    if (stream->epoch == CT_NO_EPOCH)
        return;
    ct_json_add_integer(json, "epoch", stream->epoch);
    g_autofree char *start = ct_stream_utc(stream, stream->start);
    if (start)
        ct_json_add_text(json, "start_utc", start);
}

/* Adds lane `lane` to a list of runs of lanes: first, number, first, number, … */
static void
add_lane(GArray *lanes, gint64 lane)
{
    gint64 *last = lanes->len ? &g_array_index(lanes, gint64, lanes->len - 2) : NULL;
    const gint64 run[] = {lane, 1};
    if (last && last[0] + last[1] == lane)
        last[1]++;
    else
        g_array_append_vals(lanes, run, G_N_ELEMENTS(run));
}

/* The lanes that have the same invalid samples, as runs of lanes, and these samples, as runs. Lanes
 * without invalid samples are not listed. */
static void
add_gaps(CtJson *json, const CtGaps *gaps)
{
    g_autoptr(GHashTable) lists = g_hash_table_new(g_bytes_hash, g_bytes_equal);
    g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func((GDestroyNotify)g_bytes_unref);
    g_autoptr(GPtrArray) lanes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (gint64 lane = 0; lane < ct_gaps_n_lanes(gaps); lane++) {
        gsize n;
        const CtGap *of_lane = ct_gaps_of_lane(gaps, lane, &n);
        if (n == 0)
            continue;
        GBytes *key = g_bytes_new(of_lane, n * sizeof *of_lane);
        GArray *same = g_hash_table_lookup(lists, key);
        g_ptr_array_add(keys, key);
        if (!same) {
            same = g_array_new(FALSE, FALSE, sizeof(gint64));
            g_ptr_array_add(lanes, same);
            g_hash_table_insert(lists, key, same);
        } else
            g_ptr_array_remove_index(keys, keys->len - 1);
        add_lane(same, lane);
    }
    ct_json_begin_array(json, "gaps");
    for (guint i = 0; i < lanes->len; i++) {
        const GArray *same = lanes->pdata[i];
        gsize bytes;
        const gint64 *runs = g_bytes_get_data(keys->pdata[i], &bytes);
        ct_json_begin_object(json, NULL);
        ct_json_add_integers(json, "lanes", (const gint64 *)(gpointer)same->data, same->len);
        ct_json_add_integers(json, "samples", runs, bytes / sizeof *runs);
        ct_json_end_object(json);
    }
    ct_json_end_array(json);
}

static void
add_validity(CtJson *json, const CtStream *stream, const CtSidecarArray *array)
{
    const gint64 n_lanes = ct_gaps_n_lanes(array->gaps);
    const gdouble all = (gdouble)array->n_samples * n_lanes;
    const gint64 *of_lanes = ct_gaps_invalid(array->gaps);
    gint64 invalid = 0;
    for (gint64 lane = 0; lane < n_lanes; lane++)
        invalid += of_lanes[lane];
    ct_json_begin_object(json, "validity");
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].loses)
            ct_json_add_text(json, NULL, stream->axes[a].name);
    ct_json_end_array(json);
    ct_json_add_real(json, "valid", all > 0 ? 1 - invalid / all : 1);
    ct_json_add_integers(json, "invalid_samples", of_lanes, invalid > 0 ? (gsize)n_lanes : 0);
    if (invalid > 0)
        add_gaps(json, array->gaps);
    ct_json_end_object(json);
}

static void
add_array(CtJson *json, const CtSidecarArray *array, int digits)
{
    ct_json_add_padded(json, "bytes", array->bytes, digits);
    ct_json_add_text(json, "generation", array->generation);
    if (array->sha256)
        ct_json_add_text(json, "sha256", array->sha256);
    if (array->is_partial)
        ct_json_add_padded(json, "written", array->n_samples, digits);
    else
        ct_json_add_boolean(json, "interrupted", array->interrupted);
    if (!array->is_one_of)
        return;
    ct_json_begin_object(json, "sequence");
    ct_json_add_integer(json, "number", array->number);
    ct_json_add_integer(json, "first_sample", array->first);
    ct_json_end_object(json);
}

static void
add_origin(CtJson *json, const CtOrigin *origin)
{
    ct_json_begin_object(json, "origin");
    ct_json_add_text(json, "cornerturn", CT_VERSION);
    add_known_text(json, "node", origin->node);
    add_known_text(json, "graph", origin->graph);
    ct_json_begin_array(json, "set");
    for (const char *const *setting = origin->settings; setting && *setting; setting++)
        ct_json_add_text(json, NULL, *setting);
    ct_json_end_array(json);
    ct_json_end_object(json);
}

char *
ct_sidecar_format(const CtStream *stream, const CtLayout *layout, const CtSidecarArray *array)
{
    const int digits = array->is_partial ? GROWING_DIGITS : 0;
    g_autofree char *name = ct_layout_to_string(layout);
    CtJson *json = ct_json_new();
    ct_json_add_text(json, "type", ct_type_info(stream->type)->name);
    ct_json_add_text(json, "layout", name);
    add_array(json, array, digits);
    add_clock(json, stream);
    if (stream->has_frequency)
        ct_json_add_real(json, "frequency", stream->frequency);
    if (stream->observation)
        add_observation(json, stream->observation);
    ct_json_begin_array(json, "axes");
    for (guint a = 0; a < layout->n_axes; a++)
        add_axis(json, stream, &layout->axes[a], digits);
    ct_json_end_array(json);
    if (!array->is_partial)
        add_validity(json, stream, array);
    add_origin(json, &array->origin);
    return ct_json_free_to_text(json, TRUE);
}
