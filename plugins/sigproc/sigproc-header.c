/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of SIGPROC files (filterbanks and time series): reading and writing. */
#include "sigproc-header.h"

#include <cornerturn/error.h>
#include <math.h>
#include <string.h>

enum { INTEGER, REAL, BYTE, TEXT };

/* In the order of SigprocKeyword. */
static const struct {
    const char *name;
    guint8 kind;
} keywords[] = {
    [SIGPROC_TELESCOPE_ID] = {"telescope_id", INTEGER},
    [SIGPROC_MACHINE_ID] = {"machine_id", INTEGER},
    [SIGPROC_DATA_TYPE] = {"data_type", INTEGER},
    [SIGPROC_RAWDATAFILE] = {"rawdatafile", TEXT},
    [SIGPROC_SOURCE_NAME] = {"source_name", TEXT},
    [SIGPROC_BARYCENTRIC] = {"barycentric", INTEGER},
    [SIGPROC_PULSARCENTRIC] = {"pulsarcentric", INTEGER},
    [SIGPROC_AZ_START] = {"az_start", REAL},
    [SIGPROC_ZA_START] = {"za_start", REAL},
    [SIGPROC_SRC_RAJ] = {"src_raj", REAL},
    [SIGPROC_SRC_DEJ] = {"src_dej", REAL},
    [SIGPROC_TSTART] = {"tstart", REAL},
    [SIGPROC_TSAMP] = {"tsamp", REAL},
    [SIGPROC_NBITS] = {"nbits", INTEGER},
    [SIGPROC_NSAMPLES] = {"nsamples", INTEGER},
    [SIGPROC_FCH1] = {"fch1", REAL},
    [SIGPROC_FOFF] = {"foff", REAL},
    [SIGPROC_NCHANS] = {"nchans", INTEGER},
    [SIGPROC_NIFS] = {"nifs", INTEGER},
    [SIGPROC_NBEAMS] = {"nbeams", INTEGER},
    [SIGPROC_IBEAM] = {"ibeam", INTEGER},
    [SIGPROC_REFDM] = {"refdm", REAL},
    [SIGPROC_PERIOD] = {"period", REAL},
    [SIGPROC_NBINS] = {"nbins", INTEGER},
    [SIGPROC_SIGNED] = {"signed", BYTE},
};

static const gsize value_bytes[] = {[INTEGER] = 4, [REAL] = 8, [BYTE] = 1};

const char *
sigproc_keyword(SigprocKeyword keyword)
{
    return keywords[keyword].name;
}

gboolean
sigproc_is_text(SigprocKeyword keyword)
{
    return keywords[keyword].kind == TEXT;
}

gboolean
sigproc_is_integer(SigprocKeyword keyword)
{
    return keywords[keyword].kind == INTEGER || keywords[keyword].kind == BYTE;
}

void
sigproc_header_clear(SigprocHeader *header)
{
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++)
        g_free(header->text[k]);
    g_free(header->frequencies);
    memset(header, 0, sizeof *header);
}

void
sigproc_set(SigprocHeader *header, SigprocKeyword keyword, gdouble number)
{
    header->given |= 1u << keyword;
    header->number[keyword] = number;
}

void
sigproc_set_text(SigprocHeader *header, SigprocKeyword keyword, const char *text)
{
    header->given |= 1u << keyword;
    g_free(header->text[keyword]);
    header->text[keyword] = g_strndup(text, SIGPROC_TEXT_BYTES);
}

/* ---- reading ---- */

typedef struct {
    const char *path;
    const guint8 *bytes;
    gsize n, at;
    gsize needs; /* bytes, where there were too few; else 0 */
    gboolean big_endian;
} Reader;

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const Reader *reader, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: byte %zu: %s", reader->path, reader->at,
                message);
    return FALSE;
}

static gboolean
need(Reader *reader, gsize n, const char *what, GError **error)
{
    if (n > reader->n - reader->at)
        reader->needs = reader->at + n;
    return n <= reader->n - reader->at ||
           refuse(reader, error,
                  "wants %zu bytes of %s, but is given %zu (no SIGPROC header, or truncated)", n,
                  what, reader->n - reader->at);
}

static guint64
read_bits(Reader *reader, gsize n_bytes)
{
    guint64 bits = 0;
    for (gsize i = 0; i < n_bytes; i++) {
        const gsize from = reader->big_endian ? i : n_bytes - 1 - i;
        bits = bits << 8 | reader->bytes[reader->at + from];
    }
    reader->at += n_bytes;
    return bits;
}

