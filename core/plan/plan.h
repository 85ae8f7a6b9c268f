/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan: which variant runs each node, how every link lies in memory, what was inserted. */
#pragma once

#include "cost/cost.h"
#include "cost/estimate.h"
#include "graph/graph.h"

/* Nodes of a device that data flows between share a queue of each kind that they need. */
typedef struct {
    gint device;
    CtQueueKind kind;
} CtPlanQueue;

/* A node as it runs: one variant over one node of the graph, over several (fused), or an inserted
 * transpose, conversion or copy. */
typedef struct {
    char *name; /* "filter"; of a fused one "filter+spectra"; of an inserted one "spectra>turn" … */
    const CtVariant *variant;
    const CtRow *row;               /* of the variant's rows, the one chosen */
    gint64 tuning[CT_MAX_TUNABLES]; /* of the variant's tunables */
    CtNode *nodes;                  /* [n_nodes] what the variant covers; shallow copies, the first
                                       with `streams` as inputs */
    guint n_nodes;
    const CtGraphNode *graph_node; /* of the last covered; of an inserted one, whose output it
                                      carries */
    gboolean inserted;
    gint place; /* where it runs: CT_HOST, or the device on which it enqueues. Its outputs lie there
                   too, and its inputs; those of an inserted copy where their links say */
    gint queue; /* of the plan's; −1: it runs on the host */
    guint n_inputs;
    gint *inputs;      /* links; −1: not connected, or connected for its description alone */
    CtStream *streams; /* [n_inputs] as they come in: of the type to which they were converted */
    CtBinding *input_bindings; /* the layout may be a view of the link's: the same memory, with axes
                                  of length 1 elsewhere, or an innermost `complex` split off */
    guint n_outputs;
    gint *outputs;              /* links; −1: nobody reads it */
    CtBinding *output_bindings; /* described, and laid out as if it were read, even then */
    CtFootprint footprint;      /* of the covered nodes in a row */
    gint64 granule;             /* of so many outputs a firing makes a multiple; 0: any */
    gint64 batch;               /* input samples for which a firing waits while others are at work;
                                   0: it takes what stands */
    CtEstimate estimate;        /* of this candidate by itself */
    CtCost cost;                /* predicted, per second of stream (per sample without clock) */
    gdouble operations;         /* useful, per sample of the first output (first input of a sink) */
    gdouble bytes;              /* in and out, each once, per the same */
    gint64 block, held;         /* CtLoad's */
} CtPlanNode;

typedef struct {
    guint node;
    guint port;
} CtPlanReader;

/* The samples that a ring holds beside firings of its writer. */
typedef enum {
    CT_REST_READER,      /* what a firing of a reader sees, or may leave */
    CT_REST_GENERATIONS, /* generations that are long beside the history that is moved in front of
                            each */
    CT_REST_SKEW         /* what stands while the reader waits for another way */
} CtRestKind;

/* One output port's memory: a ring along time that one node writes and any number read. */
typedef struct {
    guint writer;
    guint port;
    const CtStream *stream;
    CtLayout layout;    /* concrete */
    gint place;         /* in whose memory: CT_HOST or a device */
    gint64 max_samples; /* the most that a firing of the writer makes */
    gint64 granule;     /* samples of a block where the layout blocks time, else 1 */
    gint64 history;     /* the most samples that a reader may be left with, too few for it to fire,
                           in granules: (granule of its output − 1) · hop + one − 1, where `one`,
                           what a first output needs, is max(window, hop) of a WINDOW, 1 of a SUM */
    gint64 skew;        /* samples that may stand unread while readers wait for other ways to where
                           these meet; where none do, what a reader may be left with */
    char *circle;       /* nodes around which the ways go, where that is more: "late > both < sky",
                           where > goes with the stream and < against it; NULL: it is not */
    gint64 capacity; /* samples that the ring holds beside the history in front of it: `n_firings`
                        of the writer, `rest`, and on a device what aligns strides. On the host
                        room for two firings of the writer and one of the reader that wants most;
                        between queues for as many firings as are in flight; on one queue of a
                        device for one, or for two and the history; in all cases for two and the
                        skew */
    gint64 n_firings, rest;
    CtRestKind rest_kind;
    gsize bytes;        /* of the ring */
    gsize offset;       /* on a device: where it lies in the arena, a multiple of 256 */
    gboolean transient; /* on a device: every firing of the readers drains it, so that it shares
                           memory with others of its group; written and read on one queue */
    gint group;      /* of a transient link. It lives from the firing of its writer to that of the
                        last of its readers, in the order of the plan's nodes: who writes one of
                        the group fires only while those that are not empty were written by
                        nodes before it, and await no reader before it */
    GArray *readers; /* of CtPlanReader; those of CT_PORT_SHAPE inputs not among them */
} CtPlanLink;

/* How a node is to run, or a row of nodes that one variant covers, and no other way. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;               /* of the variant's */
    gint64 tuning[CT_MAX_TUNABLES]; /* of the variant's tunables */
    gint place;
    guint n_inputs;   /* of the first node */
    CtLayout *inputs; /* concrete; empty where no data flows */
    guint n_outputs;  /* of the last node */
    CtLayout *outputs;
} CtFixed;

