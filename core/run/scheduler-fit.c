/* SPDX-License-Identifier: BSD-3-Clause */
/* Prepares a run by the largest plan whose memory its devices have. */
#include "scheduler.h"

CtScheduler *
ct_scheduler_new_that_fits(CtPlan **plan, CtRegistry *registry, const CtPlanOptions *how,
                           const CtRunOptions *options, CtPlanTaken taken, gpointer data,
                           GError **error)
{
    g_autoptr(GError) first = NULL;
    for (;;) {
        CtScheduler *scheduler = ct_scheduler_new(*plan, options, first ? NULL : &first);
        if (scheduler)
            return scheduler;
        if (!ct_plan_take_smaller(plan, registry, how, first) || (taken && !taken(*plan, data))) {
            g_propagate_error(error, g_steal_pointer(&first));
            return NULL;
        }
    }
}
