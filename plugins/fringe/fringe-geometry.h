/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays of stations for a plane wave from a source, by the consensus model of the IERS. */
#pragma once

#include "earth-time.h"

/* Where the Earth is at a moment. */
typedef struct {
    gdouble to_gcrs[3][3]; /* from the axes of the ITRF to those of the GCRS */
    gdouble velocity[3];   /* of the geocentre in the BCRS, in units of the speed of light */
    gdouble from_sun[3];   /* unit vector from the Sun to the Earth */
    gdouble distance;      /* to the Sun, astronomical units */
} FringeMoment;

/* The caller holds ct_library_lock("erfa"). */
void fringe_moment(const EarthTime *time, FringeMoment *moment);

/* Seconds by which the signal of the station at `position` must be delayed to be that of
 * `reference`, of the same wavefront; both in the ITRF, `direction` in the ICRS. */
gdouble fringe_delay(const FringeMoment *moment, const gdouble position[3],
                     const gdouble reference[3], const gdouble direction[2]);
