/* SPDX-License-Identifier: BSD-3-Clause */
/* The rates of a device: stages and pipelines on blocks of random data, beside its ceilings in the
 * same run.
 *
 *     bench-gpu [WORD…]        cases and floors whose names contain one of the words
 *
 * Blocks are in the device's memory and are fed again and again. `node` times come from events on
 * the device, rates of a whole graph from the host's clock. A chain that can be fused is printed
 * twice by the same name: fused, and as kernels of its own. scripts/measured.py reads the lines by
 * their form. */
#include "gpu-run.h"

#include <cornerturn/npy.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The filter alone; the bytes of a sample are its own and those of its share of the output. */
static void
check_filter(GpuBench *bench, const char *type, const char *layout, guint n_channels, guint n_taps)
{
    const CtTypeInfo *info = ct_type_info(ct_type_from_name(type));
    const gboolean time_first = g_str_has_prefix(layout, "time ");
    g_autofree char *name =
        g_strdup_printf("fir %s[%s] %u channels, %u taps", type, layout, n_channels, n_taps);
    g_autofree char *stages =
        g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                        "  sink: { stage: discard, from: filter }\n",
                        n_channels, n_taps);
    const GpuCase one = {
        .name = name,
        .stages = stages,
        .type = type,
        .layout = layout,
        .shape = {time_first ? -1 : 64, time_first ? 64 : 2, time_first ? 2 : -1},
        .n_samples = 1 << 18,
        .n_blocks = 60,
        .node = "filter",
    };
    const gdouble bytes = (gdouble)info->bytes + (info->is_complex ? 8 : 4);
    GpuFigures figures;
    if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
        return;
    gpu_print(bench, &one, &figures, bytes);
}

static void
check_filters(GpuBench *bench)
{
    check_filter(bench, "ci8", "station pol time", 256, 4);
    check_filter(bench, "ci8", "station pol time", 256, 8);
    check_filter(bench, "ci8", "station pol time", 256, 16);
    check_filter(bench, "ci8", "station pol time", 256, 32);
    check_filter(bench, "ci8", "station pol time", 256, 64);
    check_filter(bench, "ci8", "station pol time", 16, 8);
    check_filter(bench, "ci8", "time station pol", 256, 8);
    check_filter(bench, "cf32", "station pol time", 256, 8);
    check_filter(bench, "f32", "station pol time", 16, 32);
    check_filter(bench, "f32", "station pol time", 2048, 8);
}

/* Blocks have 1024 spectra of 256 channels, of fewer if there are many stations. */
/* With this tuning, or this precision; "": with the default. `has_blocks`: a transpose makes blocks
 * of time. */
static void
check_correlate(GpuBench *bench, const char *type, guint n_stations, guint integration,
                const char *how, gboolean has_blocks, gdouble floor)
{
    const gboolean is_tuned = strchr(how, '=') != NULL, is_plain = *how == '\0';
    g_autofree char *name = g_strdup_printf("correlate %s %u stations, %s%u spectra%s%s", type,
                                            n_stations, has_blocks ? "blocks of time, " : "",
                                            integration, is_plain ? "" : ", ", how);
    g_autofree char *stages = g_strdup_printf(
        "%s  stage: { stage: correlate, from: %s, integration: %u%s%s%s }\n"
        "  sink: { stage: discard, from: stage }\n",
        has_blocks
            ? "  turn: { stage: transpose, from: source, layout: \"[channel time station pol "
              "time:16]\" }\n"
            : "",
        has_blocks ? "turn" : "source", integration,
        is_tuned   ? ", variant: \"cuda:"
        : is_plain ? ""
                   : ", precision: ",
        how, is_tuned ? "\"" : "");
    const GpuCase one = {
        .name = name,
        .stages = stages,
        .type = type,
        .layout = "channel time station pol",
        .shape = {n_stations > 256 ? 64 : 256, -1, n_stations, 2},
        .n_samples = 1024,
        .n_blocks = n_stations > 128 ? 20 : 60,
        .node = "stage",
    };
    GpuFigures figures;
    if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
        return;
    /* This is the node's time alone; a transpose before it only counts in the whole graph's. */
    const gdouble inputs = 2.0 * n_stations;
    figures.operations = 8 * inputs * (inputs + 1) / 2 / inputs;
    gpu_print(bench, &one, &figures, 0);
    const gdouble rate = figures.operations * figures.node;
    if (floor > 0 && g_str_equal(type, "cf32") && is_plain)
        gpu_note(bench, name, rate / bench->ceilings.fma, TRUE, floor, "of the FMA peak");
    else if (floor > 0)
        gpu_note(bench, name, rate * 1e-12, TRUE, floor, "useful TOP/s");
}