/* A text: its length and its characters, not terminated. */
static gboolean
read_text(Reader *reader, const char *what, const char **text, gsize *length, GError **error)
{
    if (!need(reader, 4, what, error))
        return FALSE;
    const gint32 given = (gint32)(guint32)read_bits(reader, 4);
    if (given < 0 || given > SIGPROC_TEXT_BYTES) {
        reader->at -= 4;
        return refuse(reader, error, "%s wants a length up to %d, but is given %d", what,
                      SIGPROC_TEXT_BYTES, given);
    }
    if (!need(reader, (gsize)given, what, error))
        return FALSE;
    *text = (const char *)reader->bytes + reader->at;
    *length = (gsize)given;
    reader->at += *length;
    return TRUE;
}

static gboolean
is_text(const char *text, gsize length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(text, wanted, length) == 0;
}

/* Whether the text at the beginning is HEADER_START, in either byte order. */
static gboolean
read_start(Reader *reader, GError **error)
{
    static const char start[] = "HEADER_START";
    const gsize length = sizeof start - 1;
    if (reader->n < 4 + length)
        reader->needs = 4 + length;
    for (guint big = 0; big <= 1 && reader->n >= 4 + length; big++) {
        reader->at = 0;
        reader->big_endian = big != 0;
        if (read_bits(reader, 4) == length && memcmp(reader->bytes + 4, start, length) == 0) {
            reader->at += length;
            return TRUE;
        }
    }
    reader->at = 0;
    return refuse(reader, error, "wants HEADER_START, but is given no SIGPROC header");
}

static gboolean
read_real(Reader *reader, const char *what, gdouble *value, GError **error)
{
    if (!need(reader, 8, what, error))
        return FALSE;
    const guint64 bits = read_bits(reader, 8);
    memcpy(value, &bits, sizeof *value);
    return TRUE;
}

static gboolean
read_value(Reader *reader, SigprocHeader *header, SigprocKeyword keyword, GError **error)
{
    const char *name = keywords[keyword].name, *text;
    const guint kind = keywords[keyword].kind;
    gsize length;
    gdouble real;
    if (kind == TEXT) {
        if (!read_text(reader, name, &text, &length, error))
            return FALSE;
        g_autofree char *copy = g_strndup(text, length);
        sigproc_set_text(header, keyword, copy);
        return TRUE;
    }
    if (kind == REAL) {
        if (!read_real(reader, name, &real, error))
            return FALSE;
        sigproc_set(header, keyword, real);
        return TRUE;
    }
    if (!need(reader, value_bytes[kind], name, error))
        return FALSE;
    const guint64 bits = read_bits(reader, value_bytes[kind]);
    sigproc_set(header, keyword, kind == INTEGER ? (gint32)(guint32)bits : (gint8)(guint8)bits);
    return TRUE;
}

/* The frequencies from FREQUENCY_START to FREQUENCY_END, which take the place of others. */
static gboolean
read_frequencies(Reader *reader, SigprocHeader *header, GError **error)
{
    g_autoptr(GArray) frequencies = g_array_new(FALSE, FALSE, sizeof(gdouble));
    const char *text;
    gsize length;
    for (;;) {
        const gsize at = reader->at;
        gdouble frequency;
        if (!read_text(reader, "a frequency", &text, &length, error))
            return FALSE;
        if (is_text(text, length, "FREQUENCY_END"))
            break;
        if (!is_text(text, length, "fchannel")) {
            reader->at = at;
            return refuse(reader, error, "wants fchannel or FREQUENCY_END after FREQUENCY_START");
        }
        if (!read_real(reader, "fchannel", &frequency, error))
            return FALSE;
        g_array_append_val(frequencies, frequency);
    }
    g_free(header->frequencies);
    header->n_frequencies = frequencies->len;
    header->frequencies = (gdouble *)(gpointer)g_array_free(g_steal_pointer(&frequencies), FALSE);
    return TRUE;
}

static gboolean
read_keyword(Reader *reader, SigprocHeader *header, const char *text, gsize length, gsize at,
             GError **error)
{
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++)
        if (is_text(text, length, keywords[k].name))
            return read_value(reader, header, k, error);
    if (is_text(text, length, "FREQUENCY_START"))
        return read_frequencies(reader, header, error);
    g_autofree char *copy = g_strndup(text, length);
    g_autofree char *printable = g_strescape(copy, NULL);
    reader->at = at;
    return refuse(reader, error, "wants a keyword of SIGPROC, but is given '%s'", printable);
}

