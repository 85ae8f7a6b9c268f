/* SPDX-License-Identifier: BSD-3-Clause */
/* guppi.sink: voltages to GUPPI RAW blocks. */
#include "../voltages.h"
#include "guppi-header.h"
#include "guppi.h"

#include <cornerturn/packets.h>
#include <unistd.h>

/* The bytes of a block that has no other size; headers are padded to DIRECT_BYTES. */
enum { USUAL_BYTES = 1 << 24, PIECE_BYTES = 1 << 20, DIRECT_BYTES = 512, TEXT_COLUMNS = 68 };

static const CtParam params[] = {
    CT_SINK_PARAMS_WHOLE("the recording"),
    {.name = "block_samples",
     .kind = CT_PARAM_INT,
     .flags = CT_PARAM_RANGED,
     .minimum = 1,
     .maximum = 1 << 30,
     .help = "of a block; left out: at most 16 MiB, no more than the stream or rotate_samples"},
    {.name = "direct_io",
     .kind = CT_PARAM_BOOL,
     .fallback = "true",
     .help = "DIRECTIO: headers are padded to multiples of 512 bytes"},
    {.name = "instrument",
     .kind = CT_PARAM_STRING,
     .fallback = "GUPPI",
     .help = "BACKEND of the headers"},
    {NULL},
};

typedef struct {
    Voltages voltages;
    gint64 sample_bytes;
    gint64 n;               /* samples of a block */
    gint64 n_lanes;         /* of the stream */
    gint64 filled, invalid; /* samples of this block that have come; those of all lanes that are
                               invalid */
    gint64 n_blocks;        /* that are written */
    gint64 written;         /* bytes of them */
    gboolean has_failed;    /* after which nothing is written */
    VoltagesBeginning beginning;
    gint64 first;    /* the index of the file's first sample, from the beginning on */
    gint64 stop;     /* that behind the last sample of the stream; 0: not known */
    GString *cards;  /* that all blocks have */
    guint8 *samples; /* [station][channel][time][pol] */
} Sink;

/* ---- what a file can hold ---- */

/* A card has a value in quotes. */
static const VoltagesTexts texts = {
    .keywords = {"TELESCOP", "SRC_NAME", "OBSERVER", "PROJID"},
    .wanted = "ASCII without ', of at most 68 bytes",
    .without = '\'',
    .most = TEXT_COLUMNS,
};

/* The most stations, of all of which the source would read the number. */
enum { MOST_STATIONS = 1 << 16, MOST_CHANNELS = 1 << 24 };

static gboolean
init_voltages(Voltages *voltages, const CtStream *stream, GError **error)
{
    if (!voltages_init(voltages, stream, "a GUPPI RAW file", TRUE, error))
        return FALSE;
    if (voltages->n_stations <= MOST_STATIONS &&
        voltages->n_channels <= MOST_CHANNELS / voltages->n_stations)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "OBSNCHAN wants at most %d channels of at most %d stations, but is given "
                "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT,
                MOST_CHANNELS, MOST_STATIONS, voltages->n_channels, voltages->n_stations);
    return FALSE;
}

/* The bytes of all channels at one point in time. */
static gint64
sample_bytes(const Voltages *voltages, CtType type)
{
    return voltages->n_stations * voltages->n_channels * voltages->n_pols *
           (gint64)ct_type_info(type)->bytes;
}

/* The samples of a block. */
static gint64
choose_block(const CtParams *given, const CtStream *stream, const Voltages *voltages, CtType type)
{
    if (ct_params_has(given, "block_samples"))
        return ct_params_int(given, "block_samples");
    const gint64 length = stream->axes[ct_stream_axis(stream, "time")].length;
    gint64 n = USUAL_BYTES / sample_bytes(voltages, type);
    if (ct_params_has(given, "rotate_samples"))
        n = MIN(n, ct_params_int(given, "rotate_samples"));
    if (length >= 0)
        n = MIN(n, length);
    return MAX(n, 1);
}