static void
check_correlates(GpuBench *bench)
{
    static const struct {
        const char *type;
        guint n_stations, integration;
        gdouble floor;
    } cases[] = {
        {"cf32", 32, 1024, 0.36}, {"cf32", 64, 1024, 0.47}, {"cf32", 128, 1024, 0.55},
        {"cf32", 256, 1024, 0.6}, {"ci8", 16, 1024, 0},     {"ci8", 32, 1024, 0},
        {"ci8", 64, 1024, 0},     {"ci8", 128, 1024, 540},  {"ci8", 256, 1024, 620},
        {"ci8", 512, 1024, 660},  {"ci8", 1024, 1024, 0},   {"ci8", 64, 128, 0},
        {"ci8", 256, 128, 0},     {"ci8", 256, 1000000, 0}, {"ci4", 64, 1024, 0},
        {"ci4", 256, 1024, 0},    {"ci16", 64, 1024, 100},  {"ci16", 256, 1024, 140},
        {"cf16", 16, 1024, 0},    {"cf16", 32, 1024, 0},    {"cf16", 64, 1024, 220},
        {"cf16", 128, 1024, 0},   {"cf16", 256, 1024, 390}, {"cf16", 512, 1024, 0},
        {"cf16", 1024, 1024, 0},
    };
    const gboolean has_warpgroups = ct_device_info(bench->device)->architecture == 90;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const gboolean has_blocks =
            g_str_equal(cases[i].type, "ci8") || g_str_equal(cases[i].type, "ci4");
        check_correlate(bench, cases[i].type, cases[i].n_stations, cases[i].integration, "", FALSE,
                        cases[i].floor);
        if (has_blocks)
            check_correlate(bench, cases[i].type, cases[i].n_stations, cases[i].integration, "",
                            TRUE, 0);
        if (has_warpgroups && (has_blocks || g_str_equal(cases[i].type, "cf16")))
            check_correlate(bench, cases[i].type, cases[i].n_stations, cases[i].integration,
                            "warps=1", FALSE, 0);
    }
    check_correlate(bench, "cf32", 64, 1024, "split", FALSE, 46);
    check_correlate(bench, "cf32", 256, 1024, "split", FALSE, 66);
}

/* Of weights as given, the floor is a share of the FMA peak, otherwise in TOP/s. `behind`: stages
 * behind it, with which the whole graph is timed, attached and apart. */
