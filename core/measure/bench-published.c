/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases that the field has published figures of, at its sizes. */
#include "bench-cases.h"

static const char group[] = "published";

/* The figures of a family: on the host, on a device, and there with transfers. */
typedef struct {
    CtBenchFigure host, device, transfers;
} Figures;

/* A case on both places. */
static CtBenchCase *
add(GPtrArray *cases, const char *family, const char *name, const char *type, const char *axes,
    const char *lengths, const char *on_device, const char *stages, const Figures *figures)
{
    CtBenchCase *one = ct_bench_case_add(cases, group, family, name,
                                         ct_bench_case_graph(type, axes, lengths, stages, FALSE));
    one->on_device = ct_bench_case_graph(type, axes, on_device, stages, FALSE);
    one->published_host = figures->host;
    one->published_device = figures->device;
    return one;
}

/* The same on a device, with transfers. */
static CtBenchCase *
add_moved(GPtrArray *cases, const char *family, const char *name, const char *type,
          const char *axes, const char *on_device, const char *stages, const Figures *figures)
{
    g_autofree char *moved_name = g_strconcat(name, ", with transfers", NULL);
    g_autofree char *moved_family = g_strconcat(family, " with transfers", NULL);
    CtBenchCase *moved =
        ct_bench_case_add(cases, group, moved_family, moved_name,
                          ct_bench_case_graph(type, axes, on_device, stages, TRUE));
    moved->from_host = moved->on_device_only = TRUE;
    moved->published_device = figures->transfers;
    return moved;
}

