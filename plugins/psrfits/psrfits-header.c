/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a PSRFITS file in search mode before its rows, which the CFITSIO library makes in
 * memory. */
#include "psrfits-header.h"

#include "psrfits-library.h"

#include <stdlib.h>
#include <string.h>

#define MEGAHERTZ 1e6
#define DEGREE    (G_PI / 180)

static gint64
data_bytes(const PsrfitsShape *shape)
{
    gint64 bits;
    if (__builtin_mul_overflow(shape->row_samples, shape->n_products, &bits) ||
        __builtin_mul_overflow(bits, shape->channels->n, &bits) ||
        __builtin_mul_overflow(bits, (gint64)shape->bits, &bits) || bits > G_MAXINT64 / 2)
        return -1;
    return bits / 8;
}

PsrfitsRow
psrfits_row(const PsrfitsShape *shape)
{
    const gint64 n = shape->channels->n, data = data_bytes(shape);
    const gboolean has_direction = ct_observation_facts(shape->stream->observation)->has_direction;
    PsrfitsRow row = {.duration = 0, .middle = 8, .direction = has_direction ? 16 : -1};
    row.frequencies = has_direction ? 32 : 16;
    row.weights = row.frequencies + n * (gint64)sizeof(gdouble);
    row.offsets = row.weights + n * (gint64)sizeof(gfloat);
    row.scales = row.offsets + n * shape->n_products * (gint64)sizeof(gfloat);
    row.data = row.scales + n * shape->n_products * (gint64)sizeof(gfloat);
    if (data < 0 || __builtin_add_overflow(row.data, data, &row.bytes))
        row.bytes = -1;
    return row;
}

/* ---- keywords ---- */

static void
put_text(fitsfile *file, const char *key, const char *text, const char *comment, int *status)
{
    enum { MOST = 68 }; /* that a card holds */
    g_autofree char *ascii = g_str_to_ascii(text ? text : "", "C");
    for (char *c = ascii; *c; c++)
        if (!g_ascii_isprint(*c))
            *c = '?';
    if (strlen(ascii) > MOST)
        ascii[MOST] = 0;
    fits_update_key_str(file, key, ascii, comment, status);
}

static void
put_whole(fitsfile *file, const char *key, gint64 value, const char *comment, int *status)
{
    fits_update_key_lng(file, key, value, comment, status);
}

/* As few digits as give the value back. */
static void
put_real(fitsfile *file, const char *key, gdouble value, const char *comment, int *status)
{
    enum { FEW = 15, ALL = 17 };
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    value += 0.0; /* no −0 */
    g_ascii_formatd(text, sizeof text, "%.15g", value);
    const int digits = g_ascii_strtod(text, NULL) == value ? FEW : ALL;
    fits_update_key_dbl(file, key, value, -digits, comment, status);
}

/* "05:34:31.9700000": seconds are rounded first, so that none is 60. */
static char *
format_angle(gdouble radians, gboolean is_hours)
{
    enum { PER_SECOND = 10000000, MINUTE = 60, HOUR = 3600 };
    const gdouble units = radians / DEGREE / (is_hours ? 15 : 1);
    gint64 parts = llrint(fabs(units) * HOUR * PER_SECOND);
    const gint64 turn = (gint64)24 * HOUR * PER_SECOND;
    if (is_hours)
        parts = units < 0 ? (turn - parts % turn) % turn : parts % turn;
    const gint64 seconds = parts / PER_SECOND;
    const char *sign = is_hours ? "" : units < 0 ? "-" : "+";
    return g_strdup_printf("%s%02d:%02d:%02d.%07d", sign, (int)(seconds / HOUR),
                           (int)(seconds / MINUTE % MINUTE), (int)(seconds % MINUTE),
                           (int)(parts % PER_SECOND));
}

static void
put_observation(fitsfile *file, const PsrfitsShape *shape, int *status)
{
    const CtObservationFacts *facts = ct_observation_facts(shape->stream->observation);
    g_autofree char *ra =
        facts->has_direction ? format_angle(facts->direction[0], TRUE) : g_strdup("00:00:00");
    g_autofree char *dec =
        facts->has_direction ? format_angle(facts->direction[1], FALSE) : g_strdup("+00:00:00");
    put_text(file, "OBSERVER", facts->observer, "Observer name(s)", status);
    put_text(file, "PROJID", facts->project, "Project name", status);
    put_text(file, "TELESCOP", facts->telescope, "Telescope name", status);
    if (facts->has_location) {
        put_real(file, "ANT_X", facts->location[0], "[m] Antenna ITRF X-coordinate", status);
        put_real(file, "ANT_Y", facts->location[1], "[m] Antenna ITRF Y-coordinate", status);
        put_real(file, "ANT_Z", facts->location[2], "[m] Antenna ITRF Z-coordinate", status);
    }
    put_text(file, "FRONTEND", shape->frontend, "Receiver ID", status);
    put_whole(file, "NRCVR", shape->n_products > 1 ? 2 : 1, "Receiver polarisation channels",
              status);
    put_text(file, "FD_POLN", shape->feed, "LIN or CIRC", status);
    put_text(file, "BACKEND", shape->backend, "Backend ID", status);
    put_text(file, "OBS_MODE", "SEARCH", "PSR, CAL, SEARCH", status);
    put_text(file, "SRC_NAME", facts->source, "Source or scan ID", status);
    put_text(file, "COORD_MD", "J2000", "Coordinate mode", status);
    put_real(file, "EQUINOX", 2000, "Equinox of coords", status);
    put_text(file, "RA", ra, "Right ascension (hh:mm:ss.ssss)", status);
    put_text(file, "DEC", dec, "Declination (-dd:mm:ss.sss)", status);
    put_real(file, "BMAJ", 0, "[deg] Beam major axis length; 0: not known", status);
    put_real(file, "BMIN", 0, "[deg] Beam minor axis length; 0: not known", status);
    put_text(file, "TRK_MODE", facts->has_direction ? "TRACK" : "", "Track mode", status);
}

