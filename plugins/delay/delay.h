/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays as functions of time, and declarations shared by the variants of delay. */
#pragma once

#include <cornerturn/stage.h>
#include <math.h>

/* τ of every series (of a station, or of each of its pols where they differ), piecewise linear in
 * time. */
typedef struct {
    gint64 n_stations;
    gint64 n_pols; /* 1: all pols have the same delays */
    gint64 n_rows; /* 1: constant */
    gint64 start;  /* tick of row 0: the stream's first */
    gdouble ticks_per_row;
    gdouble *seconds; /* [row][station][pol] */
} DelayTable;

DelayTable *delay_table_new(const CtParams *params, const CtStream *stream, GError **error);
void delay_table_free(DelayTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(DelayTable, delay_table_free)

static inline gint64
delay_table_series(const DelayTable *table, gint64 station, gint64 pol)
{
    return table->n_pols == 1 ? station : station * table->n_pols + pol;
}

/* The row in which `tick` lies; at most the last but one. */
static inline gint64
delay_table_row(const DelayTable *table, gint64 tick)
{
    gdouble row = floor((tick - table->start) / table->ticks_per_row);
    return row < 0 ? 0 : row > table->n_rows - 2 ? table->n_rows - 2 : (gint64)row;
}

/* Seconds at `tick`, constant before the first row and after the last. `per_tick`, unless NULL, is
 * set to the slope per tick. */
static inline gdouble
delay_table_at(const DelayTable *table, gint64 series, gint64 tick, gdouble *per_tick)
{
    const gint64 n_series = table->n_stations * table->n_pols;
    if (per_tick)
        *per_tick = 0;
    if (table->n_rows == 1)
        return table->seconds[series];
    gint64 row = delay_table_row(table, tick);
    gdouble a = table->seconds[row * n_series + series],
            b = table->seconds[(row + 1) * n_series + series];
    gdouble part = (tick - table->start) / table->ticks_per_row - row;
    if (part < 0)
        return a;
    if (part >= 1)
        return b;
    if (per_tick)
        *per_tick = (b - a) / table->ticks_per_row;
    return a + part * (b - a);
}

/* The first tick after `tick` at which the slope may change. */
static inline gint64
delay_table_next(const DelayTable *table, gint64 tick)
{
    if (table->n_rows == 1 || tick < table->start)
        return table->n_rows == 1 ? G_MAXINT64 : table->start;
    gdouble row = floor((tick - table->start) / table->ticks_per_row);
    if (row >= table->n_rows - 1)
        return G_MAXINT64;
    gint64 next = table->start + (gint64)ceil((row + 1) * table->ticks_per_row);
    return MAX(next, tick + 1);
}

enum { DELAY_TIME, DELAY_SUBBAND, DELAY_CHANNEL, DELAY_STATION, DELAY_POL, DELAY_N_AXES };

/* The first member of every variant's state. */
typedef struct {
    DelayTable *table;
    gboolean is_complex;
    gboolean shifts; /* by whole samples: voltages before a filter */
    gint64 most;     /* whole samples of the largest delay */
    gint64 ticks_per_sample;
    gdouble samples_per_second; /* 0 in spectra: no shift */
    gint place[DELAY_N_AXES];   /* positions of the axes in the input's layout; −1: none */
    gint64 length[DELAY_N_AXES];
    gdouble *frequencies; /* [subband][channel] hertz */
    guint n_losing;       /* axes along which validity differs: which of the above, and their
                             lengths */
    gint losing[CT_MAX_AXES];
    gint64 losing_length[CT_MAX_AXES];
} DelayState;

gboolean delay_state_init(DelayState *state, const CtPrepare *prepare, GError **error);
void delay_state_clear(DelayState *state);
gboolean delay_advance(gpointer state, CtAdvance *advance, GError **error);

static inline gdouble
delay_frequency(const DelayState *state, const gint64 at[DELAY_N_AXES])
{
    return state->frequencies[at[DELAY_SUBBAND] * state->length[DELAY_CHANNEL] + at[DELAY_CHANNEL]];
}

/* Frequency and series of every element of the axes other than time, in the input's order; there
 * are ct_stream_width() of them. */
void delay_state_elements(const DelayState *state, const CtBinding *input, gdouble *frequencies,
                          guint32 *series);

/* Whole samples by which a series is shifted at `tick`. */
static inline gint64
delay_whole(const DelayState *state, gint64 series, gint64 tick)
{
    gdouble seconds = delay_table_at(state->table, series, tick, NULL);
    return (gint64)rint(seconds * state->samples_per_second);
}

/* Samples for which a series' delay is linear and its shift constant. */
typedef struct {
    gint64 n;
    gint64 shift;       /* the input sample of output sample t is t + shift */
    gint64 since;       /* samples since the first of the line; the same in every firing */
    gdouble seconds;    /* at the first sample of the line */
    gdouble per_sample; /* seconds */
} DelayPiece;

/* The piece that begins with the sample at `tick`, of `most` samples at most. */
void delay_piece_init(DelayPiece *piece, const DelayState *state, gint64 series, gint64 tick,
                      gint64 most);

extern const CtVariant delay_reference, delay_cuda;
extern const CtVariant delay_cpu_baseline, delay_cpu_avx2, delay_cpu_avx512;
