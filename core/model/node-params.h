/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's part of parameters, behind <cornerturn/params.h>. */
#pragma once

#include "warning.h"

#include <cornerturn/stage.h>

/* Checks the mapping `values` (as written; NULL: empty) against the stage's table and fills in
 * defaults. `place` is the node's. Messages read "FILE:LINE:COLUMN: node 'NAME': …". The stage's
 * tables must outlive the result; `values` need not. */
CtParams *ct_params_new(const char *node, const CtStage *stage, const CtPlace *place,
                        const CtValue *values, GError **error);
void ct_params_free(CtParams *params);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtParams, ct_params_free)

/* Takes the place of the parameter that ct_params_error last blamed, and forgets it. Returns FALSE
 * if none was blamed since the last call. */
gboolean ct_params_take_blame(const CtParams *params, CtPlace *place);

/* Takes the first fault of a caller of getters since the last call, "asks for parameter 'x', which
 * …"; allocated. NULL: there was none. */
char *ct_params_take_fault(const CtParams *params);
/* Keeps a fault of a plugin function that cannot return an error. Only the first is kept. Takes
 * `fault`. */
void ct_params_keep_fault(const CtParams *params, char *fault);
/* Takes the kept fault, allocated; NULL: there is none. */
char *ct_params_take_kept(const CtParams *params);

/* The parameter table of the stage; an empty table if it has none. */
const CtParam *ct_stage_params(const CtStage *stage);
/* Whether a parameter of the stage may change during a run. */
gboolean ct_stage_is_live(const CtStage *stage);
/* Whether the row's default, if there is one, is a legal value of the row. */
gboolean ct_param_check_fallback(const CtParam *param, GError **error);
/* The place of the node. */
const CtPlace *ct_params_place(const CtParams *params);
/* Adds the warnings of ct_params_warn to `warnings`. */
void ct_params_join_warnings(const CtParams *params, const char *node, GPtrArray *warnings);
/* Warns of each parameter that the graph gives and no code has used. */
void ct_params_warn_unused(const CtParams *params, const char *node, GPtrArray *warnings);

/* Sets the parameters that are numbers of samples, and given as times, to the numbers of samples of
 * `stream` (NULL: there is none) that last so long. The message blames the parameter. */
gboolean ct_params_count_samples(const CtParams *params, const CtStream *stream, GError **error);

/* Describes the values that a row accepts: "an integer from 1 to 64", "one of none, hamming".
 * Allocated. */
char *ct_param_describe(const CtParam *param);
