/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions under which the kernels take a filter bank. */
#pragma once

#include "pfb-way.h"

/* Whether it takes the two nodes, with channels innermost or with time in blocks; `reason`, which
 * is allocated, says why not. */
gboolean ct_pfb_fits(const CtNode *nodes, char **reason);
gboolean ct_pfb_fits_blocks(const CtNode *nodes, char **reason);

/* Whether it takes a fold of `hop` spectra with states of so many bytes. */
gboolean ct_pfb_folds(const CtNode *nodes, gint64 hop, gsize state_bytes);

/* The spectra of a cell: of the divisors of the hop the largest one that is a multiple of `ahead`,
 * or else the largest one; 0: the hop has no cells. */
gint64 ct_pfb_cell(gint64 hop, gint64 ahead);
