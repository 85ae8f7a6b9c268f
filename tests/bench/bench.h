/* SPDX-License-Identifier: BSD-3-Clause */
/* Contenders, and how they are measured beside one another and beside the machine. */
#pragma once

#include "ceilings.h"

/* Per second. */
typedef struct {
    gdouble samples; /* of the input */
    gdouble bytes;   /* in and out of the whole, each once */
    gdouble operations;
    gdouble firings;    /* of all nodes */
    gdouble processors; /* seconds of all threads */
} Rates;

/* Something that can be run for a while. */
typedef struct Contender Contender;
struct Contender {
    char *group;
    char *name;
    char *remark; /* variant and layouts, once it has run; may be NULL */
    guint n_threads;
    gboolean (*run)(Contender *contender, Rates *rates, GError **error);
    void (*clear)(Contender *contender);
    Rates rates;                    /* median over the slices */
    gdouble of_fma, of_l2, of_dram; /* shares of the ceilings, medians over the slices */
    GArray *slices;                 /* gdouble: samples per second */
    GArray *dram_shares;            /* gdouble */
    GArray *fma_shares;
    char *failure; /* why there is no figure */
};

void contender_init(Contender *contender, const char *group, const char *name, guint n_threads);
void contender_free(Contender *contender);

/* Runs slices of all `contenders` (Contender *) by turns, each between two calibrations on as many
 * threads. */
void contenders_measure(GPtrArray *contenders, CeilingMeter *meter, guint n_slices);

/* The median over the slices of a's rate over b's; NaN where either has none. */
gdouble contenders_ratio(const Contender *a, const Contender *b);

gdouble median(GArray *values);

/* ---- graphs ---- */

/* A graph whose node `source` is given `samples`; `timed`, the same or a bench.sink, times it. The
 * remark shows variant and layouts of `node`, which may be NULL, and what was inserted. */
Contender *graph_contender_new(const char *group, const char *name, guint n_workers,
                               const char *text, const char *source, const char *timed,
                               const char *node);

/* ---- what there is to measure: appended to `contenders` ---- */

void stages_add(GPtrArray *contenders);
void pipelines_add(GPtrArray *contenders);
void framework_add(GPtrArray *contenders);

/* Prints fused variants beside their chains, those whose name matches the patterns. */
void fusion_measure(CeilingMeter *meter, guint n_slices, char *const *patterns);

/* Prints the floors, those whose name matches the patterns; FALSE where one is missed. */
gboolean floors_measure(CeilingMeter *meter, guint n_slices, char *const *patterns);

/* ---- the table ---- */

gboolean is_wanted(const char *group, const char *name, char *const *patterns);
void table_print_head(void);
void contender_print(const Contender *contender);
