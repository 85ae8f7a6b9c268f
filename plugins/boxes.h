/* SPDX-License-Identifier: BSD-3-Clause */
/* Two layouts of one stream as strided boxes: a blocked axis is split into its whole blocks, the
 * rest, and the zeros that fill the last block. */
#pragma once

#include <cornerturn/stage.h>

/* An axis of a box; strides are bytes. */
typedef struct {
    gint64 length, in, out;
    gint64 table; /* in a table that belongs to the input, see BoxesAxis */
} BoxAxis;

/* Elements whose offsets are sums of strides on both sides, from `in` to `out`. */
typedef struct {
    guint n_axes;
    BoxAxis axes[3 * (CT_MAX_AXES + 1)];
    const guint8 *in, *table;
    guint8 *out;
} Box;

/* One axis in the two layouts: the positions of the axis and of its block (−1: none). */
typedef struct {
    const char *name;
    gint64 length; /* −1: time, whose length each block tells */
    gint in, in_block, out, out_block;
    gint64 in_count, out_count; /* of a block; 0: no blocks */
    gint64 table; /* stride in the table, set by the caller, for axes without blocks */
} BoxesAxis;

/* `complex` counts as an axis if either layout names it; elements are then the parts. */
typedef struct {
    guint n_axes;
    BoxesAxis axes[CT_MAX_AXES + 1];
    guint out_axes;           /* of the output's layout */
    CtType in_type, out_type; /* of elements */
    gint64 n_items;
    gsize chunk;         /* elements that boxes_map gives a kernel at a time: BOXES_CHUNK, unless
                            the caller sets another number */
    const guint8 *table; /* set by the caller */
} Boxes;

typedef void (*BoxesFunction)(gpointer data, const Box *box, gpointer scratch);

/* Describes the axes that two ports share; also sets the items into which work is split. */
void boxes_init(Boxes *boxes, const CtBinding *in, const CtBinding *out, guint n_workers);

/* Bytes of a whole block. */
gsize boxes_bytes(const Boxes *boxes, const CtBlock *block, CtType type);

/* Calls `function` for the boxes of items begin … end, and fills blocks up with zeros. */
void boxes_each(const Boxes *boxes, const CtWork *work, BoxesFunction function, gpointer data);

/* The two halves of boxes_each: the boxes, and the elements to be zeroed, as boxes without
 * input. */
void boxes_each_filled(const Boxes *boxes, const CtWork *work, BoxesFunction function,
                       gpointer data);
void boxes_each_gap(const Boxes *boxes, const CtBlock *out, BoxesFunction function, gpointer data);

/* Orders the axes, the output's fastest last, drops those of length 1, and merges axes that are
 * contiguous on both sides (and in the table). */
void box_simplify(Box *box);

/* Handles a run along the last axis of a simple box. */
typedef void (*BoxRun)(gpointer data, const guint8 *in, const guint8 *table, guint8 *out,
                       const BoxAxis *run);
/* `element`: the run of a box without axes. */
void box_each_run(const Box *box, const BoxAxis *element, BoxRun function, gpointer data);

/* Moves elements of a fixed length. */
void box_move(const guint8 *in, gint64 in_stride, guint8 *out, gint64 out_stride, gsize bytes,
              gsize n);

/* The usual chunk, and the scratch for one. */
#define BOXES_CHUNK             512
#define BOXES_SCRATCH_OF(chunk) (2 * (gsize)(chunk)*16)
#define BOXES_SCRATCH_BYTES     BOXES_SCRATCH_OF(BOXES_CHUNK)

/* Contiguous elements to contiguous elements; `scratch` is the scratch behind that of the chunk. */
typedef void (*BoxesKernel)(gpointer data, const guint8 *in, guint8 *out, gsize n, guint8 *scratch);
/* The work of a stage that maps element to element: gathers, computes, scatters. */
void boxes_map(const Boxes *boxes, const CtWork *work, BoxesKernel kernel, gpointer data);
