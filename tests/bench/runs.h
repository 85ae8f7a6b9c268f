/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole graphs as contenders: a source `source` of stage `input`, fed with random blocks again and
 * again from where it lies. */
#pragma once

#include "choices.h"

typedef struct {
    char *name;
    Sketch *sketch;
    GHashTable *fixed; /* node name → CtFixed; NULL: the planner has its way */
    CtPlan *plan;
    const char *counted; /* the node whose input's samples are counted */
    gint64 n_samples;    /* of a block that is fed */
    GArray *wall;        /* gdouble, of each run: seconds per counted sample */
    GArray *costs;       /* gdouble, the same, by which runs are compared: on a shared machine, of
                            a graph that is all on the host, the processor time of all nodes over
                            the workers; else the wall */
    GArray *nodes;       /* of GArray of gdouble, for each of the plan's nodes: the node's own
                            seconds per counted sample, of all workers or of its queue */
    char *failure;       /* why there is none; NULL: there is */
} Run;

/* Plans the graph of these lines with what is `fixed`, which it takes. */
Run *run_new(const Choices *choices, const char *name, const char *stages, GHashTable *fixed,
             const char *counted, gint64 n_samples, GError **error);
void run_free(Run *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)
/* One run of choices->seconds or a few blocks; what fails is noted. */
gboolean run_measure(Run *run, const Choices *choices);

gdouble run_wall(const Run *run);
gdouble run_cost(const Run *run);
/* Seconds of node `i`, the median. */
gdouble run_node(const Run *run, guint i);
/* "[time station pol] fir [time phase station pol] +transpose [phase time station pol] correlate":
 * stages, and how lies what is between them. Allocated. */
char *run_describe(const Run *run);
/* Inserted nodes of that stage; NULL: all. */
guint run_count_inserted(const Run *run, const char *stage);
