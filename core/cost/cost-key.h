/* SPDX-License-Identifier: BSD-3-Clause */
/* The key of a measured cost: the candidate that was measured, its tuning, and the machine. */
#pragma once

#include <cornerturn/layout.h>

/* A parameter or a tunable with its value. */
typedef struct {
    const char *name; /* interned */
    const char *word; /* interned; NULL: the value is `number` */
    gint64 number;
} CtNamedValue;

typedef struct {
    CtLayout layout;             /* empty: not connected */
    gint64 lengths[CT_MAX_AXES]; /* of the axes of the layout; 0 for time */
} CtCostPort;

/* Texts are interned. The arrays do not change, and copies share them. */
typedef struct {
    const char *stages;  /* "fir+fft" */
    const char *variant; /* "cpu-avx512" */
    const char *row;     /* the row of the variant's table of layouts */
    const char *way;     /* of a copy: "to device", "to host", "to peer"; otherwise "" */
    guint n_inputs;
    GArray *ports;       /* of CtCostPort: the inputs, then the outputs */
    GArray *parameters;  /* of CtNamedValue: window=4096 hop=256 n_taps=16 */
    const char *machine; /* "AMD EPYC 9354, 1024 KiB L2, …, avx512"; "NVIDIA H200, driver 13.0" */
    gint64 n_workers;    /* of the host; 0 for a device */
    gint64 aim;          /* bytes that a firing aims at for its links */
    const char *code;    /* checksum of the plugin's file */
    GArray *tuning;      /* of CtNamedValue: tile=4,threads=2; empty if there are no tunables */
} CtCostKey;

void ct_cost_key_copy(CtCostKey *copy, const CtCostKey *key);
void ct_cost_key_clear(CtCostKey *key);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtCostKey, ct_cost_key_clear)

/* For a GHashTable of CtCostKey. The hash may be used with each of the three comparisons. */
guint ct_cost_key_hash(gconstpointer key);
gboolean ct_cost_key_equal(gconstpointer a, gconstpointer b);
/* The tunings may differ. */
gboolean ct_cost_key_equal_candidate(gconstpointer a, gconstpointer b);
/* The tunings, variants, rows and codes may differ, or be NULL. */
gboolean ct_cost_key_equal_setting(gconstpointer a, gconstpointer b);

/* Empty arrays, and what adds to them. A text that is a decimal integer becomes a number. */
GArray *ct_cost_ports_new(void);
GArray *ct_named_values_new(void);
void ct_named_values_add(GArray *values, const char *name, const char *text);
void ct_named_values_add_number(GArray *values, const char *name, gint64 number);
gboolean ct_named_values_equal(const GArray *a, const GArray *b);

/* The members of a key that are more than one word or number, as texts in files. CT_KEY_LENGTHS is
 * parsed after CT_KEY_LAYOUTS. */
typedef enum {
    CT_KEY_LAYOUTS,    /* "ci8[time pol], - -> cf32[time pol phase]": a dash: not connected */
    CT_KEY_LENGTHS,    /* "0 2, - -> 0 2 256" */
    CT_KEY_PARAMETERS, /* "window=4096 hop=256 n_taps=16" */
    CT_KEY_TUNING,     /* "tile=4,threads=2" */
} CtKeyPart;

/* Allocated. */
char *ct_cost_key_print(const CtCostKey *key, CtKeyPart part);
/* FALSE if the text has another form. */
gboolean ct_cost_key_parse(CtCostKey *key, CtKeyPart part, const char *text);

/* ---- hashes ---- */

/* Depends on the order of its values: pointers with equal distances must not cancel each other. */
static inline guint64
ct_mix(guint64 hash, guint64 value)
{
    value *= G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    value ^= value >> 32;
    return ((hash << 27 | hash >> 37) ^ value) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
}
