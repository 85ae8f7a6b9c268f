/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan: the variant that runs each node, the layout of every link in memory, and the inserted
 * nodes. */
#pragma once

#include "cost/cost.h"
#include "cost/estimate.h"
#include "graph/graph.h"
#include "model/topology.h"

/* The processors of a run. */
typedef struct {
    GArray *processors;  /* of CtProcessor: those that its threads may use */
    GArray *workers;     /* of CtProcessor: that of each worker */
    gboolean is_limited; /* the process may use further ones */
    gboolean is_divided; /* nodes of the graph name NUMA nodes, and workers are of several: such a
                            node is served by workers of its NUMA node alone */
    guint n_numas;       /* of the machine */
} CtPlanProcessors;

/* A queue of a device. Nodes that exchange data on one device share one queue of each kind. */
typedef struct {
    gint device;
    CtQueueKind kind;
} CtPlanQueue;

/* A node as it runs: one variant that covers one node of the graph or several (fused), or an
 * inserted transpose, conversion or copy. */
typedef struct {
    char *name; /* "filter"; a fused one: "filter+spectra"; an inserted one: "spectra>transpose" */
    const CtVariant *variant;
    const CtRow *row;               /* the chosen row of the variant */
    gint64 tuning[CT_MAX_TUNABLES]; /* of the variant's tunables */
    CtNode *nodes; /* [n_nodes] the covered nodes; shallow copies, the first has `streams` as its
                      inputs */
    guint n_nodes;
    const CtGraphNode *graph_node; /* the last covered node; of an inserted one, the node whose
                                      output passes through it */
    gboolean inserted;
    gint place; /* where it runs: CT_HOST, or the device of its queue. Its inputs and outputs lie
                   there too; those of an inserted copy lie where their links say */
    gint queue; /* index into the plan's queues; −1: it runs on the host */
    gint numa;  /* on the host: the NUMA node that the graph gives it; CT_NO_NUMA: any, or the
                   machine has only one */
    guint n_inputs;
    gint *inputs;              /* links; −1: not connected, or only described and without data */
    CtStream *streams;         /* [n_inputs] the inputs, of the type to which they were converted */
    CtBinding *input_bindings; /* the layout may be a view of the link's: the same memory, with axes
                                  of length 1 elsewhere, or an innermost `complex` axis split off */
    guint n_outputs;
    gint *outputs;              /* links; −1: nobody reads the output */
    CtBinding *output_bindings; /* described and laid out even where nobody reads the output */
    CtFootprint footprint;      /* of the covered nodes together */
    gint64 granule; /* a firing makes a multiple of this number of output samples; 0: any number */
    gint64 batch;   /* input samples for which a firing waits while other nodes are at work; 0: it
                       takes the samples that are there */
    CtEstimate estimate; /* of this candidate by itself */
    CtCost cost;         /* predicted, per second of stream (per sample without clock) */
    gdouble operations;  /* useful ones, per sample of the first output (first input of a sink) */
    gdouble bytes;       /* read and written, each byte once, per the same sample */
    gint64 block, held;  /* as in CtLoad */
} CtPlanNode;

typedef struct {
    guint node;
    guint port;
} CtPlanReader;

/* The reason for the samples that a ring holds beside the firings of its writer. */
typedef enum {
    CT_REST_READER,      /* a firing of a reader sees them, or may leave them */
    CT_REST_GENERATIONS, /* generations are made long, compared with the history that is copied to
                            the front of each */
    CT_REST_SKEW         /* they wait while the reader waits for its other input */
} CtRestKind;

