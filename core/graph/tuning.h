/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a variant's tunables: defaults, parsing and printing. */
#pragma once

#include <cornerturn/stage.h>

guint ct_tuning_count(const CtVariant *variant);
void ct_tuning_defaults(const CtVariant *variant, gint64 tuning[CT_MAX_TUNABLES]);
/* Whether the two tunings are the same for this variant. */
gboolean ct_tuning_equal(const CtVariant *variant, const gint64 *a, const gint64 *b);
/* Whether the tuning is worth a trial for these nodes, see CtVariant.differs. */
gboolean ct_tuning_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning);
/* Parses "tile=4,threads=64" into `tuning`; other tunables keep their value. On failure nothing
 * changes. */
gboolean ct_tuning_parse(const CtVariant *variant, const char *text, gint64 tuning[CT_MAX_TUNABLES],
                         GError **error);
/* Sets one tunable. FALSE if the variant has no such tunable, or it does not take this value. */
gboolean ct_tuning_set(const CtVariant *variant, const char *name, gint64 value, gint64 *tuning);
/* "tile=4,threads=64", allocated. If `others` is set, tunables at their default are omitted. */
char *ct_tuning_to_string(const CtVariant *variant, const gint64 *tuning, gboolean others);
/* "cuda", or "cuda:tile=4" if tile is not at its default; allocated. */
char *ct_tuning_name(const CtVariant *variant, const gint64 *tuning);
/* The fault of the variant's table, allocated; NULL: there is none. The table must have an end, and
 * its rows must have values. */
char *ct_tuning_find_fault(const CtVariant *variant);
