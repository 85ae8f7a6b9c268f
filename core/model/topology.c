/* SPDX-License-Identifier: BSD-3-Clause */
/* The processors that a thread may use, and lists of processors. */
#define _GNU_SOURCE
#include "topology-private.h"

#include <cornerturn/error.h>
#include <stdlib.h>
#include <string.h>

/* More than any machine has. */
#define LARGEST_NUMBER 65535

static void
find_allowed(cpu_set_t *allowed)
{
    CPU_ZERO(allowed);
    if (!ct_topology_is_here())
        ct_topology_described(allowed);
    else if (sched_getaffinity(0, sizeof *allowed, allowed) != 0)
        for (guint number = 0; number < g_get_num_processors(); number++)
            CPU_SET(number, allowed);
}

GArray *
ct_topology_processors(void)
{
    cpu_set_t allowed;
    find_allowed(&allowed);
    GArray *processors = g_array_new(FALSE, FALSE, sizeof(CtProcessor));
    for (guint number = 0; number < CPU_SETSIZE; number++) {
        if (!CPU_ISSET(number, &allowed))
            continue;
        const CtProcessor processor = {number, ct_topology_numa_of(number)};
        g_array_append_val(processors, processor);
    }
    return processors;
}

/* ---- lists ---- */

static gint
compare(gconstpointer a, gconstpointer b)
{
    const guint x = *(const guint *)a, y = *(const guint *)b;
    return (x > y) - (x < y);
}

/* Reads "3" or "0-3". */
static gboolean
parse_range(const char *text, GArray *numbers)
{
    const char *dash = strchr(text, '-');
    g_autofree char *first = dash ? g_strndup(text, (gsize)(dash - text)) : g_strdup(text);
    guint64 from, to;
    if (!g_ascii_string_to_unsigned(first, 10, 0, LARGEST_NUMBER, &from, NULL))
        return FALSE;
    to = from;
    if (dash && !g_ascii_string_to_unsigned(dash + 1, 10, from, LARGEST_NUMBER, &to, NULL))
        return FALSE;
    for (guint number = (guint)from; number <= to; number++)
        g_array_append_val(numbers, number);
    return TRUE;
}

GArray *
ct_processors_parse(const char *text, GError **error)
{
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint));
    g_auto(GStrv) ranges = g_strsplit(text, ",", 0);
    gboolean good = *text != '\0';
    for (guint i = 0; good && ranges[i]; i++)
        good = parse_range(ranges[i], numbers);
    if (!good) {
        g_set_error(error, CT_ERROR, CT_ERROR_CONFIG,
                    "wants processors as in 0-3,8, but is given '%s'", text);
        return NULL;
    }
    g_array_sort(numbers, compare);
    for (guint i = numbers->len; i-- > 1;)
        if (g_array_index(numbers, guint, i) == g_array_index(numbers, guint, i - 1))
            g_array_remove_index(numbers, i);
    return g_steal_pointer(&numbers);
}

char *
ct_processors_to_text(const GArray *processors, gint numa)
{
    GString *text = g_string_new(NULL);
    guint from = 0, last = G_MAXUINT - 1;
    for (guint i = 0; i < processors->len; i++) {
        const CtProcessor *processor = &g_array_index(processors, CtProcessor, i);
        if (numa != CT_NO_NUMA && processor->numa != numa)
            continue;
        if (processor->number == last + 1) {
            /* The range goes on: its end is written anew. */
            g_string_truncate(text, from);
            g_string_append_printf(text, "-%u", processor->number);
        } else {
            g_string_append_printf(text, "%s%u", text->len ? "," : "", processor->number);
            from = (guint)text->len;
        }
        last = processor->number;
    }
    return g_string_free(text, FALSE);
}
