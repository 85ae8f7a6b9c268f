/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a stream as JSON: clock, frequency, observation, and facts of its axes. */
#include "stream-json.h"

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

void
ct_stream_json_add_axis_facts(CtJson *json, const CtStream *stream, guint a)
{
    const CtAxis *axis = &stream->axes[a];
    const CtCoordinate seconds = {.unit = "s", .step = 1 / ct_stream_sample_rate(stream)};
    if (axis->name == ct_axis_name("time") && stream->rate_num)
        add_coordinate(json, &seconds);
    else if (axis->coordinate.unit)
        add_coordinate(json, &axis->coordinate);
    if (axis->labels)
        add_labels(json, axis->labels);
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

void
ct_stream_json_add_facts(CtJson *json, const CtStream *stream)
{
    add_clock(json, stream);
    if (stream->has_frequency)
        ct_json_add_real(json, "frequency", stream->frequency);
    if (stream->observation)
        add_observation(json, stream->observation);
}
