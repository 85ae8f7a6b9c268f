/* SPDX-License-Identifier: BSD-3-Clause */
/* All combinations of the ways to run a graph's nodes, with the conversions that the planner
 * inserts, and the results of those that have run.
 *
 * A combination is made of parts: a way for each node, and the inserted steps where layouts or
 * places differ. Its *bound* is the time that it takes if each part does as well as it ever did in
 * a whole graph. */
#pragma once

#include "plan/candidates.h"
#include "plan/choose.h"
#include "plan/placement.h"
#include "plan/planner.h"

/* The number of different neighbourhoods in which a part must have run to know how well it can
 * do. */
enum { CT_ENOUGH_NEIGHBOURS = 3 };

/* The results of a part in the whole graphs that contained it. */
typedef struct {
    guint n;                                /* runs */
    guint neighbours[CT_ENOUGH_NEIGHBOURS]; /* hashes of the different neighbours that it had */
    guint n_neighbours;
    gdouble least; /* the least seconds for which it kept `resource` busy, for a second of stream:
                      all workers together, or the device's queue */
    guint resource;
    gdouble alone; /* the same of one worker, where others cannot share the work; else 0 */
} CtPart;

/* A candidate with one of its implementations. */
typedef struct {
    const CtCandidate *candidate;
    const CtImplementation *implementation;
    guint *in_placements, *out_placements; /* [inputs of the first], [outputs of the last] index in
                                              the placements of its passage */
    CtPart part;
    gboolean is_double; /* it is the same as another way of the node */
    char *refusal; /* why a combination with this way failed before the way ever ran; NULL: none did
                    */
    gboolean fails; /* it fails even among ways that run */
} CtWay;

typedef struct {
    CtPart *part;
    CtCost cost; /* as planned */
} CtStepPart;

/* The placements that a fan-out's writer can write and its readers want, and the steps between
 * them. */
typedef struct {
    GArray *from, *to;     /* of CtPlacement */
    GPtrArray **crossings; /* [from][to] of GArray of CtStepPart: the ways between them, each a row
                              of steps */
} CtPassage;

/* A combination is an array `chosen` [graph nodes] of the index of each node's way, or this value
 * where a way that begins at an earlier node covers it. */
enum { CT_COVERED = G_MAXUINT16 };

typedef struct {
    CtPlanner *planner;
    CtCandidates *candidates;
    CtChoice *choice;    /* of the planner */
    GPtrArray *fan_outs; /* of CtFanOut */
    guint n_nodes;
    guint n_resources;
    GPtrArray **ways; /* [node] of CtWay: the ways that begin with the node */
    gint **input_fan_outs, **output_fan_outs; /* [node][port]; −1: no data flows there */
    GPtrArray *passages;                      /* [fan-out] of CtPassage */
    GHashTable *steps;                        /* key → CtPart */
    GHashTable *tried;                        /* GBytes of `chosen` */
} CtSpace;

/* Finds all ways from which the planner chooses. The planner must outlive the space. */
gboolean ct_space_init(CtSpace *space, CtPlanner *planner, GError **error);
void ct_space_clear(CtSpace *space);

CtWay *ct_space_way(const CtSpace *space, guint node, guint index);
/* The combinations to count. */
typedef enum { CT_COUNT_LAYOUTS, CT_COUNT_ALL, CT_COUNT_DIFFERENT, CT_COUNT_RUNNING } CtCount;
/* The number of combinations: of candidates; of variants; of variants that differ; and, of these,
 * without parts that fail. */
gdouble ct_space_count(const CtSpace *space, CtCount what);
/* Keeps only one of the variants that take at most `seconds` in the same layouts. */
void ct_space_leave_out(CtSpace *space, gdouble seconds);
/* The planner's own choice, allocated. */
guint16 *ct_space_planned(const CtSpace *space);
/* The results of an inserted step behind a fan-out. */
CtPart *ct_space_step(CtSpace *space, guint fan_out, const CtVariant *variant,
                      const CtPlacement *from, const CtPlacement *to);
/* Marks the combination as tried, so that it is not found again. */
void ct_space_set_tried(CtSpace *space, const guint16 *chosen);
gboolean ct_space_is_tried(const CtSpace *space, const guint16 *chosen);

/* ---- searching it: search.c ---- */

typedef struct {
    gdouble bound;
    guint16 *chosen;
} CtFound;

typedef struct {
    gdouble limit;     /* the bounds must be below it; HUGE_VAL: no limit */
    guint most;        /* the most combinations to find */
    const CtWay *with; /* a way that must be part of the combination; NULL: any */
    gboolean is_known; /* other nodes must have ways that have run before */
} CtQuery;

/* The untried combinations (CtFound) with the least bounds, in ascending order. */
GArray *ct_space_find(CtSpace *space, const CtQuery *query);
/* The number of untried combinations with bounds below the limit; *is_all FALSE: there may be
 * more. */
gdouble ct_space_count_below(CtSpace *space, gdouble limit, gboolean *is_all);
