/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of a PSRFITS file: when they begin, what their weights, scales and offsets are. */
#include "psrfits-rows.h"

#include <cornerturn/packets.h>
#include <cornerturn/stage.h>
#include <math.h>
#include <string.h>

void
psrfits_rows_clear(PsrfitsRows *rows)
{
    psrfits_table_clear(&rows->table);
    g_clear_pointer(&rows->begin, g_free);
}

/* ---- columns ---- */

/* Numbers are big-endian in FITS files. */
static gdouble
number(char type, const guint8 *bytes)
{
    guint16 two;
    guint32 four;
    guint64 eight;
    gfloat single;
    gdouble real;
    switch (type) {
    case 'B':
        return *bytes;
    case 'I':
        memcpy(&two, bytes, sizeof two);
        return (gint16)GUINT16_FROM_BE(two);
    case 'J':
        memcpy(&four, bytes, sizeof four);
        return (gint32)GUINT32_FROM_BE(four);
    case 'E':
        memcpy(&four, bytes, sizeof four);
        four = GUINT32_FROM_BE(four);
        memcpy(&single, &four, sizeof single);
        return single;
    default:
        memcpy(&eight, bytes, sizeof eight);
        eight = GUINT64_FROM_BE(eight);
        memcpy(&real, &eight, sizeof real);
        return real;
    }
}

gboolean
psrfits_rows_get(const PsrfitsRows *rows, guint which, gint64 row, gdouble *values, GError **error)
{
    const PsrfitsColumn *column = &rows->table.columns[which];
    const gint64 at = rows->table.begin + row * rows->table.row_bytes + column->offset;
    const gsize n = (gsize)(column->n * column->bytes);
    g_autofree guint8 *bytes = ct_table_new(n, 1, "a column", error);
    if (!bytes || !ct_file_read(rows->path, rows->fd, at, bytes, n, error))
        return FALSE;
    for (gint64 i = 0; i < column->n; i++)
        values[i] = number(column->type, bytes + i * column->bytes) + column->zero;
    return TRUE;
}

/* ---- times ---- */

/* The sample with which row `row` begins, from its time and that of the first one, in seconds; −1
 * if it is before the end of the row before. */
static gint64
find_begin(const PsrfitsRows *rows, gint64 row, gdouble first, gdouble time)
{
    const gint64 expected = rows->begin[row - 1] + rows->table.row_samples;
    const gdouble sample = (time - first) / rows->table.period;
    if (fabs(sample - (gdouble)expected) <= 0.5)
        return expected;
    return sample > (gdouble)expected && sample < 0x1p52 ? llrint(sample) : -1;
}

static gboolean
find_times(PsrfitsRows *rows, GError **error)
{
    const PsrfitsTable *table = &rows->table;
    const gdouble row_time = (gdouble)table->row_samples * table->period;
    const gboolean has_times = table->columns[PSRFITS_OFFS_SUB].n == 1;
    gdouble first = 0, time;
    for (gint64 i = 0; i < rows->n_rows; i++) {
        rows->begin[i] = i * table->row_samples;
        if (!has_times || rows->is_disordered)
            continue;
        if (!psrfits_rows_get(rows, PSRFITS_OFFS_SUB, i, &time, error))
            return FALSE;
        if (i == 0)
            first = time;
        else
            rows->begin[i] = find_begin(rows, i, first, time);
        if (rows->begin[i] < 0 || !isfinite(time))
            rows->is_disordered = TRUE;
    }
    if (rows->is_disordered)
        for (gint64 i = 0; i < rows->n_rows; i++)
            rows->begin[i] = i * table->row_samples;
    /* Of a part of a recording, times may count from its own start, and NSUBOFFS from the whole's.
     */
    if (has_times && rows->n_rows > 0 && !rows->is_disordered)
        rows->later = first - row_time / 2;
    if (fabs(rows->later) < table->period / 2)
        rows->later = table->rows_before > 0 ? (gdouble)table->rows_before * row_time : 0;
    return TRUE;
}

/* ---- gaps, scales ---- */

static gboolean
note_weights(const PsrfitsRows *rows, CtGaps *gaps, gint64 row, gint64 n, gdouble *values,
             GError **error)
{
    const gint64 before = row == 0 ? 0 : rows->begin[row - 1] + rows->table.row_samples;
    const gint64 n_lanes = ct_gaps_n_lanes(gaps);
    for (gint64 lane = 0; lane < n_lanes; lane++)
        ct_gaps_add(gaps, lane, before, rows->begin[row] - before);
    if (rows->table.columns[PSRFITS_DAT_WTS].n != n_lanes || n_lanes != rows->table.n_channels)
        return TRUE;
    if (!psrfits_rows_get(rows, PSRFITS_DAT_WTS, row, values, error))
        return FALSE;
    for (gint64 lane = 0; lane < n_lanes; lane++)
        if (values[lane] == 0)
            ct_gaps_add(gaps, lane, rows->begin[row], n);
    return TRUE;
}

static gboolean
note_scales(PsrfitsRows *rows, guint which, gdouble plain, gint64 row, gdouble *values,
            GError **error)
{
    const PsrfitsColumn *column = &rows->table.columns[which];
    if (rows->is_scaled || column->n == 0)
        return TRUE;
    if (!psrfits_rows_get(rows, which, row, values, error))
        return FALSE;
    for (gint64 i = 0; i < column->n; i++)
        rows->is_scaled |= values[i] != plain;
    return TRUE;
}

gboolean
psrfits_rows_scan(PsrfitsRows *rows, CtGaps *gaps, GError **error)
{
    const PsrfitsTable *table = &rows->table;
    gint64 most = 1;
    for (guint i = 0; i < PSRFITS_DATA; i++)
        most = MAX(most, table->columns[i].n);
    rows->begin = CT_TABLE(gint64, MAX(rows->n_rows, 1), "rows", error);
    g_autofree gdouble *values = CT_TABLE(gdouble, most, "a column", error);
    if (!rows->begin || !values || !find_times(rows, error))
        return FALSE;
    /* Of the last row, NSTOT tells what is padding; headers that don't count so have 0, or more. */
    const gint64 padding = rows->n_rows * table->row_samples - table->n_samples;
    const gint64 last = rows->n_rows == table->n_rows && padding > 0 && padding < table->row_samples
                            ? table->row_samples - padding
                            : table->row_samples;
    rows->is_scaled = table->zero != 0 && !isnan(table->zero);
    for (gint64 i = 0; i < rows->n_rows; i++) {
        const gint64 n = i + 1 == rows->n_rows ? last : table->row_samples;
        if ((gaps && !note_weights(rows, gaps, i, n, values, error)) ||
            !note_scales(rows, PSRFITS_DAT_SCL, 1, i, values, error) ||
            !note_scales(rows, PSRFITS_DAT_OFFS, 0, i, values, error))
            return FALSE;
        rows->n_samples = rows->begin[i] + n;
    }
    return TRUE;
}
