/* SPDX-License-Identifier: BSD-3-Clause */
/* Headers of GUPPI RAW blocks: cards of 80 characters up to END. */
#include "guppi-header.h"

#include <cornerturn/error.h>
#include <cornerturn/observation.h>
#include <cornerturn/text.h>
#include <math.h>
#include <string.h>

enum { KEYWORD_BYTES = 8, DIRECT_BYTES = 512, MJD_OF_UNIX = 40587, DAY = 86400 };

/* ---- cards ---- */

typedef struct {
    const guint8 *bytes;
    gsize n;
} Cards;

static gboolean
is_text(const guint8 *card)
{
    for (guint i = 0; i < GUPPI_CARD_BYTES; i++)
        if (card[i] < ' ' || card[i] == 0x7f)
            return FALSE;
    return TRUE;
}

gssize
guppi_cards_find_end(const guint8 *bytes, gsize n)
{
    for (gsize at = 0; at + GUPPI_CARD_BYTES <= n; at += GUPPI_CARD_BYTES) {
        if (!is_text(bytes + at))
            return -1;
        if (memcmp(bytes + at, "END ", 4) == 0)
            return (gssize)at + GUPPI_CARD_BYTES;
    }
    return 0;
}

/* Copies the value of a keyword, without quotes and comment; FALSE if no card has it. Of several,
 * the first counts. */
static gboolean
find(const Cards *cards, const char *keyword, char value[GUPPI_TEXT_BYTES])
{
    char wanted[KEYWORD_BYTES + 2];
    g_snprintf(wanted, sizeof wanted, "%-8s=", keyword);
    for (gsize at = 0; at + GUPPI_CARD_BYTES <= cards->n; at += GUPPI_CARD_BYTES) {
        const char *card = (const char *)cards->bytes + at;
        if (memcmp(card, wanted, KEYWORD_BYTES + 1) != 0)
            continue;
        gsize n = GUPPI_CARD_BYTES - (KEYWORD_BYTES + 1);
        memcpy(value, card + KEYWORD_BYTES + 1, n);
        value[n] = '\0';
        g_strstrip(value);
        const gboolean is_quoted = value[0] == '\'';
        char *end = strchr(value + is_quoted, is_quoted ? '\'' : '/');
        if (end)
            *end = '\0';
        n = strlen(value + is_quoted);
        memmove(value, value + is_quoted, n + 1);
        g_strstrip(value);
        return TRUE;
    }
    return FALSE;
}

static gboolean
fail(GError **error, const char *keyword, const char *wanted, const char *given)
{
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s wants %s, but is given '%s'", keyword, wanted,
                given);
    return FALSE;
}

/* Reads a whole number; *number keeps its value if no card has the keyword. Numbers may be quoted,
 * and may end in zeros behind a point. */
static gboolean
read_int(const Cards *cards, const char *keyword, gint64 least, gint64 most, gint64 *number,
         GError **error)
{
    char value[GUPPI_TEXT_BYTES];
    char *end;
    if (!find(cards, keyword, value))
        return TRUE;
    const gint64 given = g_ascii_strtoll(value, &end, 10);
    gboolean is_whole = end > value;
    if (*end == '.')
        end += 1 + strspn(end + 1, "0");
    is_whole = is_whole && *end == '\0';
    if (is_whole && given >= least && given <= most) {
        *number = given;
        return TRUE;
    }
    g_autofree char *wanted = g_strdup_printf(
        "a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, least, most);
    return fail(error, keyword, wanted, value);
}

static gboolean
need_int(const Cards *cards, const char *keyword, gint64 most, gint64 *number, GError **error)
{
    char value[GUPPI_TEXT_BYTES];
    if (find(cards, keyword, value))
        return read_int(cards, keyword, 1, most, number, error);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "the header wants %s, but has none", keyword);
    return FALSE;
}

/* Reads a number; *number keeps its value if no card has the keyword. `text`, unless NULL, gets it
 * as it is written. */
