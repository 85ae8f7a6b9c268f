/* SPDX-License-Identifier: BSD-3-Clause */
/* Positions and directions of a sky: the convention that generate, pointing and delay share. */
#pragma once

#include <cornerturn/npy.h>
#include <cornerturn/stage.h>
#include <math.h>

/* Positions are metres east, north and up of the array's origin. A direction is a row of two, the
 * direction cosines l (east) and m (north) of a source above the horizon, or of three, a vector
 * east, north, up of any length that points at the source. A station at r receives a plane wave
 * from the unit vector s (r · s)/c seconds before the origin does; delaying its signal by this time
 * aligns it with the origin. */
#define GEOMETRY_LIGHT        299792458.0
#define GEOMETRY_GOLDEN_ANGLE (G_PI * (3 - sqrt(5)))

#define GEOMETRY_DIRECTIONS_HELP                                                                   \
    "rows of l, m (direction cosines east, north) or of east, north, up"

/* Rows of a parameter table: three ways to give the positions of stations, of which one is used.
 * Without any, they are those of the graph. */
#define GEOMETRY_POSITION_PARAMS                                                                   \
    {"positions", CT_PARAM_QUANTITY, CT_PARAM_TABLE, .unit = "m",                                  \
     .help = "of the stations: rows of east, north, up; left out: those of the graph's "           \
             "`stations`"},                                                                        \
        {"positions_file", CT_PARAM_PATH, .help = "the same as .npy [station 3], metres"},         \
    {                                                                                              \
        "spiral", CT_PARAM_QUANTITY, CT_PARAM_RANGED,                                              \
            .unit = "m", .minimum = 0, .maximum = 1e9,                                             \
            .help = "in place of positions: stations evenly over a flat disk of this "             \
                    "radius, station s at radius·√((s + ½)/n), azimuth s golden angles"        \
    }

/* Seconds by which the plane wave from `direction` reaches `position` before the origin. */
static inline gdouble
geometry_lead(const gdouble position[3], const gdouble direction[3])
{
    return (position[0] * direction[0] + position[1] * direction[1] + position[2] * direction[2]) /
           GEOMETRY_LIGHT;
}

/* The unit vector of row `row` of the table `name`. */
static inline gboolean
geometry_direction(const CtParams *params, const char *name, guint row, gdouble direction[3],
                   GError **error)
{
    guint columns = ct_params_columns(params, name);
    if (columns != 2 && columns != 3)
        return ct_params_error(params, name, error,
                               "wants rows of 2 (l, m) or 3 (east, north, up), as [[0.1, 0.2]], "
                               "but is given rows of %u",
                               columns);
    gdouble x = ct_params_real_cell(params, name, row, 0);
    gdouble y = ct_params_real_cell(params, name, row, 1);
    gdouble z = columns == 3 ? ct_params_real_cell(params, name, row, 2) : 0;
    if (columns == 2) {
        if (!(x * x + y * y <= 1))
            return ct_params_error(params, name, error,
                                   "wants l² + m² of at most 1, but is given l %g, m %g (row %u)",
                                   x, y, row);
        z = sqrt(1 - x * x - y * y);
    }
    gdouble norm = sqrt(x * x + y * y + z * z);
    if (!(norm > 0 && isfinite(norm)))
        return ct_params_error(params, name, error,
                               "wants a vector other than 0, but is given %g, %g, %g (row "
                               "%u)",
                               x, y, z, row);
    direction[0] = x / norm;
    direction[1] = y / norm;
    direction[2] = z / norm;
    return TRUE;
}

/* ---- the stations of the graph ---- */

/* Positions given in two ways agree within so many metres. */
#define GEOMETRY_AGREES 1e-3

/* The facts of the graph on the stations of a node: of its input, or of the source that it is. */
typedef struct {
    const CtObservationFacts *facts; /* never NULL */
    const CtLabels *names;           /* of its stations; NULL: all of the graph */
    gint64 n;                        /* 0: the graph has no stations */
} GeometryStations;

