/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates of what candidates cost: measured, derived from the nearest measurement, or
 * modelled. */
#pragma once

#include "cost.h"
#include "database.h"
#include "graph/graph.h"
#include "graph/registry.h"

typedef enum {
    CT_ORIGIN_MODEL,
    CT_ORIGIN_NEAREST,  /* a similar candidate was measured; its ratio to its ceiling is used */
    CT_ORIGIN_SHIPPED,  /* this candidate was measured on another machine of the same kind */
    CT_ORIGIN_MEASURED, /* this candidate was measured here */
    CT_N_ORIGINS
} CtOrigin;

/* "model", "nearest", "shipped", "measured" */
extern const char *const ct_origin_names[CT_N_ORIGINS];

typedef struct {
    gdouble seconds; /* for a second of stream: of all workers if the variant splits its work, else
                        of one; or of the device's queue. If the candidate failed, far above all
                        others, so that it is chosen only if there is no alternative */
    CtOrigin origin;
    gdouble spread;                 /* of the measurement, see CtMeasurement */
    gint64 tuning[CT_MAX_TUNABLES]; /* the given one, or else the best known */
    gboolean is_tuned; /* the tuning comes from the database; it is neither given nor the default */
    const char *failure; /* why the measurement failed, interned; NULL: no failure is known */
} CtEstimate;

/* The candidate to be estimated. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    const CtNode *nodes; /* [n_nodes] the nodes that the variant covers */
    guint n_nodes;
    const CtLayout *inputs;  /* at the ports of the first node; empty: not connected */
    const CtLayout *outputs; /* at the ports of the last node */
    const CtLoad *load;
    const gint64 *tuning; /* a given tuning of the variant; NULL: the best one */
    gint from, to;        /* the places of inputs and outputs; they differ only for a copy */
} CtEstimated;

typedef struct CtEstimates CtEstimates;

/* Returns the seconds to plan with instead of the estimate's. A caller that measures returns the
 * best result that is still possible. */
typedef gdouble (*CtEstimateJudge)(const CtEstimated *what, const CtEstimate *estimate,
                                   gpointer data);

/* The sources of measurements. */
typedef struct {
    const char *costs;   /* the database, as for ct_database_path; "off": no measurements at all */
    const char *shipped; /* a folder of .json files, one object a line; NULL: the program's own */
} CtEstimateSources;

/* Reads the measurements for the stages of the graph and for those that the planner may insert.
 * `aim` is the bytes that firings on the host aim at. Errors are reported by ct_estimates_warning;
 * costs that cannot be read are modelled. The machine gets its measured ceilings. The machine and
 * the registry must outlive the estimates. */
CtEstimates *ct_estimates_new(CtMachine *machine, const CtGraph *graph, CtRegistry *registry,
                              const CtEstimateSources *sources, gsize aim);
void ct_estimates_free(CtEstimates *estimates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtEstimates, ct_estimates_free)

/* The first error with the measurements, for the user; NULL: there was none. */
const char *ct_estimates_warning(const CtEstimates *estimates);

/* The measured property `name` of the machine at `place`; NULL if it was not measured. */
const CtCeiling *ct_estimates_ceiling(const CtEstimates *estimates, gint place, const char *name);

/* Must be called before the first estimate. */
void ct_estimates_set_judge(CtEstimates *estimates, CtEstimateJudge judge, gpointer data);

/* The model's seconds for a second of stream; tunings do not matter. */
gdouble ct_estimated_model(const CtEstimated *what, const CtMachine *machine);

/* Estimates a candidate. `seconds` is HUGE_VAL only for a copy between places without a
 * connection. */
void ct_estimate_find(CtEstimates *estimates, const CtEstimated *what, CtEstimate *estimate);

/* Sets the key of a measurement for ct_database_put, with this tuning. */
void ct_estimate_key(CtEstimates *estimates, const CtEstimated *what, const gint64 *tuning,
                     CtCostKey *key);
/* The same without variant, row, code and tuning, which are NULL: ct_cost_key_equal_setting. */
void ct_estimate_setting(const CtEstimates *estimates, const CtEstimated *what, CtCostKey *setting);
