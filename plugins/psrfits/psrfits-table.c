/* SPDX-License-Identifier: BSD-3-Clause */
/* What the headers of a PSRFITS file in search mode say. */
#include "psrfits-table.h"

#include "psrfits-library.h"

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

/* Values that are not known are `*`, which is no number. */
static gdouble
get_real(fitsfile *file, const char *key)
{
    double value = NAN;
    int status = 0;
    fits_read_key(file, TDOUBLE, key, &value, NULL, &status);
    return status == 0 && isfinite(value) ? value : NAN;
}

static gint64
get_whole(fitsfile *file, const char *key)
{
    const gdouble value = get_real(file, key);
    LONGLONG whole = -1;
    int status = 0;
    if (!(value >= 0 && value < 0x1p62))
        return -1;
    fits_read_key(file, TLONGLONG, key, &whole, NULL, &status);
    return status == 0 && whole >= 0 ? whole : -1;
}

static char *
get_text(fitsfile *file, const char *key)
{
    char value[FLEN_VALUE] = "";
    int status = 0;
    fits_read_key(file, TSTRING, key, value, NULL, &status);
    if (status != 0)
        return NULL;
    g_strstrip(value);
    return *value ? g_utf8_make_valid(value, -1) : NULL;
}

static void
read_primary(PsrfitsTable *table, fitsfile *file)
{
    static const char *const location[] = {"ANT_X", "ANT_Y", "ANT_Z"};
    table->telescope = get_text(file, "TELESCOP");
    table->source = get_text(file, "SRC_NAME");
    table->project = get_text(file, "PROJID");
    table->observer = get_text(file, "OBSERVER");
    table->ra = get_text(file, "RA");
    table->dec = get_text(file, "DEC");
    table->centre = get_real(file, "OBSFREQ");
    table->day = get_whole(file, "STT_IMJD");
    table->second = get_real(file, "STT_SMJD");
    table->part = get_real(file, "STT_OFFS");
    for (guint i = 0; i < G_N_ELEMENTS(location); i++)
        table->location[i] = get_real(file, location[i]);
}

static void
read_shape(PsrfitsTable *table, fitsfile *file)
{
    table->bits = get_whole(file, "NBITS");
    table->n_channels = get_whole(file, "NCHAN");
    table->n_products = get_whole(file, "NPOL");
    table->row_samples = get_whole(file, "NSBLK");
    table->n_samples = get_whole(file, "NSTOT");
    table->rows_before = get_whole(file, "NSUBOFFS");
    table->is_signed = get_whole(file, "SIGNINT") > 0;
    table->period = get_real(file, "TBIN");
    table->zero = get_real(file, "ZERO_OFF");
    table->width = get_real(file, "CHAN_BW");
    table->products = get_text(file, "POL_TYPE");
}

/* ---- columns ---- */

static char
type_of(int code, gint64 *bytes)
{
    static const struct {
        int code;
        char type;
        gint64 bytes;
    } types[] = {
        {TBYTE, 'B', 1}, {TSHORT, 'I', 2}, {TLONG, 'J', 4}, {TFLOAT, 'E', 4}, {TDOUBLE, 'D', 8},
    };
    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        if (types[i].code == code) {
            *bytes = types[i].bytes;
            return types[i].type;
        }
    return 0;
}

