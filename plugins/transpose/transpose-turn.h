/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans turns: boxes of which neither side's neighbours are the other's, in tiles. */
#pragma once

#include "../boxes.h"
#include "transpose-turn-struct.h"

/* Kernels differ in the bytes of a unit, 1 to 16, and in the units of a word, 1 to TURN_GROUP; here
 * as powers of two. */
enum { TURN_UNITS_OF = 5, TURN_GROUPS_OF = 3 };
typedef struct {
    guint unit_bits, group_bits;
} TurnForm;

/* Which there are, and what is common to all. */
typedef struct {
    gboolean has[TURN_UNITS_OF][TURN_GROUPS_OF];
    guint tile_bits, thread_bits; /* log2 of a tile's bytes at most and of a block's threads */
} TurnForms;

/* Plans the turn of a simple box (box_simplify) of elements of `bytes` bytes in the widest of
 * `forms` that strides and places allow. *in and *out are where it begins. FALSE where a plain copy
 * serves as well, or where no form fits. */
gboolean turn_plan(Turn *turn, TurnForm *form, guint *n_tiles, const guint8 **in, guint8 **out,
                   const Box *box, gint64 bytes, const TurnForms *forms);
