/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, less what others took of the processors meanwhile. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 wall;      /* nanoseconds */
    gint64 processor; /* nanoseconds of all threads together */
    gint64 waited;    /* nanoseconds for which threads were ready to run, but had no processor */
} Moment;

/* With the waiting of all threads of this process, or of the calling one alone. */
Moment moment_of_process(void);
Moment moment_of_thread(void);

/* Nanoseconds between two moments, as they would have been for `n_threads` busy threads with a
 * processor each to themselves. Where the system does not count waiting, the plain time. */
gint64 moments_between(const Moment *from, const Moment *to, guint n_threads);
