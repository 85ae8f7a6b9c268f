/* SPDX-License-Identifier: BSD-3-Clause */
/* Fused variants, in turn with the chains that they replace. */
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

void
fusion_measure(CeilingMeter *meter, guint n_slices, char *const *patterns)
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
}
