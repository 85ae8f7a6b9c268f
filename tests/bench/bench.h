/* SPDX-License-Identifier: BSD-3-Clause */
/* Contenders, and their measurement beside one another and beside the machine's ceilings. */
#pragma once

#include "graph/registry.h"
#include "measure/meter.h"

/* All of these are per second. */
typedef struct {
    gdouble samples; /* of the input */
    gdouble bytes;   /* input and output of the whole graph, each counted once */
    gdouble operations;
    gdouble firings;    /* of all nodes */
    gdouble processors; /* processor seconds of all threads */
} Rates;

/* Something that is measured: it can be run for a slice of time, again and again. */
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
    char *failure; /* why there is no result */
};

void contender_init(Contender *contender, const char *group, const char *name, guint n_threads);
void contender_free(Contender *contender);

/* Runs slices of all `contenders` (Contender *) in turn; the ceilings are measured before and after
 * each slice, on as many threads. */
void contenders_measure(GPtrArray *contenders, CtMeter *meter, guint n_slices);

/* The median over the slices of a's rate over b's; NaN if either has none. */
gdouble contenders_ratio(const Contender *a, const Contender *b);

gdouble median(GArray *values);

/* ---- graphs ---- */

/* A graph whose node `source` gets the parameter `samples`. The node `timed`, `source` or a
 * bench.sink, measures the time. The remark shows variant and layouts of `node` (which may be
 * NULL), and inserted nodes. */
Contender *graph_contender_new(const char *group, const char *name, guint n_workers,
                               const char *text, const char *source, const char *timed,
                               const char *node);

/* Whether stages of the graph are attached to one another; TRUE unless it is set. */
void graph_contender_set_fusion(Contender *contender, gboolean fusion);

/* ---- groups of contenders, appended to `contenders` ---- */

/* Stages and pipelines, of `cases` (CtBenchCase), which must outlive them, as the registry must. */
void cases_add(GPtrArray *contenders, const GPtrArray *cases, CtRegistry *registry);
void filters_add(GPtrArray *contenders);
void framework_add(GPtrArray *contenders);

/* A case that words of the command line may choose: by its group, or by a part of its name. */
typedef struct {
    const char *group;
    const char *name;
} CaseName;

/* Append the names (CaseName) of what is printed below. */
void fusion_list(GArray *names);
void floors_list(GArray *names);

/* Prints fused variants whose name matches the patterns, beside chains of unfused ones. */
void fusion_measure(CtMeter *meter, guint n_slices, char *const *patterns);

/* Prints the floors whose name matches the patterns, some of them of `contenders`; FALSE: a floor
 * was missed. */
gboolean floors_measure(CtMeter *meter, const GPtrArray *contenders, guint n_slices,
                        char *const *patterns);

/* ---- the table ---- */

gboolean is_wanted(const char *group, const char *name, char *const *patterns);
void table_print_head(void);
void contender_print(const Contender *contender);