static gboolean
read_real(const Cards *cards, const char *keyword, gdouble *number, char *text, GError **error)
{
    char value[GUPPI_TEXT_BYTES];
    char *end;
    if (!find(cards, keyword, value))
        return TRUE;
    const gdouble given = g_ascii_strtod(value, &end);
    if (end == value || *end != '\0' || !isfinite(given))
        return fail(error, keyword, "a finite number", value);
    *number = given;
    if (text)
        memcpy(text, value, GUPPI_TEXT_BYTES);
    return TRUE;
}

/* ---- the block ---- */

static gboolean
read_type(const Cards *cards, GuppiHeader *header, GError **error)
{
    char value[GUPPI_TEXT_BYTES];
    header->bits = 8;
    if (!read_int(cards, "NBITS", G_MININT64, G_MAXINT64, &header->bits, error))
        return FALSE;
    if (header->bits != 2 && header->bits != 4 && header->bits != 8 && header->bits != 16) {
        find(cards, "NBITS", value);
        return fail(error, "NBITS", "2, 4, 8 or 16", value);
    }
    if (find(cards, "DATATYPE", value) && g_ascii_strncasecmp(value, "FLOAT", 5) == 0)
        return fail(error, "DATATYPE", "INTEGER", value);
    header->is_time_first = find(cards, "PKTFMT", value) && g_str_equal(value, "SIMPLE");
    return TRUE;
}

static gboolean
read_shape(const Cards *cards, GuppiHeader *header, GError **error)
{
    gint64 n_all, n_parts, n_beams = 0;
    header->n_stations = 1;
    if (!need_int(cards, "OBSNCHAN", 1 << 24, &n_all, error) ||
        !need_int(cards, "NPOL", 4, &n_parts, error) ||
        !read_int(cards, "NANTS", 1, 1 << 16, &header->n_stations, error) ||
        !read_int(cards, "NBEAM", 0, G_MAXINT64, &n_beams, error))
        return FALSE;
    if (n_parts == 3)
        return fail(error, "NPOL", "1, 2 or 4", "3");
    /* 4 are the products of two polarisations. */
    header->n_pols = n_parts == 1 ? 1 : 2;
    /* The block of a beam names the stations of which it was made. */
    if (n_beams > 0)
        header->n_stations = 1;
    header->n_channels = n_all / header->n_stations;
    if (n_all % header->n_stations == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "OBSNCHAN wants the same number of channels for each of %" G_GINT64_FORMAT
                " stations (NANTS), but is given '%" G_GINT64_FORMAT "'",
                header->n_stations, n_all);
    return FALSE;
}

static gboolean
read_block(const Cards *cards, GuppiHeader *header, GError **error)
{
    gint64 direct = 0;
    if (!read_type(cards, header, error) || !read_shape(cards, header, error) ||
        !need_int(cards, "BLOCSIZE", (gint64)1 << 40, &header->block_bytes, error) ||
        !read_int(cards, "DIRECTIO", G_MININT64, G_MAXINT64, &direct, error))
        return FALSE;
    header->bytes = cards->n;
    if (direct != 0)
        header->bytes = (header->bytes + DIRECT_BYTES - 1) / DIRECT_BYTES * DIRECT_BYTES;
    const gint64 sample_bits =
        2 * header->bits * header->n_stations * header->n_channels * header->n_pols;
    header->n_samples = header->block_bytes * 8 / sample_bits;
    if (header->n_samples == 0 || header->block_bytes * 8 % sample_bits != 0) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "BLOCSIZE wants whole samples of %" G_GINT64_FORMAT
                    " bits, but is given '%" G_GINT64_FORMAT "' bytes",
                    sample_bits, header->block_bytes);
        return FALSE;
    }
    return read_int(cards, "OVERLAP", 0, header->n_samples - 1, &header->overlap, error);
}

/* ---- time ---- */

