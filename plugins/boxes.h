/* SPDX-License-Identifier: BSD-3-Clause */
/* Two layouts of one stream as strided boxes: a blocked axis comes apart into its blocks, what is
 * left of it, and the zeros that fill the last block. */
#pragma once

#include <cornerturn/stage.h>

/* An axis of a box; strides are bytes. */
typedef struct {
    gint64 length, in, out;
} BoxAxis;

/* Elements whose places are sums of strides on both sides, from `in` to `out`. */
typedef struct {
    guint n_axes;
    BoxAxis axes[3 * (CT_MAX_AXES + 1)];
    const guint8 *in;
    guint8 *out;
} Box;

/* What the two layouts have of one axis: where it stands, where its block stands (−1: nowhere). */
typedef struct {
    const char *name;
    gint64 length; /* −1: time, which each block tells */
    gint in, in_block, out, out_block;
    gint64 in_count, out_count; /* of a block; 0: none */
} BoxesAxis;

/* `complex` counts as an axis where either layout names it; elements are then the parts. */
typedef struct {
    guint n_axes;
    BoxesAxis axes[CT_MAX_AXES + 1];
    guint out_axes;           /* of the output's layout */
    CtType in_type, out_type; /* of elements */
    gint64 n_items;
} Boxes;

typedef void (*BoxesFunction)(gpointer data, const Box *box, gpointer scratch);

/* For the layouts of two ports of one description, which may differ in type; sets also the items
 * into which work is split. */
void boxes_init(Boxes *boxes, const CtBinding *in, const CtBinding *out, guint n_workers);

/* Bytes of a whole block. */
gsize boxes_bytes(const Boxes *boxes, const CtBlock *block, CtType type);

/* Calls `function` for the boxes of items begin … end, and fills blocks up with zeros. */
void boxes_each(const Boxes *boxes, const CtWork *work, BoxesFunction function, gpointer data);
