/* SPDX-License-Identifier: BSD-3-Clause */
/* Voltages as the files of recorders hold them: samples in time, of channels at even steps, of
 * stations and polarisations. What dada.sink, guppi.sink and vdif.sink share. */
#pragma once

#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

/* ---- what a file can hold ---- */

typedef struct {
    const char *channels; /* the axis of the channels, subband or channel; NULL: there is none */
    gint64 n_channels, n_stations, n_pols;
    gboolean has_frequency;
    gdouble centre, step; /* hertz: the middle of the whole band, and from a channel to the next;
                             below 0 if the band falls */
} Voltages;

static inline gboolean
voltages_refuse(const CtAxis *axis, const char *wanted, const char *remark, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "wants %s, but is given '%s' with %" G_GINT64_FORMAT "%s", wanted, axis->name,
                axis->length, remark);
    return FALSE;
}

/* The frequencies of the stream; those of channels must have even steps, to the tenth digit. */
static inline gboolean
voltages_find_band(Voltages *voltages, const CtStream *stream, GError **error)
{
    const gboolean is_complex = ct_type_info(stream->type)->is_complex;
    const gint a = voltages->channels ? ct_stream_axis(stream, voltages->channels) : -1;
    voltages->step = ct_stream_sample_rate(stream) / (is_complex ? 1 : 2);
    if (a < 0) {
        voltages->has_frequency = stream->has_frequency;
        voltages->centre = stream->frequency + (is_complex ? 0 : voltages->step / 2);
        return TRUE;
    }
    if (g_strcmp0(stream->axes[a].coordinate.unit, "Hz") != 0)
        return TRUE;
    const gint64 n = voltages->n_channels;
    const gdouble first = ct_stream_coordinate(stream, (guint)a, 0, 0);
    const gdouble last = ct_stream_coordinate(stream, (guint)a, n - 1, 0);
    voltages->has_frequency = TRUE;
    voltages->centre = (first + last) / 2;
    if (n == 1)
        return TRUE;
    voltages->step = (last - first) / (gdouble)(n - 1);
    for (gint64 i = 0; i < n; i++) {
        const gdouble is = ct_stream_coordinate(stream, (guint)a, i, 0);
        const gdouble even = first + voltages->step * (gdouble)i;
        if (voltages->step == 0 || fabs(is - even) > 1e-10 * fabs(even)) {
            g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                        "wants frequencies at even steps along '%s', but is given %.12g Hz for "
                        "element %" G_GINT64_FORMAT " where %.12g Hz is even",
                        voltages->channels, is, i, even);
            return FALSE;
        }
    }
    return TRUE;
}

/* Finds the axes of a stream with a clock. `name` says what is written: "a DADA file". */
static inline gboolean
voltages_init(Voltages *voltages, const CtStream *stream, const char *name, gboolean has_stations,
              GError **error)
{
    static const char *const of_channels[] = {"subband", "channel", NULL};
    g_autofree char *wanted = g_strdup_printf("time, subband or channel, %spol, as %s has them",
                                              has_stations ? "station and " : "", name);
    *voltages = (Voltages){.n_channels = 1, .n_stations = 1, .n_pols = 1};
    if (ct_stream_axis(stream, "time") < 0 || stream->rate_num == 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                    "wants a stream along time with a clock, but is given one without (the "
                    "'sample_rate' of a source gives it one)");
        return FALSE;
    }
    for (guint a = 0; a < stream->n_axes; a++) {
        const CtAxis *axis = &stream->axes[a];
        const gboolean is_channels = g_strv_contains(of_channels, axis->name);
        if (strcmp(axis->name, "time") == 0)
            continue;
        if (is_channels && voltages->n_channels > 1 && axis->length > 1)
            return voltages_refuse(axis, "one axis of frequencies", " beside subbands", error);
        if (is_channels && (axis->length > 1 || voltages->n_channels == 1)) {
            voltages->channels = axis->name;
            voltages->n_channels = axis->length;
        } else if (strcmp(axis->name, "pol") == 0) {
            voltages->n_pols = axis->length;
            if (axis->length > 2)
                return voltages_refuse(axis, "one or two polarisations", "", error);
        } else if (has_stations && strcmp(axis->name, "station") == 0) {
            voltages->n_stations = axis->length;
        } else if (axis->length > 1) {
            return voltages_refuse(axis, wanted,
                                   strcmp(axis->name, "beam") == 0 ||
                                           strcmp(axis->name, "station") == 0
                                       ? ": each needs a stream and a sink of its own"
                                       : "",
                                   error);
        }
    }
    return voltages_find_band(voltages, stream, error);
}

