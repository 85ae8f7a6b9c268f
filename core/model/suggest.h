/* SPDX-License-Identifier: BSD-3-Clause */
/* Suggests the known name that a mistyped name most likely means. */
#pragma once

#include <glib.h>

/* The name nearest to `given` by edit distance, or NULL if none of the `n` names is near enough. */
const char *ct_suggest_name(const char *given, const char *const *names, size_t n);

/* A remark for a message about an unknown name, to be freed: "; did you mean 'fir'?". If no name is
 * near, it lists the names after `lists`, as "; it has n_taps, window"; it is empty if `lists` is
 * NULL. */
char *ct_suggest_remark(const char *given, const char *const *names, size_t n, const char *lists);
