/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of parameters while a node runs.
 *
 * A thread that is none of the run's parses the new value and prepares the variant once more. The
 * change then waits in the node's list. The firing that begins at its tick exchanges the states;
 * the firing before ends there. */
#pragma once

#include "run-node.h"

/* The most changes of a node in effect that are kept for statistics, but for those that cannot be
 * dropped yet. */
enum { CT_CHANGES_LISTED = 1000 };

struct CtChange {
    CtChange *next;
    gint64 tick;
    guint covered; /* the index of the node whose parameter changes, of those that the variant
                      covers */
    char *name;
    CtValue *value;   /* NULL: kept with the node's values */
    char *shown;      /* "gains.gain=2" */
    CtRunState state; /* the new one; of a change in effect, the one that it replaced */
    guint64 last;     /* of a change in effect, on a device: the submissions before it */
};

/* The tick of the next output sample (of a node without outputs, of the next input sample) of the
 * node, which is not firing. */
gint64 ct_change_next_tick(const CtRunNode *node);
/* With the lock. Puts the changes into effect whose ticks are at most `tick`, that of the next
 * output sample. Returns the tick of the change after these; G_MAXINT64: there is none. */
gint64 ct_change_take(CtRunNode *node, gint64 tick);
/* With the lock. The first tick from which the output of the covered node may still change. */
gint64 ct_change_first_tick(const CtRunNode *node, guint covered);
/* Whether parameters of the variant can change: it keeps nothing from firing to firing. */
gboolean ct_change_is_possible(const CtRunNode *node);
/* Frees the changes of the node, and their states. */
void ct_change_clear(CtRunNode *node);
