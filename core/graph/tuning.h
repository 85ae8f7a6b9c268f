/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a variant's tunables: defaults, as text and from it. */
#pragma once

#include <cornerturn/stage.h>

guint ct_tuning_count(const CtVariant *variant);
void ct_tuning_defaults(const CtVariant *variant, gint64 tuning[CT_MAX_TUNABLES]);
/* Whether the two are the same, for this variant. */
gboolean ct_tuning_equal(const CtVariant *variant, const gint64 *a, const gint64 *b);
/* Whether it is one of its own for these nodes, see CtVariant.differs. */
gboolean ct_tuning_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning);
/* "tile=4,threads=64" onto `tuning`: what the text does not name stays. On failure untouched. */
gboolean ct_tuning_parse(const CtVariant *variant, const char *text, gint64 tuning[CT_MAX_TUNABLES],
                         GError **error);
/* "tile=4,threads=64", without those that have their default if `others` is set; allocated. */
char *ct_tuning_to_string(const CtVariant *variant, const gint64 *tuning, gboolean others);
/* "cuda", or "cuda:tile=4" where that is not the default; allocated. */
char *ct_tuning_name(const CtVariant *variant, const gint64 *tuning);
/* The fault of the variant's table, allocated; NULL: none. The table has an end, its rows values.
 */
char *ct_tuning_find_fault(const CtVariant *variant);
