/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core does with parameters, behind <cornerturn/params.h>. */
#pragma once

#include "warning.h"

#include <cornerturn/stage.h>

/* Checks the mapping `values` (as written; NULL: empty) against the stage's table and fills in
 * defaults. `place` is the node's. Messages read "FILE:LINE:COLUMN: node 'NAME': …". `stage` and
 * `values` are not needed afterwards, but for the stage's tables. */
CtParams *ct_params_new(const char *node, const CtStage *stage, const CtPlace *place,
                        const CtValue *values, GError **error);
void ct_params_free(CtParams *params);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtParams, ct_params_free)

/* The place of the parameter that ct_params_error blamed since the last call of this, and forgets
 * it; FALSE where there was none. */
gboolean ct_params_take_blame(const CtParams *params, CtPlace *place);

/* The first fault of a getter's caller since the last call of this, "asks for parameter 'x', which
 * …", allocated; NULL: there was none. */
char *ct_params_take_fault(const CtParams *params);
/* Keeps what a function of the plugin did wrong with the node, where it cannot return an error; the
 * first is kept. `fault` is taken. */
void ct_params_keep_fault(const CtParams *params, char *fault);
/* Returns the fault that was kept, allocated, and forgets it; NULL: there is none. */
char *ct_params_take_kept(const CtParams *params);

/* The table of the stage; an empty one where it has none. */
const CtParam *ct_stage_params(const CtStage *stage);
/* Whether the row's default, if it has one, is a value that the row takes. */
gboolean ct_param_check_fallback(const CtParam *param, GError **error);
/* Adds what ct_params_warn has said. */
void ct_params_join_warnings(const CtParams *params, const char *node, GPtrArray *warnings);
/* Warns of the parameters that the graph gives and nobody has used. */
void ct_params_warn_unused(const CtParams *params, const char *node, GPtrArray *warnings);

/* "integer, 1 to 64", "quantity in Hz", "one of none, hamming": what a row wants. */
char *ct_param_describe(const CtParam *param);
