/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads to processors. */
#define _GNU_SOURCE
#include "pin.h"

#include <pthread.h>
#include <sched.h>

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
