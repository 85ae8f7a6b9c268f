/* SPDX-License-Identifier: BSD-3-Clause */
/* The orientation of the Earth, from a table of the IERS or from parameters.
 *
 * Columns of the table, from readme.finals2000A of the IERS, counted from 1: 8-15 modified Julian
 * date; 19-27 and 38-46 the pole's x and y in seconds of arc; 59-68 UT1 − UTC and 69-78 its error,
 * in seconds. The last lines, for which nothing is predicted, have only dates. */
#include "earth-orientation.h"

#include <cornerturn/error.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    gdouble mjd;
    gdouble dut1, error; /* seconds */
    gdouble x, y;        /* radians */
} Day;

struct EarthOrientations {
    char *path; /* of the table; NULL: `given` holds always */
    GArray *days;
    EarthOrientation given;
};

static const gdouble arcsecond = G_PI / 180 / 3600;

/* ---- the table ---- */

/* A number in columns first … last of a line. */
static gboolean
read_column(const char *line, gsize n, gsize first, gsize last, gdouble *value)
{
    char text[16] = {0};
    char *end;
    if (n < last)
        return FALSE;
    memcpy(text, line + first - 1, last - first + 1);
    g_strchug(text);
    *value = g_ascii_strtod(text, &end);
    return end != text && *g_strchug(end) == '\0' && isfinite(*value);
}

static gboolean
is_blank(const char *line, gsize n, gsize first, gsize last)
{
    for (gsize i = first - 1; i < last && i < n; i++)
        if (line[i] != ' ')
            return FALSE;
    return TRUE;
}

static gboolean
read_line(GArray *days, const char *path, guint number, const char *line, gsize n, GError **error)
{
    enum { X = 19, Y = 38, POLE_WIDTH = 8, UT1 = 59, UT1_END = 68, ERROR = 69, ERROR_END = 78 };
    Day day = {0};
    const char *wrong = NULL;
    if (!read_column(line, n, 8, 15, &day.mjd))
        wrong = "a modified Julian date in columns 8 to 15";
    else if (is_blank(line, n, UT1, UT1_END))
        return TRUE;
    else if (!read_column(line, n, UT1, UT1_END, &day.dut1) || fabs(day.dut1) > 1)
        wrong = "UT1 - UTC, at most a second, in columns 59 to 68";
    else if (!read_column(line, n, ERROR, ERROR_END, &day.error) || day.error < 0)
        wrong = "the error of UT1 - UTC in columns 69 to 78";
    else if (!read_column(line, n, X, X + POLE_WIDTH, &day.x) ||
             !read_column(line, n, Y, Y + POLE_WIDTH, &day.y))
        wrong = "the pole in columns 19 to 27 and 38 to 46";
    else if (days->len > 0 && !(day.mjd - g_array_index(days, Day, days->len - 1).mjd == 1))
        wrong = "the day after that of the line before";
    if (wrong) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s:%u: wants %s, but is given '%.*s'", path,
                    number, wrong, (int)MIN(n, UT1_END), line);
        return FALSE;
    }
    day.x *= arcsecond;
    day.y *= arcsecond;
    g_array_append_val(days, day);
    return TRUE;
}

static gboolean
read_text(GArray *days, const char *path, const char *text, gsize n_bytes, GError **error)
{
    guint number = 1;
    for (gsize at = 0; at < n_bytes; number++) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', n_bytes - at);
        const gsize n = end ? (gsize)(end - line) : n_bytes - at;
        const gsize shown = n > 0 && line[n - 1] == '\r' ? n - 1 : n;
        if (!g_utf8_validate(line, (gssize)shown, NULL)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s:%u: wants text", path, number);
            return FALSE;
        }
        if (!read_line(days, path, number, line, shown, error))
            return FALSE;
        at += n + 1;
    }
    if (days->len > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants a table finals2000A, but is given a file without a day", path);
    return FALSE;
}

