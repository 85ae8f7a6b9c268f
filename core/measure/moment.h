/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, without the time in which other processes had the processors. */
#pragma once

#include <glib.h>

typedef struct {
    gint64 wall;      /* nanoseconds */
    gint64 processor; /* nanoseconds of all threads together */
    gint64 waited;    /* nanoseconds for which threads were ready to run, but had no processor */
} CtMoment;

/* The moment, with the waiting of all threads of this process, or of the calling thread alone. */
CtMoment ct_moment_of_process(void);
CtMoment ct_moment_of_thread(void);

/* Nanoseconds between two moments, as they would be if `n_threads` busy threads had a processor
 * each. If the system does not count waiting, this is the real time. */
gint64 ct_moments_between(const CtMoment *from, const CtMoment *to, guint n_threads);
