/* SPDX-License-Identifier: BSD-3-Clause */
/* psrfits.source: power over time and frequency from PSRFITS files in search mode. */
#include "psrfits-rows.h"
#include "psrfits.h"

#include <cornerturn/kit/filterbank.h>
#include <cornerturn/packets.h>
#include <string.h>

enum { AUTO, SCALED, RAW };
static const char *const values[] = {"auto", "scaled", "raw", NULL};
enum { CHANNELS, IGNORED };
static const char *const weights[] = {"channels", "ignored", NULL};

static const CtParam params[] = {
    {.name = "path",
     .kind = CT_PARAM_PATH,
     .flags = CT_PARAM_REQUIRED | CT_PARAM_LIST,
     .endings = (const char *const[]){".json", NULL},
     .help = "the file; several files, or a pattern for names (*), are one stream"},
    {.name = "values",
     .kind = CT_PARAM_CHOICE,
     .choices = values,
     .fallback = "auto",
     .help = "f32 with scales and offsets applied, or raw levels; auto: raw if all scales are 1 "
             "and all offsets 0"},
    {.name = "weights",
     .kind = CT_PARAM_CHOICE,
     .choices = weights,
     .fallback = "channels",
     .help = "what a weight of 0 means: that the channel is invalid in this row, or nothing"},
    {NULL},
};

typedef struct {
    PsrfitsRows rows;
    gint64 width;              /* elements of a sample */
    CtType raw;                /* of the levels */
    gboolean is_scaled;        /* samples are f32, with scales and offsets */
    gint64 most;               /* samples of a piece that is read at once */
    guint8 *bytes;             /* of a piece of a row, as they are in the file */
    gdouble *scales, *offsets; /* [width] of row `row` */
    gint64 row;
} Source;

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const CtArrayFile *file, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s", file->path, message);
    return FALSE;
}

static void
clear(CtArrayFile *file)
{
    Source *source = file->self;
    if (!source)
        return;
    psrfits_rows_clear(&source->rows);
    g_free(source->bytes);
    g_free(source->scales);
    g_free(source->offsets);
    g_clear_pointer(&file->self, g_free);
}

/* ---- the array ---- */

static gboolean
check_numbers(const CtArrayFile *file, const PsrfitsTable *table, GError **error)
{
    const struct {
        const char *key;
        gint64 value, most;
    } wanted[] = {
        {"NBITS", table->bits, 32},
        {"NCHAN", table->n_channels, G_MAXINT32},
        {"NPOL", table->n_products, 4},
        {"NSBLK", table->row_samples, G_MAXINT32},
    };
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (wanted[i].value < 1 || wanted[i].value > wanted[i].most)
            return refuse(file, error,
                          "wants %s of 1 to %" G_GINT64_FORMAT ", but is given %s%" G_GINT64_FORMAT,
                          wanted[i].key, wanted[i].most, wanted[i].value < 0 ? "none, or " : "",
                          wanted[i].value);
    return TRUE;
}

/* Sets the type of the levels. */
static gboolean
set_type(const CtArrayFile *file, Source *source, GError **error)
{
    const PsrfitsTable *table = &source->rows.table;
    const PsrfitsColumn *data = &table->columns[PSRFITS_DATA];
    const gint64 bits = table->bits;
    const gboolean is_byte = data->type == 'B', is_short = data->type == 'I';
    if (data->type == 0)
        return refuse(file, error, "wants a column DATA, but is given none");
    source->raw = CT_TYPE_NONE;
    if ((bits == 1 || bits == 2 || bits == 4) && is_byte && data->zero == 0)
        source->raw = table->is_signed ? CT_I8 : CT_U8;
    if (bits == 8 && is_byte && (data->zero == 0 || data->zero == -128))
        source->raw = table->is_signed || data->zero != 0 ? CT_I8 : CT_U8;
    if (bits == 16 && is_short && (data->zero == 0 || data->zero == 32768))
        source->raw = data->zero == 0 ? CT_I16 : CT_F32;
    if (bits == 32 && data->type == 'E' && data->zero == 0)
        source->raw = CT_F32;
    if (source->raw != CT_TYPE_NONE && !(bits == 1 && table->is_signed))
        return TRUE;
    return refuse(
        file, error,
        "wants NBITS 1, 2, 4 or 8 in DATA of type B, 16 of I or 32 of E, and no sign of 1 "
        "bit, but is given NBITS %" G_GINT64_FORMAT " of %c, SIGNINT %d and TZERO %g",
        bits, data->type, table->is_signed, data->zero);
}

