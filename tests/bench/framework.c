/* SPDX-License-Identifier: BSD-3-Clause */
/* The framework alone. */
#include "bench.h"

/* Ten empty nodes between source and sink, with blocks of one sample. */
void
framework_add(GPtrArray *contenders)
{
    static const char *const stages[] = {"bench.nothing.whole", "bench.nothing"};
    static const char *const names[] = {"chain of ten", "chain of ten, in ranges"};
    for (guint i = 0; i < G_N_ELEMENTS(stages); i++)
        for (guint n_workers = 1; n_workers <= 2; n_workers++) {
            GString *text = g_string_new(
                "stages:\n  source: { stage: bench.source, type: cf32, axes: [channel], "
                "lengths: [16], block: { time: 16 } }\n");
            for (guint k = 0; k < 10; k++) {
                g_autofree char *from = k > 0 ? g_strdup_printf("n%u", k - 1) : g_strdup("source");
                g_string_append_printf(text, "  n%u: { stage: %s, from: %s }\n", k, stages[i],
                                       from);
            }
            g_string_append(text, "  sink: { stage: bench.sink, from: n9 }\n");
            g_ptr_array_add(contenders, graph_contender_new("framework", names[i], n_workers,
                                                            text->str, "source", "source", "n0"));
            g_string_free(text, TRUE);
        }
}
