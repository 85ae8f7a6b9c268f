/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of a stage's test: streams of the types and axes that its ports take, drawn from a
 * seed, and a way to run a variant on them. */
#pragma once

#include "graph/registry.h"
#include "model/node-params.h"
#include "test-run.h"

/* The most inputs and outputs of a stage that is tested. */
enum { CT_TEST_PORTS = 8 };

/* The choices that the user has fixed. */
typedef struct {
    const CtStage *stage;
    const CtParams *params;
    GHashTable *lengths; /* axis name → its length (GINT_TO_POINTER) */
    GPtrArray *further;  /* of names of axes that streams may also have: two or more */
    CtType type;         /* of the first input; CT_TYPE_NONE: any */
    guint32 seed;
} CtTestFixed;

/* A way to run: a variant with one of its rows. */
typedef struct {
    const CtVariant *variant;
    const CtRow *row;
    guint index;   /* of the row in the variant's table */
    guint n_tried; /* cases drawn so far: the next one's round */
} CtTestChoice;

typedef struct {
    guint32 round;
    CtNode node;
    CtStream inputs[CT_TEST_PORTS], outputs[CT_TEST_PORTS];
    CtStream narrow[CT_TEST_PORTS]; /* the inputs, before they are converted for the row */
    CtLayout wishes[2][CT_TEST_PORTS];
    CtLayout layouts[2 * CT_TEST_PORTS]; /* of the row: inputs, then outputs */
    gint64 n_samples[CT_TEST_PORTS];     /* of the inputs */
    gint64 tuning[CT_MAX_TUNABLES];
    gsize padding; /* elements after each row of each axis */
    gint64 cuts[3];
    guint n_workers;
    CtCutKind cut_by;
    CtGuardSide side;
    gboolean is_whole; /* one firing, one range of items */
    gboolean has_gaps;
    guint values; /* kind of the elements: see test-case.c */
} CtTestCase;

/* Whether a case can be run and, if not, why. */
typedef enum {
    CT_CASE_GOOD,
    CT_CASE_REFUSED, /* by infer */
    CT_CASE_UNFIT,   /* for the variant */
    CT_CASE_UNBOUND, /* the row does not take these streams */
    CT_CASE_FAULTY   /* a function of the plugin breaks its contract */
} CtCaseState;

/* Draws case `round` of a choice. If it cannot be run, *reason, allocated, says why. */
CtCaseState ct_test_case_init(CtTestCase *one, const CtTestFixed *fixed, const CtTestChoice *choice,
                              guint32 round, GRand *random, char **reason);
void ct_test_case_clear(CtTestCase *one);
/* Binds a row to the streams of the case, as it likes them best: `layouts` has those of the inputs,
 * then of the outputs. */
gboolean ct_test_case_bind(const CtTestCase *one, const CtRow *row, CtLayout *layouts,
                           GError **error);
/* "cpu-avx2, cf32[…] -> …, …, 3 elements of padding, one firing": for messages, allocated. */
char *ct_test_case_describe(const CtTestCase *one, const CtTestChoice *choice);
/* Fills the elements of a packed block in canonical order, and its validity: [lane][n_samples]. The
 * caller zeroes the invalid samples. */
void ct_test_case_fill(const CtTestCase *one, guint input, guint8 *data, guint8 *validity,
                       GRand *random);
