/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the form pick share. */
#pragma once

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/device-map.h>
#include <cornerturn/kit/pick.h>

/* Elements of the output, from `out` on, that an outer and an inner loop reach with constant steps
 * of the indices on the input's axes. */
typedef struct {
    gint64 out;
    gint64 first[2];              /* [axis of the input] */
    gint64 length[2], step[2][2]; /* [outer, inner], [outer, inner][axis of the input] */
} PickPiece;

/* An axis of the output's layout. */
typedef struct {
    const CtPickAxis *picked; /* NULL: it passes unchanged */
    guint n_of, of[2];        /* axes of the input's layout */
    guint n_pieces;
    PickPiece *pieces;
} PickAxis;

typedef struct PickDevice PickDevice;

/* The state of all variants. */
typedef struct {
    CtPick pick;
    const CtBinding *in, *out;
    PickAxis axes[CT_MAX_AXES]; /* of the output's layout */
    gint time;                  /* of them; -1: none */
    gint64 n_boxes;             /* combinations of pieces */
    gint64 sample_bytes;        /* of the output, at one point in time */
    gint64 n_items;
    gint64 ticks;     /* of a sample */
    gint64 n_lanes;   /* of the output */
    guint32 *lane_of; /* [n_lanes] the lane of the input */
    PickDevice *device;
} Pick;

/* Sets the box of a combination of pieces, `at` [axis], for samples `begin` … `end` − 1. */
void ct_pick_box(const Pick *self, const CtWork *work, const guint *at, gint64 begin, gint64 end,
                 CtBox *box);
/* Goes to the next combination of the pieces of those axes that `skip` does not name; FALSE: there
 * are no more. */
gboolean ct_pick_next(const Pick *self, const gboolean *skip, guint *at);

void ct_pick_device_free(PickDevice *device);
