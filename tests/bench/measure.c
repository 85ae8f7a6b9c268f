/* SPDX-License-Identifier: BSD-3-Clause */
/* Slices in turn, ceilings between them, medians of the ratios. */
#include "bench.h"

#include <math.h>

void
contender_init(Contender *contender, const char *group, const char *name, guint n_threads)
{
    contender->group = g_strdup(group);
    contender->name = g_strdup(name);
    contender->n_threads = n_threads;
    contender->slices = g_array_new(FALSE, FALSE, sizeof(gdouble));
    contender->dram_shares = g_array_new(FALSE, FALSE, sizeof(gdouble));
    contender->fma_shares = g_array_new(FALSE, FALSE, sizeof(gdouble));
}

void
contender_free(Contender *contender)
{
    if (contender->clear)
        contender->clear(contender);
    g_free(contender->group);
    g_free(contender->name);
    g_free(contender->remark);
    g_free(contender->failure);
    g_array_unref(contender->slices);
    g_array_unref(contender->dram_shares);
    g_array_unref(contender->fma_shares);
    g_free(contender);
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return (x > y) - (x < y);
}

gdouble
median(GArray *values)
{
    if (values->len == 0)
        return NAN;
    g_autoptr(GArray) sorted = g_array_copy(values);
    g_array_sort(sorted, compare);
    const guint n = sorted->len;
    return (g_array_index(sorted, gdouble, (n - 1) / 2) + g_array_index(sorted, gdouble, n / 2)) /
           2;
}

gdouble
contenders_ratio(const Contender *a, const Contender *b)
{
    g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < MIN(a->slices->len, b->slices->len); i++) {
        const gdouble ratio =
            g_array_index(a->slices, gdouble, i) / g_array_index(b->slices, gdouble, i);
        g_array_append_val(ratios, ratio);
    }
    return median(ratios);
}

/* The values of one contender, for each slice. */
typedef struct {
    GArray *bytes, *operations, *firings, *processors, *l2;
} Series;

static void
add(GArray *values, gdouble value)
{
    g_array_append_val(values, value);
}

void
contenders_measure(GPtrArray *contenders, CtMeter *meter, guint n_slices)
{
    const guint n = contenders->len;
    g_autofree Series *series = g_new0(Series, n);
    for (guint c = 0; c < n; c++)
        for (GArray **values = &series[c].bytes; values <= &series[c].l2; values++)
            *values = g_array_new(FALSE, FALSE, sizeof(gdouble));

    for (guint slice = 0; slice < n_slices; slice++)
        for (guint c = 0; c < n; c++) {
            Contender *contender = contenders->pdata[c];
            g_autoptr(GError) error = NULL;
            CtCeilings before, after;
            Rates rates = {0};
            if (contender->failure)
                continue;
            const guint n_threads = contender->n_threads;
            if (!ct_meter_measure(meter, n_threads, ct_meter_isa(), &before, &error) ||
                !contender->run(contender, &rates, &error) ||
                !ct_meter_measure(meter, n_threads, ct_meter_isa(), &after, &error)) {
                contender->failure = g_strdup(error->message);
                continue;
            }
            add(contender->slices, rates.samples);
            add(contender->fma_shares, 2 * rates.operations / (before.fma + after.fma));
            add(contender->dram_shares, 2 * rates.bytes / (before.dram + after.dram));
            add(series[c].l2, 2 * rates.bytes / (before.l2 + after.l2));
            add(series[c].bytes, rates.bytes);
            add(series[c].operations, rates.operations);
            add(series[c].firings, rates.firings);
            add(series[c].processors, rates.processors);
        }

    for (guint c = 0; c < n; c++) {
        Contender *contender = contenders->pdata[c];
        contender->rates = (Rates){
            .samples = median(contender->slices),
            .bytes = median(series[c].bytes),
            .operations = median(series[c].operations),
            .firings = median(series[c].firings),
            .processors = median(series[c].processors),
        };
        contender->of_fma = median(contender->fma_shares);
        contender->of_dram = median(contender->dram_shares);
        contender->of_l2 = median(series[c].l2);
        for (GArray **values = &series[c].bytes; values <= &series[c].l2; values++)
            g_array_unref(*values);
    }
}
