/* SPDX-License-Identifier: BSD-3-Clause */
/* dada.source: voltages from PSRDADA files. */
#include "dada-header.h"
#include "dada.h"

#include <cornerturn/packets.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

/* T: time, F: frequency, P: polarisation; the slowest first. */
static const char *const orders[] = {"auto", "TFP", "TPF", "FTP", "PTF", "FPT", "PFT", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST | CT_PARAM_PIPE,
     .endings = (const char *const[]){".json", NULL},
     .help = "the file, or a pipe; several files, or a pattern (*), are one stream"},
    {.name = "order",
     .kind = CT_PARAM_CHOICE,
     .choices = orders,
     .fallback = "auto",
     .help = "of time, frequency and polarisation, slowest first; auto: as the header says"},
    {NULL},
};

/* What a header says of the array. */
typedef struct {
    gint64 n_bits, n_parts, n_pols, n_channels; /* NBIT NDIM NPOL NCHAN */
    gint64 resolution;                          /* bytes that belong together */
    gint64 obs_offset;                          /* bytes before this file */
    gint64 sample_bytes;
    gint64 block;         /* samples of a block of time inside other axes; 0: there are none */
    const char *channels; /* the axis of the channels; NULL: there is none */
    gboolean has_pol;     /* the axis pol */
} Array;

/* ---- the array ---- */

/* The length of an axis that PATH.json describes; 0: there is none. */
static gint64
said_length(const CtArrayFile *file, const char *name)
{
    const gint a = ct_stream_axis(file->said, name);
    return a < 0 ? 0 : file->said->axes[a].length;
}

/* Channels are subbands, unless PATH.json names them channels. An axis of one element is there if
 * PATH.json has it; without PATH.json, only pol is. */
static void
name_axes(const CtArrayFile *file, Array *array)
{
    static const char *const names[] = {"subband", "channel"};
    array->has_pol = array->n_pols > 1 || file->said->type == CT_TYPE_NONE ||
                     said_length(file, "pol") == array->n_pols;
    array->channels = array->n_channels > 1 ? names[0] : NULL;
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        if (said_length(file, names[i]) == array->n_channels)
            array->channels = names[i];
}

static gboolean
read_array(const CtArrayFile *file, const DadaHeader *header, Array *array, GError **error)
{
    if (!dada_integer(header, "NBIT", 1, 0, &array->n_bits, error) ||
        !dada_integer(header, "NDIM", 1, 1, &array->n_parts, error) ||
        !dada_integer(header, "NPOL", 1, 1, &array->n_pols, error) ||
        !dada_integer(header, "NCHAN", 1, 1, &array->n_channels, error) ||
        !dada_integer(header, "RESOLUTION", 0, 0, &array->resolution, error) ||
        !dada_integer(header, "OBS_OFFSET", 0, 0, &array->obs_offset, error))
        return FALSE;
    if (array->n_bits != 8 && array->n_bits != 16 && array->n_bits != 32)
        return dada_refuse(header, "NBIT", "8, 16 or 32", error);
    if (array->n_parts > 2)
        return dada_refuse(header, "NDIM", "1 (real) or 2 (complex)", error);
    if (array->n_pols > 2)
        return dada_refuse(header, "NPOL", "1 or 2", error);
    if (array->n_channels > 1 << 24)
        return dada_refuse(header, "NCHAN", "at most 16777216", error);
    array->sample_bytes = array->n_bits / 8 * array->n_parts * array->n_pols * array->n_channels;
    name_axes(file, array);
    return array->obs_offset % array->sample_bytes == 0 ||
           dada_refuse(header, "OBS_OFFSET", "whole samples", error);
}

/* Codes with their zero in the middle, to two's complement. */
static void
unpack_offset_binary(const CtArrayFile *file, const guint8 *bytes, G_GNUC_UNUSED guint first,
                     gsize n, guint8 *to)
{
    const guint32 types = file->layout.types;
    const gboolean is_wide = types == 1u << CT_I16 || types == 1u << CT_CI16;
    const gsize n_bytes = n * (file->bits / 8);
    for (gsize i = 0; i < n_bytes; i++)
        to[i] = bytes[i] ^ (!is_wide || i % 2 == (G_BYTE_ORDER == G_LITTLE_ENDIAN) ? 0x80 : 0);
}

