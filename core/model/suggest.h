/* SPDX-License-Identifier: BSD-3-Clause */
/* Suggests the known name that a mistyped name most likely means. */
#pragma once

#include <cornerturn/text.h>

/* The name nearest to `given` by edit distance, or NULL if none of the `n` names is near enough. */
const char *ct_suggest_name(const char *given, const char *const *names, size_t n);
