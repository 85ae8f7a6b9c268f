/* SPDX-License-Identifier: BSD-3-Clause */
/* Scales with ticks, and colours of values. */
#pragma once

#include "show-view.h"

typedef struct {
    gdouble at; /* in the numbers of the scale */
    char *label;
} CtShowTick;

typedef struct {
    gdouble begin, end; /* what is at the two ends; `end` may not be `begin` */
    GArray *ticks;      /* of CtShowTick */
    char *title;        /* with the unit, "frequency (MHz)" */
} CtShowScale;

/* The scale of an axis, with about so many ticks at most. */
void ct_show_scale_axis(CtShowScale *scale, const CtShowAxis *axis, guint most);
/* The scale of values from `low` to `high`. */
void ct_show_scale_values(CtShowScale *scale, gdouble low, gdouble high, const char *title,
                          guint most);
void ct_show_scale_clear(CtShowScale *scale);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtShowScale, ct_show_scale_clear)

/* The range of colours: all but the extreme values of the cells, and those of
 * autocorrelations; of phases and shares, all that
 * there are. */
void ct_show_range(const CtShowView *view, CtShowQuantity quantity, gboolean decibels, gdouble *low,
                   gdouble *high);
/* Whether some cells have no value. */
gboolean ct_show_has_gaps(const CtShowView *view);

/* The colour, 0xRRGGBB, of a value at `share` of the range, from 0 to 1. */
guint32 ct_show_colour(CtShowQuantity quantity, gdouble share);
/* Of cells without a value. No value has it. */
guint32 ct_show_gap_colour(gboolean dark);
/* The colour of a cell. */
guint32 ct_show_cell_colour(const CtShowView *view, const CtShowCell *cell, CtShowQuantity quantity,
                            const CtShow *show, gdouble low, gdouble high);
