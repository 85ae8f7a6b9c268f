/* SPDX-License-Identifier: BSD-3-Clause */
/* dada.sink: voltages to PSRDADA files. */
#include "../voltages.h"
#include "dada-header.h"
#include "dada.h"

#include <cornerturn/packets.h>

/* Keywords and values stand in columns; the length of the file is written again and again. */
enum { KEYWORD_COLUMNS = 16, LENGTH_COLUMNS = 20 };

static const char *const orders[] = {"TFP", "TPF", NULL};

static const CtParam params[] = {
    CT_SINK_PARAMS("the recording"),
    {.name = "order",
     .kind = CT_PARAM_CHOICE,
     .choices = orders,
     .fallback = "TFP",
     .help = "of time, frequency and polarisation in the file, slowest first"},
    {.name = "instrument",
     .kind = CT_PARAM_STRING,
     .fallback = "unknown",
     .help = "INSTRUMENT of the header"},
    {NULL},
};

typedef struct {
    Voltages voltages;
    gint64 length_offset; /* of the value of FILE_SIZE; 0: the header does not have it */
} Sink;

/* ---- what a file can hold ---- */

static void
set_layout(CtLayout *layout, const CtStream *stream, const CtParams *given,
           const Voltages *voltages)
{
    const gboolean is_pol_last = ct_params_choice(given, "order") == 0;
    voltages_add(layout, stream, "time");
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1)
            voltages_add(layout, stream, stream->axes[a].name);
    voltages_add(layout, stream, is_pol_last ? voltages->channels : "pol");
    voltages_add(layout, stream, is_pol_last ? "pol" : voltages->channels);
}

/* A value ends at a comment or at the end of its line. */
static const VoltagesTexts texts = {
    .keywords = {"TELESCOPE", "SOURCE", "OBSERVER", "PID"},
    .wanted = "ASCII without #",
    .without = '#',
    .most = DADA_USUAL_BYTES,
};

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const char *instrument = ct_params_string(node->params, "instrument");
    Voltages voltages;
    if (!voltages_init(&voltages, stream, "a DADA file", FALSE, error))
        return FALSE;
    if (!voltages_is_text(&texts, instrument))
        return ct_params_error(node->params, "instrument", error, "wants %s, but is given '%s'",
                               texts.wanted, instrument);
    if (stream->epoch == CT_NO_EPOCH)
        ct_params_warn(node->params, NULL,
                       "the stream does not know its UTC: the header has no UTC_START");
    voltages_warn_of_texts(&texts, node->params, stream);
    set_layout(&node->input_layouts[0], stream, node->params, &voltages);
    return TRUE;
}

/* ---- the header ---- */

G_GNUC_PRINTF(3, 4)
static void
add(GString *text, const char *keyword, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_string_append_printf(text, "%-*s", KEYWORD_COLUMNS, keyword);
    g_string_append_vprintf(text, format, arguments);
    g_string_append_c(text, '\n');
    va_end(arguments);
}

static void
add_real(GString *text, const char *keyword, gdouble value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    add(text, keyword, "%s", voltages_number(value, number));
}

/* UTC_START, and MJD_START, which has 15 decimals. */
static gboolean
add_utc(GString *text, const CtStream *stream, const VoltagesBeginning *beginning, GError **error)
{
    const gint64 pico = 1000000000000;
    const gint64 of_second =
        (gint64)(((__int128)beginning->rest * pico + stream->rate_num / 2) / stream->rate_num);
    const gint64 whole = beginning->second + of_second / pico, picoseconds = of_second % pico;
    g_autoptr(GDateTime) date = g_date_time_new_from_unix_utc(whole);
    g_autofree char *utc = date ? g_date_time_format(date, "%Y-%m-%d-%H:%M:%S") : NULL;
    if (!utc || strlen(utc) != strlen("2022-06-29-01:30:00")) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "UTC_START wants a year of four digits, but is given %" G_GINT64_FORMAT
                    " s from 1970 on",
                    whole);
        return FALSE;
    }
    gint64 day, second;
    ct_utc_day(whole, &day, &second);
    /* Of a day, in units of 1e-15. */
    const gint64 part = (gint64)(((__int128)second * pico + picoseconds) * 1000 / VOLTAGES_DAY);
    add(text, "UTC_START", "%s", utc);
    if (picoseconds > 0)
        add(text, "PICOSECONDS", "%" G_GINT64_FORMAT, picoseconds);
    add(text, "MJD_START", "%" G_GINT64_FORMAT ".%015" G_GINT64_FORMAT, day, part);
    return TRUE;
}