static void
check_beamform(GpuBench *bench, const char *type, const char *as, gboolean by_time, guint n_beams,
               guint n_stations, const char *const *behind, gdouble floor)
{
    const gboolean is_given = g_str_equal(as, "given"), is_alone = !behind[0];
    g_autofree char *stages_behind = g_strjoinv(", then ", (char **)behind);
    const guint n_channels = is_given ? 256 : 64;
    g_autofree char *name = g_strdup_printf(
        "beamform %s %u x %u%s%s%s%s%s", type, n_beams, n_stations, is_given ? "" : ", weights as ",
        is_given ? "" : as, by_time ? ", stations outside time" : "", is_alone ? "" : ", then ",
        stages_behind);
    g_autofree char *then = gpu_describe_behind(behind, "stage");
    g_autofree char *stages = g_strdup_printf(
        "  pointing: { stage: pointing, n_stations: %u, spiral: 150 m, disk: 0.05, n_beams: %u, "
        "first_frequency: 100 MHz, channel_width: 200 kHz, n_channels: %u }\n"
        "  stage: { stage: beamform, from: { voltages: source, weights: pointing }, weights_as: %s "
        "}\n"
        "%s",
        n_stations, n_beams, n_channels, as, then);
    GpuCase one = {
        .name = name,
        .stages = stages,
        .type = type,
        .layout = by_time ? "channel station time pol" : "channel time station pol",
        .shape = {n_channels, by_time ? (gint64)n_stations : -1, by_time ? -1 : (gint64)n_stations,
                  2},
        .n_samples = is_given ? 1024 : 2048,
        .n_blocks = is_given ? 12 : 24,
        .node = is_alone ? "stage" : NULL,
    };
    GpuFigures figures, plain;
    if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
        return;
    figures.operations = 8.0 * n_beams;
    gpu_print(bench, &one, &figures, 0);
    const gdouble rate = figures.operations * (is_alone ? figures.node : figures.wall);
    if (floor > 0)
        gpu_note(bench, name, rate / (is_given ? bench->ceilings.fma : 1e12), TRUE, floor,
                 is_given ? "of the FMA peak" : "TOP/s");
    g_autofree char *apart = g_strconcat(name, ", apart", NULL);
    one.name = apart;
    one.no_fusion = TRUE;
    if (is_alone || !gpu_run_case(bench, &one, &plain))
        return;
    gpu_print(bench, &one, &plain, 0);
    gpu_note(bench, name, figures.wall / plain.wall, TRUE, 1, "times as fast as stages apart");
}

static void
check_beamforms(GpuBench *bench)
{
    static const char *const alone[] = {NULL};
    static const char *const behind[][3] = {
        {NULL}, {"quantise, type: ci8, scale: 0.1"}, {"power"}, {"power", "integrate, length: 64"}};
    check_beamform(bench, "cf32", "given", FALSE, 128, 64, alone, 0.57);
    check_beamform(bench, "cf32", "given", FALSE, 256, 128, alone, 0.61);
    check_beamform(bench, "cf32", "given", FALSE, 512, 256, alone, 0.64);
    check_beamform(bench, "cf32", "given", TRUE, 512, 256, alone, 0.64);
    check_beamform(bench, "ci8", "given", FALSE, 512, 256, alone, 0);
    check_beamform(bench, "ci8", "given", FALSE, 8, 256, alone, 0);
    for (guint i = 0; i < G_N_ELEMENTS(behind); i++) {
        check_beamform(bench, "ci8", "ci8", FALSE, 512, 256, behind[i], behind[i][0] ? 620 : 460);
        check_beamform(bench, "ci8", "cf16", FALSE, 512, 256, behind[i], 390);
    }
    check_beamform(bench, "ci8", "ci8", TRUE, 512, 256, alone, 340);
    check_beamform(bench, "ci8", "cf16", TRUE, 512, 256, alone, 0);
    check_beamform(bench, "ci4", "ci8", FALSE, 512, 256, alone, 460);
    check_beamform(bench, "ci8", "ci8", FALSE, 128, 64, alone, 145);
    check_beamform(bench, "ci8", "ci8", FALSE, 8, 256, alone, 0);
}

static void
check_correlator(GpuBench *bench, gboolean quantised, gboolean from_host, gdouble floor)
{
    g_autofree char *name =
        g_strdup_printf("fx-correlator 64 stations, %s%s", quantised ? "quantised to ci8" : "cf32",
                        from_host ? ", from the host" : "");
    g_autofree char *stages = g_strdup_printf(
        "  filter: { stage: fir, from: source, n_channels: 256, n_taps: 8 }\n"
        "  spectra: { stage: fft, from: filter }\n"
        "%s"
        "  stage: { stage: correlate, from: %s, integration: 1024 }\n"
        "  sink: { stage: discard, from: stage }\n",
        quantised ? "  narrow: { stage: quantise, from: spectra, type: ci8, scale: 0.05 }\n" : "",
        quantised ? "narrow" : "spectra");
    const GpuCase one = {
        .name = name,
        .stages = stages,
        .type = "ci8",
        .layout = "station pol time",
        .shape = {64, 2, -1},
        .n_samples = 1 << 18,
        .n_blocks = 60,
        .from_host = from_host,
    };
    GpuFigures figures;
    if (!gpu_is_wanted(bench, one.name) || !gpu_run_case(bench, &one, &figures))
        return;
    gpu_print(bench, &one, &figures, 0);
    if (from_host)
        gpu_note(bench, name, 2 * figures.wall / bench->ceilings.to, TRUE, floor,
                 "of the pinned rate");
    else
        gpu_note(bench, name, figures.wall * 1e-9, TRUE, floor, "Gsamples/s");
}