/* The memory of one output port: a ring along time with one writer and any number of readers. */
typedef struct {
    guint writer;
    guint port;
    const CtStream *stream;
    CtLayout layout; /* concrete */
    gint place;      /* CT_HOST or the device in whose memory the ring lies */
    gint numa;       /* on the host: the NUMA node of this memory; CT_NO_NUMA: the kernel chooses */
    gint64 max_samples; /* the most samples that a firing of the writer makes */
    gint64 granule;     /* samples in a block where the layout blocks time; else 1 */
    gint64 history;     /* the most samples that a reader may leave, too few to fire, in granules:
                           (granule of its output − 1) · hop + one − 1, where `one`, the input of a
                           first output sample, is max(window, hop) of a WINDOW, 1 of a SUM */
    gint64 skew;  /* samples that may be unread while a reader waits for its other inputs; where no
                     two ways meet, the samples that a reader may leave */
    char *circle; /* the nodes of the circle that causes the skew, where the skew is more than a
                     reader may leave: "late > both < sky", where > goes with the stream and <
                     against it; else NULL */
    gint64 capacity; /* samples that the ring holds beside the history in front of it: `n_firings`
                        of the writer, `rest`, and on a device the padding that aligns strides. On
                        the host: two firings of the writer and the largest firing of a reader.
                        Between queues: the firings in flight. On one queue of a device: one firing,
                        or two and the history. Everywhere at least two firings and the skew, where
                        that is more than the history */
    gint64 n_firings, rest;
    CtRestKind rest_kind;
    gsize bytes;        /* of the ring */
    gsize offset;       /* on a device: its place in the arena (the one allocation on a device in
                           which its links lie), a multiple of 256 */
    gboolean transient; /* on a device: every firing of the readers drains it, so that it shares
                           memory with the others of its group; written and read on one queue */
    gint group; /* of a transient link. The link holds data from the firing of its writer to that of
                   its last reader, in the order of the plan's nodes. A writer of the group fires
                   only if every link of the group that holds data was written by an earlier node
                   and waits for no earlier reader */
    GArray *readers; /* of CtPlanReader, without those of CT_PORT_SHAPE inputs */
} CtPlanLink;

/* The only way in which a node, or a chain of nodes that one variant covers, may run. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;               /* one of the variant's rows */
    gint64 tuning[CT_MAX_TUNABLES]; /* of the variant's tunables */
    gint place;
    guint n_inputs;   /* of the first node */
    CtLayout *inputs; /* concrete; empty where no data flows */
    guint n_outputs;  /* of the last node */
    CtLayout *outputs;
} CtFixed;

/* Takes the variant's default tuning where `tuning` is NULL. */
CtFixed *ct_fixed_new(const CtVariant *variant, const CtRow *row, const gint64 *tuning, gint place,
                      guint n_inputs, const CtLayout *inputs, guint n_outputs,
                      const CtLayout *outputs);
void ct_fixed_free(CtFixed *fixed);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtFixed, ct_fixed_free)

typedef struct {
    guint n_workers;    /* 0: one for each processor of the run */
    const GArray *cpus; /* of guint: the processors of the run; NULL: all that it may use */
    CtPlace cpus_place; /* of `cpus`, for errors */
    CtBackend backend;  /* for all nodes for which the graph names none; CT_N_BACKENDS: the best */
    GHashTable *backends; /* node name → "reference" …: --backend; NULL: none */
    GHashTable *variants; /* node name → "NAME" or "NAME:tile=4,…": --variant; NULL: none */
    GHashTable *fixed; /* node name (of a chain of nodes, the first) → CtFixed, which overrides the
                          other options and the graph; NULL: none */
    gint device;       /* with `backend` cuda; −1: any */
    guint n_in_flight;  /* firings in flight of a node on a device; 0: three */
    gsize cache_bytes;  /* aimed at for the bytes of a link between workers; 0: the machine's */
    gsize device_bytes; /* bytes of a link on a device that firings aim at; 0: the size found by
                           tuning, else a 256th of its memory, between 1 MiB and 512 MiB */
    guint n_devices;    /* with `devices` */
    const CtDeviceInfo *devices; /* planned for in place of the machine's own; NULL: its own */
    gboolean no_peers;        /* with `devices`: they copy to one another through the host only */
    gdouble bandwidth;        /* bandwidth assumed for the host; 0: the machine's own */
    guint n_halvings;         /* the least number of times that firings on devices are halved */
    const char *why_smaller;  /* with `n_halvings`: the reason that the plan gives for them */
    const char *costs;        /* the cost database, in the form that ct_database_path() takes */
    const char *shipped;      /* the folder of the shipped measurements; NULL: the program's */
    gboolean no_fusion;       /* no stage is attached behind another */
    gboolean default_layouts; /* each stage in its default layouts, or the nearest ones */
    gint64 n_missing; /* the footprint in the plan is that of the loss of this many samples in a
                         row; 0: one */
    CtEstimateJudge judge; /* called for every estimate; NULL: none */
    gpointer judge_data;
} CtPlanOptions;

