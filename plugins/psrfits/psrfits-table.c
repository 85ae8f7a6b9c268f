/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers of a PSRFITS file in search mode say. */
#include "psrfits-table.h"

#include "psrfits-cards.h"

#include <cornerturn/error.h>
#include <cornerturn/packets.h>
#include <math.h>
#include <string.h>

const char *const psrfits_columns[PSRFITS_N_COLUMNS] = {
    [PSRFITS_OFFS_SUB] = "OFFS_SUB", [PSRFITS_DAT_FREQ] = "DAT_FREQ", [PSRFITS_DAT_WTS] = "DAT_WTS",
    [PSRFITS_DAT_OFFS] = "DAT_OFFS", [PSRFITS_DAT_SCL] = "DAT_SCL",   [PSRFITS_DATA] = "DATA",
};

void
psrfits_table_clear(PsrfitsTable *table)
{
    g_free(table->dimensions);
    g_free(table->products);
    g_free(table->telescope);
    g_free(table->source);
    g_free(table->project);
    g_free(table->observer);
    g_free(table->ra);
    g_free(table->dec);
    *table = (PsrfitsTable){0};
}

G_GNUC_PRINTF(3, 4)
static gboolean
refuse(const char *path, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s", path, message);
    return FALSE;
}

/* ---- keywords ---- */

static void
read_primary(PsrfitsTable *table, const PsrfitsCards *cards)
{
    static const char *const location[] = {"ANT_X", "ANT_Y", "ANT_Z"};
    table->telescope = psrfits_cards_text(cards, "TELESCOP");
    table->source = psrfits_cards_text(cards, "SRC_NAME");
    table->project = psrfits_cards_text(cards, "PROJID");
    table->observer = psrfits_cards_text(cards, "OBSERVER");
    table->ra = psrfits_cards_text(cards, "RA");
    table->dec = psrfits_cards_text(cards, "DEC");
    table->centre = psrfits_cards_real(cards, "OBSFREQ");
    table->day = psrfits_cards_whole(cards, "STT_IMJD");
    table->second = psrfits_cards_real(cards, "STT_SMJD");
    table->part = psrfits_cards_real(cards, "STT_OFFS");
    for (guint i = 0; i < G_N_ELEMENTS(location); i++)
        table->location[i] = psrfits_cards_real(cards, location[i]);
}

static void
read_shape(PsrfitsTable *table, const PsrfitsCards *cards)
{
    table->bits = psrfits_cards_whole(cards, "NBITS");
    table->n_channels = psrfits_cards_whole(cards, "NCHAN");
    table->n_products = psrfits_cards_whole(cards, "NPOL");
    table->row_samples = psrfits_cards_whole(cards, "NSBLK");
    table->n_samples = psrfits_cards_whole(cards, "NSTOT");
    table->rows_before = psrfits_cards_whole(cards, "NSUBOFFS");
    table->is_signed = psrfits_cards_whole(cards, "SIGNINT") > 0;
    table->period = psrfits_cards_real(cards, "TBIN");
    table->zero = psrfits_cards_real(cards, "ZERO_OFF");
    table->width = psrfits_cards_real(cards, "CHAN_BW");
    table->products = psrfits_cards_text(cards, "POL_TYPE");
}

/* ---- columns ---- */

/* The bytes of an element of a column whose TFORM has this letter; 0: there is no such letter. Of
 * X, elements are bits. */
static gint64
bytes_of(char letter)
{
    static const char letters[] = "LXBIJKAEDCMPQ";
    static const gint64 bytes[] = {1, 1, 1, 2, 4, 8, 1, 4, 8, 8, 16, 8, 16};
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? bytes[at - letters] : 0;
}

/* Reads the TFORM of column `number`. */
static gboolean
read_form(const PsrfitsCards *cards, gint64 number, PsrfitsColumn *column, GError **error)
{
    g_autofree char *key = g_strdup_printf("TFORM%" G_GINT64_FORMAT, number);
    g_autofree char *form = psrfits_cards_text(cards, key);
    char *end = form;
    column->n = 1;
    if (form && g_ascii_isdigit(*form))
        column->n = (gint64)MIN(g_ascii_strtoull(form, &end, 10), G_MAXINT64 / 32);
    column->type = form ? *end : 0;
    column->bytes = bytes_of(column->type);
    if (column->type == 'X')
        column->n = (column->n + 7) / 8;
    return column->bytes > 0 || refuse(cards->path, error, "wants %s of FITS, but is given %s", key,
                                       form ? form : "none");
}

/* Takes column `number`, if it is one of those that are wanted. */
static gboolean
take_column(PsrfitsTable *table, const PsrfitsCards *cards, gint64 number,
            const PsrfitsColumn *column, GError **error)
{
    g_autofree char *type_key = g_strdup_printf("TTYPE%" G_GINT64_FORMAT, number);
    g_autofree char *scale_key = g_strdup_printf("TSCAL%" G_GINT64_FORMAT, number);
    g_autofree char *zero_key = g_strdup_printf("TZERO%" G_GINT64_FORMAT, number);
    g_autofree char *dimensions_key = g_strdup_printf("TDIM%" G_GINT64_FORMAT, number);
    g_autofree char *name = psrfits_cards_text(cards, type_key);
    const gdouble scale = psrfits_cards_real(cards, scale_key);
    const gdouble zero = psrfits_cards_real(cards, zero_key);
    for (guint i = 0; i < PSRFITS_N_COLUMNS && name; i++) {
        if (g_ascii_strcasecmp(name, psrfits_columns[i]) != 0 || table->columns[i].type != 0)
            continue;
        if (!strchr("BIJED", column->type))
            return refuse(cards->path, error,
                          "wants column %s of TFORM B, I, J, E or D, but is given %c", name,
                          column->type);
        if (column->n < 1)
            return refuse(cards->path, error, "wants elements of column %s, but is given none",
                          name);
        if (!isnan(scale) && scale != 1)
            return refuse(cards->path, error, "wants column %s without TSCAL, but is given %g",
                          name, scale);
        table->columns[i] = *column;
        table->columns[i].zero = isnan(zero) ? 0 : zero;
        if (i == PSRFITS_DATA)
            table->dimensions = psrfits_cards_text(cards, dimensions_key);
    }
    return TRUE;
}

