/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a node's advance and work, and checks that their results are within their offers. */
#pragma once

#include "firing.h"

/* Calls the advance of the node's variant. Changes that it makes to the offer have no effect. */
gboolean ct_firing_call_advance(CtRunNode *node, GError **error);
/* Calls the work of the node's variant, and checks that it marks and counts only where it may. */
gboolean ct_firing_call_work(CtRunNode *node, const CtWork *work, GError **error);
/* Checks the result of the advance. FALSE with an error that names variant and port. */
gboolean ct_firing_check_advance(CtRunNode *node, GError **error);
/* Whether this firing is the node's last. */
gboolean ct_firing_is_last(const CtRunNode *node);
