/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of the tuning. */
#pragma once

#include "cost/database.h"
#include "plan/planner.h"
#include "trial.h"
#include "tune.h"

/* ---- items: tune-item.c ---- */

/* One candidate with one tuning, and its measurements. */
typedef struct {
    char *name; /* "beams cpu-avx512 cf32[…] -> cf32[…]", for people */
    CtMeasurement measurement;

    /* The candidate: `what` points to the members below. */
    CtEstimated what;
    CtNode *nodes;
    CtStream *inputs;  /* of the first node */
    CtStream *outputs; /* of an inserted node; NULL: those of the graph */
    CtLayout *layouts; /* inputs, then outputs */
    CtLoad load;
    gint64 tuning[CT_MAX_TUNABLES];
    guint64 reads; /* bits of the outputs that are read */

    char *refusal;    /* why it cannot be tried, so that the model counts; NULL: it can */
    GArray *samples;  /* gdouble: seconds per sample of each repetition; made up for those that the
                         cost database has */
    gboolean is_best; /* among the best tunings of its variant, after all were tried */
    CtTrial *trial;   /* NULL: not prepared */
    guint64 used;     /* the clock at its last use */
} CtTuneItem;

/* Makes the item of a node of a plan. */
CtTuneItem *ct_tune_item_new(const CtPlan *plan, const CtPlanNode *node, CtEstimates *estimates);
/* The same with another tuning. */
CtTuneItem *ct_tune_item_retuned(const CtTuneItem *item, const gint64 *tuning,
                                 CtEstimates *estimates);
void ct_tune_item_free(CtTuneItem *item);
/* Adds a repetition and updates the measurement, which can then be stored. `usual` is the relative
 * deviation of a repetition that is known from other items. */
void ct_tune_item_add(CtTuneItem *item, gdouble seconds, gdouble usual);
/* Whether a measurement of this time, in Unix seconds, is recent enough to be taken as it is. */
gboolean ct_tune_is_fresh(gint64 time);
/* Takes over the measurement in the cost database. */
void ct_tune_item_keep(CtTuneItem *item, const CtMeasurement *stored);
/* The relative deviation of its repetitions, robust; NaN where they are too few. */
gdouble ct_tune_item_deviation(const CtTuneItem *item);

gdouble ct_tune_median(const GArray *values);
/* The standard deviation of the values, from the median of the distances from their median. */
gdouble ct_tune_deviation(const GArray *values);

/* ---- the run: tune.c ---- */

/* The best measured variants on the host in one setting, by instruction set: seconds per sample,
 * HUGE_VAL where there is none. */
typedef struct {
    CtCostKey key; /* of one of them */
    gdouble seconds[CT_N_ISAS];
} CtTuneBest;

/* The measurements of a variant beside the model: with the innermost axes of a row's ports, or of
 * all its rows. */
typedef struct {
    guint n;
    gdouble least; /* the least ratio of the measured to the modelled seconds */
} CtTuneRatio;

typedef struct {
    const CtTuneOptions *options;
    CtDatabase *database;
    CtPlanner planner;  /* gives keys and the model */
    GHashTable *items;  /* the item's own key → CtTuneItem */
    GHashTable *bests;  /* setting, the value's key → CtTuneBest */
    GHashTable *ratios; /* key of the ratio → CtTuneRatio */
    GHashTable *tuned;  /* set of keys of items, of which all tunings were tried */
    GPtrArray *alive;   /* of CtTuneItem: those with a prepared trial */
    guint64 clock;      /* counts uses of trials */
    gdouble usual;      /* relative deviation of a repetition */
    gdouble slice;      /* seconds of a repetition */
    guint most;         /* the most repetitions of an item */
    gdouble optimism;   /* an unmeasured candidate may take this share of the expected time */
    gdouble slack; /* the same if its row has enough measurements: of the time that the model and
                      the row's least ratio give */
    gdouble total; /* seconds of the last plan, as far as it can be measured; 0: there is none */
    gdouble small; /* share of `total` that makes no difference */
    gdouble end;   /* seconds from the start to the expected end */
    gdouble seconds_per_item;
    gint64 started;
    CtTuneReport *report;
} CtTune;

/* Opens the cost database, and notes what it knows. To be closed after a failure as well. */
gboolean ct_tune_open(CtTune *tune, const CtTuneOptions *options, CtTuneReport *report,
                      GError **error);
void ct_tune_close(CtTune *tune);
/* The item of a node, new or known, owned by the run. */
CtTuneItem *ct_tune_item(CtTune *tune, const CtPlan *plan, const CtPlanNode *node);
CtTuneItem *ct_tune_retuned(CtTune *tune, const CtTuneItem *item, const gint64 *tuning);
/* Measures one more repetition. A failure of the trial is recorded and is no failure of the run.
 * FALSE: the cost database cannot be written. */
gboolean ct_tune_measure(CtTune *tune, CtTuneItem *item, GError **error);
/* Reports the current activity. */
void ct_tune_tell(CtTune *tune, const char *what);
/* Whether the budget or the user ends the run. */
gboolean ct_tune_is_over(CtTune *tune);

/* ---- what could at best come out: tune-expect.c ---- */

/* Converts seconds per sample to those for a second of stream, as in estimates. */
gdouble ct_tune_as_estimate(const CtTune *tune, const CtEstimated *what, gdouble seconds);
/* The seconds for which the busiest resource of a plan is busy, for a second of stream. Nodes that
 * wait for files or the network are left out: they are not measured, and the others should be
 * chosen well beside them, too. */
gdouble ct_tune_whole(const CtPlan *plan);
/* Whether the error of an estimate with this spread makes no difference to the whole. */
gboolean ct_tune_is_sure(const CtTune *tune, gdouble seconds, gdouble spread);
/* Whether all tunings of an estimated variant were tried; and a note that they were. */
gboolean ct_tune_is_tuned(const CtTune *tune, const CtEstimated *what);
void ct_tune_set_tuned(CtTune *tune, CtTuneItem *item);
/* Whether they were not, and their gain would matter for the whole plan. */
gboolean ct_tune_is_worth_tuning(const CtTune *tune, const CtEstimated *what, gdouble seconds);

/* Notes the speed of a variant, for variants of smaller instruction sets. */
void ct_tune_note_best(CtTune *tune, const CtVariant *variant, const CtMeasurement *measurement);
void ct_tune_best_free(CtTuneBest *best);
/* Notes the ratio of an item's first measurement to the model. */
void ct_tune_note_ratio(CtTune *tune, const CtTuneItem *item);
/* The same of a measurement from an earlier run. */
void ct_tune_note_stored_ratio(CtTune *tune, const CtVariant *variant,
                               const CtMeasurement *measurement);

/* Is a CtEstimateJudge; `data` is the CtTune. */
gdouble ct_tune_judge(const CtEstimated *what, const CtEstimate *estimate, gpointer data);

/* ---- tunables: tune-tunables.c ---- */

/* Tries the promising tunings of the item's variant. */
gboolean ct_tune_tunables(CtTune *tune, CtTuneItem *item, GError **error);

/* ---- how long firings are: tune-blocks.c ---- */

/* Runs the plan with blocks of several sizes on devices, unless the size is set or known, and
 * stores the best in the cost database. *is_changed is set to whether plans are different now. */
gboolean ct_tune_blocks(CtTune *tune, gboolean *is_changed, GError **error);
