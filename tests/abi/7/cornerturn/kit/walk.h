/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks over the elements of one block, or of two or three at once, in any layouts without blocks:
 * for variants written by hand. (boxes.h does the same for layouts with blocks, and for
 * conversions.)
 *
 *     CtWalk walk;
 *     ct_walk_init(&walk, &out_layout, out);
 *     ct_walk_add(&walk, &in_layout, in);
 *     ct_walk_limit(&walk, "time", work->begin, work->end);
 *     while (ct_walk_next(&walk))
 *         *(float *)walk.at[0] = 2 * *(const float *)walk.at[1];
 *
 * The walk goes over the axes of the first block, the last one fastest, from 0 or the limit on. The
 * other blocks follow by the names of the axes; axes that only they have stay at 0. With
 * ct_walk_leave(), the walk leaves out an axis, along which the caller loops itself. For example,
 * in a variant that is split by time, where `time` is the index of the axis in the first layout:
 *
 *     ct_walk_limit(&walk, "time", work->begin, work->end);
 *     const gint64 n = ct_walk_leave(&walk, time), step = walk.stride[0][time];
 *     while (ct_walk_next(&walk))
 *         for (gint64 t = 0; t < n; t++)
 *             *(float *)(walk.at[0] + t * step) = 0;
 *
 * Functions take the index of an axis in the first layout, or its name; they allocate nothing. */
#pragma once

#include <cornerturn/layout.h>
#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* The most blocks of a walk. */
#define CT_WALK_BLOCKS 3

typedef struct {
    const CtLayout *layout; /* of the first block */
    guint n_blocks;
    guint8 *at[CT_WALK_BLOCKS]; /* the present element of each block */
    gint64 index[CT_MAX_AXES];  /* its indices, by axis of the first block */
    gint64 begin[CT_MAX_AXES], end[CT_MAX_AXES];
    gint64 stride[CT_WALK_BLOCKS][CT_MAX_AXES]; /* bytes; 0: the block lacks the axis */
    gint64 lane_step[CT_MAX_AXES];              /* see ct_walk_lanes */
    gboolean has_begun;
} CtWalk;

/* Begins a walk over a block; the layout must outlive it. */
static inline void
ct_walk_init(CtWalk *walk, const CtLayout *layout, const CtBlock *block)
{
    *walk = (CtWalk){.layout = layout, .n_blocks = 1, .at = {block->data}};
    for (guint a = 0; a < layout->n_axes; a++) {
        walk->end[a] = block->length[a];
        walk->stride[0][a] = block->stride[a];
    }
}

/* Adds a block, which becomes at[1], then at[2]; to be called before the first step. */
static inline void
ct_walk_add(CtWalk *walk, const CtLayout *layout, const CtBlock *block)
{
    const guint b = walk->n_blocks++;
    walk->at[b] = block->data;
    for (guint a = 0; a < walk->layout->n_axes; a++) {
        const gint other = ct_layout_axis(layout, walk->layout->axes[a].name);
        walk->stride[b][a] = other < 0 ? 0 : block->stride[other];
    }
}

/* Lets the walk go along an axis, if the first block has it, from `begin` to `end` − 1 only; to be
 * called before ct_walk_leave() of this axis. */
static inline void
ct_walk_limit(CtWalk *walk, const char *axis, gint64 begin, gint64 end)
{
    const gint a = ct_layout_axis(walk->layout, axis);
    if (a < 0)
        return;
    walk->begin[a] = begin;
    walk->end[a] = end;
}

/* Leaves out an axis of the first block, which stays at 0 or at the beginning of its limit. Returns
 * the number of elements along it from there on, up to its length or the limit; the strides along
 * it are walk->stride[b][axis]. */
static inline gint64
ct_walk_leave(CtWalk *walk, guint axis)
{
    const gint64 length = walk->end[axis] - walk->begin[axis];
    walk->end[axis] = walk->begin[axis] + 1;
    return length;
}

/* Goes to the next element, at first to the first one; FALSE: there is none. */
static inline gboolean
ct_walk_next(CtWalk *walk)
{
    guint a = walk->layout->n_axes;
    if (!walk->has_begun) {
        walk->has_begun = TRUE;
        while (a-- > 0) {
            walk->index[a] = walk->begin[a];
            for (guint b = 0; b < walk->n_blocks; b++)
                walk->at[b] += walk->begin[a] * walk->stride[b][a];
            if (walk->begin[a] >= walk->end[a])
                return FALSE;
        }
        return TRUE;
    }
    while (a-- > 0) {
        const gboolean goes_on = ++walk->index[a] < walk->end[a];
        const gint64 step = goes_on ? 1 : walk->begin[a] - walk->end[a] + 1;
        for (guint b = 0; b < walk->n_blocks; b++)
            walk->at[b] += step * walk->stride[b][a];
        if (goes_on)
            return TRUE;
        walk->index[a] = walk->begin[a];
    }
    return FALSE;
}

/* Prepares the walk for ct_walk_lane: `stream` is that of the first block. */
static inline void
ct_walk_lanes(CtWalk *walk, const CtStream *stream)
{
    for (guint a = 0; a < walk->layout->n_axes; a++)
        walk->lane_step[a] = ct_stream_lane_step(stream, walk->layout->axes[a].name);
}

/* The lane of validity of the present element. */
static inline gint64
ct_walk_lane(const CtWalk *walk)
{
    gint64 lane = 0;
    for (guint a = 0; a < walk->layout->n_axes; a++)
        lane += walk->index[a] * walk->lane_step[a];
    return lane;
}

G_END_DECLS
