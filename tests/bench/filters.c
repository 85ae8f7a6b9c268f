/* SPDX-License-Identifier: BSD-3-Clause */
/* Filters of 1 to 64 taps, oversampled and decimating. */
#include "bench.h"

/* Filters of 16 stations and 2 polarisations (decimators: of 2 polarisations), of both types and
 * with time outermost and innermost. */
static const struct {
    guint n_channels, hop;
    const char *n_taps;
    const char *lengths;
} filters[] = {
    {256, 256, "1 2 4 8 16 32 64", "16, 2"},
    {256, 192, "4 16", "16, 2"},
    {256, 128, "16", "16, 2"},
    {1, 8, "8 16 64", "1, 2"},
    {1, 2, "64", "1, 2"},
};

static void
add_filter(GPtrArray *contenders, const char *type, const char *axes, const char *lengths,
           guint n_channels, const char *n_taps, guint hop)
{
    g_autofree char *decimates = g_strdup_printf(" decimate by %u", hop);
    g_autofree char *hops = g_strdup_printf(", hop %u", hop);
    g_autofree char *name = g_strdup_printf("fir %s[%s] %ux%s%s", type, axes, n_channels, n_taps,
                                            n_channels == 1     ? decimates
                                            : hop == n_channels ? ""
                                                                : hops);
    g_autofree char *text = g_strdup_printf(
        "stages:\n  source: { stage: bench.source, type: %s, axes: [station, pol], "
        "lengths: [%s], layout: \"%s[%s]\" }\n"
        "  stage: { stage: fir, from: source, n_channels: %u, n_taps: %s, hop: %u }\n"
        "  sink: { stage: bench.sink, from: stage }\n",
        type, lengths, type, axes, n_channels, n_taps, hop);
    g_ptr_array_add(contenders,
                    graph_contender_new("stage", name, 1, text, "source", "source", "stage"));
}

void
filters_add(GPtrArray *contenders)
{
    static const char *const types[] = {"cf32", "ci8"};
    static const char *const orders[] = {"station pol time", "time station pol"};
    for (guint type = 0; type < 2; type++)
        for (guint order = 0; order < 2; order++)
            for (guint i = 0; i < G_N_ELEMENTS(filters); i++) {
                g_auto(GStrv) n_taps = g_strsplit(filters[i].n_taps, " ", -1);
                for (guint k = 0; n_taps[k]; k++)
                    add_filter(contenders, types[type], orders[order], filters[i].lengths,
                               filters[i].n_channels, n_taps[k], filters[i].hop);
            }
}
