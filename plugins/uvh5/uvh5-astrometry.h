/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and directions, by ERFA: Julian dates, sidereal time, apparent places.
 *
 * The apparent place is that of the intermediate frame after aberration, diurnal too, and polar
 * motion, with right ascensions from the true equinox, without refraction: the hour angle is
 * sidereal time less right ascension. */
#pragma once

#include "../fringe/earth-time.h"

/* On the ground. */
typedef struct {
    gdouble longitude, latitude, height; /* radians, metres above WGS 84 */
} Uvh5Place;

/* What delays follow. */
typedef struct {
    const char *name;
    gboolean is_tracked;  /* FALSE: they follow nothing */
    gdouble direction[2]; /* ICRS, radians; if it is tracked */
} Uvh5Centre;

typedef struct {
    gdouble jd;      /* Julian date of UTC */
    gdouble lst;     /* apparent sidereal time, radians from 0 to 2π */
    gdouble ra, dec; /* of the phase centre, apparent; of the zenith, without one */
    gdouble turn;    /* radians: the angle of the frame of the ICRS to that of the apparent place */
    gdouble dut1;
} Uvh5Moment;

/* The middle of integration `i` of a stream, which has a clock and an epoch. From the stream's
 * start on, its ticks count all seconds, leap seconds too. */
gboolean uvh5_moment(const CtStream *stream, gint64 i, const Uvh5Place *place,
                     const Uvh5Centre *centre, const EarthOrientations *orientations,
                     Uvh5Moment *moment, GError **error);

/* The baseline `xyz` (metres, in the axes of the ITRF) in the axes u, v, w of the moment: east,
 * north, and towards the phase centre; or east, north, up if nothing is tracked. */
void uvh5_project(const Uvh5Place *place, const Uvh5Moment *moment, const gdouble xyz[3],
                  gdouble uvw[3]);

/* The last leap second that ERFA knows, "37 s since 2017-01"; to be freed. */
char *uvh5_leap_seconds(void);
