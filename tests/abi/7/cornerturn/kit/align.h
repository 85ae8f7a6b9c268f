/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums that begin at the same times on every day: for stages that sum along time. */
#pragma once

#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* For the infer of a stage with the footprint of a sum, after it has set the footprint: moves the
 * sums so that they begin at whole multiples of their length from midnight UTC. Samples before the
 * first such time are left out. Nothing is rounded. Fails if the stream does not know its UTC, if a
 * sample would have to be divided, or if a day has no whole number of sums; the error is one of
 * `length`, the parameter that gives the samples of a sum, or of `align`, the parameter that
 * demands this. */
CT_EXPORT gboolean ct_sum_align(CtNode *node, const char *align, const char *length,
                                GError **error);

/* The parameter, a row of a table. */
#define CT_SUM_ALIGN                                                                               \
    {                                                                                              \
        "align", CT_PARAM_BOOL,                                                                    \
            .fallback = "false",                                                                   \
            .help = "sums begin at whole multiples of their length from midnight UTC"              \
    }

G_END_DECLS
