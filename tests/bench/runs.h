/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole graphs as contenders: a source `source` of stage `input` is fed with the same random blocks
 * again and again, on its place. */
#pragma once

#include "choices.h"

typedef struct {
    char *name;
    ParsedGraph *parsed;
    GHashTable *fixed; /* node name → CtFixed; NULL: the planner chooses freely */
    CtPlan *plan;
    const char *counted; /* the node whose input samples are counted */
    gint64 n_samples;    /* of a block that is fed */
    GArray *wall;        /* of each run: gdouble, real seconds per counted sample */
    GArray *costs;       /* of each run: gdouble, the costs by which runs are compared: on a shared
                            machine, if the graph is all on the host, the processor time of all nodes over
                            the number of workers; else as `wall` */
    GArray *nodes; /* for each node of the plan: a GArray of gdouble, the node's seconds per counted
                      sample, of all workers or of its queue */
    char *failure; /* why there is no result; NULL: there is one */
} Run;

/* Plans the graph of these lines with `fixed`, which it takes over. */
Run *run_new(const Choices *choices, const char *name, const char *stages, GHashTable *fixed,
             const char *counted, gint64 n_samples, GError **error);
void run_free(Run *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)
/* Runs it once, for choices->seconds or a few blocks; a failure is recorded. */
gboolean run_measure(Run *run, const Choices *choices);

gdouble run_wall(const Run *run);
gdouble run_cost(const Run *run);
/* The median seconds of node `i`. */
gdouble run_node(const Run *run, guint i);
/* "[time station pol] fir [time phase station pol] +transpose [phase time station pol] correlate":
 * the stages, and the layouts between them. Allocated. */
char *run_describe(const Run *run);
/* The number of inserted nodes of that stage; NULL: of all. */
guint run_count_inserted(const Run *run, const char *stage);
