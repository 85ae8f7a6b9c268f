/* SPDX-License-Identifier: BSD-3-Clause */
/* A node at run time, with its current firing. */
#pragma once

#include "model/clock.h"
#include "ring.h"
#include "scheduler.h"

/* The input lanes of which output lane l is made: lanes[offsets[l]] … lanes[offsets[l + 1] − 1]. */
typedef struct {
    guint n_lanes;
    guint *offsets;
    guint *lanes;
} CtLaneMap;

typedef enum {
    CT_NODE_IDLE,       /* no firing has begun */
    CT_NODE_STARTING,   /* one thread gathers and advances */
    CT_NODE_RUNNING,    /* ranges of work are available or being worked on */
    CT_NODE_EXTERNAL,   /* the program does its work */
    CT_NODE_RETIRING,   /* its last firing is in flight */
    CT_NODE_FINISHED,   /* its result is complete, and waits until the other nodes have ended … */
    CT_NODE_COMPLETING, /* … or is being made final */
    CT_NODE_ENDED
} CtNodeStatus;

typedef struct {
    CtRing *ring; /* NULL: not connected, or only described */
    guint reader; /* index among the ring's readers */
    gboolean is_static;
    CtClockMap clock;     /* of a static input: to the ticks of the first input that flows */
    gboolean moved;       /* a static input has released a block */
    gboolean is_prepared; /* a static input whose blocks `prepare` reads; see arrays.h */
    gint64 prepared;      /* of such an input: the block in effect; −1: none yet */
} CtRunInput;

typedef struct {
    CtRing *ring;    /* NULL: nobody reads it */
    CtLaneMap *maps; /* [n_inputs], for the default rule */
    guint8 *carry;   /* [lane] of a SUM: whether the unfinished sum has a valid sample */
    gboolean wraps;
    CtRingGeneration generation;
    guint8 refused; /* 1: work has marked samples, though the output has no CT_PORT_MARKED */
} CtRunOutput;

typedef struct {
    guint64 firings;
    gint64 samples;  /* of the first output, of a sink's first input */
    gint64 consumed; /* of the first input that flows */
    gint64 invalid;  /* invalid lanes × samples of the first output */
    gint64 work_ns;  /* over all workers */
    gint64 core_ns;  /* advance, histories, validity */
} CtRunTotals;

/* What a node has counted by parts (ct_advance_account). */
typedef struct {
    CtAccount *accounts; /* [n] */
    guint n;
    gboolean is_new; /* told since they were taken */
} CtRunAccounts;

/* The picture that a node shows (ct_work_show). */
typedef struct {
    pthread_mutex_t lock;
    GBytes *newest; /* with its NUL; NULL: none yet */
    guint64 n;      /* how many there were */
} CtRunPicture;

/* The state with which a variant works: its prepare makes it; a change of a parameter, or another
 * block of an array over a port, exchanges it. */
typedef struct {
    const CtNode *nodes;  /* those that the variant covers, with the values of their parameters */
    gboolean owns_params; /* the parameters of `nodes` are of this state */
    gpointer state;
    gint64 n_items; /* items of every firing, if prepare has set them */
} CtRunState;

/* A change of a parameter; see change.h. */
typedef struct CtChange CtChange;

/* The changes of a node. */
typedef struct {
    CtChange *pending;         /* in the order of their ticks */
    CtChange *oldest, *newest; /* those in effect, in the order in which they came into effect;
                                  statistics list them */
    guint n_listed;            /* the number of these */
    guint64 n_dropped;         /* earlier ones that are no longer listed */
    gint64 until; /* during a firing of a node that is live: the end of the output that it may make,
                     as a tick */
    /* Only the thread that changes parameters uses these: */
    CtChange *kept;   /* the newest whose value is in `values`; NULL: none is */
    CtChange *freed;  /* the newest whose replaced state is freed; NULL: none is */
    CtValue **values; /* [covered node] the graph's parameters, changed; NULL: nothing is */
} CtChanges;

/* A state for an earlier block of an array; see arrays.h. */
typedef struct CtReplacedState CtReplacedState;

/* The arrays that a node takes over ports. */
typedef struct {
    CtBlock *zeros;            /* [n_inputs] for the first prepare; NULL: the node takes none */
    gboolean is_stale;         /* the state is not that of the blocks in effect */
    CtReplacedState *replaced; /* those that submissions may still use, the oldest first */
    CtReplacedState *retired;  /* those before them, to be freed */
} CtArrays;

/* Workers that serve the same nodes; see scheduler-private.h. */
typedef struct CtTeam CtTeam;
/* How firings run, on the host or on a device; see place.h. */
typedef struct CtRunPlace CtRunPlace;
/* The submissions of a node on a device; see submission.h. */
typedef struct CtSubmissions CtSubmissions;

