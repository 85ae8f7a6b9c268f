/* SPDX-License-Identifier: BSD-3-Clause */
/* The variants that may run, and their places. */
#pragma once

#include "planner.h"

/* As graphs name them; CT_N_BACKENDS: "auto". */
extern const char *const ct_backend_names[CT_N_BACKENDS + 1];

/* Checks the names and values of --backend and --variant, and the processors. */
gboolean ct_planner_check_options(const CtPlanner *planner, GError **error);
/* Whether `variant` can run on this machine, as an inserted node or any other; if not, *reason,
 * unless `reason` is NULL, is set to a text, allocated. */
gboolean ct_planner_can_run(const CtPlanner *planner, const CtVariant *variant, char **reason);
/* Whether graph and options allow `variant` for this node; if not, *reason is set as above. */
gboolean ct_planner_leaves(const CtPlanner *planner, const CtGraphNode *node,
                           const CtVariant *variant, char **reason);
/* Whether graph or options ask for `variant` by its name. */
gboolean ct_planner_names(const CtPlanner *planner, const CtGraphNode *node,
                          const CtVariant *variant);
/* Sets the tuning that graph and options ask for where `variant` runs these nodes, and the defaults
 * for the rest; returns whether they ask for any. */
gboolean ct_planner_tuning(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                           guint n_nodes, gint64 tuning[CT_MAX_TUNABLES]);
/* The chain of nodes, beginning with `first`, that `variant` covers, allocated; NULL where the
 * nodes form no such chain. `fan_outs` are those of the graph. */
guint *ct_planner_covers(const CtGraph *graph, const GPtrArray *fan_outs, guint first,
                         const CtVariant *variant, guint *n_nodes);
/* The only node that reads output 0 of `node`, by its input 0, where nothing else reads any output;
 * −1: there is none. */
gint ct_planner_only_reader(const GPtrArray *fan_outs, guint node);
/* Whether an output of the node other than the first has readers. */
gboolean ct_planner_reads_others(const GPtrArray *fan_outs, guint node);
/* Whether the variant may run these nodes, which it covers, and can do what they ask. If not,
 * *reason is set to a text, allocated, or to NULL where the parameters do not suit the variant. */
gboolean ct_planner_fits(const CtPlanner *planner, const CtVariant *variant, const guint *nodes,
                         guint n_nodes, char **reason);
/* The backend of all nodes that name none; CT_N_BACKENDS: the best. */
CtBackend ct_planner_backend(const CtPlanner *planner);
/* The place where `variant` runs this node: the host, or the device that the graph and the options
 * name. */
gint ct_planner_place(const CtPlanner *planner, const CtGraphNode *node, const CtVariant *variant);
