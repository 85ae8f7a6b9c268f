/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of estimates: keys of the database, and what is known from it. */
#pragma once

#include "estimate.h"

/* ---- keys: estimate-key.c ---- */

/* "fir+fft", allocated. */
char *ct_estimate_stages(const CtVariant *variant);
/* The place that does the work: for a copy, the device. */
gint ct_estimate_place(const CtEstimated *what);
/* Sets the key of a candidate without its variant, row, code and tuning, which are NULL. `machine`,
 * interned, `n_workers` and `aim` belong to the place that does the work. */
void ct_estimate_setting_at(const CtEstimated *what, const char *machine, gint64 n_workers,
                            gint64 aim, CtCostKey *setting);

/* ---- knowledge from the database: estimate-known.c ---- */

typedef struct {
    gint64 tuning[CT_MAX_TUNABLES];
    gdouble seconds; /* per sample */
    gdouble spread;
} CtTried;

/* All trials of one candidate on one machine with one version of the code. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    CtCostKey key; /* without the tuning */
    gboolean is_shipped;
    gboolean is_code;    /* the measured code is the code that is loaded */
    CtLoad load;         /* for one sample per second */
    GArray *tried;       /* of CtTried, sorted, the fastest first; without failures */
    const char *failure; /* of one of the trials, interned; NULL: none failed */
} CtKnown;

/* NULL if the variant no longer has the row of the measurement. */
CtKnown *ct_known_new(const CtVariant *variant, const CtMeasurement *measurement,
                      gboolean is_shipped, gboolean is_code);
void ct_known_free(CtKnown *known);
/* Adds the result of one trial. */
void ct_known_add(CtKnown *known, const CtMeasurement *measurement);
/* The trial with this tuning, or the fastest if `tuning` is NULL. NULL if there is none. */
const CtTried *ct_known_find(const CtKnown *known, const gint64 *tuning);

/* All that is known of all variants. */
typedef struct CtKnowledge CtKnowledge;

CtKnowledge *ct_knowledge_new(void);
void ct_knowledge_free(CtKnowledge *knowledge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtKnowledge, ct_knowledge_free)
/* Takes `known`. Its trials must have been added. */
void ct_knowledge_add(CtKnowledge *knowledge, CtKnown *known);
/* Whether anything is known of variants that begin with the same stage. */
gboolean ct_knowledge_has(const CtKnowledge *knowledge, const CtVariant *variant);
/* The known candidate nearest to `what`, with this setting, that is not too far away; NULL if there
 * is none. *distance is 0 if it is the same candidate, which may have failed. Otherwise it may have
 * another order of axes, or be the same row of another variant, such as one for another instruction
 * set. Of equally near candidates, the one that is slowest compared with its ceiling is returned:
 * an unmeasured candidate must not look better than measured ones. */
const CtKnown *ct_knowledge_nearest(const CtKnowledge *knowledge, const CtEstimated *what,
                                    const CtCostKey *setting, const CtMachine *machine,
                                    gdouble *distance);
/* The distance between the parameters of two keys. */
gdouble ct_parameters_distance(const GArray *a, const GArray *b);
/* The seconds of the trial divided by those of the ceiling; 0 if the ceiling gives none. */
gdouble ct_known_over_ceiling(const CtKnown *known, const CtTried *tried, const CtMachine *machine,
                              gint place);

/* Distances added for shipped measurements, and for another version of the code. */
#define CT_DISTANCE_SHIPPED 0.2
#define CT_DISTANCE_CODE    0.05
