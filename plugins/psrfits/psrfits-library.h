/* SPDX-License-Identifier: BSD-3-Clause */
/* The CFITSIO library: its lock and its messages.
 *
 * A library built for threads may be called by several at a time, each with a file of its own; but
 * it has one list of messages for all of them, and may be built otherwise. So calls stand between
 * psrfits_begin and psrfits_end; they are few, for headers alone. */
#pragma once

#include <fitsio.h>
#include <glib.h>

/* Locks the library for this process, and empties its list of messages. */
void psrfits_begin(void);
void psrfits_end(void);
/* Sets "PATH: WHAT: what the library says". Returns FALSE. */
gboolean psrfits_error(GError **error, const char *path, const char *what, int status);
