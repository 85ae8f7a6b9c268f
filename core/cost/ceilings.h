/* SPDX-License-Identifier: BSD-3-Clause */
/* The ceilings of this machine, measured: once, and kept in the database, for the model goes by
 * them. */
#pragma once

#include "cost.h"
#include "database.h"

/* Measures what the machine can do when all its workers are busy, in about a second, and how fast
 * its devices copy: returns CtCeiling's, to be freed with g_ptr_array_unref; NULL with an error
 * where a device fails. */
GPtrArray *ct_ceilings_measure(const CtMachine *machine, GError **error);
/* Lets the machine have those of `ceilings`, of CtCeiling, that are its own; returns whether there
 * are any of the host's. */
gboolean ct_ceilings_apply(CtMachine *machine, const GPtrArray *ceilings);
