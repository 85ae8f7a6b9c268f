/* SPDX-License-Identifier: BSD-3-Clause */
/* Every stage alone, between a source and a sink that cost nothing; and the framework alone. */
#include "bench.h"

#include <string.h>

typedef struct {
    const char *name;
    const char *type; /* of the source */
    const char *axes, *lengths;
    const char *stages; /* lines of the graph, from `source` to `stage` */
} Case;

#define BEAMS(n)                                                                                   \
    "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: " #n " }\n"  \
    "  stage: { stage: beamform, from: { voltages: source, weights: pointing }, "                  \
    "weights_as: ci8 }\n"
#define ONE(text) "  stage: { stage: " text ", from: source }\n"

static const Case cases[] = {
    {"fir ci16 256x16", "ci16", "station, pol", "16, 2", ONE("fir, n_channels: 256, n_taps: 16")},
    {"fir ci8 1024x8 one station", "ci8", "pol", "2", ONE("fir, n_channels: 1024, n_taps: 8")},
    {"fir ci8 16x8 subbands", "ci8", "subband, pol", "122, 2",
     ONE("fir, n_channels: 16, n_taps: 8")},
    {"fft 16", "cf32", "phase, station, pol", "16, 16, 2", ONE("fft")},
    {"fft 256", "cf32", "phase, station, pol", "256, 16, 2", ONE("fft")},
    {"fft 1024", "cf32", "phase, station, pol", "1024, 4, 2", ONE("fft")},
    {"fft 4096", "cf32", "phase, pol", "4096, 2", ONE("fft")},
    {"fft 65536 along time", "cf32", "pol", "2", ONE("fft, axis: time, length: 65536")},
    {"delay of spectra", "cf32", "channel, station, pol", "256, 16, 2",
     ONE("delay, spiral: 150 m, direction: [[0.2, 0.1]]")},
    {"delay of samples", "cf32", "station, pol", "16, 2",
     ONE("delay, spiral: 150 m, direction: [[0.2, 0.1]]")},
    {"gains", "cf32", "channel, station, pol", "256, 16, 2", ONE("gains, gain: 0.5")},
    {"beamform 64 stations, 100 beams", "cf32", "channel, station, pol", "256, 64, 2",
     "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: 100 }\n"
     "  stage: { stage: beamform, from: { voltages: source, weights: pointing } }\n"},
    {"beamform 16 stations, 4 beams", "cf32", "channel, station, pol", "256, 16, 2",
     "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: 4 }\n"
     "  stage: { stage: beamform, from: { voltages: source, weights: pointing } }\n"},
    {"beamform ci8 64 stations, 100 beams, weights as ci8", "ci8", "channel, station, pol",
     "256, 64, 2", BEAMS(100)},
    {"beamform ci8 16 stations, 4 beams, weights as ci8", "ci8", "channel, station, pol",
     "256, 16, 2", BEAMS(4)},
    {"beamform ci16 64 stations, 100 beams, weights as ci8", "ci16", "channel, station, pol",
     "256, 64, 2", BEAMS(100)},
    {"correlate cf32 1 station", "cf32", "channel, station, pol", "4096, 1, 2",
     ONE("correlate, integration: 64")},
    {"correlate cf32 16 stations", "cf32", "channel, station, pol", "64, 16, 2",
     ONE("correlate, integration: 256")},
    {"correlate cf32 64 stations", "cf32", "channel, station, pol", "16, 64, 2",
     ONE("correlate, integration: 256")},
    {"correlate ci8 16 stations", "ci8", "channel, station, pol", "64, 16, 2",
     ONE("correlate, integration: 256")},
    {"correlate ci8 64 stations", "ci8", "channel, station, pol", "16, 64, 2",
     ONE("correlate, integration: 256")},
    {"power", "cf32", "channel, station, pol", "256, 16, 2", ONE("power")},
    {"power IQUV", "cf32", "channel, station, pol", "256, 16, 2", ONE("power, stokes: IQUV")},
    {"integrate 256", "f32", "channel, station, pol", "256, 16, 2", ONE("integrate, length: 256")},
    {"dedisperse 256 channels, 256 dms", "f32", "channel", "256",
     ONE("dedisperse, first: 0, step: 1e-3, n_dms: 256")},
    {"fold 256 channels, 1024 bins", "f32", "channel, station, pol", "256, 16, 2",
     ONE("fold, frequency: 1 kHz, n_bins: 1024, subintegration: 65536")},
    {"quantise to ci8", "cf32", "channel, station, pol", "256, 16, 2",
     ONE("quantise, type: ci8, scale: 30")},
    {"convert ci8 to cf32", "ci8", "channel, station, pol", "256, 16, 2",
     ONE("convert, type: cf32")},
    {"convert ci4 to ci8", "ci4", "channel, station, pol", "256, 16, 2", ONE("convert, type: ci8")},
    {"copy", "cf32", "channel, station, pol", "256, 16, 2", ONE("copy")},
    {"select half of 256 channels", "cf32", "channel, station, pol", "256, 16, 2",
     ONE("select, channel: 64..191")},
    {"select 2 of 16 stations", "ci8", "channel, station, pol", "256, 16, 2",
     ONE("select, station: [3, 12]")},
    {"merge 16 subbands of 64 channels", "cf32", "subband, channel, pol", "16, 64, 2",
     ONE("merge")},
    {"flag by sums of 256", "cf32", "channel, station, pol", "256, 16, 2",
     "  powers: { stage: power, from: source }\n"
     "  sums: { stage: integrate, from: powers, length: 256 }\n"
     "  stage: { stage: flag, from: { in: source, statistic: sums } }\n"},
    {"stack 2 x 16 stations", "ci8", "station, pol", "16, 2",
     "  stage: { stage: stack, from: [source, source], axis: station }\n"},
};

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

