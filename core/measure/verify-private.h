/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the verification share. */
#pragma once

#include "verify.h"

/* Two streams of the same elements in any layouts, so far. */
typedef struct {
    gint64 n;                  /* elements */
    gdouble largest;           /* of the differences */
    gdouble squares;           /* their sum */
    gdouble value_largest;     /* of the second stream's elements */
    gdouble value_squares;     /* their sum */
    gint64 n_validity;         /* samples of a lane that are valid in one of them alone */
    gint64 n_valid;            /* … that are valid in both */
    gint64 worst_sample;       /* where the largest difference is */
    gint64 worst[CT_MAX_AXES]; /* in the stream's axes, time left out */
} CtComparison;

/* Adds blocks of as many samples, the first of which is `sample` of the stream. `layouts` are
 * concrete, without blocks. */
void ct_comparison_add(CtComparison *comparison, const CtStream *stream,
                       const CtLayout *const layouts[2], const CtBlock *const blocks[2],
                       gint64 sample);

/* An output that is looked at. */
typedef struct {
    guint node; /* of the graph */
    guint port;
    char *taps[2];  /* nodes that take it, as is looked into and for comparison; the first may be
                       NULL: it is there to be known alone */
    char *nodes[2]; /* that make it */
    CtComparison comparison;
    char *variants[2]; /* of the nodes */
    gint places[2];    /* … and where they run */
    gdouble rates[2];
    char *problem;
} CtVerifyPair;

/* A graph that has every node twice. */
typedef struct {
    gboolean together;
    CtConfig *config;
    GHashTable *backends, *variants; /* for the plan */
    GPtrArray *pairs;                /* of CtVerifyPair */
} CtVerifyTwins;

/* With `together`, of chains side by side, looked at where they end; otherwise each node beside
 * itself, with one input. */
void ct_verify_twins_init(CtVerifyTwins *twins, const CtVerifyOptions *options, gboolean together);
void ct_verify_twins_clear(CtVerifyTwins *twins);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CtVerifyTwins, ct_verify_twins_clear)

/* Runs it and fills the pairs. Of nodes that one variant runs both ways, at one place, one is taken
 * out first. */
gboolean ct_verify_twins_run(CtVerifyTwins *twins, const CtVerifyOptions *options, GError **error);
