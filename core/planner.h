/* SPDX-License-Identifier: BSD-3-Clause */
/* What the planner's own files share: what may run where, how ports may lie, how layouts meet. */
#pragma once

#include "cost.h"
#include "plan.h"
#include "price.h"
#include "row.h"
#include "tuning.h"

typedef enum { CT_BRIDGE_TRANSPOSE, CT_BRIDGE_CONVERT, CT_BRIDGE_COPY, CT_N_BRIDGES } CtBridgeKind;

/* How and where the memory of a stream lies. */
typedef struct {
    CtLayout layout; /* concrete */
    gint place;      /* CT_HOST or a device */
} CtSpot;

/* What the choice is made of, for one graph. */
typedef struct {
    const CtGraph *graph;
    CtRegistry *registry;
    const CtPlanOptions *options;
    CtMachine machine;
    guint n_in_flight;       /* firings of a device's node */
    gboolean is_block_tuned; /* machine.device_bytes was found by tuning */
    CtPrices *prices;
    GHashTable *firings;                  /* see planner-firings.c */
    GHashTable *patterns;                 /* text of a row → CtRowPatterns, parsed once */
    GHashTable *bridges_known;            /* see ct_planner_keep_bridges; NULL: none are kept */
    const CtStage *bridges[CT_N_BRIDGES]; /* the stages that may be inserted; NULL: not installed */
} CtPlanner;

void ct_planner_init(CtPlanner *planner, const CtGraph *graph, CtRegistry *registry,
                     const CtPlanOptions *options);
void ct_planner_clear(CtPlanner *planner);
/* Goes by the firings that the plan has come to, for want of memory perhaps. */
void ct_planner_resume(CtPlanner *planner, const CtPlan *plan);
/* By which the store keeps what firings on devices should aim at in this graph: a CtRoof of the
 * first device, in bytes. Allocated. */
char *ct_planner_block_name(const CtGraph *graph);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtPlanner, ct_planner_clear)

/* The patterns of a row of a variant that the registry has taken. */
const CtRowPatterns *ct_planner_row(CtPlanner *planner, const CtRow *row);

/* ---- what may run: planner-variants.c ---- */

/* Checks the names and values of --backend and --variant. */
gboolean ct_planner_check_options(const CtPlanner *planner, GError **error);
/* Whether `variant` can run on this machine, as inserted node or any other; otherwise *reason says
 * why not, allocated, unless `reason` is NULL. */
gboolean ct_planner_can_run(const CtPlanner *planner, const CtVariant *variant, char **reason);
/* Whether graph and options leave this node to `variant`, or to any. */
gboolean ct_planner_leaves(const CtPlanner *planner, const CtGraphNode *node,
                           const CtVariant *variant, char **reason);
/* The tuning that graph and options ask for where `variant` runs these nodes, the rest by default;
 * returns whether they ask for any. */
gboolean ct_planner_tuning(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                           guint n_nodes, gint64 tuning[CT_MAX_TUNABLES]);
/* The nodes from `first` on that `variant` covers, allocated; NULL where they are not such a row.
 * `outlets` are those of the graph. */
guint *ct_planner_covers(const CtGraph *graph, const GPtrArray *outlets, guint first,
                         const CtVariant *variant, guint *n_nodes);
/* Whether the variant may run these nodes, which it covers, and can do what they ask; otherwise
 * *reason says why not, allocated; NULL: the parameters do not suit it. */
gboolean ct_planner_fits(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                         guint n_nodes, char **reason);
/* The backend for all that names none; CT_N_BACKENDS: the best. */
CtBackend ct_planner_backend(const CtPlanner *planner);
/* Where `variant` runs this node: the host, or the device that the graph and the options name. */
gint ct_planner_place(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant);

/* A sum reads and writes its output as a whole in every firing, so it wants so many times its
 * output's bytes of input in each. */
enum { CT_INPUT_TO_SUM = 4 };

/* ---- what the graph says of firings: planner-firings.c ---- */

void ct_planner_find_firings(CtPlanner *planner);
/* CtLoad's block, of what reads or writes a stream of the graph at a place. On the host it is that
 * of the source where it is what comes from there, or less than a firing would be anyway. */
