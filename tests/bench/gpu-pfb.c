/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of filter banks on a device, by themselves and with stages attached behind them. */
#include "gpu-run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* With these variants or, if they are NULL, with the planner's choice. */
static void
check_bank(GpuBench *bench, const char *filter, const char *transform, const char *type,
           guint n_channels, guint n_taps, gdouble floor)
{
    g_autofree char *by = filter ? g_strdup_printf(", variant: \"%s\"", filter) : g_strdup("");
    g_autofree char *then = filter ? g_strdup_printf(", variant: \"%s\"", transform) : g_strdup("");
    const gboolean two = filter && !g_str_equal(filter, transform);
    g_autofree char *name = g_strdup_printf("PFB %s %u channels, %u taps%s%s%s%s", type, n_channels,
                                            n_taps, filter ? ", " : "", filter ? filter : "",
                                            two ? " and " : "", two ? transform : "");
    g_autofree char *stages =
        g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u%s }\n"
                        "  spectra: { stage: fft, from: filter%s }\n"
                        "  sink: { stage: discard, from: spectra }\n",
                        n_channels, n_taps, by, then);
    const GpuCase one = {
        .name = name,
        .stages = stages,
        .type = type,
        .layout = "station pol time",
        .shape = {64, 2, -1},
        .n_samples = 1 << 18,
        .n_blocks = 100,
    };
    GpuFigures figures;
    if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
        return;
    gpu_print(bench, &one, &figures, 0);
    if (floor > 0)
        gpu_note(bench, one.name, figures.wall * 1e-9, TRUE, floor, "Gsamples/s");
}

static void
check_banks(GpuBench *bench)
{
    static const struct {
        const char *type;
        guint n_channels, n_taps;
        gdouble floor;
    } banks[] = {{"ci8", 64, 8, 230},   {"ci8", 128, 8, 230},  {"ci8", 256, 4, 235},
                 {"ci8", 256, 8, 215},  {"ci8", 256, 16, 180}, {"ci8", 512, 8, 190},
                 {"ci8", 1024, 8, 165}, {"ci8", 2048, 8, 135}, {"ci8", 4096, 8, 135},
                 {"ci8", 96, 8, 210},   {"ci8", 100, 8, 190},  {"ci8", 768, 8, 160},
                 {"ci8", 1536, 8, 135}, {"i8", 2048, 8, 0},    {"i8", 4096, 8, 0}};
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++)
        check_bank(bench, NULL, NULL, banks[i].type, banks[i].n_channels, banks[i].n_taps,
                   banks[i].floor);
    check_bank(bench, "cuda", "cuda", "ci8", 256, 8, 0);
    check_bank(bench, "cuda", "radix-cuda", "ci8", 256, 8, 115);
    check_bank(bench, "cuda", "radix-cuda", "ci8", 1024, 8, 0);
    check_bank(bench, "cuda", "cuda", "ci8", 4096, 8, 0);
    check_bank(bench, "cuda", "radix-cuda", "ci8", 4096, 8, 0);
}

/* Filter banks of 64 times 64 coefficients and less, of few stations. */
static void
check_small_arrays(GpuBench *bench)
{
    static const char *const types[] = {"ci4", "ci8", "ci16"};
    static const struct {
        guint n_channels, n_taps;
        gdouble floor; /* Gsamples/s, of all types */
    } banks[] = {{64, 64, 90}, {128, 32, 130}, {256, 16, 180}, {512, 8, 175}, {1024, 4, 180}};
    for (guint i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(banks); i++) {
        const char *type = types[i / G_N_ELEMENTS(banks)];
        const guint n_channels = banks[i % G_N_ELEMENTS(banks)].n_channels;
        const guint n_taps = banks[i % G_N_ELEMENTS(banks)].n_taps;
        g_autofree char *name =
            g_strdup_printf("PFB, 16 stations: %s %u channels, %u taps", type, n_channels, n_taps);
        g_autofree char *stages =
            g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                            "  spectra: { stage: fft, from: filter }\n"
                            "  sink: { stage: discard, from: spectra }\n",
                            n_channels, n_taps);
        const GpuCase one = {
            .name = name,
            .stages = stages,
            .type = type,
            .layout = "station pol time",
            .shape = {16, 2, -1},
            .n_samples = 1 << 20,
            .n_blocks = 60,
        };
        GpuFigures figures;
        if (!gpu_is_wanted(bench, name) || !gpu_run_case(bench, &one, &figures))
            continue;
        gpu_print(bench, &one, &figures, 0);
        gpu_note(bench, name, figures.wall * 1e-9, TRUE, banks[i % G_N_ELEMENTS(banks)].floor,
                 "Gsamples/s");
    }
}

