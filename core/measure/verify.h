/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of two ways to run a graph, node by node, on the same blocks. */
#pragma once

#include "run/scheduler.h"

typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *plan; /* the tested way to run the graph */
    const CtRunOptions *run;
    CtConfigBackend against;
    const char *node;    /* the only node to compare; NULL: each by itself, then all together */
    GPtrArray *warnings; /* of CtWarning: gets the warnings of the run, and the outputs that are not
                            compared */
} CtVerifyOptions;

/* An output of a node. */
typedef struct {
    char *name;        /* "filter", "visibilities.weights" */
    gboolean together; /* all nodes up to it run in the tested way; FALSE: only the node itself */
    char *variants[2]; /* the tested one, and the one of the reference */
    gint64 n;          /* elements compared */
    gdouble largest, rms;  /* of the differences of elements; moduli of complex ones */
    gdouble value_rms;     /* of the elements */
    gdouble largest_bound; /* not with `together` */
    gdouble rms_bound;
    const char *rule;    /* the stage's rule for the bounds; NULL: elements are only moved */
    gdouble rates[2];    /* elements per second of work */
    char *problem;       /* why the output is wrong; NULL: it is not */
    gboolean is_same;    /* one variant runs both ways, so nothing is compared */
    const char *nothing; /* any other reason why nothing is compared; NULL: there is none */
} CtVerifyRow;

/* Runs the graph without its sinks. Rows are of CtVerifyRow, in the order of the graph. */
GPtrArray *ct_verify(const CtVerifyOptions *options, GError **error);
/* The rows as a table, and the conclusion; *agrees is set to whether none has a problem. */
char *ct_verify_to_text(const GPtrArray *rows, gboolean *agrees);