static gboolean
read_columns(PsrfitsTable *table, const PsrfitsCards *cards, GError **error)
{
    enum { MOST = 999 };
    const gint64 n = psrfits_cards_whole(cards, "TFIELDS");
    gint64 end = 0, bytes;
    table->begin = cards->begin;
    table->row_bytes = psrfits_cards_whole(cards, "NAXIS1");
    table->n_rows = psrfits_cards_whole(cards, "NAXIS2");
    if (n < 0 || n > MOST || table->row_bytes < 1 || table->n_rows < 0)
        return refuse(
            cards->path, error,
            "wants a table with NAXIS1 of at least 1, NAXIS2 and TFIELDS of 0 to 999, but "
            "is given %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT,
            table->row_bytes, table->n_rows, n);
    for (gint64 i = 1; i <= n; i++) {
        PsrfitsColumn column = {.offset = end};
        if (!read_form(cards, i, &column, error))
            return FALSE;
        if (__builtin_mul_overflow(column.n, column.bytes, &bytes) ||
            __builtin_add_overflow(end, bytes, &end) || end > table->row_bytes)
            return refuse(cards->path, error,
                          "wants columns that are as long as their rows, NAXIS1 %" G_GINT64_FORMAT
                          " bytes, but is given column %" G_GINT64_FORMAT
                          " beyond them: %" G_GINT64_FORMAT " elements at byte %" G_GINT64_FORMAT,
                          table->row_bytes, i, column.n, column.offset);
        if (!take_column(table, cards, i, &column, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- the file ---- */

static gboolean
check_kind(const PsrfitsCards *cards, GError **error)
{
    g_autofree char *kind = psrfits_cards_text(cards, "FITSTYPE");
    g_autofree char *mode = psrfits_cards_text(cards, "OBS_MODE");
    if (g_strcmp0(kind, "PSRFITS") != 0)
        return refuse(cards->path, error, "wants FITSTYPE PSRFITS, but is given %s",
                      kind ? kind : "none");
    return g_strcmp0(mode, "SEARCH") == 0 ||
           refuse(cards->path, error,
                  "wants OBS_MODE SEARCH, for data of other modes are folded, but is given %s",
                  mode ? mode : "none");
}

/* A time is not made of a part of it: that would be another one. */
static gboolean
check_start(const PsrfitsCards *cards, GError **error)
{
    static const char *const keys[] = {"STT_IMJD", "STT_SMJD", "STT_OFFS"};
    for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
        if (psrfits_cards_has(cards, keys[i]) && isnan(psrfits_cards_real(cards, keys[i])))
            return refuse(cards->path, error, "wants a number as %s", keys[i]);
    const gdouble day = psrfits_cards_real(cards, keys[0]);
    if (day > 0 && psrfits_cards_whole(cards, keys[0]) < 0)
        return refuse(cards->path, error, "wants a whole number as STT_IMJD, but is given %g", day);
    return !(day > 0) || psrfits_cards_has(cards, keys[1]) ||
           refuse(cards->path, error, "wants STT_SMJD beside STT_IMJD, but is given none");
}

/* Goes on to the header of the table SUBINT. */
static gboolean
find_table(PsrfitsCards *cards, int fd, gint64 length, GError **error)
{
    enum { MOST_HEADERS = 1000 };
    const char *path = cards->path;
    for (gint i = 0; i < MOST_HEADERS; i++) {
        const gint64 at = psrfits_cards_next(cards);
        psrfits_cards_clear(cards);
        if (at < 0 || at >= length)
            break;
        if (!psrfits_cards_read(cards, path, fd, length, at, error))
            return FALSE;
        g_autofree char *kind = psrfits_cards_text(cards, "XTENSION");
        g_autofree char *name = psrfits_cards_text(cards, "EXTNAME");
        if (g_strcmp0(kind, "BINTABLE") == 0 && g_strcmp0(name, "SUBINT") == 0)
            return TRUE;
    }
    return refuse(path, error, "wants a table SUBINT, but is given none");
}

gboolean
psrfits_table_read(PsrfitsTable *table, const char *path, int fd, gint64 length, GError **error)
{
    static const char magic[] = "SIMPLE  =";
    char first[sizeof magic - 1];
    g_auto(PsrfitsCards) cards = {0};
    if (!ct_file_read(path, fd, 0, first, sizeof first, error))
        return FALSE;
    if (memcmp(first, magic, sizeof first) != 0)
        return refuse(path, error, "wants a FITS file, which begins with %s", magic);
    if (!psrfits_cards_read(&cards, path, fd, length, 0, error) || !check_kind(&cards, error) ||
        !check_start(&cards, error))
        return FALSE;
    read_primary(table, &cards);
    if (!find_table(&cards, fd, length, error) || !read_columns(table, &cards, error))
        return FALSE;
    read_shape(table, &cards);
    return TRUE;
}