typedef struct {
    const CtGraph *graph;
    guint n_workers;
    CtPlanProcessors processors;
    gint64 n_missing;  /* as in the options */
    GPtrArray *nodes;  /* of CtPlanNode, every node after those that feed it */
    GPtrArray *links;  /* of CtPlanLink */
    GArray *queues;    /* of CtPlanQueue */
    guint n_in_flight; /* firings of a node on a device that may be enqueued and not yet finished */
    guint n_devices;   /* one more than the highest device number in the plan */
    gsize *device_bytes;         /* [n_devices] of the arena: the one allocation on the device in
                                    which its links lie */
    const CtDeviceInfo *devices; /* [n_devices] borrowed from the options or from the process */
    gint *numas; /* [n_devices] the NUMA nodes next to them; CT_NO_NUMA: not known, or the machine
                    has only one */
    gsize bytes; /* of all rings in host memory */
    guint n_resources;
    gdouble *busy;   /* [n_resources] predicted seconds for which each is busy, for a second of
                        stream: see ct_resource() */
    gdouble alone;   /* the same of the longest node whose work other workers cannot share */
    gdouble seconds; /* the largest of these: the time that a second of stream takes */
    gdouble least; /* lower bound of every choice; equals `seconds` unless the search met a limit */
    gsize device_aim;        /* bytes that firings on devices aim at */
    gboolean is_block_tuned; /* `device_aim` was found by tuning */
    guint n_halvings;        /* how often firings on devices are halved for lack of memory */
    char *shrunk;        /* why firings on devices are smaller than aimed at; NULL: they are not */
    GPtrArray *warnings; /* of CtWarning: problems in spite of which the plan was made */
    GPtrArray *inserted; /* of CtGraphNode: the nodes that the inserted plan nodes run */
} CtPlan;

static inline CtPlanNode *
ct_plan_node(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->nodes, i);
}

static inline CtPlanLink *
ct_plan_link(const CtPlan *plan, guint i)
{
    return g_ptr_array_index(plan->links, i);
}

/* Chooses variants and layouts, inserts transposes, conversions and copies, and sizes the rings. */
CtPlan *ct_plan_new(const CtGraph *graph, CtRegistry *registry, const CtPlanOptions *options,
                    GError **error);
/* Replaces *plan by one with smaller firings on devices after `why`, the error of a run that could
 * not be prepared: only then is it known how much memory stages want beside the rings, and other
 * programs may use the device. FALSE where `why` is not about memory, the plan uses no device, or
 * no ring becomes smaller. */
gboolean ct_plan_take_smaller(CtPlan **plan, CtRegistry *registry, const CtPlanOptions *options,
                              const GError *why);
/* The footprint of a chain of nodes: the input samples at its beginning for an output sample at its
 * end. */
CtFootprint ct_chain_footprint(const CtNode *nodes, guint n_nodes);
/* The names of the counters of all covered nodes, one node's after another's, as `work` sees them;
 * returns their number. */
guint ct_plan_counters(const CtPlanNode *node, const char *names[CT_MAX_COUNTERS]);
/* The covered node whose counter `counter` is. */
const CtNode *ct_plan_counting(const CtPlanNode *node, guint counter);
/* Whether work of the node may mark samples of its outputs as invalid. */
gboolean ct_plan_is_marking(const CtPlanNode *node);
/* Whether readers see the samples of the link only when the writer's firings are retired: a device
 * writes into host memory, or marks samples there. */
gboolean ct_plan_shows_late(const CtPlan *plan, const CtPlanLink *link);
/* The number of samples that an input must hold before the node can fire. Wants the granules of the
 * plan. */
gint64 ct_plan_needs(const CtPlan *plan, const CtPlanNode *node, guint port);
/* The bytes of all rings, on the host and on devices. */
gsize ct_plan_bytes(const CtPlan *plan);
void ct_plan_free(CtPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtPlan, ct_plan_free)

/* The number of workers for the graph where the options give none. */
guint ct_plan_default_workers(const CtGraph *graph, const CtPlanOptions *options);
/* The workers that serve the nodes of this NUMA node; CT_NO_NUMA: all. */
guint ct_plan_count_workers(const CtPlan *plan, gint numa);

/* The node that keeps one thread busy the longest by itself; NULL: there is none. */
const CtPlanNode *ct_plan_longest_alone(const CtPlan *plan);

/* "host", "host, NUMA 1", "cuda:1"; allocated. */
char *ct_plan_place_name(gint place, gint numa);
/* "filter", of a further port "filter.weights"; allocated. */
char *ct_plan_link_name(const CtPlan *plan, const CtPlanLink *link);
/* Whether the program feeds the link, whose samples are then in the program's memory. */
gboolean ct_plan_is_fed(const CtPlan *plan, const CtPlanLink *link);

/* The output of `cornerturn plan`. */
char *ct_plan_to_text(const CtPlan *plan);
char *ct_plan_to_dot(const CtPlan *plan);
char *ct_plan_to_svg(const CtPlan *plan);
char *ct_plan_to_json(const CtPlan *plan);