typedef struct {
    const CtPlanNode *plan;
    const CtRunOptions *options;
    gboolean serves_static; /* all its readers, direct and indirect, are static inputs */
    gint64 n_early;   /* samples before its first sum: the offset of its footprint. They are not
                         counted in `index` of the blocks that the variant sees */
    gboolean marks;   /* work may mark samples of its outputs as invalid */
    gboolean is_live; /* parameters may change while it runs */
    const CtRunPlace *place;
    CtSubmissions *submissions; /* of a device */
    const CtRingMover *mover;   /* copies the histories of its outputs; NULL: the host does */
    CtTeam *team;               /* the workers that serve it; NULL: all */
    guint n_workers;            /* the number of these */
    const CtConfig *config;     /* of the graph; NULL: none */
    CtRunState now;
    CtPrepare prepared; /* the arguments and the result of the first prepare */
    gint64 tuning[CT_MAX_TUNABLES];
    CtChanges changes;
    CtArrays arrays;
    char *warning; /* why the variant was not prepared as planned; NULL: it was */
    guint n_inputs;
    CtRunInput *inputs;
    guint n_outputs;
    CtRunOutput *outputs;
    guint n_counters;
    guint64 *counters;
    CtRunAccounts accounts; /* with the scheduler's lock */
    CtRunPicture picture;
    CtRunTotals totals;
    guint8 *lane; /* scratch for validity: a byte for each sample of the longest input or output */

    /* The firing. */
    CtNodeStatus status;
    gboolean pending;          /* something has changed since the last attempt to fire it */
    gboolean waits;            /* could fire, but waits for the plan's batch */
    gboolean hurried;          /* no node is at work, so it need not wait for the batch */
    gboolean waits_for_memory; /* could fire, but waits for memory that links share */
    gboolean is_last;
    gboolean interrupted; /* an interrupt ended it, or a writer of its inputs */
    guint n_idle;         /* firings in a row in which a source gave nothing */
    CtArrival *arrivals;
    CtDeparture *departures;
    CtArrival *offered_arrivals;     /* the same as offered to the variant's advance */
    CtDeparture *offered_departures; /* the same of the departures */
    CtBlock *input_blocks;
    CtBlock *output_blocks;
    CtAdvance advance;
    guint64 *advance_counters;
    CtRunAccounts told; /* by advance, until they are taken */
    CtWork work;
    gint64 n_items; /* 0: there is no work */
    gint64 chunk;   /* items of a range; the last one may have fewer */
    guint8 *taken;  /* [2 · n_workers] which ranges are given out */
    gint64 claimed; /* items given out */
    gint64 done;
} CtRunNode;

/* Connects the node to its rings and allocates what its firings need. */
gboolean ct_run_node_init(CtRunNode *node, const CtPlanNode *plan, guint index,
                          CtRing *const *rings, const CtRunOptions *options, guint n_workers,
                          GError **error);
/* Prepares the variant, for `device` unless it is NULL. Raises *scratch to the bytes that each
 * worker, or a firing on the device, needs, and sets *upload to the bytes that such a firing
 * uploads. */
gboolean ct_run_node_prepare(CtRunNode *node, CtDevice *device, gsize *scratch, gsize *upload,
                             GError **error);
/* Prepares the variant once more, with the parameters and blocks of `nodes`, which the state takes
 * over; while it works, on any thread. */
gboolean ct_run_node_prepare_again(const CtRunNode *node, const CtNode *nodes, CtRunState *state,
                                   GError **error);
/* Frees a state that is not in use, with its nodes unless they are the plan's. Fails if the
 * variant's finish has a fault. */
gboolean ct_run_state_clear(const CtRunNode *node, CtRunState *state, GError **error);
/* Frees all states of a node that does not fire any more. Fails if the variant's finish has a
 * fault. */
gboolean ct_run_node_finish(CtRunNode *node, GError **error);
void ct_run_node_clear(CtRunNode *node);

/* The first input that is connected and not static; n_inputs: there is none. */
guint ct_run_node_first_flow(const CtRunNode *node);
/* Whether the node has no such input. */
gboolean ct_run_node_is_source(const CtRunNode *node);
/* Whether all readers of the node have ended. */
gboolean ct_run_node_is_unread(const CtRunNode *node);
/* Prefixes the node's name and place in the graph to an error of its variant. Returns FALSE. */
gboolean ct_run_node_blame(const CtRunNode *node, GError **error, GError *cause);
/* Makes what advance has told the node's accounts; with the scheduler's lock. */
void ct_run_node_take_accounts(CtRunNode *node);
