/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting threads and pinning them to processors. */
#define _GNU_SOURCE
#include "thread.h"

#include <cornerturn/stage.h>
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

void
ct_thread_pin(guint index)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    guint left = index % (guint)MAX(CPU_COUNT(&allowed), 1);
    for (guint cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || left-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}