/* A filter bank with stages behind it, as an epilogue of its kernel and by themselves. */
static void
check_epilogues(GpuBench *bench)
{
    static const struct {
        guint n_channels, n_taps;
    } banks[] = {{256, 4}, {256, 8}, {256, 16}, {1024, 8}, {4096, 8}};
    static const char *const behind[][3] = {
        {"quantise, type: ci8, scale: 0.05"},
        {"quantise, type: ci4, scale: 0.005"},
        {"power"},
        {"gains, gain: 0.5", "quantise, type: ci8, scale: 0.1"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(banks) * G_N_ELEMENTS(behind); i++) {
        const guint n_channels = banks[i / G_N_ELEMENTS(behind)].n_channels;
        const guint n_taps = banks[i / G_N_ELEMENTS(behind)].n_taps;
        const char *const *own = behind[i % G_N_ELEMENTS(behind)];
        g_autofree char *list = g_strjoinv(", then ", (char **)own);
        g_autofree char *then = gpu_describe_behind(own, "spectra");
        g_autofree char *name =
            g_strdup_printf("PFB ci8 %u channels, %u taps, then %s", n_channels, n_taps, list);
        g_autofree char *stages =
            g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                            "  spectra: { stage: fft, from: filter }\n"
                            "%s",
                            n_channels, n_taps, then);
        GpuCase one = {
            .name = name,
            .stages = stages,
            .type = "ci8",
            .layout = "station pol time",
            .shape = {64, 2, -1},
            .n_samples = 1 << 18,
            .n_blocks = 60,
        };
        gpu_compare_fusion(bench, &one, 0, 0, "times as fast as stages apart");
    }
}

/* A filter bank whose power is integrated, in one kernel, and as kernels for each stage behind it.
 * A sample is read once; its share of a sum is written. Blocks have many sums, for that between two
 * blocks is made by a firing of its own, which fills a device badly. */
static void
check_folds(GpuBench *bench)
{
    static const struct {
        const char *type;
        guint n_channels, n_taps, length;
    } banks[] = {{"ci8", 256, 8, 64}, {"ci8", 1024, 8, 64}, {"ci8", 256, 8, 1000},
                 {"ci8", 256, 8, 4},  {"ci8", 64, 8, 64},   {"ci8", 100, 8, 64},
                 {"i8", 4096, 8, 64}};
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        const guint n_channels = banks[i].n_channels, n_taps = banks[i].n_taps;
        g_autofree char *name = g_strdup_printf("PFB, power, integrate %u: %s %u channels, %u taps",
                                                banks[i].length, banks[i].type, n_channels, n_taps);
        g_autofree char *stages =
            g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                            "  spectra: { stage: fft, from: filter }\n"
                            "  power: { stage: power, from: spectra }\n"
                            "  sums: { stage: integrate, from: power, length: %u }\n"
                            "  sink: { stage: discard, from: sums }\n",
                            n_channels, n_taps, banks[i].length);
        GpuCase one = {
            .name = name,
            .stages = stages,
            .type = banks[i].type,
            .layout = "station pol time",
            .shape = {64, 2, -1},
            .n_samples = 1 << 20,
            .n_blocks = 24,
        };
        const gdouble parts = g_str_equal(banks[i].type, "i8") ? 1 : 2;
        const gdouble bytes = parts * (1 + 2.0 / banks[i].length);
        const gdouble operations = parts * (2 * n_taps + 2.5 * log2(n_channels) + 2);
        gpu_compare_fusion(bench, &one, bytes, operations, "times as fast as four stages");
    }
}