static gboolean
read_table(GArray *days, const char *path, GError **error)
{
    enum { MOST_BYTES = 1 << 26 };
    struct stat status;
    g_autofree char *text = NULL;
    gsize n;
    if (stat(path, &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants a table finals2000A, a file of at most %d bytes", path, MOST_BYTES);
        return FALSE;
    }
    return g_file_get_contents(path, &text, &n, error) && read_text(days, path, text, n, error);
}

/* ---- parameters ---- */

static gboolean
read_given(const CtParams *given, EarthOrientation *orientation, GError **error)
{
    if (!ct_params_has(given, "dut1"))
        return ct_params_error(given, "dut1", error,
                               "wants UT1 - UTC to %g s for sidereal time, but UT1 may differ by "
                               "0.9 s: give 'dut1' of the day, or 'earth_orientation', a table "
                               "finals2000A of the IERS",
                               EARTH_UT1_BOUND);
    if (ct_params_count(given, "polar_motion") != 2)
        return ct_params_error(given, "polar_motion", error, "wants x and y, but is given %u",
                               ct_params_count(given, "polar_motion"));
    orientation->dut1 = ct_params_real(given, "dut1");
    orientation->x = ct_params_real_at(given, "polar_motion", 0);
    orientation->y = ct_params_real_at(given, "polar_motion", 1);
    return TRUE;
}

EarthOrientations *
earth_orientations_new(const CtParams *given, GError **error)
{
    g_autoptr(EarthOrientations) self = g_new0(EarthOrientations, 1);
    g_autoptr(GError) cause = NULL;
    if (!ct_params_has(given, "earth_orientation"))
        return read_given(given, &self->given, error) ? g_steal_pointer(&self) : NULL;
    if (ct_params_has(given, "dut1")) {
        ct_params_error(given, "dut1", error,
                        "wants to be the only one, but is given beside 'earth_orientation'");
        return NULL;
    }
    self->path = g_strdup(ct_params_string(given, "earth_orientation"));
    self->days = g_array_new(FALSE, FALSE, sizeof(Day));
    if (read_table(self->days, self->path, &cause))
        return g_steal_pointer(&self);
    ct_params_error(given, "earth_orientation", error, "%s", cause->message);
    return NULL;
}

void
earth_orientations_free(EarthOrientations *self)
{
    if (!self)
        return;
    g_free(self->path);
    if (self->days)
        g_array_unref(self->days);
    g_free(self);
}

gboolean
earth_orientations_at(const EarthOrientations *self, gdouble mjd, EarthOrientation *at,
                      GError **error)
{
    *at = self->given;
    if (!self->path)
        return TRUE;
    const Day *days = (const Day *)(gpointer)self->days->data;
    const gdouble first = days[0].mjd, last = days[self->days->len - 1].mjd;
    if (!(mjd >= first && mjd <= last)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants a table with the modified Julian date %.5f, but its days are %.0f "
                    "to %.0f: give a newer one",
                    self->path, mjd, first, last);
        return FALSE;
    }
    const guint i = (guint)CLAMP(mjd - first, 0, self->days->len - 1);
    const Day *a = &days[i], *b = &days[MIN(i + 1, self->days->len - 1)];
    const gdouble part = mjd - a->mjd;
    /* A leap second at the end of the day moves UTC, not UT1. */
    const gdouble leap = round(b->dut1 - a->dut1);
    if (MAX(a->error, b->error) > EARTH_UT1_BOUND) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants UT1 - UTC to %g s, but the table knows it to %g s only at the "
                    "modified Julian date %.0f",
                    self->path, EARTH_UT1_BOUND, MAX(a->error, b->error), a->mjd);
        return FALSE;
    }
    at->dut1 = a->dut1 + part * (b->dut1 - leap - a->dut1);
    at->x = a->x + part * (b->x - a->x);
    at->y = a->y + part * (b->y - a->y);
    return TRUE;
}