/* The start, UTC; all 0 if the stream does not know it. */
static void
put_start(fitsfile *file, const CtStream *stream, int *status)
{
    gint64 day = 0, second = 0;
    gdouble part = 0;
    g_autofree char *utc = ct_stream_utc(stream, stream->start);
    if (stream->epoch != CT_NO_EPOCH)
        ct_filterbank_get_time(stream, stream->start, &day, &second, &part);
    if (utc) /* to the millisecond */
        utc[strlen("2022-06-29T01:30:00.000")] = 0;
    put_text(file, "DATE-OBS", utc, "UTC date of observation", status);
    put_whole(file, "STT_IMJD", day, "Start MJD (UTC days)", status);
    put_whole(file, "STT_SMJD", second, "[s] Start time (sec past UTC 00h)", status);
    put_real(file, "STT_OFFS", part, "[s] Start time offset", status);
}

static gdouble
centre(const CtChannels *channels)
{
    return (channels->frequencies[0] + channels->frequencies[channels->n - 1]) / 2 / MEGAHERTZ;
}

static void
make_primary(fitsfile *file, const PsrfitsShape *shape, int *status)
{
    const CtChannels *channels = shape->channels;
    const gdouble width = (gdouble)channels->n * channels->step / MEGAHERTZ;
    fits_create_img(file, BYTE_IMG, 0, NULL, status);
    put_text(file, "HDRVER", "6.1", "Header version", status);
    put_text(file, "FITSTYPE", "PSRFITS", "FITS definition for pulsar data files", status);
    fits_write_date(file, status);
    put_observation(file, shape, status);
    put_real(file, "OBSFREQ", centre(channels), "[MHz] Centre frequency for observation", status);
    put_real(file, "OBSBW", width, "[MHz] Bandwidth for observation", status);
    put_whole(file, "OBSNCHAN", channels->n, "Number of frequency channels", status);
    put_real(file, "CHAN_DM", 0, "[cm-3 pc] DM used for on-line dedispersion", status);
    put_start(file, shape->stream, status);
}

static void
put_shape(fitsfile *file, const PsrfitsShape *shape, int *status)
{
    const CtStream *stream = shape->stream;
    const gint dm = ct_stream_axis(stream, "dm");
    const gdouble dispersion = dm >= 0 ? ct_stream_coordinate(stream, (guint)dm, 0, 0) : 0;
    put_text(file, "INT_TYPE", "TIME", "Time axis", status);
    put_text(file, "INT_UNIT", "SEC", "Unit of time axis", status);
    put_text(file, "SCALE", "FluxDen", "Intensity units", status);
    put_text(file, "POL_TYPE", shape->products, "Polarisation identifier", status);
    put_whole(file, "NPOL", shape->n_products, "Nr of polarisations", status);
    put_real(file, "TBIN", ct_filterbank_period(stream), "[s] Time per sample", status);
    put_whole(file, "NBIN", 1, "Nr of bins (PSR/CAL mode; else 1)", status);
    put_whole(file, "NBIN_PRD", 0, "Nr of bins/pulse period (for gated data)", status);
    put_real(file, "PHS_OFFS", 0, "Phase offset of bin 0 for gated data", status);
    put_whole(file, "NBITS", shape->bits, "Nr of bits/datum (SEARCH mode)", status);
    put_real(file, "ZERO_OFF", 0, "Zero offset for SEARCH-mode data", status);
    put_whole(file, "SIGNINT", shape->is_signed, "1 for signed ints in SEARCH-mode data", status);
    put_whole(file, "NSUBOFFS", 0, "Subint offset", status);
    put_whole(file, "NCHAN", shape->channels->n, "Number of channels in this file", status);
    put_real(file, "CHAN_BW", shape->channels->step / MEGAHERTZ, "[MHz] Channel width", status);
    put_real(file, "REFFREQ", centre(shape->channels), "[MHz] Reference frequency", status);
    put_real(file, "DM", dispersion, "[cm-3 pc] DM for post-detection dedispersion", status);
    put_real(file, "RM", 0, "[rad m-2] RM for post-detection deFaraday", status);
    put_whole(file, "NCHNOFFS", 0, "Channel offset for split files", status);
    put_whole(file, "NSBLK", shape->row_samples, "Samples/row (SEARCH mode)", status);
    put_whole(file, "NSTOT", 0, "Total number of samples (SEARCH mode)", status);
}

