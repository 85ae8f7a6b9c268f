/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a graph stands still; the report on one that does: the samples in each input of each
 * node, and what the node waits for. */
#include "scheduler-private.h"
#include "submission.h"

static const char *
writer_name(const CtScheduler *scheduler, const CtRing *ring)
{
    return scheduler->nodes[ring->link->writer].plan->name;
}

/* The samples of an input that the node sees. */
static gint64
stands(const CtRunInput *input)
{
    CtBlock block = {0};
    ct_ring_window(input->ring, input->reader, &block);
    return block.n_samples;
}

/* Whether the block after a static input's current one is not known yet. */
static gboolean
is_unknown(const CtRunInput *input)
{
    const gint64 next = input->ring->readers[input->reader].position + 1;
    return input->is_static && !input->ring->ended && input->ring->shown <= next;
}

static gboolean
lacks_data(const CtScheduler *scheduler, const CtRunNode *node, guint i)
{
    const CtRunInput *input = &node->inputs[i];
    if (!input->ring || input->ring->ended)
        return FALSE;
    return input->is_static ? is_unknown(input)
                            : stands(input) < ct_plan_needs(scheduler->plan, node->plan, i);
}

static gboolean
lacks_room(const CtRunOutput *output)
{
    gboolean wraps;
    return output->ring && !output->ring->ended &&
           ct_ring_room(output->ring, output->ring->link->max_samples, &wraps) == 0;
}

/* "'a'", "'a', 'b'" */
static void
append_name(GString *text, const char *name)
{
    g_string_append_printf(text, "%s'%s'", text->len ? ", " : "", name);
}

/* "128 samples of 'sky', none of 'late' (ended)" */
static char *
describe_inputs(const CtScheduler *scheduler, const CtRunNode *node)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < node->n_inputs; i++) {
        const CtRunInput *input = &node->inputs[i];
        if (!input->ring)
            continue;
        const gint64 n = stands(input);
        g_autofree char *count =
            n ? g_strdup_printf("%" G_GINT64_FORMAT " sample%s", n, n == 1 ? "" : "s")
              : g_strdup("none");
        g_string_append_printf(text, "%s%s of '%s'%s", text->len ? ", " : "", count,
                               writer_name(scheduler, input->ring),
                               input->ring->ended ? " (ended)" : "");
    }
    return g_string_free(text, FALSE);
}

/* "64 samples of 'sky'", the samples that an input wants; of a static one "the next block of
 * 'weights'" */
static char *
describe_lack(const CtScheduler *scheduler, const CtRunNode *node, guint i)
{
    const CtRing *ring = node->inputs[i].ring;
    const gint64 needs = ct_plan_needs(scheduler->plan, node->plan, i);
    if (node->inputs[i].is_static)
        return g_strdup_printf("the next block of '%s'", writer_name(scheduler, ring));
    return g_strdup_printf("%" G_GINT64_FORMAT " sample%s of '%s'", needs, needs == 1 ? "" : "s",
                           writer_name(scheduler, ring));
}

/* "room for 64 samples beside the 128 that 'both' must take first" */
static char *
describe_full(const CtScheduler *scheduler, const CtRing *ring)
{
    g_autoptr(GString) readers = g_string_new(NULL);
    const gint64 fill = ct_ring_fill(ring);
    for (guint r = 0; r < ring->n_readers; r++) {
        const CtPlanReader *reader = &g_array_index(ring->link->readers, CtPlanReader, r);
        if (ring->written - ring->readers[r].position == fill)
            append_name(readers, scheduler->nodes[reader->node].plan->name);
    }
    return g_strdup_printf("room for %" G_GINT64_FORMAT " samples beside the %" G_GINT64_FORMAT
                           " that %s must take first",
                           ring->link->max_samples, fill, readers->str);
}

/* Everything that the node waits for, joined by "and"; NULL: nothing. */
static char *
describe_wait(const CtScheduler *scheduler, const CtRunNode *node)
{
    g_autoptr(GPtrArray) waits = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < node->n_inputs; i++)
        if (lacks_data(scheduler, node, i))
            g_ptr_array_add(waits, describe_lack(scheduler, node, i));
    for (guint o = 0; o < node->n_outputs; o++)
        if (lacks_room(&node->outputs[o]))
            g_ptr_array_add(waits, describe_full(scheduler, node->outputs[o].ring));
    if (node->waits_for_memory)
        g_ptr_array_add(waits, g_strdup("memory that it shares with other links"));
    if (waits->len == 0)
        return NULL;
    g_ptr_array_add(waits, NULL);
    return g_strjoinv(" and ", (char **)waits->pdata);
}

GError *
ct_scheduler_explain_stall(const CtScheduler *scheduler, const CtRunNode **culprit)
{
    g_autoptr(GString) text = g_string_new(NULL);
    gboolean is_found = FALSE;
    *culprit = NULL;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        const CtRunNode *node = &scheduler->nodes[i];
        if (node->status == CT_NODE_ENDED)
            continue;
        g_autofree char *inputs = describe_inputs(scheduler, node);
        g_autofree char *wait = describe_wait(scheduler, node);
        if (!*culprit || (!wait && !is_found))
            *culprit = node;
        is_found |= !wait;
        g_string_append_printf(text, "%s '%s'%s%s %s%s", text->len ? ";" : ":", node->plan->name,
                               *inputs ? " has " : "", inputs, *inputs ? "and " : "",
                               wait ? "waits for " : "");
        g_string_append(text, wait ? wait : "does nothing, though it has all that it needs");
    }
    return g_error_new(CT_ERROR, CT_ERROR_PLUGIN, "the graph stands still%s", text->str);
}

/* Whether the node works on something, and does not wait for files or the network. */
static gboolean
is_at_work(const CtRunNode *node)
{
    const gboolean is_firing = node->status == CT_NODE_STARTING || node->status == CT_NODE_RUNNING;
    return !node->plan->variant->waits &&
           (is_firing || (node->submissions && node->submissions->n > 0));
}

guint64
ct_scheduler_pulse(CtScheduler *scheduler)
{
    gboolean works = FALSE;
    pthread_mutex_lock(&scheduler->lock);
    guint64 pulse = 0;
    for (guint i = 0; i < scheduler->n_nodes; i++) {
        works |= is_at_work(&scheduler->nodes[i]);
        pulse += scheduler->nodes[i].totals.firings;
    }
    scheduler->n_rests += !works;
    pulse += scheduler->n_rests;
    pthread_mutex_unlock(&scheduler->lock);
    return pulse;
}