/* With the variant's usual tuning where `tuning` is NULL. */
CtFixed *ct_fixed_new(const CtVariant *variant, const CtRow *row, const gint64 *tuning, gint place,
                      guint n_inputs, const CtLayout *inputs, guint n_outputs,
                      const CtLayout *outputs);
void ct_fixed_free(CtFixed *fixed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtFixed, ct_fixed_free)

typedef struct {
    guint n_workers;
    CtBackend backend;    /* for all nodes that the graph leaves open; CT_N_BACKENDS: the best */
    GHashTable *backends; /* node name → "reference" …: --backend; NULL: none */
    GHashTable *variants; /* node name → "NAME" or "NAME:tile=4,…": --variant; NULL: none */
    GHashTable *fixed;    /* node name → CtFixed, of a row of nodes the first: whatever else these
                             options and the graph say of it; NULL: none is */
    gint device;          /* with `backend` cuda; −1: any */
    guint n_in_flight;    /* firings of a device's node; 0: three */
    gsize cache_bytes;    /* aim for the bytes of a link between workers; 0: from the machine */
    gsize device_bytes; /* aim for the bytes of a link on a device; 0: what tuning has found, else a
                           256th of its memory, 512 MiB at most */
    guint n_devices;    /* with `devices` */
    const CtDeviceInfo *devices; /* as if the machine had these; NULL: its own */
    gboolean no_peers;           /* with `devices`: each copies to the host alone */
    gdouble bandwidth;           /* as if a worker had this one; 0: its own */
    guint n_halvings;            /* of firings on devices, at least, beside what the plan needs */
    const char *why_smaller;     /* with `n_halvings`: what the plan says of them */
    const char *costs;           /* the database of measured costs, as ct_database_path has it */
    const char *shipped;         /* the folder of those that were shipped; NULL: the program's */
    gboolean default_layouts;    /* each stage in those of the published codes, as near as may be */
    gint64 n_missing;      /* samples in a row whose loss the plan tells the footprint of; 0: one */
    CtEstimateJudge judge; /* of all estimates; NULL: none */
    gpointer judge_data;
} CtPlanOptions;

typedef struct {
    const CtGraph *graph;
    guint n_workers;
    gint64 n_missing;    /* as in the options */
    GPtrArray *nodes;    /* of CtPlanNode, every node after those that feed it */
    GPtrArray *links;    /* of CtPlanLink */
    GArray *queues;      /* of CtPlanQueue */
    guint n_in_flight;   /* firings of a device's node that may be enqueued and not have run */
    guint n_devices;     /* one more than the highest number of a device in the plan */
    gsize *device_bytes; /* [n_devices] of the arena in which its links lie */
    const CtDeviceInfo *devices; /* [n_devices] borrowed from the options, or of the process */
    gsize bytes;                 /* of all rings in host memory */
    guint n_resources;
    gdouble *busy;    /* [n_resources] seconds for a second of stream that each is kept busy, as
                         predicted: see ct_resource() */
    gdouble alone;    /* those of the longest node that no other worker can help with */
    gdouble seconds;  /* the largest of these: what a second of stream takes */
    gdouble least;    /* no other choice takes less: `seconds`, unless the graph is too entangled to
                         tell */
    gsize device_aim; /* bytes that firings on devices aim at */
    gboolean is_block_tuned; /* they were found by tuning */
    guint n_halvings;        /* of that, for want of memory */
    char *shrunk; /* why firings on devices are smaller than is aimed at; NULL: they are not */
    GPtrArray *warnings; /* of CtWarning: of what was planned nevertheless */
    GPtrArray *inserted; /* of CtGraphNode: what the inserted nodes point to */
} CtPlan;

/* Chooses variants and layouts, inserts what is missing, sizes the rings. */
CtPlan *ct_plan_new(const CtGraph *graph, CtRegistry *registry, const CtPlanOptions *options,
                    GError **error);
/* Puts a plan of smaller firings on devices in the place of *plan, because of `why`, which is said
 * where a run by it is prepared: how much memory stages want beside the rings, their scratch among
 * it, is known then, and others may use the device. FALSE where it is about something else, or no
 * ring becomes smaller. */
gboolean ct_plan_take_smaller(CtPlan **plan, CtRegistry *registry, const CtPlanOptions *options,
                              const GError *why);
/* Samples of an input that must stand before the node can fire, of a plan that has its granules. */
gint64 ct_plan_needs(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Of all rings, on the host and on devices. */
gsize ct_plan_bytes(const CtPlan *plan);
void ct_plan_free(CtPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPlan, ct_plan_free)

/* The node that keeps one thread busy the longest, alone; NULL: none does. */
const CtPlanNode *ct_plan_longest_alone(const CtPlan *plan);

/* What `cornerturn plan` prints. */
char *ct_plan_to_text(const CtPlan *plan);
char *ct_plan_to_dot(const CtPlan *plan);
char *ct_plan_to_json(const CtPlan *plan);