/* ---- the table ---- */

static void
make_table(fitsfile *file, const PsrfitsShape *shape, int *status)
{
    static const char *const names[] = {"TSUBINT", "OFFS_SUB", "RA_SUB",  "DEC_SUB", "DAT_FREQ",
                                        "DAT_WTS", "DAT_OFFS", "DAT_SCL", "DATA"};
    static const char *const units[] = {"s", "s", "deg", "deg", "MHz", "", "", "", ""};
    enum { N = G_N_ELEMENTS(names), RA = 2, DEC = 3 };
    const gboolean has_direction = ct_observation_facts(shape->stream->observation)->has_direction;
    const gint64 n = shape->channels->n, all = n * shape->n_products;
    const char code = shape->bits == 32 ? 'E' : shape->bits == 16 ? 'I' : 'B';
    const gint64 n_data = data_bytes(shape) / (shape->bits < 8 ? 1 : shape->bits / 8);
    g_autofree char *of_channels = g_strdup_printf("%" G_GINT64_FORMAT "D", n);
    g_autofree char *of_weights = g_strdup_printf("%" G_GINT64_FORMAT "E", n);
    g_autofree char *of_all = g_strdup_printf("%" G_GINT64_FORMAT "E", all);
    g_autofree char *of_data = g_strdup_printf("%" G_GINT64_FORMAT "%c", n_data, code);
    const char *const forms[] = {"1D",       "1D",   "1D",   "1D",   of_channels,
                                 of_weights, of_all, of_all, of_data};
    char *name[N], *form[N], *unit[N];
    int count = 0;
    for (int i = 0; i < N; i++) {
        if ((i == RA || i == DEC) && !has_direction)
            continue;
        name[count] = (char *)names[i];
        form[count] = (char *)forms[i];
        unit[count++] = (char *)units[i];
    }
    fits_create_tbl(file, BINARY_TBL, 0, count, name, form, unit, "SUBINT", status);
    /* Elements of less than a byte have no place in a dimension. */
    if (shape->bits >= 8) {
        g_autofree char *key = g_strdup_printf("TDIM%d", count);
        g_autofree char *dimensions =
            g_strdup_printf("(1,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ")", n,
                            shape->n_products, shape->row_samples);
        put_text(file, key, dimensions, "NBIN, NCHAN, NPOL, NSBLK", status);
    }
    put_shape(file, shape, status);
}

/* ---- the bytes ---- */

/* The byte where the value of a keyword of the table begins; −1: it is not there. */
static gint64
find_value(const guint8 *bytes, gsize from, gsize n, const char *key)
{
    enum { CARD = 80, NAME = 8, VALUE = 10 };
    g_autofree char *name = g_strdup_printf("%-8s= ", key);
    for (gsize at = from; at + CARD <= n; at += CARD)
        if (memcmp(bytes + at, name, NAME + 2) == 0)
            return (gint64)at + VALUE;
    return -1;
}

static gboolean
make(PsrfitsHeader *header, const char *path, const PsrfitsShape *shape, GError **error)
{
    static const char what[] = "the header can't be made";
    size_t room = PSRFITS_RECORD;
    void *bytes = malloc(room);
    fitsfile *file = NULL;
    int status = 0;
    LONGLONG begin = 0, end = 0, none;
    fits_create_memfile(&file, &bytes, &room, PSRFITS_RECORD, realloc, &status);
    if (file) {
        make_primary(file, shape, &status);
        make_table(file, shape, &status);
        fits_flush_file(file, &status);
        fits_get_hduaddrll(file, &begin, &end, &none, &status);
        int closing = 0;
        fits_close_file(file, status ? &closing : &status);
    }
    const gboolean good = status == 0 && end > begin && (size_t)end <= room;
    if (good) {
        header->bytes = g_bytes_new(bytes, (gsize)end);
        header->n_rows = find_value(bytes, (gsize)begin, (gsize)end, "NAXIS2");
        header->n_samples = find_value(bytes, (gsize)begin, (gsize)end, "NSTOT");
    }
    free(bytes);
    return (good && header->n_rows >= 0 && header->n_samples >= 0) ||
           psrfits_error(error, path, what, status);
}

gboolean
psrfits_header_make(PsrfitsHeader *header, const char *path, const PsrfitsShape *shape,
                    GError **error)
{
    psrfits_begin();
    const gboolean good = make(header, path, shape, error);
    psrfits_end();
    return good;
}

void
psrfits_header_clear(PsrfitsHeader *header)
{
    g_clear_pointer(&header->bytes, g_bytes_unref);
}
