/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, without the time in which other processes had the processors. */
#include "moment.h"

#include <stdlib.h>
#include <time.h>

static gint64
now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (gint64)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The second number in the kernel's statistics of a thread; 0: there are none. */
static gint64
read_waited(const char *path)
{
    g_autofree char *text = NULL;
    char *rest;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return 0;
    strtoll(text, &rest, 10);
    return strtoll(rest, NULL, 10);
}

CtMoment
ct_moment_of_process(void)
{
    CtMoment moment = {0};
    g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
    const char *name;
    while (tasks && (name = g_dir_read_name(tasks))) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%s/schedstat", name);
        moment.waited += read_waited(path);
    }
    moment.processor = now(CLOCK_PROCESS_CPUTIME_ID);
    moment.wall = now(CLOCK_MONOTONIC);
    return moment;
}

CtMoment
ct_moment_of_thread(void)
{
    const gint64 waited = read_waited("/proc/thread-self/schedstat");
    return (CtMoment){.wall = now(CLOCK_MONOTONIC), .waited = waited};
}

gint64
ct_moments_between(const CtMoment *from, const CtMoment *to, guint n_threads)
{
    const gint64 waited = (to->waited - from->waited) / (gint64)MAX(n_threads, 1);
    return MAX(to->wall - from->wall - waited, 1);
}