/* Checks that DATA is as long as its axes, and that TDIM, where it is right itself, has them in the
 * order [NSBLK][NPOL][NCHAN][1]. */
static gboolean
check_data(const CtArrayFile *file, const Source *source, GError **error)
{
    const PsrfitsTable *table = &source->rows.table;
    const PsrfitsColumn *data = &table->columns[PSRFITS_DATA];
    const gint64 axes[] = {table->n_channels, table->n_products, table->row_samples};
    gint64 bits, product = 1;
    if (__builtin_mul_overflow(source->width * table->bits, table->row_samples, &bits) ||
        bits % 8 != 0 || bits / 8 != data->n * data->bytes)
        return refuse(file, error,
                      "wants DATA of NSBLK %" G_GINT64_FORMAT " × NPOL %" G_GINT64_FORMAT
                      " × NCHAN %" G_GINT64_FORMAT " elements of NBITS %" G_GINT64_FORMAT
                      ", but is given %" G_GINT64_FORMAT " bytes",
                      axes[2], axes[1], axes[0], table->bits, data->n * data->bytes);
    guint next = 0;
    gboolean in_order = TRUE;
    const char *at = table->dimensions && *table->dimensions == '(' ? table->dimensions + 1 : "";
    while (g_ascii_isdigit(*at)) {
        char *end;
        const gint64 n = (gint64)MIN(g_ascii_strtoull(at, &end, 10), G_MAXINT32);
        if (__builtin_mul_overflow(product, n, &product))
            return TRUE;
        while (next < G_N_ELEMENTS(axes) && axes[next] == 1)
            next++;
        /* With less than a byte an element, one of the lengths is of bytes. */
        if (n != 1 && next < G_N_ELEMENTS(axes))
            in_order &= n == axes[next] || (table->bits < 8 && n == axes[next] * table->bits / 8);
        next += n != 1;
        at = *end == ',' ? end + 1 : "";
    }
    if (in_order || product != data->n)
        return TRUE;
    return refuse(file, error,
                  "wants DATA with the dimensions (1,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
                  ",%" G_GINT64_FORMAT "), but is given %s",
                  axes[0], axes[1], axes[2], table->dimensions);
}

static gboolean
check_columns(const CtArrayFile *file, const PsrfitsTable *table, GError **error)
{
    const gint64 n = table->n_channels, all = n * table->n_products;
    const gint64 wanted[PSRFITS_DATA] = {1, n, n, all, all};
    for (guint i = 0; i < PSRFITS_DATA; i++)
        if (table->columns[i].n != 0 && table->columns[i].n != wanted[i])
            return refuse(file, error,
                          "wants column %s of %" G_GINT64_FORMAT
                          " elements, but is given %" G_GINT64_FORMAT,
                          psrfits_columns[i], wanted[i], table->columns[i].n);
    return TRUE;
}

/* The whole rows of the file. */
static gint64
count_rows(const CtArrayFile *file, const CtParams *given, const PsrfitsTable *table)
{
    const gint64 has = MAX(0, file->length - table->begin) / table->row_bytes;
    if (has >= table->n_rows)
        return table->n_rows;
    ct_params_warn(given, "path",
                   "%s ends after %" G_GINT64_FORMAT
                   " rows, though its header says %" G_GINT64_FORMAT ": those that it has are read",
                   file->path, has, table->n_rows);
    return has;
}