/* Stages that are limited by memory: bytes read and written per element of the source. */
static void
check_elementwise(GpuBench *bench)
{
    static const struct {
        const char *name, *stage, *type, *layout;
        gint64 shape[8];
        gint64 n_samples;
        gdouble bytes;
    } cases[] = {
        {"quantise cf32 to ci8",
         "quantise, from: source, type: ci8, scale: 30",
         "cf32",
         "time channel station pol",
         {-1, 256, 64, 2},
         4096,
         10},
        {"quantise cf32 to ci4, rows outside of time",
         "quantise, from: source, type: ci4, scale: 3",
         "cf32",
         "channel station time pol",
         {256, 64, -1, 2},
         4096,
         9},
        {"convert ci8 to cf32",
         "convert, from: source, type: cf32",
         "ci8",
         "time channel station pol",
         {-1, 256, 64, 2},
         4096,
         10},
        {"power of cf32",
         "power, from: source",
         "cf32",
         "time channel station pol",
         {-1, 256, 64, 2},
         4096,
         12},
        {"power of ci8",
         "power, from: source",
         "ci8",
         "channel time station pol",
         {256, -1, 64, 2},
         8192,
         6},
        {"power IQUV, pol innermost",
         "power, from: source, stokes: IQUV",
         "cf32",
         "channel beam time pol",
         {256, 64, -1, 2},
         4096,
         16},
        {"power IQUV, time innermost",
         "power, from: source, stokes: IQUV",
         "cf32",
         "channel beam pol time",
         {256, 64, 2, -1},
         4096,
         16},
        {"integrate 256 of [time channel beam]",
         "integrate, from: source, length: 256",
         "f32",
         "time channel beam",
         {-1, 256, 64},
         16384,
         4},
        {"integrate 16 of [channel beam time stokes]",
         "integrate, from: source, length: 16",
         "f32",
         "channel beam time stokes",
         {256, 64, -1, 4},
         4096,
         4.25},
        {"integrate 1000 of [channel beam time]",
         "integrate, from: source, length: 1000",
         "f32",
         "channel beam time",
         {256, 64, -1},
         16000,
         4},
        {"integrate 100000 of [time stokes]",
         "integrate, from: source, length: 100000",
         "f32",
         "time stokes",
         {-1, 4},
         1 << 26,
         4},
        {"gains [time channel station pol]",
         "gains, from: source, gain: [0.5, 1]",
         "cf32",
         "time channel station pol",
         {-1, 256, 64, 2},
         4096,
         16},
        {"gains [channel time station pol]",
         "gains, from: source, gain: [0.5, 1]",
         "cf32",
         "channel time station pol",
         {256, -1, 64, 2},
         4096,
         16},
        {"gains [channel station pol time]",
         "gains, from: source, gain: [0.5, 1]",
         "cf32",
         "channel station pol time",
         {256, 64, 2, -1},
         4096,
         16},
        {"stack of runs of 256 bytes",
         "stack, from: [source, source], axis: beam",
         "ci8",
         "time station pol",
         {-1, 64, 2},
         1 << 21,
         8},
        {"stack of runs of 2 bytes",
         "stack, from: [source, source], axis: beam",
         "ci8",
         "station pol time",
         {64, 2, -1},
         1 << 21,
         8},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *stages = g_strdup_printf("  y: { stage: %s }\n"
                                                  "  sink: { stage: discard, from: y }\n",
                                                  cases[i].stage);
        GpuCase one = {
            .name = cases[i].name,
            .stages = stages,
            .type = cases[i].type,
            .layout = cases[i].layout,
            .n_samples = cases[i].n_samples,
            .n_blocks = 12,
            .node = "y",
        };
        memcpy(one.shape, cases[i].shape, sizeof one.shape);
        GpuFigures figures;
        if (gpu_is_wanted(bench, one.name) && gpu_run_case(bench, &one, &figures))
            gpu_print(bench, &one, &figures, cases[i].bytes);
    }
}

