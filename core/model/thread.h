/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: their start, and their processors. */
#pragma once

#include <glib.h>

/* Starts a thread, for g_thread_join; NULL with an error where the process may have no more. */
GThread *ct_thread_start(const char *name, GThreadFunc function, gpointer data, GError **error);

/* Pins this thread to the index-th of the processors that the process may use, counted round. */
void ct_thread_pin(guint index);
