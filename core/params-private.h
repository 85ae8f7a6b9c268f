/* SPDX-License-Identifier: BSD-3-Clause */
/* How the values of a node's parameters are held. */
#pragma once

#include "params.h"
#include "quantity.h"

typedef union {
    gint64 integer;
    CtQuantity quantity; /* of a real, too */
    gboolean truth;
    guint choice;
    char *text;
    CtType type;
    CtLayout *layout;
} Cell;

/* What stands for a row of the table. A single value is a list of one; a list is a table of one
 * column. */
typedef struct {
    const CtParam *param;
    gboolean has;
    CtPlace place;
    guint n_rows, n_columns;
    GArray *cells; /* of Cell, row by row */
} Entry;

struct CtParams {
    const CtStage *stage;
    CtPlace place; /* the node's */
    guint n;
    Entry *entries; /* in the order of the table */
    CtPlace *blame; /* written through const params by ct_params_error; file NULL: nothing */
};
