/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of a test program's allocations: its malloc and mmap are replaced by functions that count
 * and then call the C library's. In builds with sanitizers, which replace them as well, the counts
 * stay 0. */
#pragma once

#include <glib.h>

/* Allocations since the program's start. */
gint allocations_made(void);

/* Allocations that have not been freed. */
gint allocations_held(void);
