/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys `observation` and `stations` of a graph. */
#include "observe.h"

#include "model/node-params.h"

#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

/* Tables of keys; they have no stage. */
static const CtParam observation_keys[] = {
    {.name = "telescope", .kind = CT_PARAM_STRING, .help = "its name"},
    {.name = "source", .kind = CT_PARAM_STRING, .help = "what is observed"},
    {.name = "project", .kind = CT_PARAM_STRING, .help = "its name or number"},
    {.name = "observer", .kind = CT_PARAM_STRING, .help = "who observes"},
    {.name = "position",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "m",
     .help = "x, y and z in the ITRF"},
    {.name = "longitude",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "rad",
     .minimum = -2 * G_PI,
     .maximum = 2 * G_PI,
     .help = "on the ellipsoid WGS 84, east is positive"},
    {.name = "latitude",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_RANGED,
     .unit = "rad",
     .minimum = -G_PI / 2,
     .maximum = G_PI / 2,
     .help = "on the ellipsoid WGS 84"},
    {.name = "height",
     .kind = CT_PARAM_QUANTITY,
     .unit = "m",
     .help = "above the ellipsoid WGS 84"},
    {.name = "phase_centre",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "right ascension and declination in the ICRS"},
    {.name = "start", .kind = CT_PARAM_STRING, .help = "UTC of tick 0 of sources that know no UTC"},
    {.name = "polarisations",
     .kind = CT_PARAM_STRING,
     .flags = CT_PARAM_LIST,
     .help = "names of the elements of the axis pol: [X, Y]"},
    {NULL},
};
static const CtStage observation_table = {.params = observation_keys};

static const CtParam station_keys[] = {
    {.name = "position",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "m",
     .help = "x, y and z in the ITRF"},
    {.name = "enu",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "m",
     .help = "metres east, north and up of the observation's place"},
    {.name = "feeds",
     .kind = CT_PARAM_QUANTITY,
     .flags = CT_PARAM_LIST,
     .unit = "rad",
     .help = "orientation of each polarisation, from north through east"},
    {NULL},
};
static const CtStage station_table = {.params = station_keys};

const CtParam *
ct_observe_keys(void)
{
    return observation_keys;
}

const CtParam *
ct_observe_station_keys(void)
{
    return station_keys;
}

/* Sets "FILE:LINE:COLUMN: 'observation': key 'position': …". */
static gboolean blame(const CtParams *keys, const char *of, const char *key, GError **error,
                      const char *format, ...) G_GNUC_PRINTF(5, 6);

static gboolean
blame(const CtParams *keys, const char *of, const char *key, GError **error, const char *format,
      ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    CtPlace place = {0};
    ct_params_error(keys, key, NULL, "%s", message);
    ct_params_take_blame(keys, &place);
    return ct_place_error(&place, CT_ERROR_CONFIG, error, "'%s': key '%s': %s", of, key, message);
}

/* Reads the items of a key that wants `n` of them. */
static gboolean
read_numbers(const CtParams *keys, const char *of, const char *key, guint n, gdouble *numbers,
             GError **error)
{
    if (ct_params_count(keys, key) != n)
        return blame(keys, of, key, error, "wants %u numbers, but is given %u", n,
                     ct_params_count(keys, key));
    for (guint i = 0; i < n; i++) {
        numbers[i] = ct_params_real_at(keys, key, i);
        if (!isfinite(numbers[i]))
            return blame(keys, of, key, error, "wants finite numbers");
    }
    return TRUE;
}

/* ---- the observation ---- */

static gboolean
read_place(const CtParams *keys, CtObservationFacts *facts, GError **error)
{
    const char *const of = "observation";
    const gboolean is_geodetic =
        ct_params_has(keys, "longitude") || ct_params_has(keys, "latitude");
    if (ct_params_has(keys, "position")) {
        if (is_geodetic)
            return blame(keys, of, "position", error,
                         "wants no longitude and latitude beside it, but is given them");
        facts->has_location = TRUE;
        return read_numbers(keys, of, "position", 3, facts->location, error);
    }
    if (is_geodetic != (ct_params_has(keys, "longitude") && ct_params_has(keys, "latitude")))
        return blame(keys, of, ct_params_has(keys, "longitude") ? "longitude" : "latitude", error,
                     "wants longitude and latitude, but is given one of them");
    if (!is_geodetic)
        return !ct_params_has(keys, "height") ||
               blame(keys, of, "height", error, "wants longitude and latitude beside it");
    facts->has_location = TRUE;
    ct_position_from_geodetic(ct_params_real(keys, "longitude"), ct_params_real(keys, "latitude"),
                              ct_params_has(keys, "height") ? ct_params_real(keys, "height") : 0,
                              facts->location);
    return TRUE;
}

