/* SPDX-License-Identifier: BSD-3-Clause */
/* The state and the functions that all variants of a window share. */
#pragma once

#include "form-private.h"

#include <cornerturn/kit/window.h>

/* An axis of the choice's shifts, for validity. */
typedef struct {
    gint64 length;
    gint64 stride; /* in the shifts, in entries */
    gint64 lane;   /* index = number of the lane / this % length, of the output; 0: no lanes */
    gint64 from;   /* the same of the input */
} CtWindowPlace;

struct CtWindowTaps {
    CtWindowChoice choice;
    gint64 before;     /* samples of a window before that of shift 0 */
    gint64 n;          /* samples that the function gets */
    gboolean is_whole; /* these are the whole window */
    CtWindowPlace places[CT_MAX_AXES];
};

/* Shifts and table, in the order of the axes that ct_window_expand is given. */
typedef struct {
    gint64 n;
    gint64 *shifts;  /* from the window's first sample */
    guint32 *series; /* in place of shifts, if these change along time */
    guint8 *table;   /* of the type of the kernel's w; NULL: none */
} CtWindowEntries;

/* The first members of the states of all variants but the reference. */
typedef struct {
    CtWindowTaps *taps;
    CtFormState form; /* its choice is that of `taps` */
    const CtStream *in, *out;
    gint time_in, time_out, sum[2], made; /* axes of the layouts; −1: none */
    gint64 n_terms, n_made;
    gint64 n_fast;          /* the length of the second axis of the sum */
    gboolean shifts_differ; /* along axes that input and output have */
    gboolean has_table;
} CtWindowState;

gboolean ct_window_init(CtWindowState *self, const CtPrepare *prepare, CtIsa isa, gint64 n_items,
                        GError **error);
void ct_window_clear(CtWindowState *self);

/* Lists the axes with entries that input and output have, in the input's order, or `all` axes; sets
 * their strides in the boxes, in entries, the fastest `stride`. Returns their number. */
guint ct_window_place(CtWindowState *self, const CtLayout *layout, gboolean all, gint64 stride,
                      const char **axes);
/* Adds the axes of the sum that there are; returns the new number of axes. */
guint ct_window_add_sums(const CtWindowState *self, const char **axes, guint n_axes);
/* Bytes from an element of a block to that of the next index along an axis; 0: it has none. */
gint64 ct_window_stride(const CtBlock *block, gint axis);
/* Whether the entries differ along an axis. */
gboolean ct_window_has_axis(const CtWindowState *self, const char *axis);
gboolean ct_window_expand(const CtWindowState *self, const char *const *axes, guint n_axes,
                          CtWindowEntries *entries, GError **error);
void ct_window_entries_clear(CtWindowEntries *entries);