static inline GeometryStations
geometry_stations(const CtNode *node)
{
    GeometryStations known = {.facts = ct_observation_facts(NULL)};
    const CtStream *input = node->n_inputs > 0 ? &node->inputs[0] : NULL;
    if (input && input->type != CT_TYPE_NONE) {
        const gint station = ct_stream_axis(input, "station");
        known.facts = ct_observation_facts(input->observation);
        known.names = station < 0 ? NULL : input->axes[station].labels;
    } else if (node->graph) {
        known.facts = ct_observation_facts(node->graph->observation);
        known.names = node->graph->stations;
    }
    if (known.names && ct_labels_are_pairs(known.names))
        known.names = NULL;
    known.n = known.facts->n_stations == 0 ? 0
              : known.names                ? (gint64)ct_labels_count(known.names)
                                           : known.facts->n_stations;
    return known;
}

/* Station `i`; NULL if the graph does not have it. */
static inline const CtStation *
geometry_station(const GeometryStations *known, gint64 i)
{
    if (!known->names)
        return &known->facts->stations[i];
    const char *name = ct_labels_name(known->names, (gsize)i, 0);
    for (guint k = 0; k < known->facts->n_stations; k++)
        if (g_str_equal(known->facts->stations[k].name, name))
            return &known->facts->stations[k];
    return NULL;
}

/* The origin, in the ITRF: the place of the observation or, without one, the middle of all stations
 * of the graph that have positions. */
static inline void
geometry_origin(const CtObservationFacts *facts, gdouble origin[3])
{
    guint n = 0;
    gdouble sum[3] = {0};
    for (guint i = 0; i < facts->n_stations; i++) {
        const CtStation *station = &facts->stations[i];
        n += station->has_position;
        for (guint k = 0; k < 3 && station->has_position; k++)
            sum[k] += station->position[k];
    }
    for (guint k = 0; k < 3; k++)
        origin[k] = facts->has_location ? facts->location[k] : sum[k] / MAX(1, n);
}

/* The first station that has no position in the graph; −1: all have one. */
static inline gint64
geometry_lacks(const GeometryStations *known)
{
    for (gint64 i = 0; i < known->n; i++) {
        const CtStation *station = geometry_station(known, i);
        if (!station || !station->has_position)
            return i;
    }
    return -1;
}

/* A new array [station][3] of the positions of the graph, which has all of them. */
static inline gdouble *
geometry_positions_of_graph(const GeometryStations *known, GError **error)
{
    gdouble origin[3];
    gdouble *positions = CT_TABLE(gdouble, known->n * 3, "positions", error);
    geometry_origin(known->facts, origin);
    for (gint64 i = 0; positions && i < known->n; i++)
        ct_position_to_enu(origin, geometry_station(known, i)->position, positions + 3 * i);
    return positions;
}

/* Warns of the first station whose place, given by the parameter `given`, is not that of the
 * graph. */
static inline gboolean
geometry_compare(const CtParams *params, const char *given, const GeometryStations *known,
                 const gdouble *positions, gint64 n, GError **error)
{
    if (known->n == 0 || geometry_lacks(known) >= 0)
        return TRUE;
    if (known->n != n) {
        ct_params_warn(params, given,
                       "gives %" G_GINT64_FORMAT " stations, but `stations` of the graph gives "
                       "%" G_GINT64_FORMAT,
                       n, known->n);
        return TRUE;
    }
    g_autofree gdouble *others = geometry_positions_of_graph(known, error);
    for (gint64 i = 0; others && i < n; i++) {
        const gdouble *a = positions + 3 * i, *b = others + 3 * i;
        if (hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]) <= GEOMETRY_AGREES)
            continue;
        ct_params_warn(params, given,
                       "puts station %" G_GINT64_FORMAT " (counted from 0) at %.3f, %.3f, %.3f m, "
                       "but `stations` of the graph puts '%s' at %.3f, %.3f, %.3f m (east, north, "
                       "up); the former is used",
                       i, a[0], a[1], a[2], geometry_station(known, i)->name, b[0], b[1], b[2]);
        break;
    }
    return others != NULL;
}

/* ---- positions ---- */

/* *given is the parameter that gives positions; NULL: none does. */
static inline gboolean
geometry_given(const CtParams *params, const char **given, GError **error)
{
    static const char *const names[] = {"positions", "positions_file", "spiral"};
    *given = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!ct_params_has(params, names[i]))
            continue;
        if (*given)
            return ct_params_error(params, names[i], error,
                                   "wants to be the only one of positions, positions_file and "
                                   "spiral, but '%s' is given too",
                                   *given);
        *given = names[i];
    }
    return TRUE;
}

