/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases that the field has published figures of, at its sizes. */
#include "bench-cases.h"

static const char group[] = "published";

static const CtBenchFigure filter_host = {"16 of 85 GFLOP/s (18.8%) at 16 taps, quad-core x86",
                                          "van der Veldt 2011"};
static const CtBenchFigure filter_device = {"about 500 of 1345 GFLOP/s (37%), GTX 480",
                                            "van der Veldt 2011"};
static const CtBenchFigure filter_transfers = {"a tenth of 500 of 1345 GFLOP/s, GTX 480",
                                               "van der Veldt 2011"};
static const CtBenchFigure correlator_host = {"48.0 of 85 GFLOP/s (56%), quad-core x86",
                                              "van Nieuwpoort & Romein 2010"};
static const CtBenchFigure correlator_device = {"79% of the peak, GTX 480 (xGPU)",
                                                "Clark et al. 2011"};
static const CtBenchFigure correlator_transfers = {"16% to 32% of the peak, GPUs of 2009",
                                                   "van Nieuwpoort & Romein 2010"};

/* A case on both places and, with transfers, on a device. */
static void
add_both(GPtrArray *cases, const char *family, const char *name, const char *type, const char *axes,
         const char *lengths, const char *on_device, const char *stages,
         const CtBenchFigure figures[3])
{
    g_autofree char *moved_name = g_strconcat(name, ", with transfers", NULL);
    CtBenchCase *one = ct_bench_case_add(cases, group, family, name,
                                         ct_bench_case_graph(type, axes, lengths, stages, FALSE));
    one->on_device = ct_bench_case_graph(type, axes, on_device, stages, FALSE);
    CtBenchCase *moved = ct_bench_case_add(
        cases, group, family, moved_name, ct_bench_case_graph(type, axes, on_device, stages, TRUE));
    moved->from_host = TRUE;
    one->published_host = figures[0];
    one->published_device = figures[1];
    moved->published_device = figures[2];
}

static void
add_filters(GPtrArray *cases)
{
    static const guint sizes[][2] = {{64, 64}, {128, 32}, {256, 16}, {512, 8}, {1024, 4}};
    static const char *const types[] = {"ci4", "ci8", "ci16"};
    const CtBenchFigure figures[] = {filter_host, filter_device, filter_transfers};
    for (guint i = 0; i < G_N_ELEMENTS(sizes) * G_N_ELEMENTS(types); i++) {
        const guint *size = sizes[i / G_N_ELEMENTS(types)];
        const char *type = types[i % G_N_ELEMENTS(types)];
        g_autofree char *name =
            g_strdup_printf("filter %s %ux%u, 16 stations", type, size[0], size[1]);
        g_autofree char *stages =
            g_strdup_printf("  stage: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n",
                            size[0], size[1]);
        add_both(cases, "filters", name, type, "station pol", "16, 2", "16, 2", stages, figures);
    }
}

/* A batch is of the transforms of so many inputs. */
static void
add_transforms(GPtrArray *cases)
{
    static const guint batches[] = {32, 128};
    for (guint points = 16; points <= 1024; points *= 2)
        for (guint b = 0; b < G_N_ELEMENTS(batches); b++) {
            g_autofree char *name =
                g_strdup_printf("transform %u points, batch of %u", points, batches[b]);
            g_autofree char *lengths = g_strdup_printf("%u, %u, 2", points, batches[b] / 2);
            ct_bench_case_add(cases, group, "transforms", name,
                              ct_bench_case_graph("cf32", "phase station pol", lengths,
                                                  "  stage: { stage: fft, from: source }\n",
                                                  FALSE));
        }
}

static void
add_correlator(GPtrArray *cases, guint n_stations, guint integration)
{
    static const char *const types[] = {"cf32", "ci8"};
    const CtBenchFigure figures[] = {correlator_host, correlator_device, correlator_transfers};
    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autofree char *name = g_strdup_printf("correlator %s %u stations, %u spectra", types[i],
                                                n_stations, integration);
        g_autofree char *lengths =
            g_strdup_printf("%u, %u, 2", n_stations > 512 ? 4 : 8, n_stations);
        g_autofree char *on_device =
            g_strdup_printf("%u, %u, 2", n_stations > 512 ? 16 : 64, n_stations);
        g_autofree char *stages = g_strdup_printf(
            "  stage: { stage: correlate, from: source, integration: %u }\n", integration);
        add_both(cases, "correlators", name, types[i], "channel station pol", lengths, on_device,
                 stages, figures);
    }
}

static void
add_correlators(GPtrArray *cases)
{
    static const guint integrations[] = {128, 16384, 1000000};
    for (guint n_stations = 32; n_stations <= 2048; n_stations *= 2)
        add_correlator(cases, n_stations, 1024);
    for (guint i = 0; i < G_N_ELEMENTS(integrations); i++)
        add_correlator(cases, 64, integrations[i]);
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
            cases, group, "pipelines", name,
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
        g_autofree char *name = g_strdup_printf("%s, %s layouts", pipelines[i / 2].name,
                                                is_default ? "default" : "tuned");
        CtBenchCase *one =
            ct_bench_case_add(cases, group, "pipelines", name,
                              ct_bench_case_pipeline(pipelines[i / 2].name, "sky", "ci8",
                                                     "station pol", "64, 2", "195312.5 Hz"));
        one->default_layouts = is_default;
        one->n_stations = 64;
        if (!is_default)
            one->published_host = one->published_device = pipelines[i / 2].published;
    }
}

/* A correlator that reads spectra as a filter bank writes them, and one behind a transpose. */
static void
add_transposes(GPtrArray *cases)
{
    static const struct {
        const char *name, *stages;
    } ways[] = {
        {"correlator ci8 64 stations, common layout",
         "  stage: { stage: correlate, from: source, integration: 1024 }\n"},
        {"correlator ci8 64 stations, inserted transpose",
         "  turn: { stage: transpose, from: source, layout: \"[channel station time pol]\" }\n"
         "  stage: { stage: correlate, from: turn, integration: 1024 }\n"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
        ct_bench_case_add(
            cases, group, "pipelines", ways[i].name,
            ct_bench_case_graph("ci8", "channel station pol", "64, 64, 2", ways[i].stages, FALSE))
            ->has_layouts = TRUE;
}

/* Filter banks of a single dish, of real samples. */
static void
add_banks(GPtrArray *cases)
{
    static const struct {
        guint n_channels, n_taps;
        const char *figure;
    } banks[] = {
        {16, 32, "1.08 Gsamples/s (248 ms for 2^28), K80"},
        {64, 16, "4.40 Gsamples/s (61 ms for 2^28), K80"},
        {2048, 8, "6.24 Gsamples/s (43 ms for 2^28), K80"},
        {32768, 4, "4.13 Gsamples/s (65 ms for 2^28), K80"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        g_autofree char *name =
            g_strdup_printf("bank f32 %ux%u, one dish", banks[i].n_channels, banks[i].n_taps);
        g_autofree char *stages =
            g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                            "  stage: { stage: fft, from: filter }\n",
                            banks[i].n_channels, banks[i].n_taps);
        const CtBenchFigure figures[] = {{0}, {banks[i].figure, "Herrmann 2019"}, {0}};
        add_both(cases, "filters", name, "f32", "pol", "1", "1", stages, figures);
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
