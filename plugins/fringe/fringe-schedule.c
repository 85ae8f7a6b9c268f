/* SPDX-License-Identifier: BSD-3-Clause */
/* The sources that are observed one after another. A line of the file has the begin of a scan in
 * UTC, right ascension, declination and name of its source, or `none`; from # on, it is a remark.
 */
#include "fringe-schedule.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* ---- words of a line ---- */

typedef struct {
    const char *path;
    const CtStream *clock; /* of the delays */
    guint line;
    const char *text; /* of the line */
    const char *at;
} Reader;

/* Fails at `at` of the line. */
static gboolean
malformed(const Reader *self, const char *at, GError **error, const char *wanted)
{
    const glong n = MIN(g_utf8_strlen(at, (gssize)strcspn(at, " \t")), 60);
    g_autofree char *word = g_utf8_substring(at, 0, n);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s:%u:%ld: wants %s, but is given %s%s%s",
                self->path, self->line, g_utf8_strlen(self->text, at - self->text) + 1, wanted,
                n ? "'" : "nothing", word, n ? "'" : "");
    return FALSE;
}

/* The next word, to be freed; empty at the end of the line. *from is where it begins. */
static char *
take_word(Reader *self, const char **from)
{
    self->at += strspn(self->at, " \t");
    *from = self->at;
    self->at += strcspn(self->at, " \t");
    return g_strndup(*from, (gsize)(self->at - *from));
}

static gboolean
take_angle(Reader *self, gboolean is_hours, gdouble *angle, GError **error)
{
    const char *from;
    g_autofree char *word = take_word(self, &from);
    if (*word && ct_angle_parse(word, is_hours, angle, NULL) &&
        fabs(*angle) <= (is_hours ? 2 * G_PI : G_PI / 2))
        return TRUE;
    return malformed(self, from, error,
                     is_hours ? "a right ascension, hours:minutes:seconds or an angle such as "
                                "83.6deg"
                              : "a declination of at most 90 degrees, degrees:minutes:seconds or "
                                "an angle such as 22deg");
}

static gboolean
take_begin(Reader *self, const GArray *scans, FringeScan *scan, GError **error)
{
    const CtStream *clock = self->clock;
    gint64 second, rest;
    const char *from;
    g_autofree char *word = take_word(self, &from);
    if (!ct_utc_parse_exact(word, &scan->scan.begin, NULL) ||
        !ct_stream_tick_at(clock, &scan->scan.begin, &scan->tick) ||
        !ct_stream_second(clock, scan->tick, &second, &rest))
        return malformed(self, from, error, "the UTC of a scan, such as 2026-11-23T12:00:00Z");
    if (second != scan->scan.begin.seconds ||
        (__int128)rest * scan->scan.begin.denominator !=
            (__int128)scan->scan.begin.numerator * clock->rate_num) {
        g_autofree char *before = ct_stream_utc(clock, scan->tick - 1);
        g_autofree char *after = ct_stream_utc(clock, scan->tick);
        g_autofree char *wanted = g_strdup_printf(
            "a scan that begins at a whole multiple of 'interval', as %s or %s", before, after);
        return malformed(self, from, error, wanted);
    }
    if (scans->len > 0 && scan->tick <= g_array_index(scans, FringeScan, scans->len - 1).tick)
        return malformed(self, from, error, "a scan that begins after that of the line before");
    return TRUE;
}

static gboolean
take_source(Reader *self, FringeScan *scan, GError **error)
{
    const char *from;
    const char *ahead = self->at;
    g_autofree char *word = take_word(self, &from);
    if (strcmp(word, "none") == 0) {
        from = self->at + strspn(self->at, " \t");
        return *from == '\0' || malformed(self, from, error, "no more after 'none'");
    }
    self->at = ahead;
    if (!take_angle(self, TRUE, &scan->scan.direction[0], error) ||
        !take_angle(self, FALSE, &scan->scan.direction[1], error))
        return FALSE;
    scan->scan.has_direction = TRUE;
    const char *name = self->at + strspn(self->at, " \t");
    if (!*name)
        return malformed(self, name, error, "the name of the source");
    scan->scan.source = g_strchomp(g_strdup(name));
    return TRUE;
}

/* ---- files ---- */

/* Control characters are no text: a lone CR, which ends lines elsewhere, would hide what follows.
 */
static gboolean
check_characters(const Reader *self, GError **error)
{
    const char *at = self->text;
    while (*at && (*at == '\t' || !g_ascii_iscntrl(*at)))
        at++;
    if (!*at)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s:%u:%ld: wants no control characters but tabs, but is given U+%04X", self->path,
                self->line, g_utf8_strlen(self->text, at - self->text) + 1, (guint)*at);
    return FALSE;
}

static gboolean
read_line(Reader *self, GArray *scans, GError **error)
{
    FringeScan scan = {.line = self->line, .column = 1 + (guint)strspn(self->text, " \t")};
    self->at = self->text;
    if (self->text[scan.column - 1] == '\0')
        return TRUE;
    const gboolean good = take_begin(self, scans, &scan, error) && take_source(self, &scan, error);
    g_array_append_val(scans, scan);
    return good;
}