static gboolean
check(CtNode *node, GError **error)
{
    const CtStream *stream = &node->inputs[0];
    const CtParams *given = node->params;
    const char *instrument = ct_params_string(given, "instrument");
    Voltages voltages;
    if (!init_voltages(&voltages, stream, error))
        return FALSE;
    if (!voltages_is_text(&texts, instrument))
        return ct_params_error(given, "instrument", error, "wants %s, but is given '%s'",
                               texts.wanted, instrument);
    const gint64 n = choose_block(given, stream, &voltages, stream->type);
    if (!voltages_check_rotation(given, stream, n, "blocks", "block_samples", error))
        return FALSE;
    if (stream->epoch == CT_NO_EPOCH)
        ct_params_warn(given, NULL, "the stream does not know its UTC: headers have no STT_IMJD");
    voltages_warn_of_texts(&texts, given, stream);
    CtLayout *wish = &node->input_layouts[0];
    for (guint a = 0; a < stream->n_axes; a++)
        if (stream->axes[a].length == 1 && strcmp(stream->axes[a].name, "time") != 0)
            voltages_add(wish, stream, stream->axes[a].name);
    voltages_add(wish, stream, "station");
    voltages_add(wish, stream, voltages.channels);
    voltages_add(wish, stream, "time");
    voltages_add(wish, stream, "pol");
    return TRUE;
}

/* ---- the header ---- */

G_GNUC_PRINTF(3, 4)
static void
add(GString *cards, const char *keyword, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *value = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *card = g_strdup_printf("%-8s= %s", keyword, value);
    g_string_append_printf(cards, "%-*s", GUPPI_CARD_BYTES, card);
}

static void
add_integer(GString *cards, const char *keyword, gint64 value)
{
    add(cards, keyword, "%20" G_GINT64_FORMAT, value);
}

static void
add_real(GString *cards, const char *keyword, gdouble value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    add(cards, keyword, "%20s", voltages_number(value, number));
}

static void
add_text(GString *cards, const char *keyword, const char *text)
{
    add(cards, keyword, "'%-8s'", text);
}

/* ANTNMS00, ANTNMS01, …: as many names in a card as it can hold. None, if one has a comma, or no
 * card can hold it, or there are too many. */
static void
add_stations(GString *cards, const CtStream *stream)
{
    enum { MOST_CARDS = 100 };
    const gint a = ct_stream_axis(stream, "station");
    const CtLabels *labels = a < 0 ? NULL : stream->axes[a].labels;
    g_autoptr(GString) names = g_string_new(NULL);
    g_autoptr(GString) made = g_string_new(NULL);
    guint n = 0;
    for (gsize i = 0; labels && i < ct_labels_count(labels); i++) {
        const char *name = ct_labels_are_pairs(labels) ? "," : ct_labels_name(labels, i, 0);
        if (strchr(name, ',') || !voltages_is_text(&texts, name))
            return;
        if (names->len > 0 && names->len + 1 + strlen(name) > texts.most) {
            g_autofree char *keyword = g_strdup_printf("ANTNMS%02u", n++);
            add_text(made, keyword, names->str);
            g_string_truncate(names, 0);
        }
        g_string_append_printf(names, "%s%s", names->len > 0 ? "," : "", name);
    }
    if (names->len == 0 || n >= MOST_CARDS)
        return;
    g_autofree char *keyword = g_strdup_printf("ANTNMS%02u", n);
    add_text(made, keyword, names->str);
    g_string_append(cards, made->str);
}

static void
add_observation(GString *cards, const CtSinkFile *file)
{
    const CtStream *stream = &file->stream;
    const CtObservationFacts *of = ct_observation_facts(stream->observation);
    add_text(cards, "BACKEND", ct_params_string(file->given, "instrument"));
    for (guint i = 0; i < VOLTAGES_TEXTS; i++) {
        const char *value = voltages_text(&texts, stream, i);
        if (value)
            add_text(cards, texts.keywords[i], value);
    }
    if (of->n_polarisations == 2) {
        const char *const *names = of->polarisations;
        if (strcmp(names[0], "X") == 0 && strcmp(names[1], "Y") == 0)
            add_text(cards, "FD_POLN", "LIN");
        if (strcmp(names[0], "L") == 0 && strcmp(names[1], "R") == 0)
            add_text(cards, "FD_POLN", "CIRC");
    }
    if (!of->has_direction)
        return;
    g_autofree char *right = voltages_angle(of->direction[0], TRUE);
    g_autofree char *up = voltages_angle(of->direction[1], FALSE);
    add_text(cards, "RA_STR", right);
    add_text(cards, "DEC_STR", up);
}

static void
add_band(GString *cards, const CtSinkFile *file, const Voltages *voltages)
{
    const gdouble rate = ct_stream_sample_rate(&file->stream);
    gdouble step = voltages->has_frequency ? voltages->step : rate;
    /* Differences of frequencies have fewer digits than the rate: of both, the last one is rounded.
     */
    if (fabs(fabs(step) - rate) <= 1e-10 * rate + 0x1p-51 * fabs(voltages->centre))
        step = copysign(rate, step);
    if (voltages->has_frequency)
        add_real(cards, "OBSFREQ", voltages->centre / 1e6);
    add_real(cards, "OBSBW", step * (gdouble)voltages->n_channels / 1e6);
    add_real(cards, "CHAN_BW", step / 1e6);
    add_real(cards, "TBIN", 1 / rate);
}

