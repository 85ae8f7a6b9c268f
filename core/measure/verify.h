/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ways of running a graph compared, node by node, on the same blocks. */
#pragma once

#include "run/scheduler.h"

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan; /* how the graph is to run: that is looked into */
    const CtRunOptions *run;
    CtConfigBackend against;
    const char *node;    /* this one alone; NULL: each by itself, then all together */
    GPtrArray *warnings; /* of CtWarning: gets those of the run, and what is not compared */
} CtVerifyOptions;

/* An output of a node. */
typedef struct {
    char *name;            /* "filter", "visibilities.weights" */
    gboolean together;     /* all nodes up to it run as is looked into, otherwise it alone */
    char *variants[2];     /* that is looked into, and what it is compared with */
    gint64 n;              /* elements compared */
    gdouble largest, rms;  /* of the differences of elements, moduli of complex ones */
    gdouble value_rms;     /* of the elements */
    gdouble largest_bound; /* together: there is none */
    gdouble rms_bound;
    const char *rule;    /* of the stage: whence the bounds are; NULL: elements are moved only */
    gdouble rates[2];    /* elements per second of work */
    char *problem;       /* why it is wrong; NULL: it is not */
    gboolean is_same;    /* one variant runs both ways: nothing is compared */
    const char *nothing; /* why nothing is compared otherwise; NULL: something is */
} CtVerifyRow;

/* Runs the graph without its sinks. Rows are of CtVerifyRow, in the order of the graph. */
GPtrArray *ct_verify(const CtVerifyOptions *options, GError **error);
/* The rows as a table, and what follows from them; *agrees: none has a problem. */
char *ct_verify_to_text(const GPtrArray *rows, gboolean *agrees);