static gboolean
read_index(const Cards *cards, GuppiHeader *header, GError **error)
{
    const gint64 most = (gint64)1 << 60, step = header->n_samples - header->overlap;
    /* Blocks of fewer bits were requantised: their packets had 8. */
    const gint64 step_bytes = step * header->n_stations * header->n_channels * header->n_pols * 2 *
                              MAX(header->bits, 8) / 8;
    gint64 index = -1, per_block = 0, per_packet = 0, packet_bytes = 0, start = 0, synchronised = 0;
    gdouble dropped = 0;
    if (!read_int(cards, "PKTIDX", 0, most, &index, error) ||
        !read_int(cards, "PIPERBLK", 0, most, &per_block, error) ||
        !read_int(cards, "PKTNTIME", 0, most, &per_packet, error) ||
        !read_int(cards, "PKTSIZE", 0, most, &packet_bytes, error) ||
        !read_int(cards, "PKTSTART", 0, most, &start, error) ||
        !read_int(cards, "SYNCTIME", 0, most, &synchronised, error))
        return FALSE;
    /* Recorders may leave other values here, which say nothing. */
    header->is_dropped = read_real(cards, "DROPBLK", &dropped, NULL, NULL) && dropped == 1;
    read_int(cards, "PKTSTOP", 0, most, &header->stop, NULL);
    header->has_index = index >= 0;
    header->index = MAX(index, 0);
    if (per_block > 0)
        header->index_step = per_block;
    else if (per_packet > 0 && step % per_packet == 0)
        header->index_step = step / per_packet;
    else if (packet_bytes > 0 && step_bytes % packet_bytes == 0)
        header->index_step = step_bytes / packet_bytes;
    /* Recorders that set PKTSTART count from SYNCTIME; their STT_* is the time of PKTSTART. The
     * others count from STT_*. */
    header->index_origin = start > 0 ? start : synchronised > 0 ? -1 : 0;
    return TRUE;
}

static gboolean
read_time(const Cards *cards, GuppiHeader *header, GError **error)
{
    gint64 day = -1, second = 0;
    gdouble fraction = 0;
    if (!read_int(cards, "STT_IMJD", 0, 1000000, &day, error) ||
        !read_int(cards, "STT_SMJD", 0, DAY, &second, error) ||
        !read_real(cards, "STT_OFFS", &fraction, NULL, error))
        return FALSE;
    if (fabs(fraction) > DAY) {
        char value[GUPPI_TEXT_BYTES];
        find(cards, "STT_OFFS", value);
        return fail(error, "STT_OFFS", "a part of a second", value);
    }
    header->has_time = day > 0;
    header->second = (day - MJD_OF_UNIX) * DAY + second + (gint64)floor(fraction);
    header->fraction = fraction - floor(fraction);
    return TRUE;
}

/* The largest rate; the fractions below have numbers of which 64 bits can hold 1024 ticks. */
#define MOST_HERTZ 4e9

/* The rate as the fraction that `text` stands for or, if that has large numbers, the simplest one
 * that has the same 15 digits: 10/3 for 3.3333333333333333. */
static void
set_rate(GuppiHeader *header, const char *text)
{
    CtQuantity rate = {0};
    if (!ct_quantity_parse(&rate, text, "Hz", NULL))
        rate.value = 0;
    const gboolean is_exact = rate.denominator > 0 && rate.numerator < (gint64)1 << 52;
    const gboolean fits = rate.value >= 1e-3 && rate.value <= MOST_HERTZ;
    header->rate_num = fits ? rate.numerator : 0;
    header->rate_den = rate.denominator;
    if (fits && !is_exact)
        ct_quantity_approximate(rate.value, 1e-15 * rate.value, &header->rate_num,
                                &header->rate_den);
}

/* The rate is the width of a channel, which is written exactly, if TBIN says the same; with an
 * oversampling filter bank it does not, and TBIN counts. */
