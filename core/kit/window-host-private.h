/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of windows and shifts on the processor. */
#pragma once

#include "window-private.h"

#include <cornerturn/kit/convert.h>

enum {
    CT_WINDOW_TILE = 512,                                 /* elements of a run */
    CT_WINDOW_REPEATED = CT_WINDOW_TILE * sizeof(gdouble) /* bytes of repeated entries, at most */
};

/* The least and the largest shift of a term for some indices of the new axis. */
typedef struct {
    gint64 least, most;
} CtWindowSpan;

typedef struct {
    CtWindowState base;
    CtConvert load, store;
    gboolean loads, stores; /* whether types are converted */
    gsize in_bytes, x_bytes, y_bytes, out_bytes;
    CtWindowEntries entries; /* [axes of input and output][new axis][axis of the sum] */
    gsize w_bytes;
    gboolean is_single; /* neither sum nor new axis */
    gint64 n_series;    /* of lines */
    gboolean moves;     /* lines shift samples: rows at one time, which do not, are no way */
    gint64 tile;        /* elements for which samples are staged */
    gint64 made;        /* indices of the new axis for which they are */
    gint64 n_made_tiles;
    CtWindowSpan *spans; /* [axes of input and output][tile of the new axis][axis of the sum]; NULL:
                    tiles of one index */
    gsize slot;          /* bytes of a staged term */
    /* offsets in scratch */
    gsize raw, steps, sums, given, values, w;
} CtWindowHost;

/* The line of a series that was found last. */
typedef struct {
    gint64 begin, end; /* samples of the firing; 0 and 0: none yet */
    CtWindowLine line; /* at sample `begin` */
} CtWindowLineFound;