gint64 ct_planner_block(const CtPlanner *planner, const CtStream *stream, gint place);
/* CtLoad's held, of what writes a stream of the graph at a place. */
gint64 ct_planner_held(const CtPlanner *planner, const CtStream *stream, gint place);

/* ---- candidates: candidates.c ---- */

typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtPrice price;
    CtCost cost; /* by the price */
} CtOffer;

/* One way of running a node, or a row of them: a variant with all its layouts. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtPrice price;
    GArray *offers; /* of CtOffer: of all variants that do it, the cheapest first, as above */
    guint n_nodes;
    guint *nodes;      /* in the graph; each feeds the next */
    gint place;        /* where it runs, and its ports lie */
    CtLayout *inputs;  /* [inputs of the first] empty where no data flows */
    CtLayout *outputs; /* [outputs of the last] */
    CtLoad load;
    CtCost cost; /* by the price */
} CtArrangement;

typedef struct {
    GPtrArray *all;    /* of CtArrangement */
    GPtrArray **nodes; /* [graph nodes] of those that cover the node, borrowed */
    guint n_nodes;
} CtCandidates;

/* The arrangements of every node, of the same layouts the cheapest: rows of the variants that may
 * run, in the orders that the neighbours name. */
CtCandidates *ct_candidates_new(CtPlanner *planner, GError **error);
void ct_candidates_free(CtCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtCandidates, ct_candidates_free)
/* Ways to run all nodes, of so many ways [of `all`] to run each arrangement. */
gdouble ct_candidates_count(const CtCandidates *candidates, const gdouble *n_ways);

/* ---- the naive choice: default-layouts.c ---- */

/* Adds the orders of the stage's default layouts, patterns of its inputs and outputs. */
gboolean ct_default_orders(const CtNode *node, GArray *inputs, GArray *outputs, GError **error);
/* Leaves, of each node whose stage has default layouts, the arrangements nearest to them at each
 * place: those that turn round the fewest pairs of axes. Fused ones go. */
gboolean ct_default_keep(CtCandidates *candidates, const CtGraph *graph, GError **error);

/* ---- from layout to layout: bridge.c ---- */

typedef struct {
    const CtStage *stage;
    const CtVariant *variant;
    const CtRow *row;
    gint place; /* where it runs: a copy on the device that it goes to or, to the host or another
                   device, comes from */
    CtSpot to;
    CtLoad load;
    CtPrice price;
    CtCost cost; /* by the price */
} CtBridgeStep;

/* The stages that may be inserted, by kind. */
extern const char *const ct_bridge_stages[CT_N_BRIDGES];
/* What one of them is told that leads to this layout. */
CtValue *ct_bridge_values(const CtStage *stage, const CtLayout *to);

/* What must stand between a writer and a reader: at most a transpose, a conversion, and two copies
 * through the host. */
typedef struct {
    guint n_steps;
    CtBridgeStep steps[4];
    CtCost cost; /* of all steps */
} CtBridge;

/* Whether the memory of the stream is the same in both concrete layouts: axes of length 1 stand
 * anywhere, and an innermost `complex` is part of the type. A reader then has a view. */
gboolean ct_layout_same_memory(const CtLayout *a, const CtLayout *b, const CtStream *stream);
/* The same at the same place. */
gboolean ct_spot_same_memory(const CtSpot *a, const CtSpot *b, const CtStream *stream);
/* The ways (CtBridge) for `stream` from one spot to the memory of another, of which none asks for
 * more than another everywhere; types may widen. */
GArray *ct_bridges_new(CtPlanner *planner, const CtStream *stream, const CtSpot *from,
                       const CtSpot *to);
/* The same, of those that the planner keeps, if it keeps them: not to be written to. */
GArray *ct_bridges_known(CtPlanner *planner, const CtStream *stream, const CtSpot *from,
                         const CtSpot *to);
/* From now on; the machine must stay as it is. */
void ct_planner_keep_bridges(CtPlanner *planner);
/* The type of the stream's elements in this layout: complex, where parts stand apart. */
CtType ct_layout_stream_type(const CtLayout *layout);

/* ---- the choice: choose.c ---- */

/* Readers of an output that data flows to. */
typedef struct {
    guint node; /* in the graph */
    guint port;
    GArray *readers; /* of CtPlanReader, with nodes of the graph */
} CtOutlet;

