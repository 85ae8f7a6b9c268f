/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that all variants of a fold share: its axes, and the counts of valid samples.
 *
 * The axes other than time, in the order of the input's layout, are divided into slow ones (outside
 * time) and fast ones (inside it). A *group* is an element of the slow axes. */
#pragma once

#include "form-private.h"

#include <cornerturn/kit/fold.h>

typedef struct {
    gint64 length;
    gint in, out, weights; /* positions in the layouts; −1: no such axis */
    gint64 lane, mark;     /* steps of the lane along it, of the input and of the output; 0: it
                              loses no data separately */
} CtFoldAxis;

/* The states of all variants begin with this. */
typedef struct {
    CtFormState form;
    gboolean is_across; /* the fold is along another axis than time: fold-across.h */
    gint64 hop;
    guint n_axes, n_slow;
    CtFoldAxis axes[CT_MAX_AXES]; /* slow ones first, each slowest first */
    gint64 n_groups, n_fast;
    guint n_read; /* elements side by side that are one of the fold: 1, or those of a group */
    gint in_time, out_time, weights_time; /* positions; −1: there are no weights */
    gboolean is_marked;                   /* the output has CT_PORT_MARKED */
    gint64 n_lanes;
    gint64 max_made; /* samples of a firing */
    guint32 *counts; /* [hop of the firing][lane]: valid samples; there is one more for the
                        unfinished hop */
    gint64 making;   /* index of the unfinished hop */
} CtFoldState;

/* The position of an element: bytes in the blocks, and lanes. */
typedef struct {
    gint64 in, out, lane, mark;
} CtFoldPlace;

/* Finds the axes and allocates the counts. The state may be cleared after a failure. */
gboolean ct_fold_init(CtFoldState *self, const CtPrepare *prepare, GError **error);
void ct_fold_clear(CtFoldState *self);

CtFoldPlace ct_fold_place(const CtFoldState *self, const CtWork *work, gint64 group,
                          gint64 element);

/* Whether the fast axes of a block, and groups in it, are contiguous in their order; *bytes is
 * their size. */
gboolean ct_fold_is_packed(const CtFoldState *self, const CtBlock *block, gboolean is_input,
                           gint64 *bytes);

/* Writes the second output, if there is one that is read. */
void ct_fold_write_weights(const CtFoldState *self, const CtWork *work);
