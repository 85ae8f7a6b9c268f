/* SPDX-License-Identifier: BSD-3-Clause */
/* Firings on the host: threads share the work of a firing, and it is done when they return from it.
 */
#include "firing-check.h"
#include "model/strided.h"
#include "scheduler-private.h"

static gboolean
prepare(CtScheduler *scheduler, guint i, GError **error)
{
    CtRunNode *node = &scheduler->nodes[i];
    gsize upload = 0;
    if (node->plan->variant->waits) {
        scheduler->own[i] = ct_scheduler_add_runner(scheduler);
        scheduler->own[i]->node = node;
    }
    return ct_run_node_prepare(node, NULL, &scheduler->scratch_bytes, &upload, error);
}

static gboolean
gather(G_GNUC_UNUSED CtScheduler *scheduler, CtRunNode *node, gboolean ends, GError **error)
{
    return ends || ct_firing_gather(node, error);
}

static gboolean
begin(G_GNUC_UNUSED CtScheduler *scheduler, G_GNUC_UNUSED CtRunNode *node,
      G_GNUC_UNUSED GError **error)
{
    return TRUE;
}

static gboolean
poison(CtRunNode *node, guint o, G_GNUC_UNUSED GError **error)
{
    ct_strided_fill(&node->output_blocks[o], 0xff);
    return TRUE;
}

static gboolean
work(CtRunNode *node, CtWork *part, GError **error)
{
    return ct_firing_call_work(node, part, error);
}

static gboolean
end(CtRunNode *node, gint64 *invalid, G_GNUC_UNUSED GError **error)
{
    *invalid = 0;
    for (guint o = 0; o < node->n_outputs; o++) {
        const CtBinding *binding = &node->plan->output_bindings[o];
        CtDeparture *departure = &node->departures[o];
        if (!node->outputs[o].ring || departure->produced == 0 ||
            !(departure->invalid || node->marks))
            continue;
        const gint64 n =
            ct_validity_zero(&node->output_blocks[o], departure, binding->stream, &binding->layout);
        departure->invalid = n > 0;
        if (o == 0)
            *invalid = n;
    }
    return TRUE;
}

static gboolean
submit(G_GNUC_UNUSED CtScheduler *scheduler, G_GNUC_UNUSED CtRunNode *node)
{
    return FALSE;
}

/* A failure on the host is the node's own. */
static void
suspect(G_GNUC_UNUSED const CtScheduler *scheduler, G_GNUC_UNUSED const CtRunNode *node,
        G_GNUC_UNUSED GError *cause)
{
}

const CtRunPlace ct_place_host = {
    .prepare = prepare,
    .gather = gather,
    .begin = begin,
    .poison = poison,
    .work = work,
    .end = end,
    .submit = submit,
    .suspect = suspect,
};
