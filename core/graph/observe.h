/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys `observation` and `stations` of a graph. */
#pragma once

#include "graph.h"

/* Reads the two keys. *observation is NULL if the graph has neither. */
gboolean ct_observe_read(const CtConfig *config, CtObservation **observation, GError **error);

/* Tells the node's stage what the graph says; the node takes no reference of `observation`. */
void ct_observe_node(CtObservation *observation, CtGraphNode *node);

/* Completes the descriptions of a source's outputs: what the graph says takes the place of what the
 * source has found, and the elements of the axes station and pol get their names, unless the source
 * has named them. Every error names file, line, column and node. */
gboolean ct_observe_source(CtObservation *observation, CtGraphNode *node, GError **error);

/* The tables of the keys of `observation`, and of a station. */
const CtParam *ct_observe_keys(void);
const CtParam *ct_observe_station_keys(void);
