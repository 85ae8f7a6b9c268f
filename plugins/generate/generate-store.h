/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores a sample of any type, given in doubles, for the reference of generate. */
#pragma once

#include <cornerturn/stage.h>

/* Writes one element; an integer is rounded half to even and clipped, never to its lowest value.
 * Returns 1 if it was clipped, else 0. */
guint generate_store(guint8 *address, CtType type, gdouble re, gdouble im);