static gboolean
add_time(GString *text, const CtSinkFile *file, GError **error)
{
    const CtStream *stream = file->input->stream;
    const VoltagesBeginning beginning = voltages_beginning(stream);
    const gint64 first = (file->stream.start - stream->start) / stream->ticks_per_sample;
    const gdouble period = (gdouble)stream->ticks_per_sample * (gdouble)stream->rate_den * 1e6 /
                           (gdouble)stream->rate_num;
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    gint64 offset;
    if (__builtin_add_overflow(beginning.offset, first, &offset) ||
        __builtin_mul_overflow(offset, file->sample_bytes, &offset)) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "OBS_OFFSET wants bytes that 63 bits count, but is given %" G_GINT64_FORMAT
                    " samples of %" G_GINT64_FORMAT " bytes",
                    beginning.offset, file->sample_bytes);
        return FALSE;
    }
    if (stream->epoch != CT_NO_EPOCH && !add_utc(text, stream, &beginning, error))
        return FALSE;
    add(text, "OBS_OFFSET", "%" G_GINT64_FORMAT, offset);
    add(text, "OBS_OVERLAP", "0");
    /* All its digits are right, so that the fraction can be found again. */
    add(text, "TSAMP", "%s", g_ascii_formatd(number, sizeof number, "%.15g", period));
    return TRUE;
}

static void
add_array(GString *text, const CtSinkFile *file, const Voltages *voltages)
{
    const CtTypeInfo *info = ct_type_info(ct_layout_type(&file->layout));
    add(text, "NBIT", "%u", info->part_bits);
    add(text, "NDIM", "%d", info->is_complex ? 2 : 1);
    add(text, "NPOL", "%" G_GINT64_FORMAT, voltages->n_pols);
    add(text, "NCHAN", "%" G_GINT64_FORMAT, voltages->n_channels);
    add(text, "RESOLUTION", "%" G_GINT64_FORMAT, file->sample_bytes);
    add(text, "ORDER", "%s", orders[ct_params_choice(file->given, "order")]);
    add(text, "ENCODING", "TWOSCOMPLEMENT");
    add(text, "ENDIAN", G_BYTE_ORDER == G_BIG_ENDIAN ? "BIG" : "LITTLE");
    if (!voltages->has_frequency)
        return;
    add_real(text, "FREQ", voltages->centre / 1e6);
    add_real(text, "BW", voltages->step * (gdouble)voltages->n_channels / 1e6);
}

static void
add_observation(GString *text, const CtSinkFile *file)
{
    const CtObservationFacts *of = ct_observation_facts(file->stream.observation);
    for (guint i = 0; i < VOLTAGES_TEXTS; i++) {
        const char *value = voltages_text(&texts, &file->stream, i);
        if (value)
            add(text, texts.keywords[i], "%s", value);
    }
    add(text, "INSTRUMENT", "%s", ct_params_string(file->given, "instrument"));
    if (!of->has_direction)
        return;
    g_autofree char *right = voltages_angle(of->direction[0], TRUE);
    g_autofree char *up = voltages_angle(of->direction[1], FALSE);
    add(text, "RA", "%s", right);
    add(text, "DEC", "%s", up);
}

/* FILE_SIZE is the length of the samples: those that are expected, and in a file, from its
 * beginning on, those that are there. */
static void
add_length(GString *text, const CtSinkFile *file, Sink *sink)
{
    gint64 bytes = 0;
    if (file->expected < 0 || __builtin_mul_overflow(file->expected, file->sample_bytes, &bytes)) {
        if (file->is_pipe)
            return;
        bytes = 0;
    }
    sink->length_offset = (gint64)text->len + KEYWORD_COLUMNS;
    add(text, "FILE_SIZE", "%-*" G_GINT64_FORMAT, LENGTH_COLUMNS, bytes);
}

