/* SPDX-License-Identifier: BSD-3-Clause */
/* The known name that a mistyped one most likely meant. */
#pragma once

#include <glib.h>

/* The nearest of the `n` names by edit distance, or NULL where none is near enough to be meant. */
const char *ct_suggest_name(const char *given, const char *const *names, size_t n);

/* What a message about a name that is not there adds, to be freed: "; did you mean 'fir'?", else
 * the names after `lists`, as "; it has n_taps, window", or nothing where that is NULL. */
char *ct_suggest_remark(const char *given, const char *const *names, size_t n, const char *lists);