static gboolean
read_direction(const CtParams *keys, CtObservationFacts *facts, GError **error)
{
    if (!ct_params_has(keys, "phase_centre"))
        return TRUE;
    facts->has_direction = TRUE;
    if (ct_params_count(keys, "phase_centre") != 2)
        return blame(keys, "observation", "phase_centre", error,
                     "wants right ascension and declination, but is given %u values",
                     ct_params_count(keys, "phase_centre"));
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GError) cause = NULL;
        if (!ct_angle_parse(ct_params_string_at(keys, "phase_centre", i), i == 0,
                            &facts->direction[i], &cause))
            return blame(keys, "observation", "phase_centre", error, "%s", cause->message);
    }
    if (ABS(facts->direction[1]) <= G_PI / 2)
        return TRUE;
    return blame(keys, "observation", "phase_centre", error,
                 "wants a declination from -90 to 90 deg, but is given '%s'",
                 ct_params_string_at(keys, "phase_centre", 1));
}

static gboolean
read_start(const CtParams *keys, CtObservationFacts *facts, GError **error)
{
    g_autoptr(GError) cause = NULL;
    return !ct_params_has(keys, "start") ||
           ct_utc_parse(ct_params_string(keys, "start"), &facts->start, &cause) ||
           blame(keys, "observation", "start", error, "%s", cause->message);
}

/* ---- stations ---- */

/* Whether a text is the name of a station or a polarisation. */
static gboolean
is_label(const char *text)
{
    return *text != '\0' && !strpbrk(text, " \t\r\n");
}

static gboolean
read_station(const CtValue *name, const CtParams *keys, const CtObservationFacts *facts,
             CtStation *station, GError **error)
{
    *station = (CtStation){.name = name->text, .feeds = {0, G_PI / 2}};
    if (!is_label(name->text))
        return ct_place_error(&name->place, CT_ERROR_CONFIG, error,
                              "'stations' wants names without spaces, but is given '%s'",
                              name->text);
    if (ct_params_has(keys, "feeds") &&
        !read_numbers(keys, name->text, "feeds", 2, station->feeds, error))
        return FALSE;
    const gboolean is_relative = ct_params_has(keys, "enu");
    station->has_position = is_relative || ct_params_has(keys, "position");
    if (!is_relative)
        return !station->has_position ||
               read_numbers(keys, name->text, "position", 3, station->position, error);
    gdouble enu[3];
    if (ct_params_has(keys, "position"))
        return blame(keys, name->text, "enu", error, "wants no position beside it");
    if (!facts->has_location)
        return blame(keys, name->text, "enu", error,
                     "wants the place of the observation: `observation: { longitude: …, latitude: "
                     "… }`");
    if (!read_numbers(keys, name->text, "enu", 3, enu, error))
        return FALSE;
    ct_position_from_enu(facts->location, enu, station->position);
    return TRUE;
}

/* The stations of a graph; `n` gets their number. Their names belong to `values`. */
static CtStation *
read_stations(const CtValue *values, const CtObservationFacts *facts, GError **error)
{
    g_autofree CtStation *stations = g_new0(CtStation, values->keys->len + 1);
    for (guint i = 0; i < values->keys->len; i++) {
        const CtValue *name = values->keys->pdata[i], *value = values->items->pdata[i];
        const gboolean is_mapping = value->kind == CT_VALUE_MAPPING;
        if (!is_mapping && !ct_value_is_nothing(value)) {
            g_autofree char *given = ct_value_describe(value);
            ct_place_error(&value->place, CT_ERROR_CONFIG, error,
                           "'%s': wants { position: [x, y, z] } or { enu: [east, north, up] }, "
                           "but is given %s",
                           name->text, given);
            return NULL;
        }
        g_autoptr(CtParams) keys = ct_params_new(name->text, &station_table, &name->place,
                                                 is_mapping ? value : NULL, error);
        if (!keys || !read_station(name, keys, facts, &stations[i], error))
            return NULL;
    }
    return g_steal_pointer(&stations);
}

