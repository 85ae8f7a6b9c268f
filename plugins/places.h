/* SPDX-License-Identifier: BSD-3-Clause */
/* The elements of a block, one by one, for reference variants. */
#pragma once

#include <cornerturn/stage.h>

/* Moves `index` [block->n_axes] to the next element, the last axis fastest, along the axis `time`
 * from `begin` to `end` only (−1: all of every axis). FALSE: it was the last. The first index is
 * `begin` along time and 0 along the others. */
static inline gboolean
places_next(const CtBlock *block, gint time, gint64 begin, gint64 end, gint64 *index)
{
    for (guint k = block->n_axes; k-- > 0;) {
        const gboolean is_time = (gint)k == time;
        if (++index[k] < (is_time ? end : block->length[k]))
            return TRUE;
        index[k] = is_time ? begin : 0;
    }
    return FALSE;
}
