/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the functions that plugins bring; `nodes` are those that the variant covers. One that
 * breaks its word (FALSE without an error, TRUE with one, a parameter that its table lacks, a value
 * out of bounds) becomes an error that names stage or variant, and function. */
#pragma once

#include "graph.h"

gboolean ct_call_infer(CtNode *node, GError **error);

/* These cannot return an error: it is kept with the parameters of the node, and told by
 * ct_graph_check_kept; they then return what is harmless. */
gdouble ct_call_operations(const CtNode *node);
gdouble ct_call_share(const CtVariant *variant, const CtNode *nodes, const CtLayout *inputs,
                      const CtLayout *outputs);
gboolean ct_call_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning);
gboolean ct_call_fits(const CtVariant *variant, const CtNode *nodes, char **reason);
void ct_call_accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs);
/* FALSE, with the error of the first node for which one was kept. */
gboolean ct_graph_check_kept(const CtGraph *graph, GError **error);

/* Those of a run. */
gboolean ct_call_prepare(const CtVariant *variant, CtPrepare *prepare, gpointer *state,
                         GError **error);
gboolean ct_call_advance(const CtVariant *variant, const CtNode *nodes, gpointer state,
                         CtAdvance *advance, GError **error);
gboolean ct_call_work(const CtVariant *variant, const CtNode *nodes, gpointer state,
                      const CtWork *work, GError **error);
/* TRUE where the variant has none. */
gboolean ct_call_close(const CtVariant *variant, const CtNode *nodes, gpointer state,
                       gboolean interrupted, GError **error);
gboolean ct_call_complete(const CtVariant *variant, const CtNode *nodes, gpointer state,
                          gboolean interrupted, GError **error);

/* Whether the variant can work on these nodes, as infer has described them: along the axis by which
 * it splits, and with the footprints that they have. */
gboolean ct_variant_check_nodes(const CtVariant *variant, const CtNode *nodes, GError **error);

/* Sets a CT_ERROR_PLUGIN, "variant 'cpu' of 'fir' is at fault: …". Returns FALSE. */
gboolean ct_variant_fault(const CtVariant *variant, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