static gboolean
set_elements(CtArrayFile *file, const DadaHeader *header, const Array *array, CtStream *stream,
             GError **error)
{
    static const CtType types[][2] = {{CT_I8, CT_CI8}, {CT_I16, CT_CI16}, {CT_F32, CT_CF32}};
    const guint size = array->n_bits == 8 ? 0 : array->n_bits == 16 ? 1 : 2;
    const char *encoding = dada_text(header, "ENCODING"), *order = dada_text(header, "ENDIAN");
    const gboolean is_offset = g_strcmp0(encoding, "OFFSETBINARY") == 0;
    const gboolean is_big = g_strcmp0(order, "BIG") == 0;
    if (encoding && !is_offset && strcmp(encoding, "TWOSCOMPLEMENT") != 0)
        return dada_refuse(header, "ENCODING", "TWOSCOMPLEMENT or OFFSETBINARY", error);
    if (order && !is_big && strcmp(order, "LITTLE") != 0)
        return dada_refuse(header, "ENDIAN", "LITTLE or BIG", error);
    stream->type = types[size][array->n_parts - 1];
    file->layout.types = 1u << stream->type;
    file->bits = (guint)(array->n_bits * array->n_parts);
    file->swap = size > 0 && is_big != (G_BYTE_ORDER == G_BIG_ENDIAN);
    file->unpack = is_offset && size < 2 ? unpack_offset_binary : NULL;
    return TRUE;
}

/* The order that the parameter or the header gives. Heaps of MeerKAT's beamformer have an order of
 * their own, which their headers do not name. */
static const char *
choose_order(const DadaHeader *header, const CtParams *given, GError **error)
{
    const guint choice = ct_params_choice(given, "order");
    const char *order = choice > 0 ? orders[choice] : dada_text(header, "ORDER");
    if (!order)
        return g_strcmp0(dada_text(header, "INSTRUMENT"), "MKBF") == 0 ? "PFT" : "TFP";
    if (g_strv_contains(orders + 1, order))
        return order;
    dada_refuse(header, "ORDER", "an order of the letters T, F and P", error);
    return NULL;
}

static void
add_to_layout(CtLayout *layout, const char *name, gint64 count)
{
    layout->axes[layout->n_axes++] = (CtLayoutAxis){.name = ct_axis_name(name), .count = count};
}

/* Sets the layout. Where time is not the slowest axis, it is so within blocks of RESOLUTION
 * bytes. */
static gboolean
set_layout(CtArrayFile *file, const CtParams *given, const DadaHeader *header, Array *array,
           GError **error)
{
    const char *order = choose_order(header, given, error);
    if (!order)
        return FALSE;
    /* Axes of length 1 have no place. */
    const gboolean counts_f = array->n_channels > 1, counts_p = array->n_pols > 1;
    gboolean is_first = TRUE;
    for (const char *axis = order; *axis && *axis != 'T'; axis++)
        is_first = is_first && !(*axis == 'F' ? counts_f : counts_p);
    array->block = is_first ? 0 : array->resolution / array->sample_bytes;
    if (!is_first && (array->block < 1 || array->resolution % array->sample_bytes != 0)) {
        g_autofree char *wants =
            g_strdup_printf("blocks of whole samples of %" G_GINT64_FORMAT
                            " bytes for the order %s, in which time is not the slowest axis",
                            array->sample_bytes, order);
        return dada_refuse(header, "RESOLUTION", wants, error);
    }
    add_to_layout(&file->layout, "time", 0);
    for (const char *axis = order; *axis; axis++)
        if (*axis == 'F' && array->channels)
            add_to_layout(&file->layout, array->channels, 0);
        else if (*axis == 'P' && array->has_pol)
            add_to_layout(&file->layout, "pol", 0);
        else if (*axis == 'T' && !is_first)
            add_to_layout(&file->layout, "time", array->block);
    return TRUE;
}

/* Adds the axes of one element that PATH.json has, and the header has not. */
static void
add_others(CtArrayFile *file, CtStream *stream)
{
    for (guint a = 0; a < file->said->n_axes; a++) {
        const CtAxis *axis = &file->said->axes[a];
        if (axis->length == 1 && file->layout.n_axes < CT_MAX_AXES &&
            ct_stream_axis(stream, axis->name) < 0 && ct_stream_add_axis(stream, axis->name, 1))
            add_to_layout(&file->layout, axis->name, 0);
    }
}

/* Adds the axes, time as long as the file, or of a pipe not known: FILE_SIZE is what the writer
 * wanted. */
static void
add_axes(CtArrayFile *file, const CtParams *given, const Array *array, CtStream *stream)
{
    const gint64 bytes = file->length - file->offset;
    const gint64 step = array->sample_bytes * MAX(1, array->block);
    if (bytes % step != 0 && !file->is_pipe)
        ct_params_warn(given, "path",
                       "%s ends with %" G_GINT64_FORMAT " bytes that are less than a %s, which are "
                       "not read",
                       file->path, bytes % step, array->block > 0 ? "block" : "sample");
    ct_stream_add_axis(stream, "time", file->is_pipe ? -1 : bytes / step * MAX(1, array->block));
    if (array->channels)
        ct_stream_add_axis(stream, array->channels, array->n_channels);
    if (array->has_pol)
        ct_stream_add_axis(stream, "pol", array->n_pols);
    add_others(file, stream);
}

