/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a variant's table of layouts (CtRow): text to patterns, patterns to concrete layouts. */
#pragma once

#include <cornerturn/stage.h>

/* The most ports of a row on either side; a CT_PORT_MANY input counts once. */
enum { CT_MAX_ROW_PORTS = 8 };

typedef struct {
    gboolean any; /* the order may differ between the ports */
    guint n_inputs;
    guint n_outputs;
    CtLayout inputs[CT_MAX_ROW_PORTS];
    CtLayout outputs[CT_MAX_ROW_PORTS];
} CtRowPatterns;

/* Parses "any: pattern, pattern -> pattern". The error shows a caret at the mistake. */
gboolean ct_row_parse(CtRowPatterns *row, const char *text, GError **error);

/* Whether the row has one pattern for each port, and each pattern can match what its port declares.
 * For a fused variant, `inputs` are those of its first stage and `outputs` those of its last. */
gboolean ct_row_check(const CtRowPatterns *row, const CtPort *inputs, const CtPort *outputs,
                      GError **error);

/* A port of a node, as ct_row_bind sees it. */
typedef struct {
    const char *name;       /* for messages */
    const CtStream *stream; /* NULL, or of type CT_TYPE_NONE: not connected */
    const CtLayout
        *wish; /* the layout that the node asks for in addition to the row; NULL or empty: none */
    gboolean is_prepared; /* an input with CT_PORT_PREPARED: the last ones, without patterns */
} CtRowPort;

typedef struct {
    guint n_inputs; /* one per link: a CT_PORT_MANY input's one pattern serves all its links */
    guint n_outputs;
    const CtRowPort *ports; /* inputs, then outputs */
} CtRowPorts;

/* Makes the row concrete: writes layouts[n_inputs + n_outputs], inputs first. The layout of an
 * unconnected port is empty. `known`, unless NULL, is the concrete layout of `known_port` (an index
 * into the layouts); its result has the row's form, with or without an axis `complex`. All orders
 * that are left open follow `like` (a pattern, NULL: none), then the canonical order of the first
 * input.
 *
 * An axis that only an output has takes the place of an axis that only the first input has: first
 * among axes of the same kind (channel and phase; station, beam and baseline; pol and stokes), then
 * in the order of the axes. pol' comes directly after pol. The remaining axes come last, unless
 * `known` or a wish orders them otherwise.
 *
 * An input's type is that of its stream or, if the row does not take it, the first in the order of
 * CtType to which it converts without loss. The caller inserts the conversion. An output's type is
 * that of its stream.
 *
 * An input that is prepared keeps the type of its stream and its order of axes.
 *
 * In a row that begins with "any:", the pattern `...` alone also matches blocks and `complex`. */
gboolean ct_row_bind(const CtRowPatterns *row, const CtRowPorts *ports, guint known_port,
                     const CtLayout *known, const CtLayout *like, CtLayout *layouts,
                     GError **error);
