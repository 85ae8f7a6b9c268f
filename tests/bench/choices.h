/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks of what the planner chooses between: graphs, trials of single nodes, and whole runs,
 * measured in turn, on the host or on a device with the same code. */
#pragma once

#include "device/device.h"
#include "graph/config.h"
#include "graph/graph.h"
#include "graph/registry.h"
#include "measure/trial.h"

typedef struct {
    CtRegistry *registry;
    CtPlanOptions options; /* with `backend` as the place of everything that is left open */
    CtDevice *device;      /* NULL: on the host */
    const char *backend;   /* "cpu", "cuda" */
    guint n_rounds;
    gdouble seconds; /* of each measurement */
    gdouble tuning;  /* the most seconds of the planner's own measurements of one graph */
    gboolean brief;  /* small sizes, only to see that it runs; the results mean nothing */
    char **words;    /* names to be measured; none: everything */
} Choices;

/* Whether `name` contains one of the words, or there are no words. */
gboolean choices_want(const Choices *choices, const char *name);

/* ---- graphs ---- */

typedef struct {
    CtConfig *config;
    CtGraph *graph;
} ParsedGraph;

/* `stages`: the lines below `stages:`. */
ParsedGraph *parsed_graph_new(const Choices *choices, const char *stages, GError **error);
void parsed_graph_free(ParsedGraph *parsed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ParsedGraph, parsed_graph_free)
/* The node of that name. */
guint parsed_graph_find(const ParsedGraph *parsed, const char *name);

/* ---- nodes alone ---- */

typedef struct {
    char *name;
    ParsedGraph *parsed;
    CtPlan *plan;
    CtEstimated what; /* the plan's node, with this tuning */
    CtLoad load;
    CtLayout *layouts;
    gint64 tuning[CT_MAX_TUNABLES];
    CtTrial *trial;
    GArray *seconds; /* of each round: gdouble, seconds per sample of its first output */
    GArray *beside;  /* of each round: gdouble, what the machine could do at that moment, if the
                        caller records it */
    char *failure;   /* why there is no result; NULL: there is one */
} NodeTrial;

/* Node `node` of a graph of these lines, as planned. */
NodeTrial *node_trial_new(const Choices *choices, const char *name, const char *stages,
                          const char *node, GError **error);
void node_trial_free(NodeTrial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NodeTrial, node_trial_free)
/* Measures once more, after preparing it the first time. A failure is recorded in it. */
gboolean node_trial_measure(NodeTrial *trial, const Choices *choices, gdouble *seconds);
/* Frees its rings until the next measurement. */
void node_trial_rest(NodeTrial *trial);

/* ---- statistics ---- */

gdouble choices_median(const GArray *values);
/* The median of the ratios of values that were measured in the same round. */
gdouble choices_ratio(const GArray *a, const GArray *b);
/* One over the median of the products of seconds and rates per second. */
gdouble choices_share(const GArray *seconds, const GArray *rates);

/* ---- groups of benchmarks; FALSE: a floor was missed, or the group could not be run ---- */

gboolean orders_measure(Choices *choices);
gboolean cells_measure(Choices *choices);
gboolean crossings_measure(Choices *choices);
gboolean kernels_measure(Choices *choices);
gboolean transforms_measure(Choices *choices);
/* This needs no machine: `device` and workers are not used. */
gboolean plans_measure(Choices *choices);
