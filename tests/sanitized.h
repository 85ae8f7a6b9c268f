/* SPDX-License-Identifier: BSD-3-Clause */
/* The sanitizers of the build, or of the run. */
#pragma once

#include <glib.h>
#include <string.h>

/* `kind`: "address", "thread", "undefined" or "compute" (scripts/sanitize-device); NULL: any. */
static inline gboolean
is_sanitized(const char *kind)
{
    const char *kinds = g_getenv("CORNERTURN_SANITIZER");

    return kinds && (kind ? strstr(kinds, kind) != NULL : strcmp(kinds, "none") != 0);
}
