/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of a stream on the scales of astronomy, by ERFA, as pairs of days whose sum is a Julian
 * date. */
#pragma once

#include "earth-orientation.h"

#include <cornerturn/tensor.h>

typedef struct {
    gdouble utc[2]; /* quasi-Julian date, as ERFA has it */
    gdouble tai[2], tt[2], ut1[2];
    EarthOrientation orientation;
} EarthTime;

/* The time `later` seconds after the stream's start, which has a clock and an epoch. From the start
 * on, seconds are those of TAI: leap seconds count. The caller holds ct_library_lock("erfa"),
 * because ERFA sets up its table of leap seconds when it is first used. */
gboolean earth_time_find(const CtStream *stream, gdouble later,
                         const EarthOrientations *orientations, EarthTime *time, GError **error);
