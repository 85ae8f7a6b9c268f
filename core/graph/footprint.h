/* SPDX-License-Identifier: BSD-3-Clause */
/* Footprints of whole paths from a source to a sink: the source samples of which a sample of the
 * sink is made, and the samples of the sink that are affected if some are missing. */
#pragma once

#include "graph.h"

/* A number that depends on the position in the stream. */
typedef struct {
    gint64 least, most;
} CtCount;

/* The footprint of a sink on a source that it gets data from, in the middle of the stream. Numbers
 * of samples count samples of the source, except where samples of the sink are named. */
typedef struct {
    guint source, sink; /* nodes of the graph */
    gdouble rate;       /* samples per second; 0: the source has no clock */
    gint64 step;        /* from one sample of the sink to the next */
    gint64 reach;       /* that one sample of the sink is made of, from the first to the last */
    gint64 wait;        /* that must have arrived for it, from the first on */
    gint64 history;     /* the part of the reach that belongs to the next sample's reach too */
    gint64 start_up;    /* at the beginning of the stream, before the first sample of the sink */
    /* If n_missing samples in a row are missing: */
    gint64 n_missing;
    CtCount touched; /* samples of the sink that are made of any missing sample */
    CtCount lost;    /* how many of these are invalid if all lanes of the source miss the samples */
    gboolean sums;   /* whether a node on the path sums samples */
    CtCount terms;   /* invalid terms of the first sum on the path */
    gboolean exact;  /* whether `touched` and `terms` are reached; otherwise they are only bounds */
    guint n_apart;   /* number of axes whose lanes stay separate up to the sink */
    const char *apart[CT_MAX_AXES];
} CtPathFootprint;

/* The footprints of every sink on every source, in the order of the graph: an array of
 * CtPathFootprint, for g_array_unref. */
GArray *ct_footprints_new(const CtGraph *graph, gint64 n_missing);
