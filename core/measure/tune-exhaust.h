/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the tuned plan is the best: everything that a graph can be planned as, as far as it could
 * be any better, run as a whole. For graphs that are small enough. */
#pragma once

#include "tune-compare.h"

typedef struct {
    const CtCompareOptions *compare;
    gdouble budget; /* seconds; 0: as many as it takes */
    /* Lines for the user, as soon as they are known; and how far it is, now and then. */
    void (*print)(const char *text, gpointer data);
    void (*progress)(const char *text, gdouble elapsed, gpointer data);
    gpointer data;
} CtExhaustOptions;

/* Prints how many combinations there are of the ways to run each stage, with what the planner puts
 * between them where layouts differ. Runs each way in some whole graph, then all combinations that
 * could be the best if every part of them did as well as it ever did; the fastest by turns, until
 * few are left, then these and the tuned plan. Returns a report, allocated; NULL without error
 * where it was ended before. */
char *ct_exhaust(const CtExhaustOptions *options, GError **error);
