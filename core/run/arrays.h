/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that a stage takes over static ports (CT_PORT_PREPARED) in place of parameters.
 *
 * The variant has a state for the block in effect. The firing that begins at the tick of another
 * block prepares a state for that block, and the firing before ends there. The node's samples wait
 * meanwhile, so blocks never come faster than they are prepared; a block is left out only if no
 * output sample begins before the next one takes effect. A changed parameter exchanges the state as
 * well; the state that was prepared with it is then prepared again, for the block in effect. */
#pragma once

#include "run-node.h"

/* A state that no further firing uses. */
struct CtReplacedState {
    CtReplacedState *next;
    CtRunState state;
    guint64 last; /* on a device: the submissions before it was replaced */
};

/* Makes the blocks of zeros, if the connected node has such inputs. */
gboolean ct_arrays_init(CtRunNode *node, GError **error);
/* The nodes that prepare gets, with these blocks of the inputs (NULL: of zeros); `nodes` themselves
 * if the node has no such inputs. */
const CtNode *ct_arrays_nodes(const CtRunNode *node, const CtNode *nodes, const CtBlock *blocks);
/* With the lock. Takes the state that a change of a parameter has replaced, and returns what is
 * left of it; returns the state itself if the node has no such inputs. */
CtRunState ct_arrays_replace(CtRunNode *node, CtRunState state);
/* With the lock, when the static inputs of the next firing are known. */
void ct_arrays_gather(CtRunNode *node);
/* Without the lock, during a firing before its work. Prepares for the blocks of the firing, unless
 * the state is prepared for them. */
gboolean ct_arrays_prepare(CtRunNode *node, GError **error);
/* Frees the replaced states, before the node's own. Fails if the variant's finish has a fault. */
gboolean ct_arrays_finish(CtRunNode *node, GError **error);
/* Frees the blocks of zeros. */
void ct_arrays_clear(CtRunNode *node);