static void
add_beginning(GString *cards, const CtSinkFile *file, const VoltagesBeginning *beginning)
{
    const CtStream *stream = &file->stream;
    gint64 day, second;
    if (stream->epoch == CT_NO_EPOCH)
        return;
    ct_utc_day(beginning->second, &day, &second);
    add_integer(cards, "STT_IMJD", day);
    add_integer(cards, "STT_SMJD", second);
    add_real(cards, "STT_OFFS", (gdouble)beginning->rest / (gdouble)stream->rate_num);
}

/* The cards that all blocks have. PKTIDX counts samples, so that a packet is one sample. */
static void
make_cards(const CtSinkFile *file, Sink *sink)
{
    const Voltages *voltages = &sink->voltages;
    GString *cards = sink->cards = g_string_new(NULL);
    add_observation(cards, file);
    add_band(cards, file, voltages);
    add_beginning(cards, file, &sink->beginning);
    add_integer(cards, "OBSNCHAN", voltages->n_stations * voltages->n_channels);
    if (voltages->n_stations > 1)
        add_integer(cards, "NANTS", voltages->n_stations);
    add_stations(cards, &file->stream);
    /* Both parts of two polarisations. */
    add_integer(cards, "NPOL", voltages->n_pols == 2 ? 4 : 1);
    add_integer(cards, "NBITS", ct_type_info(file->stream.type)->part_bits);
    add_text(cards, "PKTFMT", "1SFA");
    add_integer(cards, "PKTSIZE", sink->sample_bytes);
    add_integer(cards, "PKTNTIME", 1);
    add_integer(cards, "PIPERBLK", sink->n);
    add_integer(cards, "BLOCSIZE", sink->n * sink->sample_bytes);
    add_integer(cards, "OVERLAP", 0);
    add_integer(cards, "DIRECTIO", ct_params_bool(file->given, "direct_io"));
}

/* ---- the file ---- */

static gboolean
open_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    CtStream *stream = &file->stream;
    const CtStream *whole = file->input->stream;
    if (!init_voltages(&sink->voltages, stream, error))
        return FALSE;
    stream->type = ct_layout_type(&file->input->layout);
    sink->sample_bytes = sample_bytes(&sink->voltages, stream->type);
    sink->n = choose_block(file->given, whole, &sink->voltages, stream->type);
    sink->n_lanes = ct_stream_n_lanes(whole);
    sink->beginning = voltages_beginning(whole);
    const gint64 later = (stream->start - whole->start) / stream->ticks_per_sample;
    if (__builtin_add_overflow(sink->beginning.offset, later, &sink->first) ||
        sink->first > (gint64)1 << 50) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "PKTIDX wants at most 2^50 samples since the beginning, but is given "
                    "%" G_GINT64_FORMAT,
                    sink->first);
        return FALSE;
    }
    const gint64 length = whole->axes[ct_stream_axis(whole, "time")].length;
    sink->stop = length < 0 ? 0 : sink->beginning.offset + length;
    make_cards(file, sink);
    /* What the file has is the array of each block, one after another. */
    file->layout = file->input->layout;
    file->sample_bytes = sink->sample_bytes;
    sink->samples = ct_table_new((gsize)sink->n, (gsize)sink->sample_bytes, "a block", error);
    return sink->samples != NULL;
}

/* Writes bytes behind those that are written. */
static gboolean
put(CtSinkFile *file, const guint8 *bytes, gint64 n, GError **error)
{
    Sink *sink = file->self;
    const gint64 at = sink->written;
    sink->written += n;
    if (!file->is_pipe)
        return ct_file_write(file->path, file->fd, at, bytes, n, error) == n;
    gboolean good = TRUE;
    for (gint64 done = 0; done < n && good; done += PIECE_BYTES)
        good = ct_sink_append(file, bytes + done, MIN(n - done, PIECE_BYTES), error);
    return good;
}