static void
add_axis(CtArrayFile *file, CtStream *stream, const char *name, gint64 length)
{
    ct_stream_add_axis(stream, name, length);
    file->layout.axes[file->layout.n_axes++] = (CtLayoutAxis){.name = ct_axis_name(name)};
}

static gboolean
set_axes(CtArrayFile *file, const Source *source, CtStream *stream, GError **error)
{
    static const struct {
        const char *type;
        gint64 n;
        const char *axis;
        const char *labels[4];
    } kinds[] = {
        {"AABB", 2, "pol", {NULL}},
        {"PPQQ", 2, "pol", {NULL}},
        {"IQUV", 4, "stokes", {"I", "Q", "U", "V"}},
        {"AABBCRCI", 4, "coherence", {"AA", "BB", "CR", "CI"}},
    };
    const PsrfitsTable *table = &source->rows.table;
    const gint64 n = table->n_products;
    gboolean is_known = n == 1;
    add_axis(file, stream, "time", source->rows.n_samples);
    for (guint i = 0; i < G_N_ELEMENTS(kinds) && !is_known; i++) {
        if (n != kinds[i].n || g_strcmp0(table->products, kinds[i].type) != 0)
            continue;
        is_known = TRUE;
        add_axis(file, stream, kinds[i].axis, n);
        CtAxis *axis = &stream->axes[ct_stream_axis(stream, kinds[i].axis)];
        if (kinds[i].labels[0])
            ct_axis_take_labels(axis, ct_labels_new(kinds[i].labels, (gsize)n));
    }
    add_axis(file, stream, "channel", table->n_channels);
    return is_known ||
           refuse(
               file, error,
               "wants POL_TYPE AABB or PPQQ of NPOL 2, IQUV or AABBCRCI of 4, but is given %s of "
               "%" G_GINT64_FORMAT,
               table->products ? table->products : "none", n);
}

/* ---- what the headers say of it ---- */

static gboolean
set_frequencies(const CtArrayFile *file, const PsrfitsRows *rows, CtStream *stream, GError **error)
{
    CtAxis *axis = &stream->axes[ct_stream_axis(stream, "channel")];
    CtCoordinate *to = &axis->coordinate;
    const PsrfitsTable *table = &rows->table;
    const gint64 n = axis->length;
    const gdouble megahertz = 1e6;
    if (rows->n_rows == 0 || table->columns[PSRFITS_DAT_FREQ].n == 0) {
        if (isnan(table->centre) || isnan(table->width))
            return TRUE;
        to->unit = g_intern_static_string("Hz");
        to->step = table->width * megahertz;
        to->first = table->centre * megahertz - (gdouble)(n - 1) / 2 * to->step;
        return TRUE;
    }
    g_autofree gdouble *table_of = CT_TABLE(gdouble, n, "frequencies", error);
    if (!table_of || !psrfits_rows_get(rows, PSRFITS_DAT_FREQ, 0, table_of, error))
        return FALSE;
    for (gint64 i = 0; i < n; i++) {
        table_of[i] *= megahertz;
        if (!isfinite(table_of[i]))
            return refuse(file, error, "wants DAT_FREQ of numbers, but is given %g", table_of[i]);
    }
    to->unit = g_intern_static_string("Hz");
    to->first = table_of[0];
    to->step = isnan(table->width) ? 0 : table->width * megahertz;
    if (n > 1 && !ct_filterbank_is_even(table_of, n, &to->step))
        to->table = g_bytes_new(table_of, (gsize)n * sizeof *table_of);
    return TRUE;
}

