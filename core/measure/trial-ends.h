/* SPDX-License-Identifier: BSD-3-Clause */
/* The ends of a trial: a source whose blocks are ready, and a sink that drops them.
 *
 * Both exist in the core only: no registry has them, and a plan runs them only where they are
 * fixed. */
#pragma once

#include <cornerturn/stage.h>

/* Gives random elements of the type of its output. It writes them only until the ring's memory is
 * filled. */
extern const CtStage ct_trial_source;
extern const CtStage ct_trial_sink;

/* The source's counter: samples written. */
enum { CT_TRIAL_WRITTEN };

/* The source gives samples without end, or one (`once`). With `touches`, on the host, blocks are
 * in the cache as neighbours in a graph would leave them: the source writes each block anew; the
 * sink reads each block, and then as much other memory as a graph uses before it comes back to
 * the same. */
const CtVariant *ct_trial_source_variant(gboolean on_device, gboolean once, gboolean touches);
const CtVariant *ct_trial_sink_variant(gboolean on_device, gboolean touches);
