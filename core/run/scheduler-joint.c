/* SPDX-License-Identifier: BSD-3-Clause */
/* Firings that are submitted together.
 *
 * An event, and telling a watcher of it, take longer than a short kernel. So brief firings that
 * follow one another on a queue are joined: their outputs are published at once, for readers on the
 * same queue, but they get one event and one place in the watcher's list. They are submitted before
 * the thread of the device begins a firing on another queue, one that is timed, or the second one
 * of a node, and before it sleeps. */
#include "scheduler-private.h"
#include "submission.h"

static CtRunner *
runner_of(const CtScheduler *scheduler, const CtRunNode *node)
{
    return scheduler->own[node - scheduler->nodes];
}

void
ct_scheduler_join(CtScheduler *scheduler, CtRunNode *node, CtCuEvent joint)
{
    CtRunner *runner = runner_of(scheduler, node);
    runner->joint_end = joint;
    g_ptr_array_add(runner->joint, node);
}

/* Without the lock: only the runner's thread joins firings and submits them. */
static gboolean
issue_joint(const CtRunner *runner, CtRunNode **culprit, GError **error)
{
    return ct_submission_issue_joint(runner->joint->pdata[0], culprit, error);
}

/* With the lock. */
static void
watch_joint(CtScheduler *scheduler, CtRunner *runner)
{
    for (guint k = 0; k < runner->joint->len; k++)
        ct_scheduler_watch(scheduler, runner->joint->pdata[k], runner->joint_end,
                           runner->joint_begun);
    g_ptr_array_set_size(runner->joint, 0);
}

/* Whether the node's next firing may be submitted together with those that were joined. */
static gboolean
joins(const CtRunner *runner, CtRunNode *node)
{
    const CtRunNode *first = runner->joint->pdata[0];
    const CtSubmissions *own = node->submissions;
    return own->joins && own->after->len == 0 && own->queue == first->submissions->queue &&
           !g_ptr_array_find(runner->joint, node, NULL);
}

gboolean
ct_scheduler_submit_joint(CtScheduler *scheduler, CtRunner *runner)
{
    CtRunNode *culprit;
    GError *cause = NULL;
    if (runner->joint->len == 0)
        return FALSE;
    pthread_mutex_unlock(&scheduler->lock);
    const gboolean good = issue_joint(runner, &culprit, &cause);
    pthread_mutex_lock(&scheduler->lock);
    if (!good)
        ct_scheduler_fail_node(scheduler, culprit, cause);
    watch_joint(scheduler, runner);
    return TRUE;
}

void
ct_scheduler_make_way(CtScheduler *scheduler, CtRunNode *node)
{
    CtRunner *runner = runner_of(scheduler, node);
    if (runner->joint->len > 0 && joins(runner, node))
        return;
    if (runner->joint->len > 0) {
        pthread_mutex_lock(&scheduler->lock);
        ct_scheduler_submit_joint(scheduler, runner);
        pthread_mutex_unlock(&scheduler->lock);
    }
    runner->joint_begun = ct_scheduler_now();
}
