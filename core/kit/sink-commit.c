/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a rotation that are complete: a thread of their own brings them to the disk and
 * gives them their names. */
#include "cornerturn/error.h"
#include "sink-private.h"

#include <pthread.h>

/* The most files that wait: each has three open files. */
enum { MOST_WAITING = 8 };

struct CtSinkCommit {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    GQueue waiting; /* of CtSinkPart, the oldest first; the one that is being committed is in it */
    gboolean ends;
    GError *failure; /* the first; files after it stay partial */
};

static void *
commit_files(gpointer data)
{
    CtSinkCommit *self = data;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        CtSinkPart *part = g_queue_peek_head(&self->waiting);
        if (!part && self->ends)
            break;
        if (!part) {
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        const gboolean failed = self->failure != NULL;
        GError *failure = NULL;
        pthread_mutex_unlock(&self->lock);
        if (!failed && ct_sink_part_seal(part, &failure))
            ct_sink_part_commit(part, &failure);
        ct_sink_part_free(part);
        pthread_mutex_lock(&self->lock);
        if (failure)
            self->failure = failure;
        g_queue_pop_head(&self->waiting);
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

CtSinkCommit *
ct_sink_commit_new(GError **error)
{
    CtSinkCommit *self = g_new0(CtSinkCommit, 1);
    g_queue_init(&self->waiting);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    const int failure = pthread_create(&self->thread, NULL, commit_files, self);
    if (failure == 0)
        return self;
    g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "no thread to complete files: %s",
                g_strerror(failure));
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    g_free(self);
    return NULL;
}

gboolean
ct_sink_commit_add(CtSinkCommit *self, CtSinkPart *part, GError **error)
{
    pthread_mutex_lock(&self->lock);
    while (g_queue_get_length(&self->waiting) >= MOST_WAITING)
        pthread_cond_wait(&self->changed, &self->lock);
    g_queue_push_tail(&self->waiting, part);
    pthread_cond_broadcast(&self->changed);
    const gboolean good = !self->failure;
    if (!good)
        g_propagate_error(error, g_error_copy(self->failure));
    pthread_mutex_unlock(&self->lock);
    return good;
}

gboolean
ct_sink_commit_end(CtSinkCommit *self, GError **error)
{
    if (!self)
        return TRUE;
    pthread_mutex_lock(&self->lock);
    self->ends = TRUE;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    pthread_join(self->thread, NULL);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    GError *failure = self->failure;
    g_free(self);
    if (!failure)
        return TRUE;
    g_propagate_error(error, failure);
    return FALSE;
}