static gboolean
read_column(PsrfitsTable *table, const char *path, fitsfile *file, guint which, GError **error)
{
    PsrfitsColumn *column = &table->columns[which];
    int number = 0, status = 0;
    gint64 end;
    fits_get_colnum(file, CASEINSEN, (char *)psrfits_columns[which], &number, &status);
    if (status != 0 || number < 1 || number > file->Fptr->tfield)
        return TRUE; /* it is not there */
    /* The library has no function for the place of a column. */
    const tcolumn *from = &file->Fptr->tableptr[number - 1];
    column->type = type_of(from->tdatatype, &column->bytes);
    column->offset = from->tbcol;
    column->n = from->trepeat;
    column->zero = from->tzero;
    if (column->type == 0)
        return refuse(path, error, "wants column %s of TFORM B, I, J, E or D, but is given %s",
                      psrfits_columns[which], from->tform);
    if (from->tscale != 1 || !isfinite(from->tzero))
        return refuse(path, error, "wants column %s without TSCAL, but is given %g",
                      psrfits_columns[which], from->tscale);
    if (column->n < 1 || column->offset < 0 ||
        __builtin_mul_overflow(column->n, column->bytes, &end) ||
        __builtin_add_overflow(end, column->offset, &end) || end > table->row_bytes)
        return refuse(path, error,
                      "wants column %s within its row of %" G_GINT64_FORMAT
                      " bytes, but is given %" G_GINT64_FORMAT
                      " elements at byte %" G_GINT64_FORMAT,
                      psrfits_columns[which], table->row_bytes, column->n, column->offset);
    if (which == PSRFITS_DATA) {
        g_autofree char *key = g_strdup_printf("TDIM%d", number);
        table->dimensions = get_text(file, key);
    }
    return TRUE;
}

/* ---- the file ---- */

static gboolean
read_headers(PsrfitsTable *table, const char *path, fitsfile *file, GError **error)
{
    int status = 0;
    LONGLONG begin = 0, none;
    g_autofree char *kind = get_text(file, "FITSTYPE");
    g_autofree char *mode = get_text(file, "OBS_MODE");
    if (g_strcmp0(kind, "PSRFITS") != 0)
        return refuse(path, error, "wants FITSTYPE PSRFITS, but is given %s", kind ? kind : "none");
    if (g_strcmp0(mode, "SEARCH") != 0)
        return refuse(path, error,
                      "wants OBS_MODE SEARCH, for data of other modes are folded, but is given %s",
                      mode ? mode : "none");
    read_primary(table, file);
    if (fits_movnam_hdu(file, BINARY_TBL, "SUBINT", 0, &status) != 0)
        return psrfits_error(error, path, "wants a table SUBINT", status);
    fits_get_hduaddrll(file, NULL, &begin, &none, &status);
    if (status != 0)
        return psrfits_error(error, path, "the table SUBINT can't be read", status);
    table->begin = begin;
    table->row_bytes = file->Fptr->rowlength;
    table->n_rows = file->Fptr->numrows;
    if (table->begin < 0 || table->row_bytes < 1 || table->n_rows < 0)
        return refuse(path, error,
                      "wants rows of at least a byte, but is given NAXIS1 %" G_GINT64_FORMAT
                      " and NAXIS2 %" G_GINT64_FORMAT,
                      table->row_bytes, table->n_rows);
    read_shape(table, file);
    for (guint i = 0; i < PSRFITS_N_COLUMNS; i++)
        if (!read_column(table, path, file, i, error))
            return FALSE;
    return TRUE;
}

/* The library gets the file that is open, and only if it is FITS: it would also unpack a compressed
 * one, or take a part of the name for a filter. */
gboolean
psrfits_table_read(PsrfitsTable *table, const char *path, int fd, GError **error)
{
    static const char magic[] = "SIMPLE  =";
    char first[sizeof magic - 1];
    fitsfile *file = NULL;
    int status = 0, closing = 0;
    if (!ct_file_read(path, fd, 0, first, sizeof first, error))
        return FALSE;
    if (memcmp(first, magic, sizeof first) != 0)
        return refuse(path, error, "wants a FITS file, which begins with %s", magic);
    g_autofree char *name = g_strdup_printf("/proc/self/fd/%d", fd);
    psrfits_begin();
    fits_open_diskfile(&file, name, READONLY, &status);
    const gboolean good = file && status == 0
                              ? read_headers(table, path, file, error)
                              : psrfits_error(error, path, "can't be read as FITS", status);
    if (file)
        fits_close_file(file, &closing);
    psrfits_end();
    return good;
}
