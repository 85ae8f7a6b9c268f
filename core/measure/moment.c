/* SPDX-License-Identifier: BSD-3-Clause */
/* Time, without the time in which other processes had the processors. */
#include "moment.h"

#include <stdlib.h>
#include <time.h>

/* How often a moment is tried to be read. */
enum { MOST_READS = 10 };

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

static gint64
read_waited_of_process(void)
{
    gint64 waited = 0;
    g_autoptr(GDir) tasks = g_dir_open("/proc/self/task", 0, NULL);
    const char *name;
    while (tasks && (name = g_dir_read_name(tasks))) {
        g_autofree char *path = g_strdup_printf("/proc/self/task/%s/schedstat", name);
        waited += read_waited(path);
    }
    return waited;
}

static gint64
read_waited_of_thread(void)
{
    return read_waited("/proc/thread-self/schedstat");
}

/* The clocks are read one after the other. If the thread itself has waited between them, that time
 * would be in one of two moments only, so they are read again. */
static CtMoment
take_moment(gboolean of_process)
{
    CtMoment moment = {0};
    gboolean has_waited = TRUE;
    for (guint i = 0; i < MOST_READS && has_waited; i++) {
        const gint64 own = read_waited_of_thread();
        moment.waited = of_process ? read_waited_of_process() : own;
        moment.processor = of_process ? now(CLOCK_PROCESS_CPUTIME_ID) : 0;
        moment.wall = now(CLOCK_MONOTONIC);
        has_waited = read_waited_of_thread() != own;
    }
    return moment;
}

CtMoment
ct_moment_of_process(void)
{
    return take_moment(TRUE);
}

CtMoment
ct_moment_of_thread(void)
{
    return take_moment(FALSE);
}

gint64
ct_moments_between(const CtMoment *from, const CtMoment *to, guint n_threads)
{
    const gint64 waited = (to->waited - from->waited) / (gint64)MAX(n_threads, 1);
    return MAX(to->wall - from->wall - waited, 1);
}
