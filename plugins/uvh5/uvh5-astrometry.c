/* SPDX-License-Identifier: BSD-3-Clause */
/* Times and directions, by ERFA. */
#include "uvh5-astrometry.h"

#include <cornerturn/stage.h>
#include <erfa.h>
#include <erfaextra.h>
#include <erfam.h>
#include <math.h>

/* The apparent place of the phase centre, and the angle of the frame. */
static void
find_place(const Uvh5Place *place, const Uvh5Centre *centre, const EarthOrientation *orientation,
           const gdouble utc[2], Uvh5Moment *moment)
{
    /* The angle is that of an arc of 1° through the phase centre. */
    const gdouble half = G_PI / 360;
    eraASTROM astrom;
    gdouble eo, ri, di, azimuth, zenith, hour, ra, place_ra[2], place_dec[2];
    eraApco13(utc[0], utc[1], orientation->dut1, place->longitude, place->latitude, place->height,
              orientation->x, orientation->y, 0, 0, 0, 0, &astrom, &eo);
    eraAtciq(centre->direction[0], centre->direction[1], 0, 0, 0, 0, &astrom, &ri, &di);
    eraAtioq(ri, di, &astrom, &azimuth, &zenith, &hour, &moment->dec, &ra);
    moment->ra = eraAnp(ra - eo);
    for (int k = 0; k < 2; k++) {
        gdouble at = moment->dec + (k == 0 ? -half : half), from = moment->ra + eo;
        if (fabs(at) > G_PI / 2) {
            at = copysign(G_PI, at) - at;
            from += G_PI;
        }
        eraAtoiq("R", from, at, &astrom, &ri, &di);
        eraAticq(ri, di, &astrom, &place_ra[k], &place_dec[k]);
    }
    moment->turn = -eraPas(place_ra[0], place_dec[0], place_ra[1], place_dec[1]);
}

/* Of the middle of the integration. */
static gboolean
find_moment(const CtStream *stream, gint64 i, const Uvh5Place *place, const Uvh5Centre *centre,
            const EarthOrientations *orientations, Uvh5Moment *moment, GError **error)
{
    const gdouble later = (gdouble)(2 * i + 1) / 2 * (gdouble)stream->ticks_per_sample *
                          (gdouble)stream->rate_den / (gdouble)stream->rate_num;
    EarthTime time;
    if (!earth_time_find(stream, later, orientations, &time, error))
        return FALSE;
    moment->jd = time.utc[0] + time.utc[1];
    moment->dut1 = time.orientation.dut1;
    moment->lst = eraAnp(eraGst06a(time.ut1[0], time.ut1[1], time.tt[0], time.tt[1]) +
                         eraSp00(time.tt[0], time.tt[1]) + place->longitude);
    moment->ra = moment->lst;
    moment->dec = place->latitude;
    moment->turn = 0;
    if (centre->is_tracked)
        find_place(place, centre, &time.orientation, time.utc, moment);
    return TRUE;
}

gboolean
uvh5_moment(const CtStream *stream, gint64 i, const Uvh5Place *place, const Uvh5Centre *centre,
            const EarthOrientations *orientations, Uvh5Moment *moment, GError **error)
{
    ct_library_lock("erfa");
    const gboolean good = find_moment(stream, i, place, centre, orientations, moment, error);
    ct_library_unlock("erfa");
    return good;
}

void
uvh5_project(const Uvh5Place *place, const Uvh5Moment *moment, const gdouble xyz[3], gdouble uvw[3])
{
    const gdouble hour = moment->lst - moment->ra - place->longitude; /* at Greenwich */
    const gdouble along = cos(hour) * xyz[0] - sin(hour) * xyz[1];
    const gdouble u = sin(hour) * xyz[0] + cos(hour) * xyz[1];
    const gdouble v = cos(moment->dec) * xyz[2] - sin(moment->dec) * along;
    uvw[0] = cos(moment->turn) * u - sin(moment->turn) * v;
    uvw[1] = cos(moment->turn) * v + sin(moment->turn) * u;
    uvw[2] = cos(moment->dec) * along + sin(moment->dec) * xyz[2];
}

char *
uvh5_leap_seconds(void)
{
    eraLEAPSECOND *leaps;
    ct_library_lock("erfa");
    const int n = eraGetLeapSeconds(&leaps);
    ct_library_unlock("erfa");
    if (n <= 0)
        return g_strdup("none");
    return g_strdup_printf("%g s since %d-%02d", leaps[n - 1].delat, leaps[n - 1].iyear,
                           leaps[n - 1].month);
}
