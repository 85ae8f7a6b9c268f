/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the files of a rotation: conversions in the manner of strftime. */
#include "cornerturn/error.h"
#include "sink-private.h"

#include <string.h>

/* Those of the time of the first sample, which GLib's GDateTime knows, and `f`, microseconds. */
static const char of_times[] = "YmdHMSjf";
static const char all[] = "%Y %m %d %H %M %S %j %f (UTC), %i (number) and %%";

gboolean
ct_sink_name_check(const char *path, gboolean has_utc, GError **error)
{
    guint n = 0;
    const char *of_time = NULL;
    g_autofree char *folder = g_path_get_dirname(path);
    for (const char *at = strchr(path, '%'); at; at = strchr(at + 2, '%')) {
        const gboolean is_time = at[1] && strchr(of_times, at[1]);
        if (!is_time && at[1] != 'i' && at[1] != '%') {
            g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                        "wants %s, but is given '%.2s' in '%s'", all, at, path);
            return FALSE;
        }
        of_time = is_time && !of_time ? at : of_time;
        n += at[1] != '%';
    }
    if (strchr(folder, '%')) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants conversions in the name of the file, not of its folder, but is given "
                    "'%s'",
                    path);
        return FALSE;
    }
    if (n == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                    "wants a name for each of several files, with conversions (%s), but is "
                    "given '%s'",
                    all, path);
        return FALSE;
    }
    if (of_time && !has_utc) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_PARAMETER,
            "wants a stream that knows its UTC for '%.2s' in '%s', but is given one without "
            "an epoch: %%i is the file's number",
            of_time, path);
        return FALSE;
    }
    return TRUE;
}

/* One conversion. `utc` is "2022-06-29T01:30:00.000000000Z", NULL if no conversion needs it. */
static void
add_conversion(GString *name, char conversion, GDateTime *second, const char *utc, gint64 number)
{
    const char format[] = {'%', conversion, '\0'};
    if (conversion == '%')
        g_string_append_c(name, '%');
    else if (conversion == 'i')
        g_string_append_printf(name, "%06" G_GINT64_FORMAT, number);
    else if (conversion == 'f')
        g_string_append_len(name, utc + strlen("2022-06-29T01:30:00."), 6);
    else {
        g_autofree char *text = g_date_time_format(second, format);
        g_string_append(name, text);
    }
}

char *
ct_sink_name(const char *path, const CtStream *stream, gint64 tick, gint64 number, GError **error)
{
    g_autofree char *utc = ct_stream_utc(stream, tick);
    g_autofree char *seconds = utc ? g_strdup_printf("%.19sZ", utc) : NULL;
    g_autoptr(GDateTime) second = utc ? g_date_time_new_from_iso8601(seconds, NULL) : NULL;
    GString *name = g_string_new(NULL);
    for (const char *at = path; *at; at++) {
        if (*at != '%') {
            g_string_append_c(name, *at);
            continue;
        }
        at++;
        if (!second && strchr(of_times, *at)) {
            g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                        "%s: wants the UTC of the first sample of file %" G_GINT64_FORMAT
                        ", but its year is not one of four digits",
                        path, number);
            g_string_free(name, TRUE);
            return NULL;
        }
        add_conversion(name, *at, second, utc, number);
    }
    return g_string_free(name, FALSE);
}
