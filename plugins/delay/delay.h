/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays as functions of time, and declarations shared by the files of delay. */
#pragma once

#include <cornerturn/kit/array.h>
#include <cornerturn/kit/window.h>
#include <math.h>

/* The inputs. */
enum { DELAY_IN, DELAY_PORT };

/* τ of every series (of a station, or of each of its pols where they differ), piecewise linear in
 * time. */
typedef struct {
    gint64 n_stations; /* 1: all stations have the same delays */
    gint64 n_pols;     /* 1: all pols have the same delays */
    gint64 n_rows;     /* 1: constant */
    gint64 start;      /* tick of row 0: the stream's first; of the port, the first one after it */
    gdouble early;     /* ticks from row 0 to `start`, less than 1 */
    gdouble ticks_per_row;
    gboolean has_ends; /* the rows are those of a sample of the port: at its tick, and at the
                          next one's */
    gint64 ticks_per_sample;
    gdouble samples_per_second; /* before a filter; 0 in spectra, which are not shifted */
    gdouble *seconds;           /* [row][station][pol] */
} DelayTable;

/* The most that delays with ends change, in seconds per second. */
#define DELAY_STEEPEST 1e-4

/* The delays that the parameters or, in prepare, the port give; before that, those of the port are
 * 0. NULL on failure. */
DelayTable *delay_table_new(const CtNode *node, GError **error);
void delay_table_free(DelayTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DelayTable, delay_table_free)

static inline gint64
delay_table_length(const DelayTable *table)
{
    return table->n_rows * table->n_stations * table->n_pols;
}

/* Seconds at `tick`, constant before the first row and after the last. `per_tick`, unless NULL, is
 * set to the slope per tick. */
gdouble delay_table_at(const DelayTable *table, gint64 series, gint64 tick, gdouble *per_tick);

/* Whole samples by which a series is delayed at `tick`. */
gint64 delay_table_whole(const DelayTable *table, gint64 series, gint64 tick);

/* The line of a CtWindowChoice: samples for which the delay, its value, is linear and the shift
 * constant. The table is a DelayTable. */
void delay_table_line(gconstpointer table, gint64 series, gint64 tick, gint64 most,
                      CtWindowLine *line);
/* The most such lines of a series in n consecutive samples. */
gint64 delay_table_most_lines(gconstpointer table, gint64 n);

/* Hertz of every channel, [subband][channel], to be freed; of voltages that have no subbands, the
 * stream's frequency. NULL on failure. */
gdouble *delay_frequencies(const CtStream *stream, GError **error);

extern const CtWindow delay_window;
extern const CtVariant delay_reference;
