/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether what a node's advance claims lies within what it was offered. */
#pragma once

#include "firing.h"

/* Calls the advance of the node's variant. What it writes over what it was offered has no effect.
 */
gboolean ct_firing_call_advance(CtRunNode *node, GError **error);
/* FALSE with an error that names variant and port. */
gboolean ct_firing_check_advance(CtRunNode *node, GError **error);
/* Whether nothing comes after this firing. */
gboolean ct_firing_is_last(const CtRunNode *node);