static gboolean
read_text(GArray *scans, const char *path, const CtStream *clock, char *text, gsize n_bytes,
          GError **error)
{
    Reader reader = {.path = path, .clock = clock};
    char *next = text;
    if (!g_utf8_validate(text, (gssize)n_bytes, NULL)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: wants text in UTF-8", path);
        return FALSE;
    }
    while (next) {
        char *line = next;
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (g_str_has_suffix(line, "\r"))
            line[strlen(line) - 1] = '\0';
        reader.text = line;
        reader.line++;
        if (!check_characters(&reader, error))
            return FALSE;
        line[strcspn(line, "#")] = '\0';
        if (!read_line(&reader, scans, error))
            return FALSE;
    }
    if (scans->len > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: wants a scan, but is given none", path);
    return FALSE;
}

static gboolean
read_file(GArray *scans, const char *path, const CtStream *clock, GError **error)
{
    enum { MOST_BYTES = 1 << 26 };
    struct stat status;
    g_autofree char *text = NULL;
    gsize n;
    if (stat(path, &status) == 0 && (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants a schedule, a file of at most %d bytes", path, MOST_BYTES);
        return FALSE;
    }
    return g_file_get_contents(path, &text, &n, error) &&
           read_text(scans, path, clock, text, n, error);
}

/* ---- parameters ---- */

static gboolean
read_phase_centre(const CtParams *params, CtScan *scan, GError **error)
{
    g_autoptr(GError) cause = NULL;
    const guint n = ct_params_count(params, "phase_centre");
    if (n != 2)
        return ct_params_error(params, "phase_centre", error,
                               "wants right ascension and declination, but is given %u", n);
    for (guint k = 0; k < 2; k++)
        if (!ct_angle_parse(ct_params_string_at(params, "phase_centre", k), k == 0,
                            &scan->direction[k], &cause))
            return ct_params_error(params, "phase_centre", error, "%s", cause->message);
    if (!(fabs(scan->direction[1]) <= G_PI / 2))
        return ct_params_error(params, "phase_centre", error,
                               "wants a declination of at most 90 degrees");
    scan->has_direction = TRUE;
    return TRUE;
}

/* One scan, for all of the time. */
static gboolean
add_only(GArray *scans, const CtParams *params, const CtObservationFacts *facts, GError **error)
{
    FringeScan only = {.tick = G_MININT64, .scan.begin = {G_MININT64, 0, 1}};
    CtScan *scan = &only.scan;
    if (ct_params_has(params, "phase_centre")) {
        if (!read_phase_centre(params, scan, error))
            return FALSE;
    } else if (facts->has_direction) {
        scan->has_direction = TRUE;
        memcpy(scan->direction, facts->direction, sizeof scan->direction);
    } else {
        return ct_params_error(params, "phase_centre", error,
                               "wants right ascension and declination (or 'schedule', or "
                               "'observation: { phase_centre: […, …] }' of the graph), but is "
                               "given none");
    }
    const gboolean same = facts->has_direction &&
                          memcmp(scan->direction, facts->direction, sizeof scan->direction) == 0;
    scan->source = same ? g_strdup(facts->source) : NULL;
    g_array_append_val(scans, only);
    return TRUE;
}

static void
clear_scan(gpointer scan)
{
    g_free((char *)((FringeScan *)scan)->scan.source);
}

FringeSchedule *
fringe_schedule_new(const CtNode *node, const CtObservationFacts *facts, GError **error)
{
    const CtParams *params = node->params;
    g_autoptr(FringeSchedule) self = g_new0(FringeSchedule, 1);
    g_autoptr(GError) cause = NULL;
    self->scans = g_array_new(FALSE, FALSE, sizeof(FringeScan));
    g_array_set_clear_func(self->scans, clear_scan);
    if (!ct_params_has(params, "schedule"))
        return add_only(self->scans, params, facts, error) ? g_steal_pointer(&self) : NULL;
    if (ct_params_has(params, "phase_centre")) {
        ct_params_error(params, "phase_centre", error,
                        "wants to be the only one, but is given beside 'schedule'");
        return NULL;
    }
    if (read_file(self->scans, ct_params_string(params, "schedule"), &node->outputs[0], &cause))
        return g_steal_pointer(&self);
    ct_params_error(params, "schedule", error, "%s", cause->message);
    return NULL;
}

void
fringe_schedule_free(FringeSchedule *self)
{
    if (!self)
        return;
    g_array_unref(self->scans);
    g_free(self);
}

const FringeScan *
fringe_schedule_at(const FringeSchedule *self, gint64 tick)
{
    const FringeScan *scans = (const FringeScan *)(gpointer)self->scans->data;
    guint first = 0, end = self->scans->len; /* the scan is one of first − 1 … end − 1 */
    while (first < end) {
        const guint middle = first + (end - first) / 2;
        if (scans[middle].tick <= tick)
            first = middle + 1;
        else
            end = middle;
    }
    return first > 0 ? &scans[first - 1] : NULL;
}
