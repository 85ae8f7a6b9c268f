/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting threads and binding them to processors. */
#define _GNU_SOURCE
#include "thread.h"

#include <cornerturn/stage.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

GThread *
ct_thread_start(const char *name, GThreadFunc function, gpointer data, GError **error)
{
    g_autoptr(GError) cause = NULL;
    GThread *thread = g_thread_try_new(name, function, data, &cause);
    if (!thread)
        g_set_error(error, CT_ERROR, CT_ERROR_MEMORY, "no thread can be started: %s",
                    cause->message);
    return thread;
}

void
ct_thread_init_timed(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* g_get_num_processors may count all that the machine has. */
guint
ct_thread_processors(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return g_get_num_processors();
    return (guint)MAX(CPU_COUNT(&allowed), 1);
}

gboolean
ct_thread_bind(const CtProcessor *processors, guint n, gint numa)
{
    cpu_set_t all, near;
    CPU_ZERO(&all);
    CPU_ZERO(&near);
    for (guint i = 0; i < n; i++) {
        CPU_SET(processors[i].number, &all);
        if (processors[i].numa == numa)
            CPU_SET(processors[i].number, &near);
    }
    errno = pthread_setaffinity_np(pthread_self(), sizeof all, CPU_COUNT(&near) ? &near : &all);
    return errno == 0;
}