static void
add_filters(GPtrArray *cases)
{
    static const guint sizes[][2] = {{64, 64}, {128, 32}, {256, 16}, {512, 8}, {1024, 4}};
    static const char *const types[] = {"ci4", "ci8", "ci16"};
    static const char *const axes = "station pol", *const lengths = "16, 2";
    static const Figures figures = {
        {"16 of 85 GFLOP/s (18.8%) at 16 taps, quad-core x86", "van der Veldt 2011"},
        {"about 500 of 1345 GFLOP/s (37%), GTX 480", "van der Veldt 2011"},
        {"a tenth of 500 of 1345 GFLOP/s, GTX 480", "van der Veldt 2011"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(sizes) * G_N_ELEMENTS(types); i++) {
        const guint *size = sizes[i / G_N_ELEMENTS(types)];
        const char *type = types[i % G_N_ELEMENTS(types)];
        g_autofree char *name =
            g_strdup_printf("filter %s %ux%u, 16 stations", type, size[0], size[1]);
        g_autofree char *stages =
            g_strdup_printf("  stage: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n",
                            size[0], size[1]);
        add(cases, "filters", name, type, axes, lengths, lengths, stages, &figures);
        add_moved(cases, "filters", name, type, axes, lengths, stages, &figures);
    }
}

/* A transform in the layout and by the variant that make it one of FFTW, of cuFFT, or the project's
 * own: `cpu-baseline` calls FFTW wherever transforms are contiguous, and FFTW chooses its own
 * instructions. */
static CtBenchCase *
add_transform(GPtrArray *cases, guint points, guint batch, const char *way)
{
    const gboolean is_own = g_str_equal(way, "own");
    g_autofree char *name =
        g_strdup_printf("transform %u points, batch of %u, %s", points, batch, way);
    g_autofree char *contiguous = g_strdup_printf("%u, 2, %u", batch / 2, points);
    g_autofree char *side_by_side = g_strdup_printf("%u, %u, 2", points, batch / 2);
    g_autofree char *device_stage = g_strdup_printf(
        "  stage: { stage: fft, from: source, variant: %s }\n", is_own ? "radix-cuda" : "cuda");
    CtBenchCase *one = ct_bench_case_add(
        cases, group, "transforms", name,
        ct_bench_case_graph("cf32", is_own ? "phase station pol" : "station pol phase",
                            is_own ? side_by_side : contiguous,
                            is_own
                                ? "  stage: { stage: fft, from: source }\n"
                                : "  stage: { stage: fft, from: source, variant: cpu-baseline }\n",
                            FALSE));
    one->on_device =
        ct_bench_case_graph("cf32", "station pol phase", contiguous, device_stage, FALSE);
    one->has_layouts = TRUE;
    one->on_host_only = g_str_equal(way, "FFTW");
    one->on_device_only = g_str_equal(way, "cuFFT");
    one->beside = is_own;
    return one;
}

/* A batch is of the transforms of so many inputs. */
static void
add_transforms(GPtrArray *cases)
{
    static const guint batches[] = {32, 128};
    static const char *const ways[] = {"FFTW", "cuFFT", "own"};
    for (guint points = 16; points <= 1024; points *= 2)
        for (guint b = 0; b < G_N_ELEMENTS(batches); b++)
            for (guint w = 0; w < G_N_ELEMENTS(ways); w++)
                add_transform(cases, points, batches[b], ways[w]);
}

/* Many stations have few channels, so that sums fit the memory. */
static void
add_correlator(GPtrArray *cases, const char *type, guint n_stations, guint integration)
{
    static const char *const axes = "channel station pol";
    static const Figures figures = {
        {"48.0 of 85 GFLOP/s (56%), quad-core x86; 92% Cell; 96% Blue Gene/P",
         "van Nieuwpoort & Romein 2010"},
        {"79% of the peak, GTX 480 (xGPU); 35% to 38%, GPUs of 2009",
         "Clark et al. 2011; van Nieuwpoort & Romein 2010"},
        {"16% to 32% of the peak, GPUs of 2009", "van Nieuwpoort & Romein 2010"},
    };
    const guint n_channels = CLAMP(4096 / n_stations, 2, 8);
    g_autofree char *name =
        g_strdup_printf("correlator %s %u stations, %u spectra", type, n_stations, integration);
    g_autofree char *lengths = g_strdup_printf("%u, %u, 2", n_channels, n_stations);
    g_autofree char *on_device =
        g_strdup_printf("%u, %u, 2", n_stations > 512 ? 16 : 64, n_stations);
    g_autofree char *stages = g_strdup_printf(
        "  stage: { stage: correlate, from: source, integration: %u }\n", integration);
    add(cases, "correlators", name, type, axes, lengths, on_device, stages, &figures)->whole =
        integration;
    /* Transfers take as long, however long sums are. */
    if (integration == 1024)
        add_moved(cases, "correlators", name, type, axes, on_device, stages, &figures)->whole =
            integration;
}

static void
add_correlators(GPtrArray *cases)
{
    static const guint integrations[] = {128, 1024, 16384, 1000000};
    static const char *const types[] = {"cf32", "ci8"};
    for (guint n_stations = 32; n_stations <= 2048; n_stations *= 2)
        for (guint i = 0; i < G_N_ELEMENTS(integrations); i++)
            for (guint t = 0; t < G_N_ELEMENTS(types); t++)
                add_correlator(cases, types[t], n_stations, integrations[i]);
}

/* The bandwidth of each station that an FX correlator takes. */
static void
add_capacities(GPtrArray *cases)
{
    for (guint n_stations = 16; n_stations <= 256; n_stations *= 2) {
        g_autofree char *name =
            g_strdup_printf("capacity of fx-correlator, %u stations", n_stations);
        g_autofree char *lengths = g_strdup_printf("%u, 2", n_stations);
        ct_bench_case_add(
            cases, group, "capacity", name,
            ct_bench_case_pipeline("fx-correlator", "sky", "ci8", "station pol", lengths, "20 MHz"))
            ->n_stations = n_stations;
    }
}

/* The pipelines of the study of layout tuning, with 64 stations. */
static void
add_layouts(GPtrArray *cases)
{
    static const struct {
        const char *name;
        CtBenchFigure published;
    } pipelines[] = {
        {"lofar-1", {"tuned 20% faster without the FFT, 2.5% with it; CPU 12%", "Kis 2013"}},
        {"lofar-2", {"tuned 34% faster without the FFT, 8.8% with it; CPU 12%", "Kis 2013"}},
    };
    for (guint i = 0; i < 2 * G_N_ELEMENTS(pipelines); i++) {
        const gboolean is_default = i % 2 == 0;
        g_autofree char *name = g_strdup_printf(
            "%s, 64 stations, %s layouts", pipelines[i / 2].name, is_default ? "default" : "tuned");
        CtBenchCase *one =
            ct_bench_case_add(cases, group, "layouts", name,
                              ct_bench_case_pipeline(pipelines[i / 2].name, "sky", "ci8",
                                                     "station pol", "64, 2", "195312.5 Hz"));
        one->default_layouts = is_default;
        one->n_stations = 64;
        one->beside = !is_default;
        if (!is_default)
            one->published_host = one->published_device = pipelines[i / 2].published;
    }
}

/* A correlator behind a transpose, and one that reads spectra as a filter bank writes them. */
static void
add_transposes(GPtrArray *cases)
{
    static const struct {
        const char *name, *stages;
    } ways[] = {
        {"correlator ci8 64 stations, inserted transpose",
         "  turn: { stage: transpose, from: source, layout: \"[channel station time pol]\" }\n"
         "  stage: { stage: correlate, from: turn, integration: 1024 }\n"},
        {"correlator ci8 64 stations, common layout",
         "  stage: { stage: correlate, from: source, integration: 1024 }\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        CtBenchCase *one = ct_bench_case_add(
            cases, group, "layouts", ways[i].name,
            ct_bench_case_graph("ci8", "channel station pol", "64, 64, 2", ways[i].stages, FALSE));
        one->has_layouts = TRUE;
        one->beside = i > 0;
    }
}

/* Filter banks of a single dish: whole runs of 2²⁷ and 2²⁸ real samples. */
static void
add_banks(GPtrArray *cases)
{
    static const struct {
        guint n_channels, n_taps;
        const char *figure; /* of 2²⁸ samples */
    } banks[] = {
        {16, 32, "248 ms on a K80; wanted: 250 M samples in 125 ms"},
        {64, 16, "61 ms on a K80; wanted: 250 M samples in 125 ms"},
        {2048, 8, "43 ms on a K80; wanted: 250 M samples in 125 ms"},
        {32768, 4, "65 ms on a K80; wanted: 250 M samples in 125 ms"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++)
        for (guint power = 27; power <= 28; power++) {
            g_autofree char *name = g_strdup_printf("bank f32 %ux%u, 2^%u samples",
                                                    banks[i].n_channels, banks[i].n_taps, power);
            g_autofree char *stages = g_strdup_printf(
                "  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                "  stage: { stage: fft, from: filter }\n",
                banks[i].n_channels, banks[i].n_taps);
            const CtBenchFigure figure = {banks[i].figure, "Herrmann 2019"};
            const Figures figures = {.host = figure, .device = figure}, none = {0};
            const Figures *known = power == 28 ? &figures : &none;
            add(cases, "banks", name, "f32", "pol", "1", "1", stages, known)->whole = (gint64)1
                                                                                      << power;
            add_moved(cases, "banks", name, "f32", "pol", "1", stages, known)->whole = (gint64)1
                                                                                       << power;
        }
}

void
ct_bench_cases_add_published(GPtrArray *cases)
{
    add_filters(cases);
    add_transforms(cases);
    add_correlators(cases);
    add_capacities(cases);
    add_layouts(cases);
    add_transposes(cases);
    add_banks(cases);
}
