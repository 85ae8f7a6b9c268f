/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting threads and pinning them to processors. */
#pragma once

#include <glib.h>
#include <pthread.h>

/* Starts a thread, to be ended by g_thread_join. NULL with an error if no thread can be started. */
GThread *ct_thread_start(const char *name, GThreadFunc function, gpointer data, GError **error);

/* Makes a condition whose waits end by the monotonic clock, which nobody sets. */
void ct_thread_init_timed(pthread_cond_t *condition);

/* The processors that the process may use. */
guint ct_thread_processors(void);

/* Pins the calling thread to one of the processors that the process may use: number `index`, modulo
 * their count. */
void ct_thread_pin(guint index);
