/* SPDX-License-Identifier: BSD-3-Clause */
/* The representation of a node's parameter values. */
#pragma once

#include "node-params.h"
#include "quantity.h"

#include <stdatomic.h>

typedef struct {
    union {
        gint64 integer;
        CtQuantity quantity; /* of a quantity or a real */
        gboolean truth;
        guint choice;
        char *text;
        CtType type;
        CtLayout *layout;
    };
    CtQuantity time; /* seconds that a number of samples is given as; `integer` is 0 until
                        ct_params_count_samples has set it. Value 0: it is a number */
} Cell;

/* The values of one row of the table. A single value is a list of one; a list is a table of one
 * column. */
typedef struct {
    const CtParam *param;
    gboolean has;
    gboolean is_given; /* by the graph, not by the default */
    CtPlace place;
    guint n_rows, n_columns;
    GArray *cells; /* of Cell, row by row */
} Entry;

/* The first fault of either kind, allocated; NULL: none. */
typedef struct {
    _Atomic(char *) asked; /* by a caller of a getter, not reported yet */
    _Atomic(char *) kept;  /* by a plugin function that cannot return an error */
} CtParamsFaults;

struct CtParams {
    const CtStage *stage;
    CtPlace place; /* the node's */
    guint n;
    Entry *entries; /* in the order of the table */
    /* The following are written through const params: */
    CtPlace *blame;         /* set by ct_params_error; file NULL: nothing */
    CtParamsFaults *faults; /* set on any thread */
    atomic_bool *is_used;   /* [n] set by the getters of values, on any thread */
    GPtrArray *warnings;    /* added by ct_params_warn */
};