/* Writes the block with its header. */
static gboolean
put_block(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gint64 index = sink->first + sink->n_blocks * sink->n,
                 bytes = sink->n * sink->sample_bytes;
    const gint64 filled = sink->filled * sink->n_lanes;
    g_autoptr(GString) header = g_string_new_len(sink->cards->str, (gssize)sink->cards->len);
    add_integer(header, "PKTIDX", index);
    add_integer(header, "PKTSTOP", sink->filled < sink->n ? index + sink->filled : sink->stop);
    add_real(header, "DROPBLK", (gdouble)sink->invalid / (gdouble)filled);
    g_string_append_printf(header, "%-*s", GUPPI_CARD_BYTES, "END");
    while (ct_params_bool(file->given, "direct_io") && header->len % DIRECT_BYTES != 0)
        g_string_append_c(header, ' ');
    const gint64 written = sink->written;
    if (!put(file, (const guint8 *)header->str, (gint64)header->len, error) ||
        !put(file, sink->samples, bytes, error)) {
        sink->has_failed = TRUE;
        sink->written = written;
        return FALSE;
    }
    sink->n_blocks++;
    sink->filled = sink->invalid = 0;
    return TRUE;
}

static gint64
count_invalid(const CtBlock *block, gint64 n_lanes, gint64 begin, gint64 n)
{
    gint64 valid = 0;
    if (!block->validity)
        return 0;
    for (gint64 lane = 0; lane < n_lanes; lane++)
        for (gint64 t = begin; t < begin + n; t++)
            valid += block->validity[lane * block->validity_stride + t];
    return n_lanes * n - valid;
}

static gboolean
write_samples(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Sink *sink = file->self;
    const Voltages *voltages = &sink->voltages;
    const CtLayout *layout = &file->input->layout;
    const gint64 bytes = (gint64)ct_type_info(block->type)->bytes;
    const gint64 time_bytes = voltages->n_pols * bytes;
    const gint64 time = voltages_stride(layout, block, "time");
    VoltagesCopy copy = {
        .bytes = (gsize)bytes,
        .length = {voltages->n_stations, voltages->n_channels, 0, voltages->n_pols},
        .from = {voltages_stride(layout, block, "station"),
                 voltages_stride(layout, block, voltages->channels), time,
                 voltages_stride(layout, block, "pol")},
        .to = {voltages->n_channels * sink->n * time_bytes, sink->n * time_bytes, time_bytes,
               bytes},
    };
    gint64 n;
    for (gint64 t = 0; t < block->n_samples; t += n) {
        n = copy.length[2] = MIN(sink->n - sink->filled, block->n_samples - t);
        voltages_copy(&copy, block->data + t * time, sink->samples + sink->filled * time_bytes);
        sink->invalid += count_invalid(block, sink->n_lanes, t, n);
        sink->filled += n;
        if (sink->filled == sink->n && !put_block(file, error))
            return FALSE;
    }
    return TRUE;
}

/* Completes the last block with zeros; its PKTSTOP tells where the stream ends. */
static gboolean
put_last(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gint64 rows = sink->voltages.n_stations * sink->voltages.n_channels;
    const gint64 time_bytes = sink->sample_bytes / rows;
    if (sink->filled == 0)
        return TRUE;
    for (gint64 row = 0; row < rows; row++)
        memset(sink->samples + (row * sink->n + sink->filled) * time_bytes, 0,
               (gsize)((sink->n - sink->filled) * time_bytes));
    return put_block(file, error);
}

static gboolean
mark(CtSinkFile *file, G_GNUC_UNUSED GError **error)
{
    const Sink *sink = file->self;
    file->n_samples = file->length = sink->n_blocks * sink->n;
    return TRUE;
}

/* After a failure, cuts off what is not a whole block. */
static gboolean
close_file(CtSinkFile *file, GError **error)
{
    Sink *sink = file->self;
    const gint64 filled = sink->filled;
    if (!sink->has_failed && put_last(file, error)) {
        file->n_samples = file->length =
            sink->n_blocks * sink->n - (filled > 0 ? sink->n - filled : 0);
        return TRUE;
    }
    file->n_samples = file->length = sink->n_blocks * sink->n;
    if (ftruncate(file->fd, sink->written) != 0)
        return ct_file_error(error, file->path, "can't be cut");
    return FALSE;
}

static void
clear(gpointer self)
{
    Sink *sink = self;
    if (sink->cards)
        g_string_free(sink->cards, TRUE);
    g_free(sink->samples);
}

const CtSink guppi_sink_files = {
    .name = "GUPPI RAW files",
    .self_bytes = sizeof(Sink),
    .streams = TRUE,
    .check = check,
    .open = open_file,
    .write = write_samples,
    .mark = mark,
    .close = close_file,
    .clear = clear,
    .end = put_last,
};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_sink_infer(&guppi_sink_files, node, error);
}

const CtStage guppi_sink = {
    .name = "guppi.sink",
    .summary = "complex voltages to GUPPI RAW files, with PATH.json beside them",
    .version = 1,
    .inputs = CT_PORTS({"voltages", "ci4|ci8|ci16{time ...}", 0, "as in the file"}),
    .params = params,
    .infer = infer,
};
