/* SPDX-License-Identifier: BSD-3-Clause */
/* What the planner chooses between: graphs, nodes of them tried by themselves, and whole runs, by
 * turns, on the host or on a device by the same code. */
#pragma once

#include "device/device.h"
#include "graph/config.h"
#include "graph/graph.h"
#include "graph/registry.h"
#include "measure/trial.h"

typedef struct {
    CtRegistry *registry;
    CtPlanOptions options; /* what `backend` names is the place of everything that is left open */
    CtDevice *device;      /* NULL: on the host */
    const char *backend;   /* "cpu", "cuda" */
    guint n_rounds;
    gdouble seconds; /* of a measurement in a round */
    gdouble tuning;  /* seconds for what the planner measures of one graph, at most */
    gboolean brief;  /* small sizes, to see that it runs: the figures say nothing */
    char **words;    /* what is wanted; none: everything */
} Choices;

/* Whether `name` contains one of the words, or there are none. */
gboolean choices_want(const Choices *choices, const char *name);

/* ---- a graph ---- */

typedef struct {
    CtConfig *config;
    CtGraph *graph;
} Sketch;

/* Of the lines below `stages:`. */
Sketch *sketch_new(const Choices *choices, const char *stages, GError **error);
void sketch_free(Sketch *sketch);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sketch, sketch_free)
/* The node of that name. */
guint sketch_find(const Sketch *sketch, const char *name);

/* ---- a node by itself ---- */

typedef struct {
    char *name;
    Sketch *sketch;
    CtPlan *plan;
    CtEstimated what; /* the plan's node, with this tuning */
    CtLoad load;
    CtLayout *layouts;
    gint64 tuning[CT_MAX_TUNABLES];
    CtTrial *trial;
    GArray *seconds; /* gdouble, of each round: per sample of its first output */
    GArray *beside;  /* gdouble: what the machine could do in that moment, for who wants to note it
                      */
    char *failure;   /* why there is none; NULL: there is */
} Lone;

/* Node `node` of a graph of these lines, as the planner would have it. */
Lone *lone_new(const Choices *choices, const char *name, const char *stages, const char *node,
               GError **error);
void lone_free(Lone *lone);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lone, lone_free)
/* One measurement more; what fails is noted in it. The first prepares it. */
gboolean lone_measure(Lone *lone, const Choices *choices, gdouble *seconds);
/* Frees its rings; it can be measured again. */
void lone_rest(Lone *lone);

/* ---- figures ---- */

gdouble choices_median(const GArray *values);
/* The median of the ratios of values that were measured in the same round. */
gdouble choices_ratio(const GArray *a, const GArray *b);
/* One over the median of the products: of seconds beside rates per second. */
gdouble choices_share(const GArray *seconds, const GArray *rates);

/* ---- what there is to show; FALSE: a floor was missed, or it could not be run ---- */

gboolean orders_measure(Choices *choices);
gboolean cells_measure(Choices *choices);
gboolean crossings_measure(Choices *choices);
gboolean transforms_measure(Choices *choices);
/* Of no machine: `device` and workers are not looked at. */
gboolean plans_measure(Choices *choices);