/* Filter banks of a telescope with 250 M real samples in every 125 ms. */
static void
check_real_banks(GpuBench *bench)
{
    static const struct {
        guint n_channels, n_taps;
    } banks[] = {{16, 32}, {64, 16}, {2048, 8}, {32768, 4}};
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        g_autofree char *name =
            g_strdup_printf("PFB f32 %u channels, %u taps", banks[i].n_channels, banks[i].n_taps);
        g_autofree char *stages =
            g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                            "  spectra: { stage: fft, from: filter }\n"
                            "  sink: { stage: discard, from: spectra }\n",
                            banks[i].n_channels, banks[i].n_taps);
        const GpuCase one = {
            .name = name,
            .stages = stages,
            .type = "f32",
            .layout = "time",
            .shape = {-1},
            .n_samples = 250000000,
            .n_blocks = 8,
        };
        GpuFigures figures;
        if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
            continue;
        gpu_print(bench, &one, &figures, 0);
        gpu_note(bench, name, figures.per_firing * 1e3, FALSE, 125, "ms per 250 M samples");
    }
}

/* A filter bank with a stage attached, by a variant. */
static gboolean
run_variant(GpuBench *bench, const char *bank, const char *stage, const char *variant,
            GpuFigures *figures)
{
    g_autofree char *name = g_strdup_printf("PFB ci8 %s, then %s, %s", bank, stage, variant);
    g_autofree char *stages =
        g_strdup_printf("  filter: { stage: fir, from: source, %s, variant: %s }\n"
                        "  spectra: { stage: fft, from: filter, variant: %s }\n"
                        "  behind: { from: spectra, stage: %s }\n"
                        "  sink: { stage: discard, from: behind }\n",
                        bank, variant, variant, stage);
    const GpuCase one = {
        .name = name,
        .stages = stages,
        .type = "ci8",
        .layout = "station pol time",
        .shape = {64, 2, -1},
        .n_samples = 1 << 18,
        .n_blocks = 60,
        .node = "filter+spectra+behind",
    };
    if (!gpu_run_case(bench, &one, figures))
        return FALSE;
    gpu_print(bench, &one, figures, 0);
    return TRUE;
}

/* The kernel that writes time in blocks, innermost, as correlators read it, beside that which
 * writes channels innermost. Behind the former, a transpose undoes the blocks for the sink. */
static void
check_blocks(GpuBench *bench)
{
    static const char *const banks[] = {"n_channels: 256, n_taps: 8", "n_channels: 256, n_taps: 16",
                                        "n_channels: 1024, n_taps: 8"};
    static const char *const behind[] = {"quantise, type: ci8, scale: 0.05",
                                         "quantise, type: ci4, scale: 0.005"};
    for (guint i = 0; i < G_N_ELEMENTS(banks) * G_N_ELEMENTS(behind); i++) {
        const char *bank = banks[i / G_N_ELEMENTS(behind)];
        const char *stage = behind[i % G_N_ELEMENTS(behind)];
        g_autofree char *name = g_strdup_printf("blocks of time: %s, then %s", bank, stage);
        GpuFigures blocks, plain;
        if (gpu_is_wanted(bench, name) &&
            run_variant(bench, bank, stage, "fused-blocks-cuda", &blocks) &&
            run_variant(bench, bank, stage, "fused-cuda", &plain))
            gpu_note(bench, name, blocks.node / plain.node, TRUE, 0.8, "of fused-cuda");
    }
}

void
gpu_check_banks(GpuBench *bench)
{
    check_banks(bench);
    check_small_arrays(bench);
    check_epilogues(bench);
    check_folds(bench);
    check_blocks(bench);
    check_real_banks(bench);
}
