/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core does with parameters, behind <cornerturn/params.h>. */
#pragma once

#include "document.h"

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

/* "integer, 1 to 64", "quantity in Hz", "one of none, hamming": what a row wants. */
char *ct_param_describe(const CtParam *param);