static inline gdouble *
geometry_positions_of_table(const CtParams *params, const char *given, gint64 *n, GError **error)
{
    const guint columns = ct_params_columns(params, given);
    if (columns != 3) {
        ct_params_error(params, given, error, "wants rows of 3, but is given rows of %u", columns);
        return NULL;
    }
    *n = ct_params_count(params, given);
    gdouble *positions = CT_TABLE(gdouble, *n * 3, "positions", error);
    for (gint64 i = 0; positions && i < *n; i++)
        for (guint k = 0; k < 3; k++)
            positions[3 * i + k] = ct_params_real_cell(params, given, i, k);
    return positions;
}

static inline gdouble *
geometry_positions_of_file(const CtParams *params, const char *given, gint64 *n, GError **error)
{
    g_autoptr(CtNpyArray) array =
        ct_npy_load(ct_params_string(params, given), 'f', sizeof(gdouble), error);
    if (!array)
        return NULL;
    if (array->n_axes != 2 || array->shape[1] != 3) {
        g_autofree char *shape = ct_npy_shape_string(array);
        ct_params_error(params, given, error, "wants an array [station 3], but is given %s", shape);
        return NULL;
    }
    *n = array->shape[0];
    return g_steal_pointer(&array->data);
}

static inline gdouble *
geometry_positions_of_spiral(const CtParams *params, const char *given, gint64 *n, GError **error)
{
    if (*n < 1) {
        ct_params_error(params, given, error,
                        "wants the number of stations, but n_stations is not given");
        return NULL;
    }
    const gdouble radius = ct_params_real(params, given);
    gdouble *positions = CT_TABLE(gdouble, *n * 3, "positions", error);
    for (gint64 i = 0; positions && i < *n; i++) {
        const gdouble r = radius * sqrt((i + 0.5) / *n);
        const gdouble azimuth = i * GEOMETRY_GOLDEN_ANGLE;
        positions[3 * i + 0] = r * sin(azimuth);
        positions[3 * i + 1] = r * cos(azimuth);
        positions[3 * i + 2] = 0;
    }
    return positions;
}

/* The positions of the graph, where no parameter gives any. */
static inline gdouble *
geometry_positions_left_out(const CtParams *params, const GeometryStations *known, gint64 *n,
                            GError **error)
{
    const gint64 lacks = geometry_lacks(known);
    if (known->n == 0 || lacks >= 0) {
        const CtStation *station = known->n > 0 ? geometry_station(known, lacks) : NULL;
        ct_params_error(params, "positions", error,
                        "wants the stations' positions (or positions_file, spiral, or `stations` "
                        "of the graph), but is given none%s%s%s",
                        station ? ": station '" : "", station ? station->name : "",
                        station ? "' of the graph has no position" : "");
        return NULL;
    }
    *n = known->n;
    return geometry_positions_of_graph(known, error);
}

/* A new array [station][3] of the positions that the parameters of the node give, or the graph.
 * `n_stations` is the number wanted, 0 if the positions determine it, and is set to the actual
 * number. */
static inline gdouble *
geometry_positions(const CtNode *node, gint64 *n_stations, GError **error)
{
    const CtParams *params = node->params;
    const GeometryStations known = geometry_stations(node);
    const char *given;
    if (!geometry_given(params, &given, error))
        return NULL;
    gint64 n = *n_stations > 0 ? *n_stations : known.n;
    g_autofree gdouble *positions = !given ? geometry_positions_left_out(params, &known, &n, error)
                                    : g_str_equal(given, "positions")
                                        ? geometry_positions_of_table(params, given, &n, error)
                                    : g_str_equal(given, "positions_file")
                                        ? geometry_positions_of_file(params, given, &n, error)
                                        : geometry_positions_of_spiral(params, given, &n, error);
    if (!positions)
        return NULL;
    if (*n_stations > 0 && n != *n_stations) {
        ct_params_error(params, given ? given : "positions", error,
                        "wants %" G_GINT64_FORMAT " stations, but %s %" G_GINT64_FORMAT,
                        *n_stations, given ? "is given" : "`stations` of the graph gives", n);
        return NULL;
    }
    if (given && !geometry_compare(params, given, &known, positions, n, error))
        return NULL;
    *n_stations = n;
    return g_steal_pointer(&positions);
}