static const char *const generators[][2] = {
    {"generate noise cf32", "type: cf32"},
    {"generate noise ci8", "type: ci8"},
    {"generate 3 sources ci8",
     "type: ci8, source_directions: [[0.15, 0.25], [-0.3, 0.1], [0.05, -0.4]], source_powers: 0.1"},
};

static char *
source_entry(const Case *one)
{
    return g_strdup_printf("stages:\n  source: { stage: bench.source, type: %s, axes: [%s], "
                           "lengths: [%s] }\n",
                           one->type, one->axes, one->lengths);
}

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

static void
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

void
stages_add(GPtrArray *contenders)
{
    filters_add(contenders);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *source = source_entry(&cases[i]);
        g_autofree char *text = g_strconcat(source, cases[i].stages,
                                            "  sink: { stage: bench.sink, from: stage }\n", NULL);
        g_ptr_array_add(contenders, graph_contender_new("stage", cases[i].name, 1, text, "source",
                                                        "source", "stage"));
    }
    for (guint i = 0; i < G_N_ELEMENTS(generators); i++) {
        g_autofree char *text = g_strdup_printf(
            "stages:\n  stage: { stage: generate, sample_rate: 20 MHz, centre_frequency: 150 MHz, "
            "n_stations: 16, n_pols: 2, spiral: 120 m, %s }\n"
            "  sink: { stage: bench.sink, from: stage }\n",
            generators[i][1]);
        g_ptr_array_add(contenders, graph_contender_new("stage", generators[i][0], 1, text, "stage",
                                                        "sink", "stage"));
    }
}

/* Ten empty nodes between source and sink, with blocks of one sample. */
void
framework_add(GPtrArray *contenders)
{
    static const char *const stages[] = {"bench.nothing.whole", "bench.nothing"};
    static const char *const names[] = {"chain of ten", "chain of ten, in ranges"};
    for (guint i = 0; i < G_N_ELEMENTS(stages); i++)
        for (guint n_workers = 1; n_workers <= 2; n_workers++) {
            GString *text = g_string_new(
                "stages:\n  source: { stage: bench.source, type: cf32, axes: [channel], "
                "lengths: [16], block: { time: 16 } }\n");
            for (guint k = 0; k < 10; k++) {
                g_autofree char *from = k > 0 ? g_strdup_printf("n%u", k - 1) : g_strdup("source");
                g_string_append_printf(text, "  n%u: { stage: %s, from: %s }\n", k, stages[i],
                                       from);
            }
            g_string_append(text, "  sink: { stage: bench.sink, from: n9 }\n");
            g_ptr_array_add(contenders, graph_contender_new("framework", names[i], n_workers,
                                                            text->str, "source", "source", "n0"));
            g_string_free(text, TRUE);
        }
}
