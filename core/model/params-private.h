/* SPDX-License-Identifier: BSD-3-Clause */
/* How the values of a node's parameters are held. */
#pragma once

#include "node-params.h"
#include "quantity.h"

#include <stdatomic.h>

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
    gboolean is_given; /* by the graph: it is not the default */
    CtPlace place;
    guint n_rows, n_columns;
    GArray *cells; /* of Cell, row by row */
} Entry;

/* The first of each, allocated; NULL: none. */
typedef struct {
    _Atomic(char *) asked; /* what a getter was asked for in vain, and not told of yet */
    _Atomic(char *) kept;  /* what a function of the plugin did wrong that can return no error */
} CtParamsFaults;

struct CtParams {
    const CtStage *stage;
    CtPlace place; /* the node's */
    guint n;
    Entry *entries; /* in the order of the table */
    /* Written through const params: */
    CtPlace *blame;         /* by ct_params_error; file NULL: nothing */
    CtParamsFaults *faults; /* on any thread */
    atomic_bool *is_used;   /* [n] by the getters of values, on any thread */
    GPtrArray *warnings;    /* by ct_params_warn */
};
