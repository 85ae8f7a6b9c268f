/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused variants, in turn with the chains that they replace; and stages of the kit, attached to one
 * another, in turn with the same stages apart. */
#include "bench.h"

#include <stdio.h>

typedef struct {
    const char *name;
    const char *type, *axes, *lengths; /* of the source */
    const char *first, *second;        /* the chain's stages with their parameters */
} Case;

static const Case cases[] = {
    {"fir + fft ci8 256x16, 4 x 2", "ci8", "station, pol", "4, 2",
     "fir, n_channels: 256, n_taps: 16", "fft"},
    {"fir + fft ci8 1024x8, 1 x 2", "ci8", "station, pol", "1, 2",
     "fir, n_channels: 1024, n_taps: 8", "fft"},
    {"fir + fft ci16 4096x4, 1 x 1", "ci16", "station, pol", "1, 1",
     "fir, n_channels: 4096, n_taps: 4", "fft"},
    {"fir + fft cf32 1024x8, 1 x 2", "cf32", "station, pol", "1, 2",
     "fir, n_channels: 1024, n_taps: 8", "fft"},
    {"fir + fft i8 1024x4, 4 x 2", "i8", "station, pol", "4, 2", "fir, n_channels: 1024, n_taps: 4",
     "fft"},
};

/* The best instruction set of this processor, as in names of variants. */
static const char *
instruction_set(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return "avx512";
    if (__builtin_cpu_supports("avx2"))
        return "avx2";
#endif
    return "baseline";
}

static Contender *
chain_new(const Case *one, const char *kind, guint n_workers)
{
    g_autofree char *variant = g_strdup_printf("variant: %s-%s", kind, instruction_set());
    g_autofree char *name = g_strdup_printf("%s, %s", one->name, kind);
    g_autofree char *text = g_strdup_printf(
        "stages:\n"
        "  source: { stage: bench.source, type: %s, axes: [%s], lengths: [%s] }\n"
        "  first: { stage: %s, from: source, %s }\n"
        "  second: { stage: %s, from: first, %s }\n"
        "  sink: { stage: bench.sink, from: second }\n",
        one->type, one->axes, one->lengths, one->first, variant, one->second, variant);
    return graph_contender_new("fusion", name, n_workers, text, "source", "source",
                               g_str_equal(kind, "cpu") ? "second" : "first+second");
}

/* ---- chains: stages of the kit, attached to one another and by themselves ---- */

static const struct {
    const char *name, *type;
    const char *stages[4]; /* with their parameters, at most; NULL: no more */
} chains[] = {
    {"convert, gains, power, quantise",
     "ci8",
     {"convert, type: cf32", "gains, gain: 0.5", "power", "quantise, type: i8, scale: 1e-3"}},
    {"convert, gains, power", "ci8", {"convert, type: cf32", "gains, gain: 0.5", "power"}},
    {"gains, power", "cf32", {"gains, gain: 0.5", "power"}},
    {"gains, quantise", "cf32", {"gains, gain: 0.5", "quantise, type: ci8, scale: 30"}},
    {"power IQUV, quantise", "cf32", {"power, stokes: IQUV", "quantise, type: i8, scale: 10"}},
};

static Contender *
attached_new(guint i, gboolean fuses, guint n_workers)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(GString) node = g_string_new(NULL);
    g_autofree char *name =
        g_strdup_printf("%s%s", chains[i].name, fuses ? ", attached" : ", apart");
    g_autofree char *last = g_strdup("source");
    g_string_append_printf(text,
                           "stages:\n"
                           "  source: { stage: bench.source, type: %s, "
                           "axes: [channel, station, pol], lengths: [256, 16, 2] }\n",
                           chains[i].type);
    for (guint k = 0; k < G_N_ELEMENTS(chains[i].stages) && chains[i].stages[k]; k++) {
        g_string_append_printf(text, "  s%u: { from: %s, stage: %s }\n", k, last,
                               chains[i].stages[k]);
        if (!fuses)
            g_string_truncate(node, 0);
        g_string_append_printf(node, "%ss%u", node->len ? "+" : "", k);
        g_free(last);
        last = g_strdup_printf("s%u", k);
    }
    g_string_append_printf(text, "  sink: { stage: bench.sink, from: %s }\n", last);
    return graph_contender_new("fusion", name, n_workers, text->str, "source", "source", node->str);
}

static void
measure_chain(guint i, guint n_workers, CtMeter *meter, guint n_slices)
{
    g_autoptr(GPtrArray) both = g_ptr_array_new_with_free_func((GDestroyNotify)contender_free);
    for (guint fuses = 0; fuses < 2; fuses++) {
        g_ptr_array_add(both, attached_new(i, fuses, n_workers));
        graph_contender_set_fusion(both->pdata[fuses], fuses);
    }
    contenders_measure(both, meter, n_slices);
    contender_print(both->pdata[0]);
    contender_print(both->pdata[1]);
    printf("%-10s %-33s %2u %.2f x the stages apart\n", "fusion", chains[i].name, n_workers,
           contenders_ratio(both->pdata[1], both->pdata[0]));
    fflush(stdout);
}

void
fusion_list(GArray *names)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        g_array_append_val(names, ((CaseName){"fusion", cases[i].name}));
    for (guint i = 0; i < G_N_ELEMENTS(chains); i++)
        g_array_append_val(names, ((CaseName){"fusion", chains[i].name}));
}

void
fusion_measure(CtMeter *meter, guint n_slices, char *const *patterns)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        for (guint n_workers = 1; is_wanted("fusion", cases[i].name, patterns) && n_workers <= 2;
             n_workers++) {
            g_autoptr(GPtrArray) both =
                g_ptr_array_new_with_free_func((GDestroyNotify)contender_free);
            g_ptr_array_add(both, chain_new(&cases[i], "cpu", n_workers));
            g_ptr_array_add(both, chain_new(&cases[i], "fused", n_workers));
            contenders_measure(both, meter, n_slices);
            contender_print(both->pdata[0]);
            contender_print(both->pdata[1]);
            printf("%-10s %-33s %2u %.2f x the chain\n", "fusion", cases[i].name, n_workers,
                   contenders_ratio(both->pdata[1], both->pdata[0]));
            fflush(stdout);
        }
    for (guint i = 0; i < G_N_ELEMENTS(chains); i++)
        for (guint n_workers = 1; is_wanted("fusion", chains[i].name, patterns) && n_workers <= 2;
             n_workers++)
            measure_chain(i, n_workers, meter, n_slices);
}