/* Stages of the kit that one kernel runs, and a kernel for each. */
static void
check_chains(GpuBench *bench)
{
    static const struct {
        const char *stages[2];
        gdouble bytes; /* of an element, read and written */
    } chains[] = {
        {{"power", "integrate, length: 64"}, 8 + 4 / 64.0},
        {{"power", "quantise, type: i8, scale: 20"}, 9},
        {{"quantise, type: ci8, scale: 20", "convert, type: cf16"}, 12},
    };
    for (guint i = 0; i < G_N_ELEMENTS(chains); i++) {
        const char *const *of = chains[i].stages;
        g_autofree char *name = g_strdup_printf("%s, then %s", of[0], of[1]);
        g_autofree char *stages = g_strdup_printf("  first: { from: source, stage: %s }\n"
                                                  "  second: { from: first, stage: %s }\n"
                                                  "  sink: { stage: discard, from: second }\n",
                                                  of[0], of[1]);
        GpuCase one = {
            .name = name,
            .stages = stages,
            .type = "cf32",
            .layout = "channel station pol time",
            .shape = {256, 16, 2, -1},
            .n_samples = 8192,
            .n_blocks = 60,
        };
        gpu_compare_fusion(bench, &one, chains[i].bytes, 0, "times as fast as two kernels");
    }
}

/* Delays of spectra, with channels from a Fourier transform, and delays of voltages. */
static void
check_delays(GpuBench *bench)
{
    static const struct {
        const char *name, *delays, *layout;
        gint64 shape[8];
        gboolean spectra;
    } cases[] = {
        {"delay, constant, voltages",
         "spiral: 150 m, direction: [[0.2, 0.1]]",
         "time station pol",
         {-1, 64, 2},
         FALSE},
        {"delay, constant, voltages along time",
         "spiral: 150 m, direction: [[0.2, 0.1]]",
         "station pol time",
         {64, 2, -1},
         FALSE},
        {"delay, changing, voltages",
         "delays: %s, step: 1 s",
         "time station pol",
         {-1, 64, 2},
         FALSE},
        {"delay, changing, voltages along time",
         "delays: %s, step: 1 s",
         "station pol time",
         {64, 2, -1},
         FALSE},
        {"delay, constant, spectra",
         "spiral: 150 m, direction: [[0.2, 0.1]]",
         "time station pol",
         {-1, 64, 2},
         TRUE},
        {"delay, changing, spectra",
         "delays: %s, step: 1 s",
         "time station pol",
         {-1, 64, 2},
         TRUE},
    };
    CtNpyHeader header = {.kind = 'f', .item_bytes = 8, .n_axes = 2, .shape = {1000, 64}};
    g_autoptr(GBytes) head = ct_npy_header_format(&header);
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_byte_array_append(file, g_bytes_get_data(head, NULL), (guint)g_bytes_get_size(head));
    for (guint i = 0; i < 1000 * 64; i++) {
        const gdouble seconds = 1e-6 * sin(0.001 * i);
        g_byte_array_append(file, (const guint8 *)&seconds, sizeof seconds);
    }
    g_autofree char *path =
        g_strdup_printf("%s/cornerturn-bench-%d.npy", g_get_tmp_dir(), getpid());
    if (!g_file_set_contents(path, (const char *)file->data, file->len, NULL))
        return;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *named = g_strdup_printf("delays: %s, step: 1 s", path);
        const char *delays = strchr(cases[i].delays, '%') ? named : cases[i].delays;
        g_autofree char *stages = g_strdup_printf(
            "%s  y: { stage: delay, from: %s, %s }\n  sink: { stage: discard, from: y }\n",
            cases[i].spectra
                ? "  spectra: { stage: fft, from: source, axis: time, to: channel, length: 256 }\n"
                : "",
            cases[i].spectra ? "spectra" : "source", delays);
        GpuCase one = {
            .name = cases[i].name,
            .stages = stages,
            .type = "cf32",
            .layout = cases[i].layout,
            .options = ", sample_rate: 10 MHz, centre_frequency: 150 MHz",
            .n_samples = 1 << 20,
            .n_blocks = 12,
            .node = "y",
        };
        memcpy(one.shape, cases[i].shape, sizeof one.shape);
        GpuFigures figures;
        if (gpu_is_wanted(bench, one.name) && gpu_run_case(bench, &one, &figures))
            gpu_print(bench, &one, &figures, 16);
    }
    g_remove(path);
}

