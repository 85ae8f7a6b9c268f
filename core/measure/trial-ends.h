/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands at the ends of a trial: a source whose blocks lie ready, a sink that drops them.
 *
 * Both are of the core alone: no registry has them, and a plan runs them only where they are fixed.
 */
#pragma once

#include <cornerturn/stage.h>

/* Gives what its output describes: random elements, which it writes only as long as the memory at
 * hand has none yet. */
extern const CtStage ct_trial_source;
extern const CtStage ct_trial_sink;

/* The source's counter of samples written. */
enum { CT_TRIAL_WRITTEN };

/* Without end, or (`once`) one sample. On the host, with `touches`, blocks are in the cache as a
 * neighbour would have them there: the source writes each anew, the sink reads each, and as much
 * else as a graph goes through before it comes back to the same memory. */
const CtVariant *ct_trial_source_variant(gboolean on_device, gboolean once, gboolean touches);
const CtVariant *ct_trial_sink_variant(gboolean on_device, gboolean touches);
