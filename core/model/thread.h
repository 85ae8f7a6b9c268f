/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting threads and pinning them to processors. */
#pragma once

#include <glib.h>

/* Starts a thread, to be ended by g_thread_join. NULL with an error if no thread can be started. */
GThread *ct_thread_start(const char *name, GThreadFunc function, gpointer data, GError **error);

/* The processors that the process may use. */
guint ct_thread_processors(void);

/* Pins the calling thread to one of the processors that the process may use: number `index`, modulo
 * their count. */
void ct_thread_pin(guint index);
