/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of a plan's nodes: those of all nodes that the variant covers. */
#include "plan.h"

guint
ct_plan_counters(const CtPlanNode *node, const char *names[CT_MAX_COUNTERS])
{
    guint n = 0;
    for (guint k = 0; k < node->n_nodes; k++) {
        const char *const *own = node->nodes[k].stage->counters;
        for (guint c = 0; own && own[c] && n < CT_MAX_COUNTERS; c++)
            names[n++] = own[c];
    }
    return n;
}

const CtNode *
ct_plan_counting(const CtPlanNode *node, guint counter)
{
    for (guint k = 0; k < node->n_nodes; k++) {
        const char *const *own = node->nodes[k].stage->counters;
        const guint n = own ? g_strv_length((char **)own) : 0;
        if (counter < n)
            return &node->nodes[k];
        counter -= n;
    }
    g_assert_not_reached();
}