static gboolean
append_header(CtSinkFile *file, Sink *sink, GError **error)
{
    static const char last[] = "# end of header\n";
    g_autoptr(GString) text = g_string_new(NULL);
    add(text, "HEADER", "DADA");
    add(text, "HDR_VERSION", "1.0");
    const gsize size_at = text->len;
    add(text, "HDR_SIZE", "%-7d", DADA_USUAL_BYTES);
    add(text, "DADA_VERSION", "1.0");
    add(text, "FILE_NUMBER", "%" G_GINT64_FORMAT, file->number);
    add_length(text, file, sink);
    if (!add_time(text, file, error))
        return FALSE;
    add_array(text, file, &sink->voltages);
    add_observation(text, file);
    g_string_append(text, last);
    /* At least one zero ends the text. */
    const gsize bytes = (text->len / DADA_USUAL_BYTES + 1) * DADA_USUAL_BYTES;
    if (bytes > DADA_MOST_BYTES) {
        g_set_error(
            error, CT_ERROR, CT_ERROR_DATA,
            "HDR_SIZE wants at most %d bytes, but the observation's texts need %" G_GSIZE_FORMAT,
            DADA_MOST_BYTES, bytes);
        return FALSE;
    }
    g_autofree char *size = g_strdup_printf("%-7" G_GSIZE_FORMAT, bytes);
    memcpy(text->str + size_at + KEYWORD_COLUMNS, size, strlen(size));
    guint8 *to = ct_sink_room(file, (gint64)bytes, error);
    if (!to)
        return FALSE;
    memcpy(to, text->str, text->len);
    memset(to + text->len, 0, bytes - text->len);
    return TRUE;
}

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    CtStream *stream = &file->stream;
    if (!voltages_init(&sink->voltages, stream, "a DADA file", FALSE, error))
        return FALSE;
    stream->type = ct_layout_type(&file->input->layout);
    file->layout = (CtLayout){.types = 1u << stream->type};
    set_layout(&file->layout, stream, file->given, &sink->voltages);
    return append_header(file, sink, error);
}

/* ---- samples ---- */

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    enum { PIECE_BYTES = 1 << 18 };
    const Sink *sink = file->self;
    const Voltages *voltages = &sink->voltages;
    const CtLayout *layout = &file->input->layout;
    const gboolean is_pol_last = ct_params_choice(file->given, "order") == 0;
    const gint64 bytes = (gint64)ct_type_info(block->type)->bytes;
    const gint64 piece = MAX(1, PIECE_BYTES / file->sample_bytes);
    const gint64 inner = is_pol_last ? voltages->n_pols : voltages->n_channels;
    const gint64 outer = is_pol_last ? voltages->n_channels : voltages->n_pols;
    const gint64 time = voltages_stride(layout, block, "time");
    VoltagesCopy copy = {
        .bytes = (gsize)bytes,
        .length = {1, 0, outer, inner},
        .from = {0, time, voltages_stride(layout, block, is_pol_last ? voltages->channels : "pol"),
                 voltages_stride(layout, block, is_pol_last ? "pol" : voltages->channels)},
        .to = {0, file->sample_bytes, inner * bytes, bytes},
    };
    for (gint64 t = 0; t < block->n_samples; t += piece) {
        copy.length[1] = MIN(piece, block->n_samples - t);
        guint8 *to = ct_sink_room(file, copy.length[1] * file->sample_bytes, error);
        if (!to)
            return FALSE;
        voltages_copy(&copy, block->data + t * time, to);
    }
    return TRUE;
}

/* Writes the length of the samples that are in the file to its header. */
static gboolean
write_length(CtSinkFile *file, GError **error)
{
    const Sink *sink = file->self;
    g_autofree char *text = g_strdup_printf("%-*" G_GINT64_FORMAT, LENGTH_COLUMNS,
                                            file->n_samples * file->sample_bytes);
    return ct_file_write(file->path, file->fd, sink->length_offset, text, LENGTH_COLUMNS, error) ==
           LENGTH_COLUMNS;
}

const CtSink dada_sink_files = {
    .name = "DADA files",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_samples,
    .mark = write_length,
    .close = write_length,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&dada_sink_files, node, error);
}

const CtStage dada_sink = {
    .name = "dada.sink",
    .summary = "voltages to PSRDADA files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"voltages", "i8|i16|f32|ci8|ci16|cf32{time ...}", 0, "as in the file"}),
    .params = params,
    .infer = infer,
    .extensions = dada_extensions,
    .stands_for = "file.sink",
};