/* ---- the clock ---- */

/* Sets the microseconds of a sample. Where they are no short fraction, the header has rounded them,
 * and the simplest fraction that rounds to its last digit is meant. */
static gboolean
read_period(const DadaHeader *header, gint64 *numerator, gint64 *denominator, GError **error)
{
    enum { SHORT_BITS = 20 };
    static const char wants[] = "the microseconds of a sample";
    const char *text = dada_text(header, "TSAMP");
    gdouble period;
    if (!dada_real(header, "TSAMP", 0, &period, error))
        return FALSE;
    if (!text || !(period >= 1e-6 && period <= 1e12))
        return dada_refuse(header, "TSAMP", wants, error);
    ct_quantity_approximate(period, 0, numerator, denominator);
    if (*denominator >> SHORT_BITS) {
        const char *point = strchr(text, '.'), *scale = strpbrk(text, "eE");
        const gdouble n_decimals = point ? (gdouble)strspn(point + 1, "0123456789") : 0;
        const gdouble exponent = scale ? g_ascii_strtod(scale + 1, NULL) : 0;
        ct_quantity_approximate(period, 0.5 * pow(10, exponent - n_decimals), numerator,
                                denominator);
    }
    return (*denominator >> SHORT_BITS == 0 && *numerator >> 40 == 0 && *numerator > 0) ||
           dada_refuse(header, "TSAMP", wants, error);
}

/* Reads 2013-07-02-01:37:40.5 and PICOSECONDS: whole Unix seconds, and the rest. */
static gboolean
read_utc(const DadaHeader *header, gint64 *seconds, gdouble *rest, GError **error)
{
    static const char wants[] = "a time such as 2022-06-29-01:30:00.5";
    g_autofree char *text = g_strdup(dada_text(header, "UTC_START"));
    gdouble picoseconds;
    if (!dada_real(header, "PICOSECONDS", 0, &picoseconds, error))
        return FALSE;
    if (!(picoseconds >= 0 && picoseconds < 1e12))
        return dada_refuse(header, "PICOSECONDS", "less than a second", error);
    const gsize length = strlen("2022-06-29-01:30:00");
    char *end = NULL;
    *rest = 0;
    if (strlen(text) < length || text[10] != '-')
        return dada_refuse(header, "UTC_START", wants, error);
    if (text[length] == '.')
        *rest = g_ascii_strtod(text + length, &end);
    if ((end && *end) || (!end && text[length] != '\0'))
        return dada_refuse(header, "UTC_START", wants, error);
    text[10] = 'T';
    text[length] = '\0';
    g_autofree char *whole = g_strconcat(text, "Z", NULL);
    *rest += picoseconds * 1e-12;
    return ct_utc_parse(whole, seconds, NULL) || dada_refuse(header, "UTC_START", wants, error);
}

/* A tick is a sample, if the observation began at a whole number of samples after a second.
 * Otherwise a sample has as many ticks as make a tick no longer than a nanosecond. */
static gboolean
set_clock(CtArrayFile *file, const DadaHeader *header, const Array *array, CtStream *stream,
          GError **error)
{
    gint64 numerator, denominator, ticks = 1;
    gdouble rest = 0;
    if (!read_period(header, &numerator, &denominator, error))
        return FALSE;
    if (dada_text(header, "UTC_START") && !read_utc(header, &stream->epoch, &rest, error))
        return FALSE;
    const gdouble period = (gdouble)numerator / (gdouble)denominator * 1e-6;
    const gdouble samples = rest / period;
    if (fabs(samples - rint(samples)) > 1e-6)
        ticks = (gint64)CLAMP(ceil(period * 1e9), 1, 0x1p22);
    if (!ct_stream_set_rate(stream, denominator * 1000000, numerator, ticks) ||
        __builtin_mul_overflow(array->obs_offset / array->sample_bytes, ticks, &stream->start) ||
        __builtin_add_overflow(stream->start, llrint(samples * (gdouble)ticks), &stream->start))
        return dada_refuse(header, "OBS_OFFSET", "a start that 63 bits count", error);
    file->has_start = TRUE;
    file->start_error = ticks > 1 ? 0.5 * period / (gdouble)ticks : 0;
    return TRUE;
}

/* ---- frequencies and observation ---- */