gboolean
ct_observe_read(const CtConfig *config, CtObservation **observation, GError **error)
{
    *observation = NULL;
    if (!config->observation && !config->stations)
        return TRUE;
    CtObservationFacts facts = *ct_observation_facts(NULL);
    g_autoptr(CtParams) keys =
        ct_params_new("observation", &observation_table,
                      config->observation ? &config->observation->place : &config->place,
                      config->observation, error);
    if (!keys || !read_place(keys, &facts, error) || !read_direction(keys, &facts, error) ||
        !read_start(keys, &facts, error))
        return FALSE;
    facts.telescope = ct_params_string(keys, "telescope");
    facts.source = ct_params_string(keys, "source");
    facts.project = ct_params_string(keys, "project");
    facts.observer = ct_params_string(keys, "observer");
    facts.n_polarisations = ct_params_count(keys, "polarisations");
    g_autofree const char **polarisations = g_new(const char *, facts.n_polarisations + 1);
    for (guint i = 0; i < facts.n_polarisations; i++) {
        polarisations[i] = ct_params_string_at(keys, "polarisations", i);
        if (!is_label(polarisations[i]))
            return blame(keys, "observation", "polarisations", error,
                         "wants names without spaces, but is given '%s'", polarisations[i]);
    }
    facts.polarisations = polarisations;
    g_autofree CtStation *stations =
        config->stations ? read_stations(config->stations, &facts, error) : NULL;
    if (config->stations && !stations)
        return FALSE;
    facts.n_stations = stations ? config->stations->keys->len : 0;
    facts.stations = stations;
    *observation = ct_observation_new(&facts);
    return TRUE;
}

/* ---- sources ---- */

/* The facts of the graph, and those of the source where the graph has none. */
static CtObservation *
merge(CtObservation *of_graph, CtObservation *of_source)
{
    if (!of_source)
        return ct_observation_ref(of_graph);
    CtObservationFacts facts = *ct_observation_facts(of_source);
    const CtObservationFacts *graph = ct_observation_facts(of_graph);
    facts.telescope = graph->telescope ? graph->telescope : facts.telescope;
    facts.source = graph->source ? graph->source : facts.source;
    facts.project = graph->project ? graph->project : facts.project;
    facts.observer = graph->observer ? graph->observer : facts.observer;
    facts.start = graph->start != G_MININT64 ? graph->start : facts.start;
    if (graph->has_location) {
        facts.has_location = TRUE;
        memcpy(facts.location, graph->location, sizeof facts.location);
    }
    if (graph->has_direction) {
        facts.has_direction = TRUE;
        memcpy(facts.direction, graph->direction, sizeof facts.direction);
        facts.n_scans = 0;
    }
    if (graph->n_stations) {
        facts.n_stations = graph->n_stations;
        facts.stations = graph->stations;
    }
    if (graph->n_polarisations) {
        facts.n_polarisations = graph->n_polarisations;
        facts.polarisations = graph->polarisations;
    }
    return ct_observation_new(&facts);
}

/* Checks the stations that a file or the node names. */
static gboolean
check_stations(const CtGraphNode *node, const CtPlace *place, const CtLabels *labels,
               const CtObservation *observation, GError **error)
{
    for (gsize i = 0; i < ct_labels_count(labels); i++) {
        const char *name = ct_labels_name(labels, i, 0);
        if (ct_observation_facts(observation)->n_stations &&
            !ct_observation_station(observation, name))
            return ct_graph_error(node, place, CT_ERROR_CONFIG, error,
                                  "its station '%s' is not among the stations of the graph", name);
    }
    return TRUE;
}

