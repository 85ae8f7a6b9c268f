/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans again, with smaller firings, for a run that did not get its memory. */
#include "plan.h"

/* The most halvings in a row that may leave the rings as large as they are, which happens where
 * rings hold the whole of a short stream. */
enum { MAX_HALVINGS = 4 };

gboolean
ct_plan_take_smaller(CtPlan **plan, CtRegistry *registry, const CtPlanOptions *options,
                     const GError *why)
{
    if (!g_error_matches(why, CT_ERROR, CT_ERROR_MEMORY) || (*plan)->n_devices == 0)
        return FALSE;
    CtPlanOptions others = *options;
    others.why_smaller = why->message;
    for (guint k = 1; k <= MAX_HALVINGS; k++) {
        others.n_halvings = (*plan)->n_halvings + k;
        g_autoptr(CtPlan) smaller = ct_plan_new((*plan)->graph, registry, &others, NULL);
        if (!smaller)
            return FALSE;
        if (ct_plan_bytes(smaller) >= ct_plan_bytes(*plan))
            continue;
        ct_plan_free(*plan);
        *plan = g_steal_pointer(&smaller);
        return TRUE;
    }
    return FALSE;
}
