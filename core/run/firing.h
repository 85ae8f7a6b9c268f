/* SPDX-License-Identifier: BSD-3-Clause */
/* A node at run time, and its one firing in flight. */
#pragma once

#include "model/clock.h"
#include "ring.h"
#include "scheduler.h"

/* Which input lanes an output lane is made of: lanes[offsets[l]] … lanes[offsets[l + 1] − 1]. */
typedef struct {
    guint n_lanes;
    guint *offsets;
    guint *lanes;
} CtLaneMap;

typedef enum {
    CT_NODE_IDLE,       /* nothing in flight */
    CT_NODE_STARTING,   /* one thread gathers and advances */
    CT_NODE_RUNNING,    /* ranges of work are to be had, or under way */
    CT_NODE_EXTERNAL,   /* its work is the program's */
    CT_NODE_LANDING,    /* its last firing is in flight */
    CT_NODE_FINISHED,   /* its result waits until the other nodes have ended … */
    CT_NODE_COMPLETING, /* … and becomes final */
    CT_NODE_ENDED
} CtNodeStatus;

typedef struct {
    CtRing *ring; /* NULL: not connected, or description only */
    guint reader; /* which of the ring's */
    gboolean is_static;
    CtClockMap clock; /* of a static one: to the ticks of the first that flows */
    gboolean moved;   /* a static one let go of a block */
} CtRunInput;

typedef struct {
    CtRing *ring;    /* NULL: nobody reads it */
    CtLaneMap *maps; /* [n_inputs], for the default rule */
    guint8 *carry;   /* [lane] of a SUM: whether the sum in the making has a valid sample */
    gboolean wraps;
    CtRingGeneration generation;
} CtRunOutput;

typedef struct {
    guint64 firings;
    gint64 samples;  /* of the first output, of a sink's first input */
    gint64 consumed; /* of the first input that flows */
    gint64 invalid;  /* lanes × samples of it that are invalid */
    gint64 work_ns;  /* over all workers */
    gint64 core_ns;  /* advance, histories, validity */
} CtRunTotals;

/* What a node has that runs on a device; see submission.h. */
typedef struct CtSubmissions CtSubmissions;

typedef struct {
    const CtPlanNode *plan;
    const CtRunOptions *options;
    gboolean serves_static; /* all that reads it, directly or through others, are static inputs */
    CtSubmissions *submissions; /* NULL: it runs on the host */
    guint n_workers;
    gpointer state;
    char *warning; /* that it was not prepared as planned; NULL: it was */
    guint n_inputs;
    CtRunInput *inputs;
    guint n_outputs;
    CtRunOutput *outputs;
    guint n_counters;
    guint64 *counters;
    CtRunTotals totals;
    guint8 *lane; /* scratch of validity: a sample of the longest input or output each */

    /* The firing. */
    CtNodeStatus status;
    gboolean pending; /* something changed since it was last looked at */
    gboolean waits;   /* could fire, but for the plan's batch */
    gboolean hurried; /* nobody is at work: it shall not wait */
    gboolean barred;  /* could fire, but for the memory that links share */
    gboolean is_last;
    gboolean interrupted; /* an interrupt ended it, or what it reads */
    guint n_idle;         /* firings in a row in which a source gave nothing */
    CtArrival *arrivals;
    CtDeparture *departures;
    CtArrival *offered_arrivals;     /* before the variant's own advance */
    CtDeparture *offered_departures; /* … */
    CtBlock *input_blocks;
    CtBlock *output_blocks;
    CtAdvance advance;
    guint64 *advance_counters;
    CtWork work;
    gint64 fixed_items; /* of every firing, where prepare has said so */
    gint64 n_items;     /* 0: nothing to work on */
    gint64 chunk;       /* items of a range */
    gint64 claimed;     /* items given out */
    gint64 done;
} CtRunNode;

/* Connects the node to its rings and allocates what its firings need. */
gboolean ct_firing_init(CtRunNode *node, const CtPlanNode *plan, guint index, CtRing *const *rings,
                        const CtRunOptions *options, guint n_workers, GError **error);
/* Prepares the variant, for `device` unless it is NULL; raises *scratch to the bytes that each
 * worker needs, or a firing on the device, and sets *upload to what such a firing uploads. */
gboolean ct_firing_prepare(CtRunNode *node, CtDevice *device, gsize *scratch, gsize *upload,
                           GError **error);
void ct_firing_clear(CtRunNode *node);

/* Without an input that flows. */
gboolean ct_firing_is_source(const CtRunNode *node);
/* Whether all that read it have ended. */
gboolean ct_firing_is_unread(const CtRunNode *node);
/* Puts the node's place in the graph in front of what its variant said. Returns FALSE. */
gboolean ct_firing_blame(const CtRunNode *node, GError **error, GError *cause);

/* Makes a block of the ring that `input` reads the same memory as the reader is bound to it: axes
 * of length 1 may stand elsewhere, and real and imaginary parts be an axis. */
void ct_firing_view(const CtRunNode *node, guint input, CtBlock *block);

/* With the lock: what stands in the inputs, and the room in the outputs; FALSE while something is
 * missing (no error), or can never come (error). */
gboolean ct_firing_gather(CtRunNode *node, GError **error);
/* Without the lock: advances, and sets the blocks and the items to work on. */
gboolean ct_firing_decide(CtRunNode *node, GError **error);
/* An interrupted source, or a node whose readers have ended, ends with nothing more. */
gboolean ct_firing_decide_to_end(CtRunNode *node, GError **error);
/* Without the lock, after work: what is invalid becomes zero. Returns the invalid lanes × samples
 * of the first output. */
gint64 ct_firing_zero_invalid(const CtRunNode *node);

/* The invalid lanes × samples of what is produced. */
gint64 ct_validity_count(const CtDeparture *departure, gint64 n_lanes);
/* Maps the lanes of validity of `input` to those of `output`. */
gboolean ct_lane_map_init(CtLaneMap *map, const CtStream *input, const CtStream *output,
                          GError **error);
void ct_lane_map_clear(CtLaneMap *map);
/* Zeroes what `departure` says is invalid in `block`, and returns how many lanes × samples that is.
 */
gint64 ct_validity_zero(const CtBlock *block, const CtDeparture *departure, const CtStream *stream,
                        const CtLayout *layout);
