/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benches of a device print of a case, and the floors that are checked. */
#include "gpu-run.h"

#include <stdio.h>
#include <string.h>

gboolean
gpu_is_wanted(const GpuBench *bench, const char *name)
{
    if (!bench->words[0])
        return TRUE;
    gboolean is_wanted = FALSE;
    for (guint i = 0; bench->words[i]; i++)
        if (strstr(name, bench->words[i]))
            is_wanted = bench->is_known[i] = TRUE;
    return is_wanted;
}

void
gpu_note(GpuBench *bench, const char *name, gdouble value, gboolean at_least, gdouble limit,
         const char *unit)
{
    const gboolean held = at_least ? value >= limit : value <= limit;
    g_string_append_printf(bench->summary, "%-52s %8.2f, at %s %7.2f %-16s %s\n", name, value,
                           at_least ? "least" : "most", limit, unit, held ? "pass" : "FALL SHORT");
    bench->good &= held;
}

void
gpu_print(const GpuBench *bench, const GpuCase *one, const GpuFigures *figures,
          gdouble bytes_per_element)
{
    printf("%-44s wall %8.2f G/s", one->name, figures->wall * 1e-9);
    if (one->node) {
        const gdouble copy = bytes_per_element * figures->node / bench->ceilings.copy;
        printf("  %s %8.2f G/s", one->node, figures->node * 1e-9);
        if (bytes_per_element > 0)
            printf(" %5.2f of copy", copy);
        if (figures->operations > 0)
            printf(" %7.2f Top/s %5.2f of FMA", figures->operations * figures->node * 1e-12,
                   figures->operations * figures->node / bench->ceilings.fma);
    }
    printf("%s%s\n", figures->nodes ? "  each " : "", figures->nodes ? figures->nodes : "");
    fflush(stdout);
}

void
gpu_compare_fusion(GpuBench *bench, GpuCase *one, gdouble bytes, gdouble operations,
                   const char *unit)
{
    GpuFigures fused, plain;
    if (!gpu_is_wanted(bench, one->name) || !gpu_run_case(bench, one, &fused))
        return;
    gpu_print(bench, one, &fused, 0);
    if (bytes > 0)
        printf("%-44s %.2f of copy, %.2f of FMA\n", "", bytes * fused.wall / bench->ceilings.copy,
               operations * fused.wall / bench->ceilings.fma);
    one->no_fusion = TRUE;
    if (!gpu_run_case(bench, one, &plain))
        return;
    gpu_print(bench, one, &plain, 0);
    gpu_note(bench, one->name, fused.wall / plain.wall, TRUE, 1, unit);
}

char *
gpu_describe_behind(const char *const *behind, const char *from)
{
    GString *text = g_string_new(NULL);
    g_autofree char *last = g_strdup(from);
    for (guint i = 0; behind[i]; i++) {
        g_string_append_printf(text, "  behind%u: { from: %s, stage: %s }\n", i, last, behind[i]);
        g_free(last);
        last = g_strdup_printf("behind%u", i);
    }
    g_string_append_printf(text, "  sink: { stage: discard, from: %s }\n", last);
    return g_string_free(text, FALSE);
}