static gboolean
set_clock(CtArrayFile *file, const CtParams *given, const PsrfitsRows *rows, CtStream *stream,
          GError **error)
{
    enum { DAY = 86400 };
    const PsrfitsTable *table = &rows->table;
    if (!ct_filterbank_set_period(stream, table->period))
        return refuse(file, error, "wants TBIN in seconds, but is given %.17g", table->period);
    if (rows->is_disordered)
        ct_params_warn(
            given, "path",
            "the times of the rows of %s (OFFS_SUB) do not rise: rows are read as if one "
            "followed the other",
            file->path);
    if (table->day < 1)
        return TRUE;
    const gdouble second = isnan(table->second) ? 0 : table->second;
    const gdouble part = isnan(table->part) ? 0 : table->part;
    if (table->day > 1000000 || fabs(second) > 2 * DAY || fabs(part) > DAY ||
        !(fabs(rows->later) < 1e11))
        return refuse(file, error,
                      "wants STT_IMJD, STT_SMJD and STT_OFFS as a day and seconds of it, but is "
                      "given %" G_GINT64_FORMAT ", %g, %g and rows %g s later",
                      table->day, second, part, rows->later);
    /* Whole seconds apart, so that the rest keeps its digits. */
    const gdouble rest = second - floor(second) + part + (rows->later - floor(rows->later));
    const gdouble whole = floor(second) + floor(rows->later) + floor(rest);
    ct_filterbank_set_start(stream, table->day, (gint64)whole, rest - floor(rest));
    file->has_start = TRUE;
    const gdouble rounding = 1e-9; /* of fractions of a second, and of times of rows below 10⁶ s */
    file->start_error = 0.5 * (gdouble)stream->rate_den / (gdouble)stream->rate_num + rounding;
    return TRUE;
}

static void
set_observation(const PsrfitsTable *table, CtStream *stream)
{
    CtObservationFacts facts = *ct_observation_facts(NULL);
    facts.telescope = table->telescope;
    facts.source = table->source;
    facts.project = table->project;
    facts.observer = table->observer;
    /* A plain number may count hours, degrees or radians. */
    facts.has_direction = table->ra && table->dec && strchr(table->ra, ':') &&
                          strchr(table->dec, ':') &&
                          ct_angle_parse(table->ra, TRUE, &facts.direction[0], NULL) &&
                          ct_angle_parse(table->dec, FALSE, &facts.direction[1], NULL) &&
                          fabs(facts.direction[1]) <= G_PI / 2 &&
                          (facts.direction[0] != 0 || facts.direction[1] != 0);
    if (!facts.has_direction)
        facts.direction[0] = facts.direction[1] = 0;
    facts.has_location = TRUE;
    for (guint i = 0; i < 3; i++) {
        facts.location[i] = table->location[i];
        facts.has_location &= !isnan(table->location[i]);
    }
    facts.has_location &=
        facts.location[0] != 0 || facts.location[1] != 0 || facts.location[2] != 0;
    if (!facts.has_location)
        memset(facts.location, 0, sizeof facts.location);
    if (facts.telescope || facts.source || facts.project || facts.observer || facts.has_direction ||
        facts.has_location)
        ct_stream_take_observation(stream, ct_observation_new(&facts));
}

/* ---- opening ---- */

/* Goes over the rows. What PATH.json says of validity is exact, and is not noted again. */
static gboolean
scan(CtArrayFile *file, const CtParams *given, Source *source, GError **error)
{
    const gboolean is_said = file->said->type != CT_TYPE_NONE;
    const gboolean by_channel = ct_params_choice(given, "weights") == CHANNELS;
    if (!is_said &&
        !(file->gaps = ct_gaps_new(by_channel ? source->rows.table.n_channels : 1, error)))
        return FALSE;
    return psrfits_rows_scan(&source->rows, is_said ? NULL : file->gaps, error);
}

/* Room for pieces of rows. */
static gboolean
allocate(Source *source, GError **error)
{
    enum { PIECE_BITS = 8 << 18 };
    const gint64 bits = source->width * source->rows.table.bits;
    source->row = -1;
    source->most = MAX(1, PIECE_BITS / bits);
    source->bytes = CT_TABLE(guint8, source->most * bits / 8 + 2, "samples", error);
    if (!source->bytes || !source->is_scaled)
        return source->bytes != NULL;
    source->scales = CT_TABLE(gdouble, source->width, "scales", error);
    source->offsets = source->scales ? CT_TABLE(gdouble, source->width, "offsets", error) : NULL;
    return source->offsets != NULL;
}

