/* SPDX-License-Identifier: BSD-3-Clause */
/* All that a graph can be planned as: every combination of the ways to run its nodes, what the
 * planner puts between them, and what running some tells of the rest.
 *
 * A combination is made of parts: a way for each node, and the steps where layouts or places
 * differ. Its *bound* are the seconds that it takes if each part does as well as it ever did in a
 * whole graph. */
#pragma once

#include "plan/candidates.h"
#include "plan/choose.h"
#include "plan/placement.h"
#include "plan/planner.h"

/* Neighbours beside which a part ran: so many different ones tell how well it can do. */
enum { CT_ENOUGH_NEIGHBOURS = 3 };

/* How a part did in the whole graphs that it was part of. */
typedef struct {
    guint n;                                /* runs */
    guint neighbours[CT_ENOUGH_NEIGHBOURS]; /* hashes of those that it had, all of them different */
    guint n_neighbours;
    gdouble least; /* seconds for a second of stream that it kept `resource` busy, in any of them:
                      of all workers, or of a device's queue */
    guint resource;
    gdouble alone; /* the same of one worker, where no other can help; else 0 */
} CtPart;

/* A candidate by one of its variants. */
typedef struct {
    const CtCandidate *candidate;
    const CtImplementation *implementation;
    guint *in_placements, *out_placements; /* [inputs of the first], [outputs of the last] which of
                                    its passage's placements */
    CtPart part;
    gboolean is_double; /* another way of the node comes to the same */
    char *refusal;  /* why a combination failed that had it before it ever ran; NULL: none did */
    gboolean fails; /* with ways that run, too */
} CtWay;

typedef struct {
    CtPart *part;
    CtCost cost; /* as planned */
} CtStepPart;

/* From where a fan-out's writer puts it to where its readers want it. */
typedef struct {
    GArray *from, *to;     /* of CtPlacement */
    GPtrArray **crossings; /* [from][to] of GArray of CtStepPart: ways there, each a row of steps */
} CtPassage;

/* Combinations are `chosen` [graph nodes]: of each node the index of its way, or this where a row
 * of nodes covers it that begins before it. */
enum { CT_COVERED = G_MAXUINT16 };

typedef struct {
    CtPlanner *planner;
    CtCandidates *candidates;
    CtChoice *choice;    /* the planner's */
    GPtrArray *fan_outs; /* of CtFanOut */
    guint n_nodes;
    guint n_resources;
    GPtrArray **ways;                         /* [node] of CtWay that begin with it */
    gint **input_fan_outs, **output_fan_outs; /* [node][port]; −1: no data flows there */
    GPtrArray *passages;                      /* [fan-out] of CtPassage */
    GHashTable *steps;                        /* key → CtPart */
    GHashTable *tried;                        /* GBytes of `chosen` */
} CtSpace;

/* Of all that the planner, which must outlive it, would choose from. */
gboolean ct_space_init(CtSpace *space, CtPlanner *planner, GError **error);
void ct_space_clear(CtSpace *space);

CtWay *ct_space_way(const CtSpace *space, guint node, guint index);
/* Which ways count. */
typedef enum { CT_COUNT_LAYOUTS, CT_COUNT_ALL, CT_COUNT_DIFFERENT, CT_COUNT_RUNNING } CtCount;
/* How many combinations there are: of candidates; with each variant by itself; of these, that do
 * not come to the same; of these, that have no part which fails. */
gdouble ct_space_count(const CtSpace *space, CtCount what);
/* Of variants that all take no more than this in the same layouts, leaves one. */
void ct_space_leave_out(CtSpace *space, gdouble seconds);
/* The planner's own choice, allocated. */
guint16 *ct_space_planned(const CtSpace *space);
/* What is known of an inserted step behind a fan-out. */
CtPart *ct_space_step(CtSpace *space, guint fan_out, const CtVariant *variant,
                      const CtPlacement *from, const CtPlacement *to);
/* From now on the combination is not found any more. */
void ct_space_set_tried(CtSpace *space, const guint16 *chosen);
gboolean ct_space_is_tried(const CtSpace *space, const guint16 *chosen);

/* ---- searching it: tune-exhaust-search.c ---- */

typedef struct {
    gdouble bound;
    guint16 *chosen;
} CtFound;

typedef struct {
    gdouble limit;     /* of bounds; HUGE_VAL: none */
    guint most;        /* so many are found, at most */
    const CtWay *with; /* one that must be among its ways; NULL: any */
    gboolean is_known; /* of all other nodes, ways that have run before */
} CtQuery;

/* Of CtFound that were not tried: those of the least bounds, the least first. */
GArray *ct_space_find(CtSpace *space, const CtQuery *query);
/* How many were not tried and have bounds below the limit; *is_all FALSE: no fewer than that. */
gdouble ct_space_count_below(CtSpace *space, gdouble limit, gboolean *is_all);
