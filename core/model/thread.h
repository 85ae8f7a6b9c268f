/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting threads and binding them to processors. */
#pragma once

#include "topology.h"

#include <pthread.h>

/* Starts a thread, to be ended by g_thread_join. NULL with an error if no thread can be started. */
GThread *ct_thread_start(const char *name, GThreadFunc function, gpointer data, GError **error);

/* Makes a condition whose waits end by the monotonic clock, which nobody sets. */
void ct_thread_init_timed(pthread_cond_t *condition);

/* The processors that the process may use. */
guint ct_thread_processors(void);

/* Binds the calling thread to those of the `n` processors that are of this NUMA node; to all of
 * them if there are none, or with CT_NO_NUMA. FALSE with errno. */
gboolean ct_thread_bind(const CtProcessor *processors, guint n, gint numa);
