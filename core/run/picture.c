/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of streams that nodes show while they run. */
#include "scheduler-private.h"

#include <string.h>

void
ct_work_show(const CtWork *work, char *picture)
{
    CtRunNode *node = work->core;
    GBytes *bytes = g_bytes_new_take(picture, strlen(picture) + 1);
    /* A test of a stage alone has no node. */
    if (node) {
        pthread_mutex_lock(&node->picture.lock);
        GBytes *before = node->picture.newest;
        node->picture.newest = bytes;
        node->picture.n++;
        pthread_mutex_unlock(&node->picture.lock);
        bytes = before;
    }
    g_clear_pointer(&bytes, g_bytes_unref);
}

GBytes *
ct_scheduler_picture(CtScheduler *scheduler, guint i, guint64 *n)
{
    CtRunNode *node = &scheduler->nodes[i];
    pthread_mutex_lock(&node->picture.lock);
    GBytes *newest = node->picture.newest ? g_bytes_ref(node->picture.newest) : NULL;
    *n = node->picture.n;
    pthread_mutex_unlock(&node->picture.lock);
    return newest;
}
