/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests ask here for what makes them slow: sanitizers of the build or of the run, and the emulator.
 */
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

/* Devices are emulated, and kernels are compiled by the compiler for the processor. */
static inline gboolean
is_emulated(void)
{
    const char *library = g_getenv("CORNERTURN_CUDA");

    return library && strstr(library, "emulator");
}