static gboolean
set_frequencies(const CtArrayFile *file, const CtParams *given, const DadaHeader *header,
                const Array *array, CtStream *stream, GError **error)
{
    gdouble centre, width;
    if (!dada_real(header, "FREQ", 0, &centre, error) || !dada_real(header, "BW", 0, &width, error))
        return FALSE;
    if (!dada_text(header, "FREQ"))
        return TRUE;
    if (array->channels) {
        CtCoordinate *of = &stream->axes[ct_stream_axis(stream, array->channels)].coordinate;
        const gdouble step = width / (gdouble)array->n_channels;
        of->unit = g_intern_static_string("Hz");
        of->first = (centre - width / 2 + step / 2) * 1e6;
        of->step = step * 1e6;
    } else {
        stream->has_frequency = TRUE;
        stream->frequency = (array->n_parts == 2 ? centre : centre - fabs(width) / 2) * 1e6;
    }
    if (width < 0 && array->n_channels == 1)
        ct_params_warn(given, "path",
                       "the band of %s is reversed (BW %g MHz): its samples are given as they are",
                       file->path, width);
    return TRUE;
}

/* Reads an angle; one that is none is a warning, for nothing depends on it. */
static gboolean
read_angle(const CtArrayFile *file, const CtParams *given, const DadaHeader *header,
           const char *keyword, gdouble *angle)
{
    const char *text = dada_text(header, keyword);
    if (!text)
        return FALSE;
    const gboolean is_hours = strcmp(keyword, "RA") == 0;
    /* A plain number may count hours, degrees or radians. */
    if (strchr(text, ':') && ct_angle_parse(text, is_hours, angle, NULL) &&
        (is_hours || fabs(*angle) <= G_PI / 2))
        return TRUE;
    ct_params_warn(given, "path", "%s of %s is no angle and is not read: '%s'", keyword, file->path,
                   text);
    return FALSE;
}

static void
set_observation(const CtArrayFile *file, const CtParams *given, const DadaHeader *header,
                CtStream *stream)
{
    CtObservationFacts facts = *ct_observation_facts(NULL);
    facts.telescope = dada_text(header, "TELESCOPE");
    facts.source = dada_text(header, "SOURCE");
    facts.observer = dada_text(header, "OBSERVER");
    facts.project = dada_text(header, "PID");
    const gboolean has_right = read_angle(file, given, header, "RA", &facts.direction[0]);
    const gboolean has_up = read_angle(file, given, header, "DEC", &facts.direction[1]);
    facts.has_direction = has_right && has_up;
    if (facts.telescope || facts.source || facts.observer || facts.project || facts.has_direction)
        ct_stream_take_observation(stream, ct_observation_new(&facts));
}

/* ---- the stage ---- */

/* Reads the header, of which HDR_SIZE tells the length, after as many bytes as it usually has. */
static gboolean
read_header(CtArrayFile *file, DadaHeader *header, GError **error)
{
    file->needs = DADA_USUAL_BYTES;
    for (gint64 n = MIN(file->length, DADA_USUAL_BYTES);; n = file->offset) {
        g_autofree guint8 *bytes = ct_table_new((gsize)n, 1, "a header", error);
        if (!bytes || !ct_file_read(file->path, file->fd, 0, bytes, (gsize)n, error))
            return FALSE;
        dada_header_clear(header);
        dada_header_parse(header, file->path, bytes, (gsize)n);
        if (n > 0 && n == file->offset)
            return TRUE;
        if (!dada_integer(header, "HDR_SIZE", 1, DADA_USUAL_BYTES, &file->offset, error))
            return FALSE;
        file->needs = file->offset > DADA_MOST_BYTES ? 0 : file->offset;
        if (file->offset > DADA_MOST_BYTES || file->offset > file->length)
            return dada_refuse(header, "HDR_SIZE", "the bytes of a header that the file has",
                               error);
    }
}

static gboolean
open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    g_auto(DadaHeader) header = {0};
    Array array;
    if (!read_header(file, &header, error) || !read_array(file, &header, &array, error) ||
        !set_elements(file, &header, &array, stream, error) ||
        !set_layout(file, given, &header, &array, error))
        return FALSE;
    add_axes(file, given, &array, stream);
    if (!set_clock(file, &header, &array, stream, error) ||
        !set_frequencies(file, given, &header, &array, stream, error))
        return FALSE;
    set_observation(file, given, &header, stream);
    return TRUE;
}

const CtArraySource dada_source_files = {
    .files = "path", .name = "DADA files", .open = open_file, .streams = TRUE};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&dada_source_files, node, error);
}

const char *const dada_extensions[] = {".dada", NULL};

const CtStage dada_source = {
    .name = "dada.source",
    .summary = "voltages from PSRDADA files",
    .version = 1,
    .outputs = CT_PORTS({"voltages", "i8|i16|f32|ci8|ci16|cf32{time ...}", 0, "as in the file"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = dada_extensions,
    .stands_for = "file.source",
};
