/* SPDX-License-Identifier: BSD-3-Clause */
/* Every plan of a graph in which neighbours agree, run as a whole: whether the tuned one is the
 * best. For graphs that are small enough. */
#pragma once

#include "tune-compare.h"

/* Runs every combination of layouts that need no transposes, each stage by the variant and the
 * tuning that are the best known for them, then the fastest and the tuned plan by turns. Returns a
 * report, allocated; NULL without error where it was ended before. */
char *ct_exhaust(const CtCompareOptions *options, GError **error);
