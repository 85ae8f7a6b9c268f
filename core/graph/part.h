/* SPDX-License-Identifier: BSD-3-Clause */
/* The keys `start` and `stop` of a graph: the part of the time that its sources give. */
#pragma once

#include "graph.h"

/* One of the two keys. */
typedef struct {
    const CtValue *given; /* the configuration's; NULL: not given */
    CtUtc utc;
} CtGraphEnd;

typedef struct {
    CtGraphEnd start, stop;
} CtGraphPart;

/* Reads the keys. */
gboolean ct_graph_part_read(const CtConfig *config, CtGraphPart *part, GError **error);

/* Cuts the described stream of a source down to the samples whose ticks are at least that of
 * `start` and less than that of `stop`; sets `skip` and `stops` of the node. Streams without the
 * axis time stay. A part without a sample of the stream is an error, and so is a stream that has no
 * UTC or a stage that cannot begin and end anywhere. Every error names file, line, column, node. */
gboolean ct_graph_part_take(const CtGraphPart *part, CtGraphNode *node, GError **error);

/* Warns of a key that has no effect because the stream begins later, or ends earlier. */
void ct_graph_part_warn(const CtConfig *config, const CtGraphNode *node, GPtrArray *warnings);
