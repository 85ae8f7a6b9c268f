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

/* Rows of a parameter table: three ways to give the positions of stations, of which one is used. */
#define GEOMETRY_POSITION_PARAMS                                                                   \
    {"positions", CT_PARAM_QUANTITY, CT_PARAM_TABLE, .unit = "m",                                  \
     .help = "of the stations: rows of east, north, up"},                                          \
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

/* A new array [station][3] of the positions that the parameters give. `n_stations` is the number
 * wanted, 0 if the positions determine it, and is set to the actual number. */
static inline gdouble *
geometry_positions(const CtParams *params, gint64 *n_stations, GError **error)
{
    static const char *const names[] = {"positions", "positions_file", "spiral"};
    const char *given = NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!ct_params_has(params, names[i]))
            continue;
        if (given) {
            ct_params_error(params, names[i], error,
                            "wants to be the only one of positions, "
                            "positions_file and spiral, but '%s' is given too",
                            given);
            return NULL;
        }
        given = names[i];
    }
    if (!given) {
        ct_params_error(params, "positions", error,
                        "wants the stations' positions (or positions_file, or spiral), but is "
                        "given none");
        return NULL;
    }

    g_autofree gdouble *positions = NULL;
    gint64 n = 0;
    if (given == names[0]) {
        guint columns = ct_params_columns(params, given);
        if (columns != 3) {
            ct_params_error(params, given, error, "wants rows of 3, but is given rows of %u",
                            columns);
            return NULL;
        }
        n = ct_params_count(params, given);
        positions = CT_TABLE(gdouble, n * 3, "positions", error);
        for (gint64 i = 0; positions && i < n; i++)
            for (guint k = 0; k < 3; k++)
                positions[3 * i + k] = ct_params_real_cell(params, given, i, k);
    } else if (given == names[1]) {
        g_autoptr(CtNpyArray) array =
            ct_npy_load(ct_params_string(params, given), 'f', sizeof(gdouble), error);
        if (!array)
            return NULL;
        if (array->n_axes != 2 || array->shape[1] != 3) {
            g_autofree char *shape = ct_npy_shape_string(array);
            ct_params_error(params, given, error, "wants an array [station 3], but is given %s",
                            shape);
            return NULL;
        }
        n = array->shape[0];
        positions = g_steal_pointer(&array->data);
    } else {
        if (*n_stations < 1) {
            ct_params_error(params, given, error,
                            "wants the number of stations, but n_stations is not given");
            return NULL;
        }
        n = *n_stations;
        gdouble radius = ct_params_real(params, given);
        positions = CT_TABLE(gdouble, n * 3, "positions", error);
        for (gint64 i = 0; positions && i < n; i++) {
            gdouble r = radius * sqrt((i + 0.5) / n);
            gdouble azimuth = i * GEOMETRY_GOLDEN_ANGLE;
            positions[3 * i + 0] = r * sin(azimuth);
            positions[3 * i + 1] = r * cos(azimuth);
            positions[3 * i + 2] = 0;
        }
    }
    if (!positions)
        return NULL;
    if (*n_stations > 0 && n != *n_stations) {
        ct_params_error(params, given, error,
                        "wants %" G_GINT64_FORMAT " stations, but is given %" G_GINT64_FORMAT,
                        *n_stations, n);
        return NULL;
    }
    *n_stations = n;
    return g_steal_pointer(&positions);
}
