/* SPDX-License-Identifier: BSD-3-Clause */
/* The invalid samples of a whole stream, as runs along time: what a sink keeps beside its data, and
 * a source gives back. Lanes are numbered as ct_stream_n_lanes() counts them. An object is for one
 * thread at a time. */
#pragma once

#include <cornerturn/tensor.h>

G_BEGIN_DECLS

/* Samples first … first + n − 1 of a lane, counted from the stream's first. */
typedef struct {
    gint64 first, n;
} CtGap;

typedef struct CtGaps CtGaps;

/* NULL with an error if there is not enough memory. */
CT_EXPORT CtGaps *ct_gaps_new(gint64 n_lanes, GError **error);
CT_EXPORT void ct_gaps_free(CtGaps *gaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtGaps, ct_gaps_free)

CT_EXPORT gint64 ct_gaps_n_lanes(const CtGaps *gaps);
/* Adds the invalid samples of a block; blocks come in their order. */
CT_EXPORT void ct_gaps_add_block(CtGaps *gaps, const CtBlock *block);
/* Adds a run, which must not begin before the lane's last one ends; FALSE: it does, or is empty. */
CT_EXPORT gboolean ct_gaps_add(CtGaps *gaps, gint64 lane, gint64 first, gint64 n);
/* Forgets all runs. */
CT_EXPORT void ct_gaps_clear(CtGaps *gaps);

/* The runs of a lane, in their order: none touches the next. Valid until runs are added. */
CT_EXPORT const CtGap *ct_gaps_of_lane(const CtGaps *gaps, gint64 lane, gsize *n);
/* [lane] the number of invalid samples. */
CT_EXPORT const gint64 *ct_gaps_invalid(const CtGaps *gaps);
/* Whether any of samples first … first + n − 1 of a lane is invalid. */
CT_EXPORT gboolean ct_gaps_has(const CtGaps *gaps, gint64 lane, gint64 first, gint64 n);
/* Writes 0 for the invalid ones of samples first … first + n − 1 to `validity`, [lane][n] with
 * `stride` bytes from a lane to the next. Returns whether there are any. */
CT_EXPORT gboolean ct_gaps_apply(const CtGaps *gaps, gint64 first, gint64 n, guint8 *validity,
                                 gint64 stride);

G_END_DECLS