#define N_EMPTY 10

static void
check_empty(GpuBench *bench)
{
    GString *stages = g_string_new(NULL);
    for (guint i = 0; i < N_EMPTY; i++) {
        g_autofree char *from = i ? g_strdup_printf("s%u", i - 1) : g_strdup("source");
        g_string_append_printf(stages, "  s%u: { stage: copy, from: %s }\n", i, from);
    }
    g_string_append_printf(stages, "  sink: { stage: discard, from: s%u }\n", N_EMPTY - 1);
    const GpuCase one = {
        .name = "ten empty nodes",
        .stages = stages->str,
        .type = "ci8",
        .layout = "time station pol",
        .shape = {-1, 4, 2},
        .n_samples = 64,
        .n_blocks = 2000,
    };
    GpuFigures figures;
    if (gpu_is_wanted(bench, one.name) && gpu_run_case(bench, &one, &figures)) {
        const gdouble us = figures.per_firing / (N_EMPTY + 1) * 1e6;
        printf("%-44s %.2f us per node and block\n", one.name, us);
        gpu_note(bench, one.name, us, FALSE, 3, "us per node and block");
    }
    g_string_free(stages, TRUE);
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *reason;
    if (ct_devices(NULL, &reason) == 0) {
        printf("no CUDA device: %s\n", reason);
        return 77;
    }
    g_autofree gboolean *is_known = g_new0(gboolean, argc);
    GpuBench bench = {
        .words = argv + 1, .is_known = is_known, .summary = g_string_new("\n"), .good = TRUE};
    g_autoptr(CtDevice) device = ct_device_open(0, &error);
    g_autoptr(CtDeviceMeter) meter = device ? ct_device_meter_new(device, &error) : NULL;
    if (!meter || !ct_device_meter_measure(meter, TRUE, &bench.ceilings, &error)) {
        printf("%s\n", error->message);
        return 1;
    }
    bench.device = device;
    bench.meter = meter;
    const CtDeviceCeilings *c = &bench.ceilings;
    g_autoptr(GDateTime) now = g_date_time_new_now_utc();
    g_autofree char *date = g_date_time_format(now, "%F");
    printf(
        "%s, %s: FMA %.1f Top/s, copy %.0f GB/s, from pinned memory %.1f GB/s, to it %.1f (at once "
        "%.1f and %.1f; beside them copy has %.2f of its speed, FMA %.2f)\n",
        date, ct_device_info(device)->name, c->fma * 1e-12, c->copy * 1e-9, c->to * 1e-9,
        c->from * 1e-9, c->both[0] * 1e-9, c->both[1] * 1e-9, c->copying, c->fma_left);
    gpu_check_banks(&bench);
    check_filters(&bench);
    check_correlator(&bench, FALSE, FALSE, 32);
    check_correlator(&bench, TRUE, FALSE, 115);
    check_correlator(&bench, TRUE, TRUE, 0.9);
    check_correlates(&bench);
    check_beamforms(&bench);
    check_elementwise(&bench);
    check_chains(&bench);
    check_delays(&bench);
    check_empty(&bench);
    printf("%s", bench.summary->str);
    g_string_free(bench.summary, TRUE);
    for (guint i = 0; bench.words[i]; i++)
        if (!is_known[i]) {
            fprintf(stderr, "no case has '%s' in its name\n", bench.words[i]);
            bench.good = FALSE;
        }
    return bench.good ? 0 : 1;
}
