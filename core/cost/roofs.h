/* SPDX-License-Identifier: BSD-3-Clause */
/* The roofs of this machine, measured: once, and kept in the store, for the model goes by them. */
#pragma once

#include "cost.h"
#include "store.h"

/* Measures what the machine can do when all its workers are busy, in about a second, and how fast
 * its devices copy: returns CtRoof's, to be freed with g_ptr_array_unref; NULL with an error where
 * a device fails. */
GPtrArray *ct_roofs_measure(const CtMachine *machine, GError **error);
/* Lets the machine have those of `roofs`, of CtRoof, that are its own; returns whether there are
 * any of the host's. */
gboolean ct_roofs_apply(CtMachine *machine, const GPtrArray *roofs);
