/* SPDX-License-Identifier: BSD-3-Clause */
/* What a picture shows of a stream: its axes, its quantities, and the cells of which it is made. */
#pragma once

#include "show.h"

#include <cornerturn/pipeline.h>

typedef enum {
    CT_SHOW_VALUE,     /* of real samples, the mean */
    CT_SHOW_POWER,     /* of complex samples, the mean square of the modulus */
    CT_SHOW_AMPLITUDE, /* of the mean of complex samples */
    CT_SHOW_PHASE,     /* of this mean, degrees; an exact zero has none */
    CT_SHOW_VALIDITY,  /* the share of the samples that are valid */
    CT_SHOW_N_QUANTITIES
} CtShowQuantity;

/* An axis of the picture, divided into cells of equal width. */
typedef struct {
    const char *name; /* interned; NULL: there is no such axis */
    gint64 length;    /* elements */
    guint n_cells;
    gboolean is_averaged; /* a cell is the mean of its elements; otherwise it has one element */
    gint64 every;         /* the cells have each so many-th element, those between are left out */
    gint64 *ranks; /* [length] the places of the elements by their coordinates; NULL: in order */
    gdouble begin, end; /* the outer edges, in `unit`, or in elements from −0.5 on */
    const char *unit;   /* NULL: elements have numbers, or labels */
    CtLabels *labels;
    char *note; /* "from 2026-11-23T12:00:00Z"; NULL: none */
} CtShowAxis;

typedef struct {
    gdouble re, im, power; /* sums over the valid samples */
    gdouble most;          /* the largest value, or squared modulus */
    guint64 n_valid, n_missing;
} CtShowCell;

typedef struct {
    CtStream stream;
    CtShowAxis x, y;      /* y without a name: one line */
    gboolean is_lines;    /* a line for each element of y */
    gboolean has_profile; /* beside an image, the mean along its x, or of pulse profiles along y */
    gboolean is_profile_of_x; /* along y */
    gboolean is_spectrum;     /* made here, of voltages */
    gboolean are_counts;      /* no powers: integers that are longer than samples are */
    guint n_quantities;
    CtShowQuantity quantities[2];
    CtShowCell *cells;   /* [y][x] */
    CtShowCell *profile; /* [x] or [y] */
    gint64 n_samples;    /* along time, that were read */
    guint64 *levels;     /* [n_levels] numbers of parts of voltages; NULL: not counted */
    guint n_levels;
    gdouble range; /* levels are from −range to range */
    char *title, *subtitle;
} CtShowView;

/* Chooses what to draw of a stream. */
gboolean ct_show_view_init(CtShowView *view, const CtStream *stream, const CtShow *show,
                           GError **error);
void ct_show_view_clear(CtShowView *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtShowView, ct_show_view_clear)

/* Sets the number of cells for a picture of so many pixels, and allocates them. */
gboolean ct_show_view_divide(CtShowView *view, const CtShow *show, guint width, guint height,
                             GError **error);
/* The value of a cell: NaN where no sample is valid, and for the phase of a zero. */
gdouble ct_show_cell_value(const CtShowView *view, const CtShowCell *cell, CtShowQuantity quantity,
                           gboolean decibels);
/* "power (dB)"; allocated. */
char *ct_show_quantity_title(const CtShowView *view, CtShowQuantity quantity, gboolean decibels);

/* ---- axes: show-axis.c ---- */

/* Axis `a` of the stream. */
void ct_show_axis_init(CtShowAxis *axis, const CtStream *stream, guint a);
void ct_show_axis_clear(CtShowAxis *axis);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtShowAxis, ct_show_axis_clear)
/* The cell of element `i`. */
static inline guint
ct_show_axis_cell(const CtShowAxis *axis, gint64 i)
{
    const gint64 rank = axis->ranks ? axis->ranks[i] : i;
    return axis->is_averaged ? (guint)((gdouble)rank * axis->n_cells / (gdouble)axis->length)
                             : (guint)(rank / axis->every);
}
/* Whether the element is in a cell. */
static inline gboolean
ct_show_axis_has(const CtShowAxis *axis, gint64 i)
{
    return axis->is_averaged || i % axis->every == 0;
}
static inline gboolean
ct_show_is_frequency(const char *name)
{
    return name == ct_axis_name("channel") || name == ct_axis_name("subband");
}
/* Sets the number of cells, at most `most`. */
void ct_show_axis_divide(CtShowAxis *axis, guint most);
/* Whether the element is an autocorrelation. */
gboolean ct_show_axis_is_auto(const CtShowAxis *axis, gint64 rank);
/* A text from a file or the command line, in valid UTF-8 and with a space for each control
 * character: terminals obey these, and XML has none. Owns `text`. */
char *ct_show_clean(char *text);
/* "B–A", "X" or "3", of the element at a place of the axis; allocated. */
char *ct_show_axis_label(const CtShowAxis *axis, gint64 rank);

/* ---- reading: show-read.c, show-graph.c, show-message.c ---- */

/* Adds a block of f32, f64, cf32 or cf64 whose layout is time, then the stream's other axes in
 * their order. */
void ct_show_view_add(CtShowView *view, const CtBlock *block);
/* After the last block. */
void ct_show_view_end(CtShowView *view);
/* Adds a block of voltages, of `stream`, in the same types and order, to the levels, whose range
 * must be set. */
void ct_show_view_count(CtShowView *view, const CtStream *stream, const CtBlock *block);
/* The name of the graph in its messages. */
#define CT_SHOW_GRAPH "show"
/* A message of the graph without its name and its nodes, with the file's path or the option
 * instead; allocated. */
char *ct_show_message(const CtShow *show, const char *message);
/* Calls ct_show_view_divide() for a way to draw. */
typedef gboolean (*CtShowDivide)(CtShowView *view, const CtShow *show, GError **error);
/* Fills the cells; see ct_show_draw(). */
gboolean ct_show_read(CtShowView *view, const CtShow *show, CtShowDivide divide, char ***warnings,
                      GError **error);
