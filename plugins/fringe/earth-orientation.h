/* SPDX-License-Identifier: BSD-3-Clause */
/* The orientation of the Earth: UT1 and the pole, from a table of the IERS or from parameters. */
#pragma once

#include <cornerturn/params.h>

/* Parameters of a stage: rows of its table. */
#define EARTH_ORIENTATION_PARAMS                                                                   \
    {.name = "earth_orientation",                                                                  \
     .kind = CT_PARAM_PATH,                                                                        \
     .help = "a table finals2000A of the IERS (finals2000A.all, finals2000A.daily)"},              \
        {.name = "dut1",                                                                           \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .flags = CT_PARAM_RANGED,                                                                 \
         .unit = "s",                                                                              \
         .minimum = -0.9,                                                                          \
         .maximum = 0.9,                                                                           \
         .help = "UT1 - UTC of a run of hours, in place of a table"},                              \
    {                                                                                              \
        .name = "polar_motion", .kind = CT_PARAM_QUANTITY, .flags = CT_PARAM_LIST, .unit = "rad",  \
        .fallback = "[0, 0]", .help = "x and y of the pole, with dut1"                             \
    }

/* The bound of the error of UT1, in seconds. */
#define EARTH_UT1_BOUND 0.005

typedef struct {
    gdouble dut1; /* UT1 − UTC, seconds */
    gdouble x, y; /* of the pole, radians */
} EarthOrientation;

typedef struct EarthOrientations EarthOrientations;

/* Reads the parameters, and the table. NULL with an error that says what to give. */
EarthOrientations *earth_orientations_new(const CtParams *given, GError **error);
void earth_orientations_free(EarthOrientations *orientations);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EarthOrientations, earth_orientations_free)

/* The orientation at a modified Julian date of UTC: between the days of a table, by linear
 * interpolation. Fails outside the table, and where the table does not know UT1 to the bound. */
gboolean earth_orientations_at(const EarthOrientations *orientations, gdouble mjd,
                               EarthOrientation *at, GError **error);
