/* SPDX-License-Identifier: BSD-3-Clause */
/* What may run, and where. */
#pragma once

#include "planner.h"

/* Checks the names and values of --backend and --variant. */
gboolean ct_planner_check_options(const CtPlanner *planner, GError **error);
/* Whether `variant` can run on this machine, as inserted node or any other; otherwise *reason says
 * why not, allocated, unless `reason` is NULL. */
gboolean ct_planner_can_run(const CtPlanner *planner, const CtVariant *variant, char **reason);
/* Whether graph and options leave this node to `variant`, or to any. */
gboolean ct_planner_leaves(const CtPlanner *planner, const CtGraphNode *node,
                           const CtVariant *variant, char **reason);
/* The tuning that graph and options ask for where `variant` runs these nodes, the rest by default;
 * returns whether they ask for any. */
gboolean ct_planner_tuning(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                           guint n_nodes, gint64 tuning[CT_MAX_TUNABLES]);
/* The nodes from `first` on that `variant` covers, allocated; NULL where they are not such a row.
 * `fan_outs` are those of the graph. */
guint *ct_planner_covers(const CtGraph *graph, const GPtrArray *fan_outs, guint first,
                         const CtVariant *variant, guint *n_nodes);
/* Whether the variant may run these nodes, which it covers, and can do what they ask; otherwise
 * *reason says why not, allocated; NULL: the parameters do not suit it. */
gboolean ct_planner_fits(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                         guint n_nodes, char **reason);
/* The backend for all that names none; CT_N_BACKENDS: the best. */
CtBackend ct_planner_backend(const CtPlanner *planner);
/* Where `variant` runs this node: the host, or the device that the graph and the options name. */
gint ct_planner_place(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant);
