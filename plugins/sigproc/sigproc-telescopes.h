/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of telescopes in SIGPROC headers. */
#pragma once

#include <glib.h>

typedef struct {
    gint id;
    const char *name;
} SigprocTelescope;

/* Those that programs agree on: 9, 10 and 12 mean different telescopes in different ones. Ends with
 * a NULL name. */
extern const SigprocTelescope sigproc_telescopes[];