static gboolean
open_file(CtArrayFile *file, const CtParams *given, CtStream *stream, GError **error)
{
    Source *source = g_new0(Source, 1);
    PsrfitsRows *rows = &source->rows;
    PsrfitsTable *table = &rows->table;
    file->self = source;
    rows->path = file->path;
    rows->fd = file->fd;
    if (!psrfits_table_read(table, file->path, file->fd, file->length, error) ||
        !check_numbers(file, table, error) || !set_type(file, source, error))
        return FALSE;
    source->width = table->n_products * table->n_channels;
    if (!check_data(file, source, error) || !check_columns(file, table, error))
        return FALSE;
    if (!(table->period > 0))
        return refuse(file, error, "wants TBIN in seconds, but is given %.17g", table->period);
    rows->n_rows = count_rows(file, given, table);
    if (!scan(file, given, source, error))
        return FALSE;
    const guint wanted = ct_params_choice(given, "values");
    source->is_scaled = wanted == SCALED || (wanted == AUTO && rows->is_scaled);
    stream->type = source->is_scaled ? CT_F32 : source->raw;
    file->layout.types = 1u << stream->type;
    if (!allocate(source, error) || !set_axes(file, source, stream, error) ||
        !set_frequencies(file, rows, stream, error) || !set_clock(file, given, rows, stream, error))
        return FALSE;
    if (file->gaps && ct_params_choice(given, "weights") == CHANNELS)
        stream->axes[ct_stream_axis(stream, "channel")].loses = TRUE;
    set_observation(table, stream);
    return TRUE;
}

/* ---- samples ---- */

/* Level `i` of a piece whose first one begins with bit `first` of `bytes`. */
static gdouble
get_level(const Source *source, const guint8 *bytes, gint64 first, gint64 i)
{
    const PsrfitsTable *table = &source->rows.table;
    const guint bits = (guint)table->bits;
    guint16 two;
    guint32 four;
    gfloat real;
    switch (bits) {
    case 32:
        memcpy(&four, bytes + i * 4, sizeof four);
        four = GUINT32_FROM_BE(four);
        memcpy(&real, &four, sizeof real);
        return real;
    case 16:
        memcpy(&two, bytes + i * 2, sizeof two);
        return (gint16)GUINT16_FROM_BE(two) + table->columns[PSRFITS_DATA].zero;
    case 8:
        return (table->is_signed ? (gint8)bytes[i] : bytes[i]) + table->columns[PSRFITS_DATA].zero;
    default: {
        const gint64 at = first + i * bits;
        const gint level = bytes[at / 8] >> (8 - bits - at % 8) & ((1 << bits) - 1);
        return table->is_signed && level >> (bits - 1) ? level - (1 << bits) : level;
    }
    }
}

static void
put_value(CtType type, gdouble value, guint8 *to)
{
    const gfloat real = (gfloat)value;
    gint16 whole;
    switch (type) {
    case CT_U8:
        *to = (guint8)value;
        break;
    case CT_I8:
        *(gint8 *)to = (gint8)value;
        break;
    case CT_I16:
        whole = (gint16)value;
        memcpy(to, &whole, sizeof whole);
        break;
    default:
        memcpy(to, &real, sizeof real);
    }
}

/* Reads the scales and the offsets of a row; without such columns they are 1 and 0. */
static gboolean
read_scales(Source *source, gint64 row, GError **error)
{
    const PsrfitsRows *rows = &source->rows;
    if (!source->is_scaled || source->row == row)
        return TRUE;
    for (gint64 i = 0; i < source->width; i++) {
        source->scales[i] = 1;
        source->offsets[i] = 0;
    }
    source->row = row;
    return (rows->table.columns[PSRFITS_DAT_SCL].n == 0 ||
            psrfits_rows_get(rows, PSRFITS_DAT_SCL, row, source->scales, error)) &&
           (rows->table.columns[PSRFITS_DAT_OFFS].n == 0 ||
            psrfits_rows_get(rows, PSRFITS_DAT_OFFS, row, source->offsets, error));
}

