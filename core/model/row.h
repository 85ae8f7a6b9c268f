/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a variant's table of layouts (CtRow): text to patterns, patterns to concrete layouts. */
#pragma once

#include <cornerturn/stage.h>

/* Ports of a row on either side; a CT_PORT_MANY input counts once. */
enum { CT_MAX_ROW_PORTS = 8 };

typedef struct {
    gboolean any; /* the order may differ between the ports */
    guint n_inputs;
    guint n_outputs;
    CtLayout inputs[CT_MAX_ROW_PORTS];
    CtLayout outputs[CT_MAX_ROW_PORTS];
} CtRowPatterns;

/* Parses "any: pattern, pattern -> pattern"; mistakes are shown with a caret. */
gboolean ct_row_parse(CtRowPatterns *row, const char *text, GError **error);

/* Whether the row has one pattern for every port, and one that can meet what the port declares.
 * Of a fused variant, `inputs` are those of its first stage, `outputs` those of its last. */
gboolean ct_row_check(const CtRowPatterns *row, const CtPort *inputs, const CtPort *outputs,
                      GError **error);

/* A port of a node, as a row is bound to it. */
typedef struct {
    const char *name;       /* for messages */
    const CtStream *stream; /* NULL, or of type CT_TYPE_NONE: not connected */
    const CtLayout
        *wish; /* what the node asks of the port beside the row; NULL or empty: nothing */
} CtRowPort;

typedef struct {
    guint n_inputs; /* one per link: a row's one pattern serves all links of a CT_PORT_MANY input */
    guint n_outputs;
    const CtRowPort *ports; /* inputs, then outputs */
} CtRowPorts;

/* Makes the row concrete: writes layouts[n_inputs + n_outputs], inputs first, empty ones where
 * nothing is connected. `known`, unless NULL, is the concrete layout of `known_port` (counted like
 * the layouts); it comes back as the row writes it, `complex` named or not. All orders that are
 * left open follow `like` (a pattern, NULL: none), then the canonical order of the first input.
 *
 * An axis that only an output has takes the place of one that only the first input has: first of
 * the same kind (channel and phase; station, beam and baseline; pol and stokes), then as they
 * stand. pol' stands behind pol. What is left over comes last, unless `known` or a wish has it
 * elsewhere.
 *
 * An input's type is that of its stream, else the first to which it converts without loss, in the
 * order of CtType: where it differs, the caller inserts a conversion. An output's is its stream's.
 *
 * In a row that begins with "any:", a pattern of nothing but `...` also takes blocks and `complex`.
 */
gboolean ct_row_bind(const CtRowPatterns *row, const CtRowPorts *ports, guint known_port,
                     const CtLayout *known, const CtLayout *like, CtLayout *layouts,
                     GError **error);