/* Names the elements of an axis as the node says. */
static gboolean
take_names(const CtGraphNode *node, CtStream *stream, const CtValue *key, const CtValue *list,
           GError **error)
{
    const gint a = ct_stream_axis(stream, key->text);
    const guint n = list->items->len;
    if (a < 0 || g_str_equal(key->text, "time"))
        return ct_graph_error(node, &key->place, CT_ERROR_CONFIG, error,
                              "'labels' wants axes of its stream other than time, but is given "
                              "'%s'",
                              key->text);
    if (stream->axes[a].length != n)
        return ct_graph_error(node, &list->place, CT_ERROR_CONFIG, error,
                              "'labels' wants %" G_GINT64_FORMAT " names along '%s', but is given "
                              "%u",
                              stream->axes[a].length, key->text, n);
    g_autofree const char **names = g_new(const char *, n);
    for (guint i = 0; i < n; i++) {
        const CtValue *name = list->items->pdata[i];
        names[i] = name->text;
        if (!is_label(names[i]))
            return ct_graph_error(node, &name->place, CT_ERROR_CONFIG, error,
                                  "'labels' wants names without spaces, but is given '%s'",
                                  names[i]);
    }
    ct_axis_take_labels(&stream->axes[a], ct_labels_new(names, n));
    return TRUE;
}

/* Names the stations of a stream as all of the graph, if they have no names yet. */
static gboolean
name_stations(const CtGraphNode *node, CtAxis *axis, const CtObservation *observation,
              GError **error)
{
    const CtObservationFacts *facts = ct_observation_facts(observation);
    const CtValue *given =
        node->config->labels ? ct_value_get(node->config->labels, "station") : NULL;
    if (axis->labels)
        return check_stations(node, given ? &given->place : NULL, axis->labels, observation, error);
    if (facts->n_stations == 0)
        return TRUE;
    if (axis->length != facts->n_stations)
        return ct_graph_error(node, NULL, CT_ERROR_CONFIG, error,
                              "it has %" G_GINT64_FORMAT " station%s, but the graph has %u: name "
                              "those that it has, `labels: { station: [NAME, …] }`",
                              axis->length, axis->length == 1 ? "" : "s", facts->n_stations);
    g_autofree const char **names = g_new(const char *, facts->n_stations);
    for (guint i = 0; i < facts->n_stations; i++)
        names[i] = facts->stations[i].name;
    ct_axis_take_labels(axis, ct_labels_new(names, facts->n_stations));
    return TRUE;
}

void
ct_observe_node(CtObservation *observation, CtGraphNode *node)
{
    const CtValue *list =
        node->config->labels ? ct_value_get(node->config->labels, "station") : NULL;
    const guint n = list ? list->items->len : 0;
    g_autofree const char **names = g_new(const char *, n + 1);
    for (guint i = 0; i < n; i++)
        names[i] = ((const CtValue *)list->items->pdata[i])->text;
    node->facts.observation = observation;
    node->facts.stations = n > 0 ? ct_labels_new(names, n) : NULL;
    node->node.graph = &node->facts;
}

gboolean
ct_observe_source(CtObservation *observation, CtGraphNode *node, GError **error)
{
    const CtValue *labels = node->config->labels;
    for (guint o = 0; o < node->node.n_outputs; o++) {
        CtStream *stream = &node->node.outputs[o];
        if (stream->type == CT_TYPE_NONE)
            continue;
        if (observation)
            ct_stream_take_observation(stream, merge(observation, stream->observation));
        const CtObservationFacts *facts = ct_observation_facts(stream->observation);
        if (stream->rate_num && stream->epoch == CT_NO_EPOCH && facts->start != G_MININT64)
            stream->epoch = facts->start;
        for (guint i = 0; labels && i < labels->keys->len; i++)
            if (!take_names(node, stream, labels->keys->pdata[i], labels->items->pdata[i], error))
                return FALSE;
        const gint station = ct_stream_axis(stream, "station");
        const gint pol = ct_stream_axis(stream, "pol");
        if (station >= 0 &&
            !name_stations(node, &stream->axes[station], stream->observation, error))
            return FALSE;
        if (pol >= 0 && !stream->axes[pol].labels && stream->axes[pol].length > 0 &&
            stream->axes[pol].length == facts->n_polarisations)
            ct_axis_take_labels(&stream->axes[pol],
                                ct_labels_new(facts->polarisations, facts->n_polarisations));
    }
    return TRUE;
}
