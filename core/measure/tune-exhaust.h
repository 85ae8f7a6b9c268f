/* SPDX-License-Identifier: BSD-3-Clause */
/* A test of whether the tuned plan is the best: all combinations that could be better are run as
 * whole graphs. For small graphs. */
#pragma once

#include "tune-compare.h"

typedef struct {
    const CtCompareOptions *compare;
    gdouble budget; /* seconds; 0: no limit */
    /* `print` gets lines for the user as soon as they are known, `progress` the state from time to
     * time. */
    void (*print)(const char *text, gpointer data);
    void (*progress)(const char *text, gdouble elapsed, gpointer data);
    gpointer data;
} CtExhaustOptions;

/* Prints the number of combinations of the ways to run each stage, with the conversions that the
 * planner inserts. Runs each way in some whole graph, then all combinations that could be the best
 * if each of their parts did as well as it ever did; then the fastest in turn, until few are left,
 * and these with the tuned plan. Returns a report, allocated; NULL without error where it was
 * interrupted. */
char *ct_exhaust(const CtExhaustOptions *options, GError **error);
