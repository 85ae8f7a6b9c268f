/* SPDX-License-Identifier: BSD-3-Clause */
/* Two layouts of one stream as strided boxes: a blocked axis is split into its whole blocks, the
 * rest, and the zeros that fill the last block. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* An axis of a box; strides are bytes. */
typedef struct {
    gint64 length, in, out;
    gint64 table;        /* in a table that belongs to the input, see CtBoxesAxis */
    gint64 mark;         /* in the validity of the output */
    guint64 reserved[2]; /* 0 */
} CtBoxAxis;

/* Elements whose offsets are sums of strides on both sides, from `in` to `out`. Whoever makes a box
 * clears it first; axes from n_axes on are not used. */
typedef struct {
    guint n_axes;
    CtBoxAxis axes[3 * (CT_MAX_AXES + 1)];
    const guint8 *in, *table;
    guint8 *out;
    guint8 *marks;       /* set by whoever makes the box; otherwise NULL, and its strides 0 */
    guint64 reserved[2]; /* 0 */
} CtBox;

/* One axis in the two layouts: the positions of the axis and of its block (−1: none). */
typedef struct {
    const char *name;
    gint64 length; /* −1: time, whose length each block tells */
    gint in, in_block, out, out_block;
    gint64 in_count, out_count; /* of a block; 0: no blocks */
    gint64 table;        /* stride in the table, set by the caller, for axes without blocks */
    guint64 reserved[2]; /* 0 */
} CtBoxesAxis;

/* `complex` counts as an axis if either layout names it; elements are then the parts. */
typedef struct {
    guint n_axes;
    CtBoxesAxis axes[CT_MAX_AXES + 1];
    guint out_axes;           /* of the output's layout */
    CtType in_type, out_type; /* of elements */
    gint64 n_items;
    gsize chunk; /* elements that ct_boxes_map gives a kernel at a time: CT_BOXES_CHUNK, unless
                    the caller sets another number */
    const guint8 *table; /* set by the caller */
    guint64 reserved[4]; /* 0 */
} CtBoxes;

typedef void (*CtBoxesFunction)(gpointer data, const CtBox *box, gpointer scratch);

/* Describes the axes that two ports share, and the items into which work is split: those of
 * CtPrepare for a variant with split "*"; 1 if there is no split. */
CT_EXPORT void ct_boxes_init(CtBoxes *boxes, const CtBinding *in, const CtBinding *out,
                             gint64 n_items);

/* Bytes of a whole block. */
CT_EXPORT gsize ct_boxes_bytes(const CtBoxes *boxes, const CtBlock *block, CtType type);

/* Calls `function` for the boxes of items begin … end, and fills blocks up with zeros. */
CT_EXPORT void ct_boxes_each(const CtBoxes *boxes, const CtWork *work, CtBoxesFunction function,
                             gpointer data);

/* The two halves of ct_boxes_each: the boxes, and the elements to be zeroed, as boxes without
 * input. */
CT_EXPORT void ct_boxes_each_filled(const CtBoxes *boxes, const CtWork *work,
                                    CtBoxesFunction function, gpointer data);
CT_EXPORT void ct_boxes_each_gap(const CtBoxes *boxes, const CtBlock *out, CtBoxesFunction function,
                                 gpointer data);

/* Cuts the box to the share of items begin … end of `n_items`, along one axis. FALSE: the share is
 * empty. */
CT_EXPORT gboolean ct_box_share(CtBox *box, gint64 begin, gint64 end, gint64 n_items);

/* Orders the axes, the output's fastest last, drops those of length 1, and merges axes that are
 * contiguous on both sides (and in the table and the marks). */
CT_EXPORT void ct_box_simplify(CtBox *box);

/* Copies the elements, of `bytes` each, in the longest runs that there are; uses the box up. */
CT_EXPORT void ct_box_copy(CtBox *box, gsize bytes);

/* Moves `at`, which begins as a copy of a simple box, to the next run along the last axis; `index`
 * is 0 at first. FALSE: there are no more. */
CT_EXPORT gboolean ct_box_next(CtBox *at, gint64 index[G_N_ELEMENTS(((CtBox *)0)->axes)]);

/* Handles a run along the last axis of a simple box. */
typedef void (*CtBoxRun)(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
                         const CtBoxAxis *run);
/* `element`: the run of a box without axes. */
CT_EXPORT void ct_box_each_run(const CtBox *box, const CtBoxAxis *element, CtBoxRun function,
                               gpointer data);

/* Calls `function` for all runs of items begin … end: boxes, made simple, and their runs. */
CT_EXPORT void ct_boxes_each_run(const CtBoxes *boxes, const CtWork *work, CtBoxRun function,
                                 gpointer data);

/* Moves elements of a fixed length. */
CT_EXPORT void ct_box_move(const guint8 *in, gint64 in_stride, guint8 *out, gint64 out_stride,
                           gsize bytes, gsize n);

/* The usual chunk, and the scratch for one. */
#define CT_BOXES_CHUNK             512
#define CT_BOXES_SCRATCH_OF(chunk) (2 * (gsize)(chunk)*16)
#define CT_BOXES_SCRATCH_BYTES     CT_BOXES_SCRATCH_OF(CT_BOXES_CHUNK)

/* Computes n contiguous elements from contiguous ones. `scratch` is the part of the work's scratch
 * after CT_BOXES_SCRATCH_OF(chunk) bytes. */
typedef void (*CtBoxesKernel)(gpointer data, const guint8 *in, guint8 *out, gsize n,
                              guint8 *scratch);
/* The work of a stage that maps element to element: gathers, computes, scatters. */
CT_EXPORT void ct_boxes_map(const CtBoxes *boxes, const CtWork *work, CtBoxesKernel kernel,
                            gpointer data);

G_END_DECLS
