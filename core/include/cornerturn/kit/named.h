/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of axes, and times, as users name them in parameters. */
#pragma once

#include <cornerturn/params.h>

G_BEGIN_DECLS

/* The row of a parameter that names elements of an axis, and has its name. */
#define CT_PARAM_ELEMENTS(axis_)                                                                   \
    {                                                                                              \
        axis_, CT_PARAM_STRING, CT_PARAM_LIST,                                                     \
            .help = "elements of the axis " axis_ ": indices, ranges and labels"                   \
    }

/* Appends the indices (gint64) of the elements that the list `param` names: indices "7", ranges
 * "0..15", labels, and of baselines pairs of labels or one of them. An element that is named twice
 * is appended twice. An empty list is an error. */
CT_EXPORT gboolean ct_named_elements(const CtParams *params, const char *param, const CtAxis *axis,
                                     GArray *indices, GError **error);

/* The axis of frequencies: channel, or subband; −1: neither has any. */
CT_EXPORT gint ct_named_frequencies(const CtStream *stream);

/* The first tick that is not before `seconds` after the start of a stream with a sample rate. What
 * is a whole number of ticks but for the rounding of double precision is taken as one. */
CT_EXPORT gint64 ct_named_tick(const CtStream *stream, gdouble seconds);

G_END_DECLS
