/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the stage dedisperse share. */
#pragma once

#include <cornerturn/kit/window.h>

/* Samples by which a signal of each dispersion measure arrives later in a channel than at the
 * reference frequency, [dm][subband][channel]; to be freed. NULL on failure. */
gint64 *ct_dedisperse_shifts(const CtNode *node, GError **error);

extern const CtWindow ct_dedisperse_window;
extern const CtVariant ct_dedisperse_reference;
