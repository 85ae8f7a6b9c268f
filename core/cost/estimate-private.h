/* SPDX-License-Identifier: BSD-3-Clause */
/* What the estimates' own files share: the words in which the database keeps what is estimated, and
 * what it says. */
#pragma once

#include "estimate.h"

/* ---- words: estimate-key.c ---- */

/* "fir+fft", allocated. */
char *ct_estimate_stages(const CtVariant *variant);
/* "", "to device", "to host", "to peer": one of these very pointers. */
const char *ct_estimate_way(gint from, gint to);
/* Of these pointers the one that reads so; NULL: none. */
const char *ct_estimate_way_from_string(const char *text);
/* Where it runs. */
gint ct_estimate_place(const CtEstimated *what);
/* "ci8[time pol], - -> cf32[time pol phase]": the layouts of all ports, a dash where nothing is
 * connected; and the lengths of their axes, "0 2, - -> 0 2 256", 0 of time. Allocated. */
char *ct_estimate_layouts(const CtEstimated *what);
char *ct_estimate_lengths(const CtEstimated *what);
/* Length of an axis of a layout, 0 of time. */
gint64 ct_estimate_length(const CtStream *stream, const CtLayoutAxis *axis);
/* What else decides: footprints that are not sample by sample, the parameters that are integers,
 * truths and choices, a source's block, and what readers wait for. "window=4096 hop=256 n_taps=16
 * held=300"; allocated.
 */
char *ct_estimate_parameters(const CtEstimated *what);
/* How far one is from the other, 0: they are the same. */
gdouble ct_estimate_parameters_distance(const char *a, const char *b);

/* ---- what is known: estimate-known.c ---- */

typedef struct {
    gint64 tuning[CT_MAX_TUNABLES];
    gdouble seconds; /* per sample */
    gdouble spread;
} CtTried;

/* All trials of one candidate on one machine, by one code. */
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
    gboolean is_code;    /* the very code that is loaded */
    CtLoad load;         /* for one sample a second */
    GArray *tried;       /* of CtTried, the best first, the failures not among them */
    const char *failure; /* of one of these, interned */
} CtKnown;

/* NULL where the measurement says nothing of the variant any more. */
CtKnown *ct_known_new(const CtVariant *variant, const CtMeasurement *measurement,
                      gboolean is_shipped, gboolean is_code);
void ct_known_free(CtKnown *known);
/* Adds what one trial gave. */
void ct_known_add(CtKnown *known, const CtMeasurement *measurement);
/* Of this tuning, the best where that is NULL; NULL: it was not tried. */
const CtTried *ct_known_find(const CtKnown *known, const gint64 *tuning);

/* What is estimated, in the same words. */
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

/* The machine, its name and the aim are those of the place where it runs. */
void ct_question_init(CtQuestion *question, const CtEstimated *what, const char *machine,
                      gint64 n_workers, gint64 aim);
void ct_question_clear(CtQuestion *question);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtQuestion, ct_question_clear)

/* What is known of all variants. */
typedef struct CtKnowledge CtKnowledge;

CtKnowledge *ct_knowledge_new(void);
void ct_knowledge_free(CtKnowledge *knowledge);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtKnowledge, ct_knowledge_free)
/* Takes `known`, complete. */
void ct_knowledge_add(CtKnowledge *knowledge, CtKnown *known);
/* Whether anything is known of the variants for the same stages. */
gboolean ct_knowledge_has(const CtKnowledge *knowledge, const CtVariant *variant);
/* The nearest that is not too far, NULL: there is none. *distance is 0 where it is the very same
 * (which may have failed). It may be of another order, or of the same row of another variant, as
 * for another instruction set; of those that are as near, the one that takes longest by `machine`:
 * what is not known must not look better than what is. */
const CtKnown *ct_knowledge_nearest(const CtKnowledge *knowledge, const CtQuestion *question,
                                    const CtMachine *machine, gdouble *distance);
/* How many times what the ceiling says it takes; 0 where the ceiling says nothing. */
gdouble ct_known_over_ceiling(const CtKnown *known, const CtTried *tried, const CtMachine *machine,
                              gint place);

/* Distances of what was shipped, and by another code. */
#define CT_DISTANCE_SHIPPED 0.2
#define CT_DISTANCE_CODE    0.05

/* ---- hashes ---- */

/* Not symmetric: pointers of things that lie alike in memory must not cancel each other. */
static inline guint64
ct_mix(guint64 hash, guint64 value)
{
    value *= G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    value ^= value >> 32;
    return ((hash << 27 | hash >> 37) ^ value) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
}
