/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that do not follow from one another, and are reported together. */
#pragma once

#include <glib.h>

typedef struct CtErrors CtErrors;

CtErrors *ct_errors_new(void);
void ct_errors_free(CtErrors *errors);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtErrors, ct_errors_free)

/* Takes an error, unless there is one with the same message; those that differ in the name of the
 * node alone, at one place, are told once with their number. NULL: nothing is to be reported, for
 * it has been. */
void ct_errors_take(CtErrors *errors, GError *error);
gboolean ct_errors_are_none(const CtErrors *errors);
/* TRUE if there are no errors. Otherwise sets `error` to all of them: the code of the first, and a
 * line for each of the first twenty. */
gboolean ct_errors_finish(const CtErrors *errors, GError **error);
