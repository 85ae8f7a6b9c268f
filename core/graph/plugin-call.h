/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of plugin functions; `nodes` are the nodes that the variant covers. A function that breaks
 * its contract (it returns FALSE without an error or TRUE with one, asks for a parameter that its
 * table lacks, or gives a value out of bounds) becomes an error that names the stage or variant,
 * and the function. */
#pragma once

#include "graph.h"

gboolean ct_call_infer(CtNode *node, GError **error);

/* The following functions cannot return an error. The error is kept with the node's parameters for
 * ct_graph_check_kept, and the function returns a harmless value. */
gdouble ct_call_operations(const CtNode *node);
gdouble ct_call_share(const CtVariant *variant, const CtNode *nodes, const CtLayout *inputs,
                      const CtLayout *outputs);
gboolean ct_call_differs(const CtVariant *variant, const CtNode *nodes, const gint64 *tuning);
gboolean ct_call_fits(const CtVariant *variant, const CtNode *nodes, char **reason);
void ct_call_accuracy(const CtNode *node, const CtAccuracy *inputs, CtAccuracy *outputs);
/* Returns FALSE with the error of the first node that has a kept one. */
gboolean ct_graph_check_kept(const CtGraph *graph, GError **error);

/* The functions of a run. */
gboolean ct_call_prepare(const CtVariant *variant, CtPrepare *prepare, gpointer *state,
                         GError **error);
gboolean ct_call_advance(const CtVariant *variant, const CtNode *nodes, gpointer state,
                         CtAdvance *advance, GError **error);
gboolean ct_call_work(const CtVariant *variant, const CtNode *nodes, gpointer state,
                      const CtWork *work, GError **error);
/* These two return TRUE if the variant has no such function. */
gboolean ct_call_close(const CtVariant *variant, const CtNode *nodes, gpointer state,
                       gboolean interrupted, GError **error);
gboolean ct_call_complete(const CtVariant *variant, const CtNode *nodes, gpointer state,
                          gboolean interrupted, GError **error);
/* Frees a state that prepare has set; NULL: there is none. Fails if finish has a fault; the state
 * is then freed all the same. */
gboolean ct_call_finish(const CtVariant *variant, const CtNode *nodes, gpointer state,
                        GError **error);

/* Whether the variant can work on these nodes as infer has described them: with the axis along
 * which it splits, and with their footprints. */
gboolean ct_variant_check_nodes(const CtVariant *variant, const CtNode *nodes, GError **error);

/* Sets a CT_ERROR_PLUGIN, "variant 'cpu' of 'fir' is at fault: …". Returns FALSE. */
gboolean ct_variant_fault(const CtVariant *variant, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
