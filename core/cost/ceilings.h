/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the ceilings of this machine, which the model uses. They are kept in the cost
 * database. */
#pragma once

#include "cost.h"
#include "database.h"

/* Measures what each worker reaches while all workers are busy, in about a second, and how fast the
 * devices copy. Returns an array of CtCeiling, to be freed with g_ptr_array_unref; NULL with an
 * error. */
GPtrArray *ct_ceilings_measure(const CtMachine *machine, GError **error);
/* Sets the machine's ceilings to those of `ceilings`, of CtCeiling, that are its own. Returns
 * whether the host's memory bandwidth is among them. */
gboolean ct_ceilings_apply(CtMachine *machine, const GPtrArray *ceilings);
