/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of a stream on the scales of astronomy, by ERFA. */
#include "earth-time.h"

#include <cornerturn/error.h>
#include <erfa.h>
#include <erfam.h>

/* Days and leap seconds are those of the second in which the stream begins. */
static gboolean
find_utc(const CtStream *stream, gdouble later, EarthTime *time, GError **error)
{
    gint64 second, rest;
    ct_stream_second(stream, stream->start, &second, &rest);
    g_autoptr(GDateTime) begin = g_date_time_new_from_unix_utc(second);
    if (begin && g_date_time_get_year(begin) >= 1972 &&
        eraDtf2d("UTC", g_date_time_get_year(begin), g_date_time_get_month(begin),
                 g_date_time_get_day_of_month(begin), g_date_time_get_hour(begin),
                 g_date_time_get_minute(begin), g_date_time_get_second(begin), &time->utc[0],
                 &time->utc[1]) >= 0 &&
        eraUtctai(time->utc[0], time->utc[1], &time->tai[0], &time->tai[1]) >= 0) {
        time->tai[1] += ((gdouble)rest / (gdouble)stream->rate_num + later) / ERFA_DAYSEC;
        if (eraTaiutc(time->tai[0], time->tai[1], &time->utc[0], &time->utc[1]) >= 0)
            return TRUE;
    }
    g_autofree char *text = ct_stream_utc(stream, stream->start);
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants a stream that begins in 1972 or later, but is given %s",
                text ? text : "another time");
    return FALSE;
}

gboolean
earth_time_find(const CtStream *stream, gdouble later, const EarthOrientations *orientations,
                EarthTime *time, GError **error)
{
    if (!find_utc(stream, later, time, error) ||
        !earth_orientations_at(orientations, time->utc[0] - ERFA_DJM0 + time->utc[1],
                               &time->orientation, error))
        return FALSE;
    eraTaitt(time->tai[0], time->tai[1], &time->tt[0], &time->tt[1]);
    eraUtcut1(time->utc[0], time->utc[1], time->orientation.dut1, &time->ut1[0], &time->ut1[1]);
    return TRUE;
}