static gboolean
read_rate(const Cards *cards, GuppiHeader *header, GError **error)
{
    char width[GUPPI_TEXT_BYTES] = "", interval[GUPPI_TEXT_BYTES] = "", band[GUPPI_TEXT_BYTES] = "";
    gdouble of_band = 0, of_channel = 0, seconds = 0, centre = NAN;
    if (!read_real(cards, "OBSBW", &of_band, band, error) ||
        !read_real(cards, "CHAN_BW", &of_channel, width, error) ||
        !read_real(cards, "TBIN", &seconds, interval, error) ||
        !read_real(cards, "OBSFREQ", &centre, NULL, error))
        return FALSE;
    const gint64 n = header->n_channels;
    const gdouble step = of_band != 0 ? of_band / (gdouble)n : of_channel;
    if (step != 0) {
        const char *text = of_band != 0 ? band : width;
        text += *text == '-' || *text == '+';
        g_autofree char *exact =
            g_strdup_printf("%s/%" G_GINT64_FORMAT " MHz", text, of_band != 0 ? n : (gint64)1);
        set_rate(header, exact);
    }
    if (seconds != 0 && fabs(fabs(step) * 1e6 * seconds - 1) > 1e-6) {
        g_autofree char *inverse = g_strdup_printf("1/%s Hz", interval);
        set_rate(header, inverse);
    }
    header->has_frequency = isfinite(centre) && step != 0;
    if (header->has_frequency) {
        header->frequency_step = step * 1e6;
        header->first_frequency = (centre - step * (gdouble)(n - 1) / 2) * 1e6;
    }
    if (header->rate_num > 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "TBIN wants the seconds from one sample to the next, for a rate from 1 mHz to 4 "
                "GHz, but is given '%s' (and OBSBW '%s')",
                interval, band);
    return FALSE;
}

/* ---- facts ---- */

static void
read_text(const Cards *cards, const char *keyword, char text[GUPPI_TEXT_BYTES])
{
    char value[GUPPI_TEXT_BYTES];
    if (find(cards, keyword, value) && g_utf8_validate(value, -1, NULL) &&
        g_ascii_strcasecmp(value, "unknown") != 0 && g_ascii_strcasecmp(value, "unset") != 0)
        memcpy(text, value, GUPPI_TEXT_BYTES);
}

/* RA_STR and DEC_STR, in hours and degrees, or RA and DEC, in degrees. A direction that cannot be
 * read is not known. */
static void
read_direction(const Cards *cards, GuppiHeader *header)
{
    char text[2][GUPPI_TEXT_BYTES];
    gdouble degrees[2] = {NAN, NAN};
    header->has_direction =
        find(cards, "RA_STR", text[0]) && find(cards, "DEC_STR", text[1]) && strchr(text[0], ':') &&
        strchr(text[1], ':') && ct_angle_parse(text[0], TRUE, &header->direction[0], NULL) &&
        ct_angle_parse(text[1] + (text[1][0] == '+'), FALSE, &header->direction[1], NULL);
    if (!header->has_direction) {
        header->has_direction = read_real(cards, "RA", &degrees[0], NULL, NULL) &&
                                read_real(cards, "DEC", &degrees[1], NULL, NULL) &&
                                isfinite(degrees[0]) && isfinite(degrees[1]);
        for (guint i = 0; i < 2; i++)
            header->direction[i] = degrees[i] * (G_PI / 180);
    }
    header->has_direction = header->has_direction && fabs(header->direction[1]) <= G_PI / 2;
}

char **
guppi_header_stations(const guint8 *cards, gsize n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    char value[GUPPI_TEXT_BYTES], keyword[KEYWORD_BYTES + 1];
    for (guint i = 0; i < 100; i++) {
        g_snprintf(keyword, sizeof keyword, "ANTNMS%02u", i);
        if (!find(&(Cards){cards, n}, keyword, value))
            break;
        g_auto(GStrv) some = g_strsplit(value, ",", -1);
        for (guint k = 0; some[k]; k++)
            if (*g_strstrip(some[k]) != '\0')
                g_ptr_array_add(names, g_strdup(some[k]));
    }
    g_ptr_array_add(names, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
}

gboolean
guppi_header_parse(const guint8 *bytes, gsize n, GuppiHeader *header, GError **error)
{
    const Cards cards = {bytes, n};
    GuppiHeader read = {0};
    gint64 hand = 1;
    if (!read_block(&cards, &read, error) || !read_index(&cards, &read, error) ||
        !read_time(&cards, &read, error) || !read_rate(&cards, &read, error))
        return FALSE;
    read_text(&cards, "TELESCOP", read.telescope);
    read_text(&cards, "SRC_NAME", read.source);
    read_text(&cards, "PROJID", read.project);
    read_text(&cards, "OBSERVER", read.observer);
    read_text(&cards, "FD_POLN", read.polarisation);
    read.is_left_handed = read_int(&cards, "FD_HAND", -1, 1, &hand, NULL) && hand == -1;
    read_direction(&cards, &read);
    *header = read;
    return TRUE;
}
