/* SPDX-License-Identifier: BSD-3-Clause */
/* What an exhaustive run has come to, for its report. */
#pragma once

#include "tune-exhaust-run.h"

typedef struct {
    guint n_run;
    guint n_ways, n_unknown;  /* ways to run a node: all, and those that never ran */
    GPtrArray *failures;      /* of char: ways that fail, and why */
    gdouble n_failing;        /* combinations that have one of these */
    guint n_failed;           /* combinations that failed beside these … */
    char *failure;            /* … and why the last did; NULL: none did */
    gdouble fastest, slowest; /* seconds of single runs */
    guint n_undercut;         /* took less than their bounds … */
    gdouble least_share;      /* … so much of it, at least; 1: none did */
    gdouble limit;            /* of bounds: below it all were to be run */
    gdouble n_left;           /* below it that were not … */
    gboolean is_all_left;     /* … no fewer, if not */
    gdouble least_left;    /* the least bound of all that were not run; HUGE_VAL: none are left */
    gdouble near;          /* so many times what the fastest took after the first runs … */
    guint n_near, n_again; /* … these did, at most; of them, that ran again */
    gdouble elapsed;
    GPtrArray *finalists; /* of CtWhole, the planner's among them; borrowed */
    const CtWhole *planned;
} CtExhaustion;

/* Texts, allocated: how many there are, before anything runs; what came of it, with the table of
 * the finalists; and how the tuned plan did beside its rival, by turns. */
char *ct_exhaustion_head(const CtSpace *space);
char *ct_exhaustion_report(const CtExhaustion *found, const CtSpace *space);
char *ct_exhaustion_duel(const CtWhole *planned, const CtWhole *rival);