/* Checks that files of a rotation have whole pieces of `n` samples, of which `pieces` is the name,
 * and `param` the parameter. */
static inline gboolean
voltages_check_rotation(const CtParams *given, const CtStream *stream, gint64 n, const char *pieces,
                        const char *param, GError **error)
{
    static const char *const names[] = {"rotate_samples", "rotate_time"};
    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        if (!ct_params_has(given, names[i]))
            continue;
        __int128 samples = 0, per = 1;
        if (i == 0) {
            samples = ct_params_int(given, names[i]);
        } else {
            gint64 seconds, of;
            ct_params_rational(given, names[i], &seconds, &of);
            samples = (__int128)seconds * stream->rate_num;
            per = (__int128)of * stream->rate_den * stream->ticks_per_sample;
        }
        if (samples % per != 0 || samples / per % n != 0)
            return ct_params_error(given, names[i], error,
                                   "wants whole %s of %" G_GINT64_FORMAT
                                   " samples (%s), but is given %.9g samples",
                                   pieces, n, param, (gdouble)samples / (gdouble)per);
    }
    return TRUE;
}

/* ---- times ---- */

enum { VOLTAGES_DAY = 86400 };

/* When a recording began: at a whole second from which samples are counted, or with its first
 * sample. */
typedef struct {
    gint64 second, rest; /* Unix seconds, and units of 1 / rate_num seconds */
    gint64 offset;       /* samples from then to the first one of the stream */
} VoltagesBeginning;

/* The beginning is the stream's epoch, if this is at most a day before the first sample and a whole
 * number of samples; else the second of the first sample, if that is such a number; else the first
 * sample itself. Without an epoch, only the offset is of use. */
static inline VoltagesBeginning
voltages_beginning(const CtStream *stream)
{
    const gint64 start = stream->start, ticks = stream->ticks_per_sample;
    const gboolean is_counted = start >= 0 && start % ticks == 0;
    VoltagesBeginning beginning = {.second = stream->epoch,
                                   .offset = is_counted ? start / ticks : 0};
    if (stream->epoch == CT_NO_EPOCH)
        return beginning;
    gint64 second, rest;
    ct_stream_second(stream, start, &second, &rest);
    if (is_counted && second - stream->epoch <= VOLTAGES_DAY)
        return beginning;
    const __int128 sample = (__int128)ticks * stream->rate_den;
    if (rest % sample == 0)
        return (VoltagesBeginning){.second = second, .offset = (gint64)(rest / sample)};
    return (VoltagesBeginning){.second = second, .rest = rest};
}

/* ---- layouts ---- */

/* Adds an axis to a layout, if the stream has it, and the layout has it not. */
static inline void
voltages_add(CtLayout *layout, const CtStream *stream, const char *name)
{
    if (name && ct_stream_axis(stream, name) >= 0 && ct_layout_axis(layout, name) < 0)
        layout->axes[layout->n_axes++].name = ct_axis_name(name);
}

/* Bytes of a block from one index of an axis to the next; 0: it does not have the axis. */
static inline gint64
voltages_stride(const CtLayout *layout, const CtBlock *block, const char *name)
{
    const gint a = name ? ct_layout_axis(layout, name) : -1;
    return a < 0 ? 0 : block->stride[a];
}

enum { VOLTAGES_AXES = 4 };

/* An array to be copied, slowest axis first; strides in bytes. */
typedef struct {
    gsize bytes; /* of an element */
    gint64 length[VOLTAGES_AXES];
    gint64 from[VOLTAGES_AXES], to[VOLTAGES_AXES];
} VoltagesCopy;

static inline void
voltages_copy_runs(const VoltagesCopy *copy, gsize run, gint64 n, const guint8 *from, guint8 *to)
{
    const gint64 a = copy->from[VOLTAGES_AXES - 1], b = copy->to[VOLTAGES_AXES - 1];
    for (gint64 i = 0; i < n; i++)
        memcpy(to + i * b, from + i * a, run);
}

