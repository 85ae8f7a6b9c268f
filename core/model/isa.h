/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction sets: their names, how they contain one another, and which of them this process may
 * use. */
#pragma once

#include <cornerturn/stage.h>

/* "avx512": in names of variants, and in CORNERTURN_ISA. */
const char *ct_isa_name(CtIsa isa);
/* "baseline, avx2 or avx512", of all sets. Allocated. */
char *ct_isa_names(void);
/* FALSE: no set has this name. */
gboolean ct_isa_from_name(const char *name, CtIsa *isa);

/* Whether `isa` is `part`, or has its instructions and more. */
gboolean ct_isa_contains(CtIsa isa, CtIsa part);
/* The set with the vectors of single precision that `isa` has: a set that only adds instructions
 * for integers has those of the set that it extends. */
CtIsa ct_isa_vectors(CtIsa isa);

/* Why this process can't use the set; NULL: it can. The first call for CT_ISA_AMX asks the kernel
 * to grant the process its registers. */
const char *ct_isa_missing(CtIsa isa);
