/* SPDX-License-Identifier: BSD-3-Clause */
/* Footprints of all nodes in a row, from a source to a sink: what a sample at the end is made of,
 * and what becomes of one that is missing. */
#pragma once

#include "graph.h"

/* How many, depending on where in the stream it is. */
typedef struct {
    gint64 least, most;
} CtCount;

/* Of a source and a sink that data flows between, in the middle of the stream. Samples are the
 * source's where nothing else is said. */
typedef struct {
    guint source, sink; /* nodes of the graph */
    gdouble rate;       /* per second; 0: there is no clock */
    gint64 step;        /* from a sample of the sink to the next */
    gint64 reach;       /* that one of the sink is made of, from the first to the last */
    gint64 wait;        /* that must have come for it, from the first on */
    gint64 history;     /* of its reach, what the next one is made of too */
    gint64 start_up;    /* at the beginning, for which nothing comes out */
    /* Where so many are missing in a row: */
    gint64 n_missing;
    CtCount touched; /* samples of the sink that are made of any of them */
    CtCount lost;    /* of these, the invalid ones, where all lanes of the source miss them */
    gboolean sums;   /* something is summed on the way: … */
    CtCount terms;   /* … terms of the first sum that are invalid */
    gboolean exact;  /* `touched` and `terms` are reached; otherwise they are bounds */
    guint n_apart;   /* axes along which what is missing stays apart: other lanes are whole */
    const char *apart[CT_MAX_AXES];
} CtPathFootprint;

/* Of every source with every sink, in the order of the graph: CtPathFootprint, for g_array_unref.
 */
GArray *ct_footprints_new(const CtGraph *graph, gint64 n_missing);