/* The outlets of all nodes that anybody reads, by node and port; free with g_ptr_array_unref. */
GPtrArray *ct_outlets_new(const CtGraph *graph);

/* What was chosen, for all nodes and outlets together. */
typedef struct {
    guint n_nodes, n_outlets;
    const CtArrangement **arrangements; /* [node] */
    const CtOffer **offers;             /* [node] which of the arrangement's */
    CtBridge **bridges; /* [outlet][reader] from the writer's spot to the reader's; without steps
                           inside an arrangement */
    gdouble seconds;    /* that keep the busiest resource busy, for a second of stream */
    gdouble least;      /* no choice takes less: `seconds`, unless the graph is too entangled */
} CtChoice;

CtChoice *ct_planner_choose(CtPlanner *planner, const CtCandidates *candidates,
                            const GPtrArray *outlets, GError **error);
void ct_choice_free(CtChoice *choice);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtChoice, ct_choice_free)

/* ---- queues: plan-queues.c ---- */

/* Which nodes of a device data flows between without leaving it, or (`over_peers`) without passing
 * through the host: [node] one of them that stands for all. Allocated. */
guint *ct_plan_components(const CtPlan *plan, gboolean over_peers);
/* Sets the queues, those of the nodes, and the number of devices. */
void ct_plan_set_queues(CtPlan *plan);

/* ---- memory: plan-spans.c, plan-skew.c, plan-rings.c, plan-memory.c ---- */

/* Whether input `port` flows along time. */
gboolean ct_plan_flows(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Whether none does. */
gboolean ct_plan_is_source(const CtPlan *plan, const CtPlanNode *node);
/* Every firing goes through these as a whole, however few its samples: the sums that it carries on,
 * and static inputs. */
gsize ct_plan_bytes_of_sums(const CtPlan *plan, const CtPlanNode *node);
gsize ct_plan_bytes_of_statics(const CtPlan *plan, const CtPlanNode *node);
/* [node] ticks of stream that a firing on a device covers, 0 of nodes on the host; allocated. Wants
 * granules. */
gint64 *ct_plan_spans(const CtPlan *plan, const CtMachine *machine);
/* 0: it is too large. */
gint64 ct_least_multiple(gint64 a, gint64 b);
/* The footprint of one input. A CT_FOOTPRINT_OWN counts in samples of that input, which
 * may last longer or shorter than those of the output. */
CtFootprint ct_plan_footprint(const CtPlan *plan, const CtPlanNode *node, guint port);
/* Sets the skew of all links, and around which nodes it is. Wants granules. */
void ct_plan_find_skew(CtPlan *plan);
/* Why the ring is as large as it is, allocated: "2 × 2048 of a firing, 400000 of skew around
 * late > both < sky, 15 of history". */
char *ct_plan_explain_ring(const CtPlanLink *link);
/* Sets samples, granules, histories, capacities and bytes of all links, and the bindings' samples.
 * Wants queues. */
void ct_plan_size_rings(CtPlan *plan, const CtMachine *machine, gsize cache_bytes);
/* Finds the transient links, and a place in their device's arena for all there. Wants sizes. */
void ct_plan_place_links(CtPlan *plan);
/* The source whose `block` firings on a device follow, of several the longest; NULL: none says. */
const CtPlanNode *ct_plan_asked_block(const CtPlan *plan);
/* Whether all rings fit, the host's and those of each device; *whose, unless NULL, is where they do
 * not, allocated: "the rings on cuda:0 (NVIDIA H200) want 200 GiB of 131 GiB". */
gboolean ct_plan_fits(const CtPlan *plan, const CtMachine *machine, char **whose);
/* Refuses a plan that does not fit. `advice` is what of it would have to be less; NULL: nothing
 * helps. Returns FALSE. */
gboolean ct_plan_refuse(const CtPlan *plan, const CtMachine *machine, const char *advice,
                        GError **error);

/* ---- footprints: plan-footprint.c ---- */

/* The table of latencies and gaps, and an empty line; nothing where data flows along no time. */
void ct_plan_print_footprints(GString *text, const CtPlan *plan);
/* The key `footprints` of an object, a comma in front of it. */
void ct_plan_append_footprints(GString *text, const CtPlan *plan);
