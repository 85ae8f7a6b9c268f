/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the tuning share. */
#pragma once

#include "cost/database.h"
#include "plan/planner.h"
#include "trial.h"
#include "tune.h"

/* ---- items: tune-item.c ---- */

/* One candidate with one tuning, and what is known of it. */
typedef struct {
    char *name;    /* "beams cpu-avx512 cf32[…] -> cf32[…]", for people */
    char *setting; /* all that decides its speed but variant and tuning, as text */
    CtMeasurement measurement;

    /* What is tried: `what` points to the rest. */
    CtEstimated what;
    CtNode *nodes;
    CtStream *inputs;  /* of the first node */
    CtStream *outputs; /* of a node that the planner inserted; NULL: the graph's */
    CtLayout *layouts; /* inputs, then outputs */
    CtLoad load;
    gint64 tuning[CT_MAX_TUNABLES];
    guint64 reads; /* bits of the outputs that somebody reads */

    char *refusal;    /* why it cannot be tried: the model has the last word */
    GArray *samples;  /* gdouble: seconds per sample of each repetition, those that the database
                         tells  of made up */
    gboolean is_best; /* among the best tunings of its variant, all of which were looked at */
    CtTrial *trial;   /* NULL: not at hand */
    guint64 used;     /* when it was, last */
} CtTuneItem;

/* Of a node of a plan; `key` says how estimates are kept. */
CtTuneItem *ct_tune_item_new(const CtPlan *plan, const CtPlanNode *node, CtEstimates *estimates);
/* The same with another tuning. */
CtTuneItem *ct_tune_item_retuned(const CtTuneItem *item, const gint64 *tuning,
                                 CtEstimates *estimates);
void ct_tune_item_free(CtTuneItem *item);
/* Text by which items are known: equal of equal ones. Allocated. */
char *ct_tune_item_key(const CtTuneItem *item);
/* That of all items of what is estimated, whatever variant and tuning; also from a measurement. */
char *ct_tune_setting(CtEstimates *estimates, const CtEstimated *what);
char *ct_tune_setting_of(const CtMeasurement *measurement);
/* Adds a repetition; its measurement is then what should be stored. `usual` is the relative
 * deviation of a repetition as it is known of others. */
void ct_tune_item_add(CtTuneItem *item, gdouble seconds, gdouble usual);
/* Whether what the database has had since then, in Unix seconds, is taken as it is. */
gboolean ct_tune_is_fresh(gint64 time);
/* Takes over what the database has. */
void ct_tune_item_keep(CtTuneItem *item, const CtMeasurement *stored);
/* The relative deviation of its repetitions, robust; NaN of too few. */
gdouble ct_tune_item_deviation(const CtTuneItem *item);

gdouble ct_tune_median(const GArray *values);
/* Their standard deviation, by the median of the distances from the median. */
gdouble ct_tune_deviation(const GArray *values);

/* ---- the run: tune.c ---- */

/* Of the variants on the host with what was measured, by their instructions: seconds per sample of
 * the best, HUGE_VAL where there is none. */
typedef struct {
    gdouble seconds[CT_N_ISAS];
} CtTuneBest;

/* How a variant did beside the model, with the innermost axes of a row's ports, or at all. */
typedef struct {
    guint n;
    gdouble least; /* of the ratios of what was measured to what was modelled */
} CtTuneRatio;

typedef struct {
    const CtTuneOptions *options;
    CtDatabase *database;
    CtPlanner planner;  /* for keys and the model */
    GHashTable *items;  /* key → CtTuneItem */
    GHashTable *bests;  /* setting → CtTuneBest */
    GHashTable *ratios; /* hash of what it is of → CtTuneRatio */
    GHashTable *tuned;  /* setting and variant, as text, whose tunings were all looked at */
    GPtrArray *alive;   /* of CtTuneItem, that have a trial at hand */
    guint64 clock;      /* of their use */
    gdouble usual;      /* relative deviation of a repetition */
    gdouble slice;      /* seconds of a repetition */
    guint most;         /* repetitions */
    gdouble optimism;   /* what is not measured may take so many times what is expected … */
    gdouble slack;      /* … and what is measured elsewhere, so many times what it did best */
    gdouble total;      /* seconds of what is measured of the last plan; 0: there is none */
    gdouble small;      /* of that: what makes no difference */
    gdouble end;        /* seconds from the start at which it is about over */
    gdouble seconds_per_item;
    gint64 started;
    CtTuneReport *report;
} CtTune;

/* The item of these, which the run owns: a new one, or the one that is known. */
CtTuneItem *ct_tune_item(CtTune *tune, const CtPlan *plan, const CtPlanNode *node);
CtTuneItem *ct_tune_retuned(CtTune *tune, const CtTuneItem *item, const gint64 *tuning);
/* One repetition more; a failure of the trial is recorded, and none of the run. FALSE: the database
 * cannot be written. */
gboolean ct_tune_measure(CtTune *tune, CtTuneItem *item, GError **error);
/* Shows what is done now. */
void ct_tune_tell(CtTune *tune, const char *what);
/* Whether budget or user end it. */
gboolean ct_tune_is_over(CtTune *tune);

/* ---- what could at best come out: tune-expect.c ---- */

/* Seconds for a second of stream, as estimates have them, of so many a sample. */
gdouble ct_tune_as_estimate(const CtTune *tune, const CtEstimated *what, gdouble seconds);
/* Seconds for a second of stream of what is busiest, what waits for files or the network left
 * aside: nothing about these is measured, and the rest is to be chosen well beside them, too. */
gdouble ct_tune_whole(const CtPlan *plan);
/* Whether it makes no difference to the whole by how much an estimate of such a spread may be off.
 */
gboolean ct_tune_is_sure(const CtTune *tune, gdouble seconds, gdouble spread);
/* Whether the tunings of a variant with what is estimated have been looked at; and that they have.
 */
gboolean ct_tune_is_tuned(const CtTune *tune, const CtEstimated *what);
void ct_tune_set_tuned(CtTune *tune, const CtEstimated *what);
/* Whether they have not, and would be seen in the whole. */
gboolean ct_tune_is_worth_tuning(const CtTune *tune, const CtEstimated *what, gdouble seconds);

/* Remembers how fast a variant is, for those of fewer instructions. */
void ct_tune_note_best(CtTune *tune, const CtVariant *variant, const CtMeasurement *measurement);
/* Remembers how it did beside the model, the first time that it is known. */
void ct_tune_note_ratio(CtTune *tune, const CtTuneItem *item);
/* The same of what an earlier run measured. */
void ct_tune_note_stored_ratio(CtTune *tune, const CtVariant *variant,
                               const CtMeasurement *measurement);

/* A CtEstimateJudge, of a CtTune. */
gdouble ct_tune_judge(const CtEstimated *what, const CtEstimate *estimate, gpointer data);

/* ---- tunables: tune-tunables.c ---- */

/* Tries tunings of the item's variant that are worth it. */
gboolean ct_tune_tunables(CtTune *tune, CtTuneItem *item, GError **error);

/* ---- how long firings are: tune-blocks.c ---- */

/* Runs the plan with blocks of several sizes on devices, unless somebody has said how large they
 * are, or it is known; what is found goes into the database. *is_changed: plans are other ones now.
 */
gboolean ct_tune_blocks(CtTune *tune, gboolean *is_changed, GError **error);

/* ---- reading and writing: tune-independence.c ---- */

/* Measures all pairs of the nodes that read and write in any order, and reports whether their cost
 * is that of reading and that of writing. */
gboolean ct_tune_independence(CtTune *tune, GError **error);
