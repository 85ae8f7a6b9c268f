/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that a scale of time tells: its values, in units of the conventions CF (climate and
 * forecast metadata, section 4.4): "s", "milliseconds", "hours since 2022-06-29 01:30:00". */
#include "hdf5-stream.h"

#include <cornerturn/text.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Times in the unit of the scale. */
typedef struct {
    gdouble first, step;
    gdouble most; /* the largest */
    gint64 n;
} Times;

/* Reads the seconds of a unit, and the Unix seconds of its 0 (G_MININT64: they are not known) with
 * a `part` of a second. FALSE: it is no such unit. */
static gboolean
read_units(const char *units, gdouble *seconds, gint64 *zero, gdouble *part)
{
    static const struct {
        const char *name, *usual;
    } names[] = {{"seconds", "s"},       {"second", "s"},        {"sec", "s"},
                 {"milliseconds", "ms"}, {"microseconds", "us"}, {"nanoseconds", "ns"},
                 {"minutes", "min"},     {"hours", "h"},         {"days", "d"}};
    g_auto(GStrv) parts = g_strsplit(units, " since ", 2);
    const char *unit = parts[0] ? parts[0] : "";
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (strcmp(unit, names[i].name) == 0)
            unit = names[i].usual;
    g_autofree char *text = g_strconcat("1 ", unit, NULL);
    CtQuantity one;
    *zero = G_MININT64;
    *part = 0;
    if (!*unit || !ct_quantity_parse(&one, text, "s", NULL))
        return FALSE;
    *seconds = one.value;
    if (!parts[0] || !parts[1])
        return TRUE;
    g_autofree char *date = g_strconcat(parts[1], strchr(parts[1], ':') ? NULL : "T00:00:00", NULL);
    g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
    g_autoptr(GDateTime) time = g_date_time_new_from_iso8601(date, utc);
    if (!time)
        return FALSE;
    *zero = g_date_time_to_unix(time);
    *part = g_date_time_get_microsecond(time) * 1e-6;
    return TRUE;
}

static gboolean
read_piece(hid_t scale, gint64 first, gint64 n, gdouble *values)
{
    const hsize_t begin = (hsize_t)first, count = (hsize_t)n;
    g_auto(Hdf5Id) from = H5Dget_space(scale);
    g_auto(Hdf5Id) in = H5Screate_simple(1, &count, NULL);
    return H5Sselect_hyperslab(from, H5S_SELECT_SET, &begin, NULL, &count, NULL) >= 0 &&
           H5Dread(scale, H5T_NATIVE_DOUBLE, in, from, H5P_DEFAULT, values) >= 0;
}

/* Whether all times are where even steps put them, to a thousandth of a step and their rounding. */
static gboolean
read_times(hid_t scale, Times *times)
{
    enum { PIECE = 1 << 14 };
    g_autofree gdouble *values = g_new(gdouble, PIECE);
    gdouble last;
    if (!read_piece(scale, 0, 1, &times->first) || !read_piece(scale, times->n - 1, 1, &last))
        return FALSE;
    times->step = (last - times->first) / (gdouble)(times->n - 1);
    times->most = fmax(fabs(times->first), fabs(last));
    const gdouble room = 1e-3 * times->step + 4 * DBL_EPSILON * times->most;
    gboolean good = isfinite(times->step) && times->step > 0;
    for (gint64 i = 0, n; i < times->n && good; i += n) {
        n = MIN(PIECE, times->n - i);
        good = read_piece(scale, i, n, values);
        for (gint64 k = 0; k < n && good; k++)
            good = fabs(values[k] - times->first - (gdouble)(i + k) * times->step) <= room;
    }
    return good;
}

gboolean
hdf5_time_read(CtArrayFile *file, const CtParams *given, hid_t scale, CtStream *stream)
{
    const gint time = ct_stream_axis(stream, "time");
    Times times = {.n = stream->axes[time].length};
    g_autofree char *units = hdf5_get_text(scale, "units");
    gdouble second, part;
    gint64 zero, numerator, denominator;
    if (times.n < 2 || !units || !hdf5_has_numbers(scale, (gsize)times.n) ||
        !read_units(units, &second, &zero, &part))
        return FALSE;
    if (!read_times(scale, &times)) {
        ct_params_warn(given, "path",
                       "the times of %s have no even steps: the stream has no clock, unless "
                       "'sample_rate' gives one",
                       file->path);
        return FALSE;
    }
    const gdouble period = times.step * second, rounding = DBL_EPSILON * times.most * second;
    if (!(period >= 1e-12 && period <= 1e12))
        return FALSE;
    ct_quantity_approximate(period, rounding / (gdouble)(times.n - 1) + DBL_EPSILON * period,
                            &numerator, &denominator);
    /* A file may begin between two samples of another one. */
    const gint64 ticks = (gint64)CLAMP(ceil(period * 1e6 - 1e-6), 1, 0x1p22);
    if (!ct_stream_set_rate(stream, denominator, numerator, ticks))
        return FALSE;
    const gdouble rate = (gdouble)stream->rate_num / (gdouble)stream->rate_den;
    gdouble start = times.first * second + part;
    if (!(fabs(start) < 0x1p52) || !(fabs(start * rate) < 0x1p62)) {
        stream->rate_num = 0;
        return FALSE;
    }
    if (zero != G_MININT64) {
        stream->epoch = zero + (gint64)floor(start);
        start -= floor(start);
    }
    stream->start = llrint(start * rate);
    file->has_start = TRUE;
    file->start_error = rounding + 0.5 / rate;
    return TRUE;
}
