/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a benchmark: their memory and their names. */
#include "bench.h"

#include <math.h>
#include <string.h>

void
ct_bench_ceiling_free(CtBenchCeiling *ceiling)
{
    g_free(ceiling->place);
    g_free(ceiling->name);
    g_free(ceiling->unit);
    g_free(ceiling);
}

CtBenchRow *
ct_bench_row_new(void)
{
    CtBenchRow *row = g_new(CtBenchRow, 1);
    *row = (CtBenchRow){
        .samples = NAN,
        .operations = NAN,
        .bytes = NAN,
        .fma = NAN,
        .copy = NAN,
        .transfer = NAN,
        .of_fma = NAN,
        .of_copy = NAN,
        .of_transfer = NAN,
        .joules = NAN,
        .of_station = NAN,
        .planning = NAN,
        .allocation = NAN,
        .whole = NAN,
        .stretch = NAN,
        .run = NAN,
        .waited = NAN,
        .gain = NAN,
    };
    return row;
}

void
ct_bench_row_free(CtBenchRow *row)
{
    g_free(row->group);
    g_free(row->family);
    g_free(row->name);
    g_free(row->place);
    g_free(row->variants);
    g_free(row->beside);
    g_free(row->published);
    g_free(row->source);
    g_free(row->skipped);
    g_free(row);
}

CtBench *
ct_bench_new(void)
{
    CtBench *bench = g_new0(CtBench, 1);
    bench->devices = g_ptr_array_new_with_free_func(g_free);
    bench->ceilings = g_ptr_array_new_with_free_func((GDestroyNotify)ct_bench_ceiling_free);
    bench->rows = g_ptr_array_new_with_free_func((GDestroyNotify)ct_bench_row_free);
    return bench;
}

void
ct_bench_free(CtBench *bench)
{
    if (!bench)
        return;
    g_free(bench->version);
    g_free(bench->machine);
    g_free(bench->energy);
    g_ptr_array_unref(bench->devices);
    g_ptr_array_unref(bench->ceilings);
    g_ptr_array_unref(bench->rows);
    g_free(bench);
}

gboolean
ct_bench_is_named(const char *const *names, const char *name)
{
    gboolean is_named = !names || !names[0];
    for (guint i = 0; !is_named && names[i]; i++)
        is_named = strstr(name, names[i]) != NULL;
    return is_named;
}
