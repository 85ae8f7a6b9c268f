/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads to processors. */
#pragma once

#include <glib.h>

/* Pins this thread to the index-th of the processors that the process may use, counted round. */
void ct_thread_pin(guint index);
