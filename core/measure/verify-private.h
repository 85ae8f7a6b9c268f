/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the files of the verification. */
#pragma once

#include "verify.h"

/* The comparison so far of two streams with the same elements in any layouts. */
typedef struct {
    gint64 n;                  /* elements */
    gdouble largest;           /* the largest difference */
    gdouble squares;           /* the sum of the squared differences */
    gdouble value_largest;     /* the largest element of the second stream */
    gdouble value_squares;     /* the sum of its squared elements */
    gint64 n_validity;         /* samples of a lane that are valid in one stream only */
    gint64 n_valid;            /* … and in both */
    gint64 worst_sample;       /* the sample of the largest difference */
    gint64 worst[CT_MAX_AXES]; /* its index in the stream's axes, without time */
} CtComparison;

/* Adds two blocks of the same number of samples, the first of which is `sample` of the stream.
 * `layouts` are concrete, without blocks. */
void ct_comparison_add(CtComparison *comparison, const CtStream *stream,
                       const CtLayout *const layouts[2], const CtBlock *const blocks[2],
                       gint64 sample);

/* "at channel 3, station 1 of sample 120": the place of the largest difference; allocated. */
char *ct_comparison_place(const CtStream *stream, const CtComparison *found);

/* An output that is compared. */
typedef struct {
    guint node; /* index in the graph */
    guint port;
    char *taps[2];  /* the nodes that take the output, of the tested way and of the reference; the
                       first may be NULL where only the reference runs */
    char *nodes[2]; /* the nodes that make the output */
    CtComparison comparison;
    char *variants[2]; /* of the nodes */
    gint places[2];    /* … and their places */
    gdouble rates[2];
    char *problem;
} CtVerifyPair;

/* A graph that contains every node twice. */
typedef struct {
    gboolean together;
    CtConfig *config;
    GHashTable *backends, *variants; /* for the plan */
    GHashTable *fixed; /* … with `together`: the tested chain runs as the graph by itself would */
    GPtrArray *pairs;  /* of CtVerifyPair */
} CtVerifyTwins;

/* Makes the graph. With `together`, two chains side by side of which the streams at the sinks are
 * compared; otherwise each node beside its twin, with the same input, and all outputs. */
void ct_verify_twins_init(CtVerifyTwins *twins, const CtVerifyOptions *options, gboolean together);
/* Plans the graph as a run would, and fixes the tested chain, one `together`, to that plan. */
gboolean ct_verify_twins_fix(CtVerifyTwins *twins, const CtVerifyOptions *options, GError **error);
void ct_verify_twins_clear(CtVerifyTwins *twins);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtVerifyTwins, ct_verify_twins_clear)

/* Runs the graph and fills the pairs. Where the same variant at the same place would run both nodes
 * of a pair, one of them is removed first. */
gboolean ct_verify_twins_run(CtVerifyTwins *twins, const CtVerifyOptions *options, GError **error);