static gboolean
read_header(Reader *reader, SigprocHeader *header, GError **error)
{
    if (!read_start(reader, error))
        return FALSE;
    for (;;) {
        const gsize at = reader->at;
        const char *text;
        gsize length;
        if (!read_text(reader, "a keyword", &text, &length, error))
            return FALSE;
        if (is_text(text, length, "HEADER_END"))
            return TRUE;
        if (!read_keyword(reader, header, text, length, at, error))
            return FALSE;
    }
}

gboolean
sigproc_header_parse(SigprocHeader *header, const char *path, const guint8 *bytes, gsize n,
                     GError **error)
{
    Reader reader = {.path = path, .bytes = bytes, .n = n};
    const gboolean good = read_header(&reader, header, error);
    header->bytes = good ? reader.at : reader.needs;
    header->big_endian = reader.big_endian;
    return good;
}

/* ---- writing ---- */

static void
write_bits(GByteArray *bytes, guint64 bits, gsize n)
{
    for (gsize i = 0; i < n; i++) {
        const guint8 byte = (guint8)(bits >> 8 * i);
        g_byte_array_append(bytes, &byte, 1);
    }
}

static void
write_text(GByteArray *bytes, const char *text)
{
    const gsize length = strlen(text);
    write_bits(bytes, length, 4);
    g_byte_array_append(bytes, (const guint8 *)text, (guint)length);
}

static void
write_real(GByteArray *bytes, gdouble value)
{
    guint64 bits;
    memcpy(&bits, &value, sizeof bits);
    write_bits(bytes, bits, sizeof bits);
}

static void
write_keyword(GByteArray *bytes, const SigprocHeader *header, SigprocKeyword keyword)
{
    const guint kind = keywords[keyword].kind;
    const char *text = header->text[keyword];
    const gdouble number = header->number[keyword];
    if (kind == TEXT && (!text || !*text))
        return;
    write_text(bytes, keywords[keyword].name);
    if (kind == TEXT)
        write_text(bytes, text);
    else if (kind == REAL)
        write_real(bytes, number);
    else
        write_bits(bytes, (guint64)(gint64)number, value_bytes[kind]);
}

GBytes *
sigproc_header_format(const SigprocHeader *header)
{
    GByteArray *bytes = g_byte_array_new();
    write_text(bytes, "HEADER_START");
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++)
        if (sigproc_has(header, k))
            write_keyword(bytes, header, k);
    if (header->n_frequencies > 0) {
        write_text(bytes, "FREQUENCY_START");
        for (gsize i = 0; i < header->n_frequencies; i++) {
            write_text(bytes, "fchannel");
            write_real(bytes, header->frequencies[i]);
        }
        write_text(bytes, "FREQUENCY_END");
    }
    write_text(bytes, "HEADER_END");
    return g_byte_array_free_to_bytes(bytes);
}

/* ---- angles ---- */

gdouble
sigproc_angle_read(gdouble packed, gboolean is_hours)
{
    const gdouble size = fabs(packed);
    const gdouble whole = floor(size / 10000);
    const gdouble minutes = floor((size - 10000 * whole) / 100);
    const gdouble seconds = size - 10000 * whole - 100 * minutes;
    const gdouble units = whole + minutes / 60 + seconds / 3600;
    return copysign(units * G_PI / (is_hours ? 12 : 180), packed);
}

gdouble
sigproc_angle_write(gdouble radians, gboolean is_hours)
{
    enum { PER_SECOND = 10000000 };
    const gdouble day = 86400.0 * PER_SECOND;
    gdouble size = fabs(radians) * (is_hours ? 12 : 180) / G_PI * 3600 * PER_SECOND;
    size = rint(size);
    if (is_hours) {
        size = fmod(size, day);
        if (radians < 0 && size > 0)
            size = day - size;
    }
    const gdouble minutes = floor(size / (60.0 * PER_SECOND));
    const gdouble seconds = (size - minutes * 60 * PER_SECOND) / PER_SECOND;
    const gdouble whole = floor(minutes / 60);
    const gdouble packed = 10000 * whole + 100 * (minutes - 60 * whole) + seconds;
    return is_hours ? packed : copysign(packed, radians);
}

void
sigproc_direction(const SigprocHeader *header, gdouble direction[2])
{
    const gdouble ra = header->number[SIGPROC_SRC_RAJ], dec = header->number[SIGPROC_SRC_DEJ];
    direction[0] = header->is_decimal ? ra * G_PI / 12 : sigproc_angle_read(ra, TRUE);
    direction[1] = header->is_decimal ? dec * G_PI / 180 : sigproc_angle_read(dec, FALSE);
}