/* Reads samples t … t + n − 1 of a row, at most `most`. */
static gboolean
read_piece(Source *source, gint64 row, gint64 t, gint64 n, guint8 *to, GError **error)
{
    const PsrfitsRows *rows = &source->rows;
    const PsrfitsTable *table = &rows->table;
    const gint64 bits = source->width * table->bits, first = t * bits;
    const gint64 begin = first / 8, end = (first + n * bits + 7) / 8;
    const gint64 at =
        table->begin + row * table->row_bytes + table->columns[PSRFITS_DATA].offset + begin;
    const CtType type = source->is_scaled ? CT_F32 : source->raw;
    const gint64 element = (gint64)ct_type_info(type)->bytes;
    const gdouble zero = isnan(table->zero) ? 0 : table->zero;
    if (!ct_file_read(rows->path, rows->fd, at, source->bytes, (gsize)(end - begin), error))
        return FALSE;
    for (gint64 i = 0; i < n * source->width; i++, to += element) {
        if (table->bits == 32 && !source->is_scaled) {
            guint32 four; /* the same bits, of a NaN too */
            memcpy(&four, source->bytes + i * 4, sizeof four);
            four = GUINT32_FROM_BE(four);
            memcpy(to, &four, sizeof four);
            continue;
        }
        gdouble value = get_level(source, source->bytes, first % 8, i);
        if (source->is_scaled)
            value = (value - zero) * source->scales[i % source->width] +
                    source->offsets[i % source->width];
        put_value(type, value, to);
    }
    return TRUE;
}

/* The last row that begins at or before a sample. */
static gint64
find_row(const PsrfitsRows *rows, gint64 sample)
{
    gint64 low = 0, high = rows->n_rows;
    while (high - low > 1) {
        const gint64 middle = low + (high - low) / 2;
        if (rows->begin[middle] <= sample)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static gboolean
read_samples(const CtArrayFile *file, gint64 first, gint64 n, guint8 *to, GError **error)
{
    Source *source = file->self;
    const PsrfitsRows *rows = &source->rows;
    const CtType type = source->is_scaled ? CT_F32 : source->raw;
    const gint64 bytes = source->width * (gint64)ct_type_info(type)->bytes;
    gint64 row = find_row(rows, first);
    for (gint64 t = first, some; t < first + n; t += some, to += some * bytes) {
        while (row + 1 < rows->n_rows && rows->begin[row + 1] <= t)
            row++;
        const gint64 within = t - rows->begin[row];
        if (within >= rows->table.row_samples) { /* between rows */
            some = MIN(first + n, rows->begin[row + 1]) - t;
            memset(to, 0, (gsize)(some * bytes));
            continue;
        }
        some = MIN(MIN(first + n - t, rows->table.row_samples - within), source->most);
        if (!read_scales(source, row, error) || !read_piece(source, row, within, some, to, error))
            return FALSE;
    }
    return TRUE;
}

const CtArraySource psrfits_source_files = {
    .files = "path",
    .name = "PSRFITS files",
    .open = open_file,
    .read = read_samples,
    .clear = clear,
};

const char *const psrfits_extensions[] = {".sf", ".fits", NULL};

static gboolean
infer(CtNode *node, GError **error)
{
    return ct_array_source_infer(&psrfits_source_files, node, error);
}

const CtStage psrfits_source = {
    .name = "psrfits.source",
    .summary = "power over time and frequency from PSRFITS files in search mode",
    .version = 1,
    .outputs = CT_PORTS({"power", "u8|i8|i16|f32{time channel ...}", 0, "samples of the file"}),
    .params = params,
    .infer = infer,
    .infer_uses_params = TRUE,
    .extensions = psrfits_extensions,
    .stands_for = "file.source",
};
