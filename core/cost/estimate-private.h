/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of estimates: keys of the database, and what is known from it. */
#pragma once

#include "estimate.h"

/* ---- keys: estimate-key.c ---- */

/* "fir+fft", allocated. */
char *ct_estimate_stages(const CtVariant *variant);
/* The direction of a copy: "", "to device", "to host" or "to peer". Equal ways are equal
 * pointers. */
const char *ct_estimate_way(gint from, gint to);
/* The same from its text; NULL if there is no such way. */
const char *ct_estimate_way_from_string(const char *text);
/* The place that does the work: for a copy, the device. */
gint ct_estimate_place(const CtEstimated *what);
/* "ci8[time pol], - -> cf32[time pol phase]": the layouts of all ports, a dash for an unconnected
 * one; and the lengths of their axes, "0 2, - -> 0 2 256", 0 for time. Allocated. */
char *ct_estimate_layouts(const CtEstimated *what);
char *ct_estimate_lengths(const CtEstimated *what);
/* The length of an axis of a layout, 0 for time. */
gint64 ct_estimate_length(const CtStream *stream, const CtLayoutAxis *axis);
/* Other facts that decide the cost: footprints other than sample by sample, parameters that are
 * integers, booleans or choices, a source's block, and the samples held for readers. "window=4096
 * hop=256 n_taps=16 held=300"; allocated. */
char *ct_estimate_parameters(const CtEstimated *what);
/* The distance between two such texts; 0: they are the same. */
gdouble ct_estimate_parameters_distance(const char *a, const char *b);

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
    const char *way;
    guint n_ports;
    CtLayout *layouts;              /* [n_ports] inputs, then outputs; empty: not connected */
    gint64 (*lengths)[CT_MAX_AXES]; /* [n_ports] */
    char *parameters;
    const char *machine; /* interned */
    gint64 n_workers;
    gint64 aim;
    gboolean is_shipped;
    gboolean is_code;    /* the measured code is the code that is loaded */
    CtLoad load;         /* for one sample per second */
    GArray *tried;       /* of CtTried, sorted, the fastest first; without failures */
    const char *failure; /* of one of the trials, interned; NULL: none failed */
} CtKnown;

/* NULL if the variant no longer has the row of the measurement, or the texts cannot be parsed. */
CtKnown *ct_known_new(const CtVariant *variant, const CtMeasurement *measurement,
                      gboolean is_shipped, gboolean is_code);
void ct_known_free(CtKnown *known);
/* Adds the result of one trial. */
void ct_known_add(CtKnown *known, const CtMeasurement *measurement);
/* The trial with this tuning, or the fastest if `tuning` is NULL. NULL if there is none. */
const CtTried *ct_known_find(const CtKnown *known, const gint64 *tuning);

/* The candidate to be estimated, in the same terms. */
typedef struct {
    const CtEstimated *what;
    const char *way;
    const char *machine;
    gint64 n_workers, aim;
    guint n_ports;
    const CtLayout **layouts;       /* [n_ports] */
    gint64 (*lengths)[CT_MAX_AXES]; /* [n_ports] */
    char *parameters;
} CtQuestion;

/* `machine`, `n_workers` and `aim` belong to the place that does the work. */
void ct_question_init(CtQuestion *question, const CtEstimated *what, const char *machine,
                      gint64 n_workers, gint64 aim);
void ct_question_clear(CtQuestion *question);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtQuestion, ct_question_clear)

/* All that is known of all variants. */
typedef struct CtKnowledge CtKnowledge;

CtKnowledge *ct_knowledge_new(void);
void ct_knowledge_free(CtKnowledge *knowledge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtKnowledge, ct_knowledge_free)
/* Takes `known`. Its trials must have been added. */
void ct_knowledge_add(CtKnowledge *knowledge, CtKnown *known);
/* Whether anything is known of variants that begin with the same stage. */
gboolean ct_knowledge_has(const CtKnowledge *knowledge, const CtVariant *variant);
/* The nearest known candidate that is not too far away; NULL if there is none. *distance is 0 if it
 * is the same candidate, which may have failed. Otherwise it may have another order of axes, or be
 * the same row of another variant, such as one for another instruction set. Of equally near
 * candidates, the one that is slowest compared with its ceiling is returned: an unmeasured
 * candidate must not look better than measured ones. */
const CtKnown *ct_knowledge_nearest(const CtKnowledge *knowledge, const CtQuestion *question,
                                    const CtMachine *machine, gdouble *distance);
/* The seconds of the trial divided by those of the ceiling; 0 if the ceiling gives none. */
gdouble ct_known_over_ceiling(const CtKnown *known, const CtTried *tried, const CtMachine *machine,
                              gint place);

/* Distances added for shipped measurements, and for another version of the code. */
#define CT_DISTANCE_SHIPPED 0.2
#define CT_DISTANCE_CODE    0.05

/* ---- hashes ---- */

/* Depends on the order of its values: pointers with equal distances must not cancel each other. */
static inline guint64
ct_mix(guint64 hash, guint64 value)
{
    value *= G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    value ^= value >> 32;
    return ((hash << 27 | hash >> 37) ^ value) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
}
