/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of an exhaustive run, for its report. */
#pragma once

#include "whole.h"

typedef struct {
    guint n_run;
    guint n_ways, n_unknown;  /* number of ways to run a node, and of those that never ran */
    GPtrArray *failures;      /* of char: ways that fail, with the reason */
    gdouble n_failing;        /* number of combinations with such a way */
    guint n_failed;           /* number of other combinations that failed … */
    char *failure;            /* … and the reason of the last failure; NULL: there was none */
    gdouble fastest, slowest; /* seconds of single runs */
    guint n_undercut;         /* number that took less than their bounds … */
    gdouble least_share;      /* … and the least share of its bound that one took; 1: none did */
    gdouble limit;            /* bound below which all combinations were to be run */
    gdouble n_left;           /* number of those that were not run … */
    gboolean is_all_left;     /* … FALSE: there may be more */
    gdouble least_left;       /* the least bound of those not run; HUGE_VAL: none is left */
    gdouble near; /* near the fastest after the first runs: up to this many times its seconds */
    guint n_near, n_again; /* number of near ones, and of those that ran again */
    gdouble elapsed;
    GPtrArray *finalists; /* of CtWhole, including the planner's; borrowed */
    const CtWhole *planned;
} CtExhaustion;

/* Texts, allocated: the number of combinations, before anything runs; the result, with the table of
 * the finalists; and the comparison of the tuned plan with its rival, run in turn. */
char *ct_exhaustion_head(const CtSpace *space);
char *ct_exhaustion_report(const CtExhaustion *found, const CtSpace *space);
char *ct_exhaustion_duel(const CtWhole *planned, const CtWhole *rival);
