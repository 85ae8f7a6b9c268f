/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans turns: tiled transposes of boxes whose two sides have different contiguous axes. */
#pragma once

#include "transpose-turn-struct.h"

#include <cornerturn/kit/boxes.h>

/* Kernels differ in the bytes of a unit, 1 to 16, and in the units of a word, 1 to TURN_GROUP; both
 * are given as powers of two. */
enum { TURN_UNITS_OF = 5, TURN_GROUPS_OF = 3 };
typedef struct {
    guint unit_bits, group_bits;
} TurnForm;

/* The existing kernels, and their common sizes. */
typedef struct {
    gboolean has[TURN_UNITS_OF][TURN_GROUPS_OF];
    guint tile_bits, thread_bits; /* log2 of the most bytes of a tile, and of a block's threads */
} TurnForms;

/* Plans the turn of a simple box (ct_box_simplify) of elements of `bytes` bytes in the widest of
 * `forms` that strides and addresses allow. *in and *out are the addresses of its beginning. FALSE
 * if a plain copy serves as well, or if no form fits. */
gboolean turn_plan(Turn *turn, TurnForm *form, guint *n_tiles, const guint8 **in, guint8 **out,
                   const CtBox *box, gint64 bytes, const TurnForms *forms);