static inline void
voltages_copy(const VoltagesCopy *copy, const guint8 *from, guint8 *to)
{
    const gint64 *length = copy->length;
    const gint64 n = length[3], bytes = (gint64)copy->bytes;
    const gboolean is_packed = n == 1 || (copy->from[3] == bytes && copy->to[3] == bytes);
    for (gint64 i = 0; i < length[0]; i++)
        for (gint64 j = 0; j < length[1]; j++)
            for (gint64 k = 0; k < length[2]; k++) {
                const guint8 *x = from + i * copy->from[0] + j * copy->from[1] + k * copy->from[2];
                guint8 *y = to + i * copy->to[0] + j * copy->to[1] + k * copy->to[2];
                if (is_packed)
                    memcpy(y, x, (gsize)(n * bytes));
                else if (bytes == 1)
                    voltages_copy_runs(copy, 1, n, x, y);
                else if (bytes == 2)
                    voltages_copy_runs(copy, 2, n, x, y);
                else if (bytes == 4)
                    voltages_copy_runs(copy, 4, n, x, y);
                else
                    voltages_copy_runs(copy, 8, n, x, y);
            }
}

/* ---- texts ---- */

enum { VOLTAGES_TEXTS = 4 };

/* How a header has the texts of an observation. */
typedef struct {
    const char *keywords[VOLTAGES_TEXTS]; /* of telescope, source, observer and project */
    const char *wanted;                   /* "ASCII without #", for messages */
    char without;                         /* the character that ends a value */
    gsize most;                           /* bytes of a text */
} VoltagesTexts;

/* Whether a header can have this text. */
static inline gboolean
voltages_is_text(const VoltagesTexts *texts, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at < ' ' || *at > '~' || *at == texts->without)
            return FALSE;
    return *text != '\0' && strlen(text) <= texts->most;
}

static inline const char *
voltages_fact(const CtStream *stream, guint i)
{
    const CtObservationFacts *of = ct_observation_facts(stream->observation);
    const char *facts[VOLTAGES_TEXTS] = {of->telescope, of->source, of->observer, of->project};
    return facts[i];
}

/* Text `i` of the observation; NULL if it is not known, or the header can't have it. */
static inline const char *
voltages_text(const VoltagesTexts *texts, const CtStream *stream, guint i)
{
    const char *fact = voltages_fact(stream, i);
    return fact && voltages_is_text(texts, fact) ? fact : NULL;
}

/* Warns of the texts that the header can't have. */
static inline void
voltages_warn_of_texts(const VoltagesTexts *texts, const CtParams *given, const CtStream *stream)
{
    for (guint i = 0; i < VOLTAGES_TEXTS; i++) {
        const char *fact = voltages_fact(stream, i);
        if (fact && !voltages_is_text(texts, fact))
            ct_params_warn(given, NULL, "the header has no %s, which wants %s, but is given '%s'",
                           texts->keywords[i], texts->wanted, fact);
    }
}

/* The shortest decimal number that is read as `value`. */
static inline const char *
voltages_number(gdouble value, char text[G_ASCII_DTOSTR_BUF_SIZE])
{
    for (guint digits = 15; digits <= 17; digits++) {
        char format[8];
        g_snprintf(format, sizeof format, "%%.%ug", digits);
        g_ascii_formatd(text, G_ASCII_DTOSTR_BUF_SIZE, format, value);
        if (g_ascii_strtod(text, NULL) == value)
            break;
    }
    return text;
}

/* "05:34:31.97000000": hours or degrees, minutes and seconds, rounded to the eighth decimal.
 * Allocated. */
static inline char *
voltages_angle(gdouble radians, gboolean is_hours)
{
    const gint64 per_second = 100000000, minute = 60 * per_second, whole = 60 * minute;
    const gdouble turns = radians / (2 * G_PI);
    const gdouble of_day = is_hours ? turns - floor(turns) : fabs(turns);
    gint64 n = llround(of_day * (is_hours ? 24 : 360) * (gdouble)whole);
    if (is_hours)
        n %= 24 * whole;
    return g_strdup_printf("%s%02" G_GINT64_FORMAT ":%02" G_GINT64_FORMAT ":%02" G_GINT64_FORMAT
                           ".%08" G_GINT64_FORMAT,
                           !is_hours && radians < 0 ? "-" : "", n / whole, n % whole / minute,
                           n % minute / per_second, n % per_second);
}
