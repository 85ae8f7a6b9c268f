/* SPDX-License-Identifier: BSD-3-Clause */
/* What a candidate costs, and how that is known: measured, taken over from the measurement that
 * is nearest to it, or modelled. */
#pragma once

#include "cost.h"
#include "database.h"
#include "graph/graph.h"
#include "graph/registry.h"

typedef enum {
    CT_ORIGIN_MODEL,
    CT_ORIGIN_NEAREST,  /* another one was measured: its share of the ceiling */
    CT_ORIGIN_SHIPPED,  /* this very one, on another machine of this kind */
    CT_ORIGIN_MEASURED, /* this very one, here */
    CT_N_ORIGINS
} CtOrigin;

/* "model", "nearest", "shipped", "measured" */
extern const char *const ct_origin_names[CT_N_ORIGINS];

typedef struct {
    gdouble seconds; /* for a second of stream: of all workers where the variant splits its work, of
                        one where not; of the device's queue. Where it failed, far more than any
                        other takes: a plan must not fail because of the database */
    CtOrigin origin;
    gdouble spread;                 /* of what was measured, see CtMeasurement */
    gint64 tuning[CT_MAX_TUNABLES]; /* the one that is asked for, else the best known */
    gboolean is_tuned;   /* the tuning is the database's, neither asked for nor the default */
    const char *failure; /* why it could not be measured, interned; NULL: nothing is known against
                            it */
} CtEstimate;

/* What is estimated. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    const CtNode *nodes; /* [n_nodes] that the variant covers */
    guint n_nodes;
    const CtLayout *inputs;  /* at the ports of the first; empty where nothing is connected */
    const CtLayout *outputs; /* at those of the last */
    const CtLoad *load;
    const gint64 *tuning; /* of the variant's tunables, where one is asked for; NULL: the best */
    gint from, to; /* where the inputs and the outputs lie: different places of a copy alone */
} CtEstimated;

typedef struct CtEstimates CtEstimates;

/* Seconds to plan with in place of the estimate's: for who measures, what could at best come out.
 */
typedef gdouble (*CtEstimateJudge)(const CtEstimated *what, const CtEstimate *estimate,
                                   gpointer data);

/* Where measurements come from. */
typedef struct {
    const char *costs;   /* the database, as ct_database_path has it; "off": nothing at all */
    const char *shipped; /* a folder of files of lines of JSON; NULL: the program's own */
} CtEstimateSources;

/* Reads what there is once, for the stages of the graph and those that may be inserted; `aim` is
 * what firings on the host aim at. What goes wrong is told by ct_estimates_warning, and estimates
 * are then the model's. The machine takes over the ceilings that were measured; it and the registry
 * must outlive the estimates. */
CtEstimates *ct_estimates_new(CtMachine *machine, const CtGraph *graph, const CtRegistry *registry,
                              const CtEstimateSources *sources, gsize aim);
void ct_estimates_free(CtEstimates *estimates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtEstimates, ct_estimates_free)

/* What went wrong with the database, for the user; NULL: nothing. */
const char *ct_estimates_warning(const CtEstimates *estimates);

/* What was measured by this name of the machine at `place`; NULL: nothing was. */
const CtCeiling *ct_estimates_ceiling(const CtEstimates *estimates, gint place, const char *name);

/* Before the first estimate is found. */
void ct_estimates_set_judge(CtEstimates *estimates, CtEstimateJudge judge, gpointer data);

/* Seconds for a second of stream by the model alone, tunings left aside. */
gdouble ct_estimated_model(const CtEstimated *what, const CtMachine *machine);

/* HUGE_VAL seconds only for a copy between places that no way joins. */
void ct_estimate_find(CtEstimates *estimates, const CtEstimated *what, CtEstimate *estimate);

/* Fills in what ct_database_put wants beside what was measured: the key, with this tuning,
 * operations and bytes. `key` must be clear. */
void ct_estimate_key(CtEstimates *estimates, const CtEstimated *what, const gint64 *tuning,
                     CtMeasurement *key);
