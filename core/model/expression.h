/* SPDX-License-Identifier: BSD-3-Clause */
/* Expressions in scalars: "${n_stations * 2}", "beam-${beam}.npy".
 *
 *     sum     = product { ( "+" | "-" ) product }
 *     product = signed { ( "*" | "/" | "//" | "%" ) signed }
 *     signed  = ( "-" | "+" ) signed | item [ "**" signed ]
 *     item    = ( number [ unit ] | name | "(" sum ")" ) { "." name | "[" sum "]" } */
#pragma once

#include "document.h"

/* Finds what a name stands for. NULL with an error, or without one if the fault of the value that
 * the name stands for is already reported. */
typedef const CtValue *(*CtExpressionFind)(gpointer scope, const char *name, GError **error);

/* Whether a text can be a name in expressions: letters, digits and `_`, no digit first. */
gboolean ct_expression_is_name(const char *text);

/* The value of a scalar: with its expressions replaced by what they give, and `$${` by `${`. A
 * scalar that is one expression becomes its value, of any kind; in a longer text, numbers and texts
 * are inserted. NULL with an error that has a place and then `who`, as "node 'filter': ", or
 * without one as `find` has it. */
CtValue *ct_expression_expand(const CtValue *scalar, const char *who, CtExpressionFind find,
                              gpointer scope, GError **error);
