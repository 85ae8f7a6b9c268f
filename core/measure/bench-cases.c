/* SPDX-License-Identifier: BSD-3-Clause */
/* The cases of benchmarks. */
#include "bench-cases.h"

#include <gio/gio.h>
#include <string.h>

typedef struct {
    const char *family;
    const char *name;
    const char *type; /* of the source; NULL: `stages` has its own */
    const char *axes, *lengths;
    const char *on_device; /* lengths there; NULL: the same */
    const char *stages;    /* lines of the graph, from `source` to `stage` */
} Case;

#define ONE(text) "  stage: { stage: " text ", from: source }\n"

static const Case stages[] = {
    {"filters", "fir ci8 256x16", "ci8", "station pol", "16, 2", "64, 2",
     ONE("fir, n_channels: 256, n_taps: 16")},
    {"filters", "fir cf32 256x16", "cf32", "station pol", "16, 2", "64, 2",
     ONE("fir, n_channels: 256, n_taps: 16")},
    {"filters", "fir ci8 256x16, hop 192", "ci8", "station pol", "16, 2", "64, 2",
     ONE("fir, n_channels: 256, n_taps: 16, hop: 192")},
    {"filters", "fir ci16 256x16", "ci16", "station pol", "16, 2", "64, 2",
     ONE("fir, n_channels: 256, n_taps: 16")},
    {"filters", "fir ci8 1024x8 one station", "ci8", "pol", "2", NULL,
     ONE("fir, n_channels: 1024, n_taps: 8")},
    {"filters", "fir ci8 16x8 subbands", "ci8", "subband pol", "122, 2", NULL,
     ONE("fir, n_channels: 16, n_taps: 8")},
    {"filters", "fir cf32 decimate by 8, 64 taps", "cf32", "pol", "2", NULL,
     ONE("fir, n_channels: 1, n_taps: 64, hop: 8")},
    {"filters", "filter bank ci8 256x16", "ci8", "station pol", "16, 2", "64, 2",
     "  filter: { stage: fir, from: source, n_channels: 256, n_taps: 16 }\n"
     "  stage: { stage: fft, from: filter }\n"},
    {"transforms", "fft 16", "cf32", "phase station pol", "16, 16, 2", "16, 64, 2", ONE("fft")},
    {"transforms", "fft 256", "cf32", "phase station pol", "256, 16, 2", "256, 64, 2", ONE("fft")},
    {"transforms", "fft 1024", "cf32", "phase station pol", "1024, 4, 2", "1024, 64, 2",
     ONE("fft")},
    {"transforms", "fft 4096", "cf32", "phase pol", "4096, 2", NULL, ONE("fft")},
    {"transforms", "fft 65536 along time", "cf32", "pol", "2", NULL,
     ONE("fft, axis: time, length: 65536")},
    {"corrections", "delay of spectra", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("delay, spiral: 150 m, direction: [[0.2, 0.1]]")},
    {"corrections", "delay of samples", "cf32", "station pol", "16, 2", "64, 2",
     ONE("delay, spiral: 150 m, direction: [[0.2, 0.1]]")},
    {"corrections", "gains", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("gains, gain: 0.5")},
    {"beamformers", "beamform 64 stations, 100 beams", "cf32", "channel station pol", "256, 64, 2",
     NULL,
     "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: 100 }\n"
     "  stage: { stage: beamform, from: { voltages: source, weights: pointing } }\n"},
    {"beamformers", "beamform 16 stations, 4 beams", "cf32", "channel station pol", "256, 16, 2",
     NULL,
     "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: 4 }\n"
     "  stage: { stage: beamform, from: { voltages: source, weights: pointing } }\n"},
    {"beamformers", "beamform ci8 64 stations, 100 beams, weights as ci8", "ci8",
     "channel station pol", "256, 64, 2", NULL,
     "  pointing: { stage: pointing, from: source, spiral: 150 m, disk: 0.05, n_beams: 100 }\n"
     "  stage: { stage: beamform, from: { voltages: source, weights: pointing }, "
     "weights_as: ci8 }\n"},
    {"correlators", "correlate cf32 1 station", "cf32", "channel station pol", "4096, 1, 2", NULL,
     ONE("correlate, integration: 64")},
    {"correlators", "correlate cf32 16 stations", "cf32", "channel station pol", "64, 16, 2",
     "256, 16, 2", ONE("correlate, integration: 256")},
    {"correlators", "correlate cf32 64 stations", "cf32", "channel station pol", "16, 64, 2",
     "256, 64, 2", ONE("correlate, integration: 256")},
    {"correlators", "correlate cf32 256 stations", "cf32", "channel station pol", "4, 256, 2",
     "256, 256, 2", ONE("correlate, integration: 256")},
    {"correlators", "correlate ci8 16 stations", "ci8", "channel station pol", "64, 16, 2",
     "256, 16, 2", ONE("correlate, integration: 256")},
    {"correlators", "correlate ci8 64 stations", "ci8", "channel station pol", "16, 64, 2",
     "256, 64, 2", ONE("correlate, integration: 256")},
    {"correlators", "correlate ci8 256 stations", "ci8", "channel station pol", "4, 256, 2",
     "256, 256, 2", ONE("correlate, integration: 256")},
    {"detection", "power", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2", ONE("power")},
    {"detection", "power IQUV", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("power, stokes: IQUV")},
    {"detection", "integrate 256", "f32", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("integrate, length: 256")},
    {"detection", "flag by sums of 256", "cf32", "channel station pol", "256, 16, 2", NULL,
     "  powers: { stage: power, from: source }\n"
     "  sums: { stage: integrate, from: powers, length: 256 }\n"
     "  stage: { stage: flag, from: { in: source, statistic: sums } }\n"},
    {"searches", "dedisperse 256 channels, 256 dms", "f32", "channel", "256", NULL,
     ONE("dedisperse, first: 0, step: 1e-3, n_dms: 256")},
    {"searches", "fold 256 channels, 1024 bins", "f32", "channel station pol", "256, 16, 2", NULL,
     ONE("fold, frequency: 1 kHz, n_bins: 1024, subintegration: 65536")},
    {"conversions", "quantise to ci8", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("quantise, type: ci8, scale: 30")},
    {"conversions", "convert ci8 to cf32", "ci8", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("convert, type: cf32")},
    {"conversions", "convert ci4 to ci8", "ci4", "channel station pol", "256, 16, 2", "256, 64, 2",
     ONE("convert, type: ci8")},
    {"conversions", "copy", "cf32", "channel station pol", "256, 16, 2", "256, 64, 2", ONE("copy")},
    {"conversions", "select half of 256 channels", "cf32", "channel station pol", "256, 16, 2",
     "256, 64, 2", ONE("select, channel: 64..191")},
    {"conversions", "select 2 of 16 stations", "ci8", "channel station pol", "256, 16, 2", NULL,
     ONE("select, station: [3, 12]")},
    {"conversions", "merge 16 subbands of 64 channels", "cf32", "subband channel pol", "16, 64, 2",
     NULL, ONE("merge")},
    {"conversions", "stack 2 x 16 stations", "ci8", "station pol", "16, 2", NULL,
     "  stage: { stage: stack, from: [source, source], axis: station }\n"},
    {"sources", "generate noise cf32", NULL, NULL, NULL, NULL,
     "  stage: { stage: generate, sample_rate: 20 MHz, centre_frequency: 150 MHz, n_stations: 16, "
     "n_pols: 2, spiral: 120 m, samples: 1e15, type: cf32 }\n"},
    {"sources", "generate noise ci8", NULL, NULL, NULL, NULL,
     "  stage: { stage: generate, sample_rate: 20 MHz, centre_frequency: 150 MHz, n_stations: 16, "
     "n_pols: 2, spiral: 120 m, samples: 1e15, type: ci8 }\n"},
    {"sources", "generate 3 sources ci8", NULL, NULL, NULL, NULL,
     "  stage: { stage: generate, sample_rate: 20 MHz, centre_frequency: 150 MHz, n_stations: 16, "
     "n_pols: 2, spiral: 120 m, samples: 1e15, type: ci8, source_directions: [[0.15, 0.25], "
     "[-0.3, 0.1], [0.05, -0.4]], source_powers: 0.1 }\n"},
};

/* Graphs of pipelines/, whose source is replaced by an input, and whose sinks by outputs. */
static const struct {
    const char *name;   /* of the file */
    const char *source; /* the node that is replaced */
    const char *type, *axes, *lengths, *rate;
} pipelines[] = {
    {"spectrometer", "sky", "ci8", "pol", "2", "20 MHz"},
    {"fx-correlator", "sky", "ci8", "station pol", "16, 2", "20 MHz"},
    {"beamformer", "sky", "ci8", "station pol", "16, 2", "20 MHz"},
    {"lofar-station", "station", "ci16", "subband station pol", "366, 1, 2", "195312.5 Hz"},
    {"lofar-imaging", "sky", "ci8", "station pol", "64, 2", "195312.5 Hz"},
    {"lofar-1", "sky", "ci8", "station pol", "64, 2", "195312.5 Hz"},
    {"lofar-2", "sky", "ci8", "station pol", "64, 2", "195312.5 Hz"},
};

void
ct_bench_case_free(CtBenchCase *one)
{
    g_free(one->group);
    g_free(one->family);
    g_free(one->name);
    g_free(one->graph);
    g_free(one->on_device);
    g_free(one);
}

/* ", frequencies: [150000000, 150001000, …]": of the axis channel or subband, if there is one. */
static char *
describe_frequencies(const char *axes, const char *lengths)
{
    g_auto(GStrv) names = g_strsplit(axes, " ", -1);
    g_auto(GStrv) counts = g_strsplit(lengths, ", ", -1);
    GString *text = g_string_new(NULL);
    for (guint a = 0; names[a]; a++) {
        if (!g_str_equal(names[a], "channel") && !g_str_equal(names[a], "subband"))
            continue;
        const guint64 n = g_ascii_strtoull(counts[a], NULL, 10);
        g_string_append(text, ", frequencies: [");
        for (guint64 i = 0; i < n; i++)
            g_string_append_printf(text, "%s%" G_GUINT64_FORMAT, i ? ", " : "",
                                   150000000 + 1000 * i);
        g_string_append(text, "]");
        break;
    }
    return g_string_free(text, FALSE);
}

/* "stage: input, layout: …" */
static char *
describe_input(const char *type, const char *axes, const char *lengths, const char *rate)
{
    g_autofree char *frequencies = describe_frequencies(axes, lengths);
    return g_strdup_printf("stage: input, layout: \"%s[time %s]\", shape: [-1, %s], "
                           "sample_rate: %s, %s: 150 MHz%s",
                           type, axes, lengths, rate,
                           type[0] == 'c' ? "centre_frequency" : "first_frequency", frequencies);
}

char *
ct_bench_case_graph(const char *type, const char *axes, const char *lengths, const char *stages,
                    gboolean on_host)
{
    const char *where = on_host ? ", backend: cpu" : "";
    g_autofree char *input = describe_input(type, axes, lengths, "1 MHz");
    return g_strdup_printf(
        "stages:\n  source: { %s%s }\n%s  sink: { stage: output, from: stage%s }\n", input, where,
        stages, where);
}

static char *
describe_stage(const Case *one, const char *lengths)
{
    return one->type ? ct_bench_case_graph(one->type, one->axes, lengths, one->stages, FALSE)
                     : g_strconcat("stages:\n", one->stages,
                                   "  sink: { stage: output, from: stage }\n", NULL);
}

/* Replaces the entry of node `node`, which ends where the next entry begins. */
static char *
replace_entry(const char *text, const char *node, const char *entry)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *head = g_strdup_printf("  %s:", node);
    GString *result = g_string_new(NULL);
    gboolean inside = FALSE;
    for (guint i = 0; lines[i]; i++) {
        if (g_str_has_prefix(lines[i], head)) {
            inside = TRUE;
            g_string_append_printf(result, "%s { %s }\n", head, entry);
        } else if (!inside || (g_str_has_prefix(lines[i], "  ") && lines[i][2] != ' ')) {
            inside = FALSE;
            g_string_append_printf(result, "%s\n", lines[i]);
        }
    }
    return g_string_free(result, FALSE);
}

/* Makes outputs of all sinks: without a path, but in the layout that they want. */
static char *
replace_sinks(const char *text)
{
    g_autoptr(GRegex) paths = g_regex_new(", path: [^,}]*", 0, 0, NULL);
    g_autoptr(GRegex) sinks = g_regex_new("stage: (file\\.sink|discard)", 0, 0, NULL);
    g_autofree char *without = g_regex_replace_literal(paths, text, -1, 0, " ", 0, NULL);
    return g_regex_replace_literal(sinks, without, -1, 0, "stage: output", 0, NULL);
}

char *
ct_bench_case_pipeline(const char *file, const char *source, const char *type, const char *axes,
                       const char *lengths, const char *rate)
{
    g_autofree char *path = g_strdup_printf("/cornerturn/pipelines/%s.yaml", file);
    g_autoptr(GBytes) shipped = g_resources_lookup_data(path, 0, NULL);
    g_autofree char *entry = describe_input(type, axes, lengths, rate);
    g_autofree char *fed = replace_entry(g_bytes_get_data(shipped, NULL), source, entry);
    return replace_sinks(fed);
}

CtBenchCase *
ct_bench_case_add(GPtrArray *cases, const char *group, const char *family, const char *name,
                  char *graph)
{
    CtBenchCase *one = g_new0(CtBenchCase, 1);
    one->group = g_strdup(group);
    one->family = g_strdup(family);
    one->name = g_strdup(name);
    one->graph = graph;
    g_ptr_array_add(cases, one);
    return one;
}

GPtrArray *
ct_bench_cases_new(void)
{
    GPtrArray *cases = g_ptr_array_new_with_free_func((GDestroyNotify)ct_bench_case_free);
    for (guint i = 0; i < G_N_ELEMENTS(stages); i++) {
        const Case *from = &stages[i];
        CtBenchCase *one = ct_bench_case_add(cases, "stages", from->family, from->name,
                                             describe_stage(from, from->lengths));
        if (from->on_device)
            one->on_device = describe_stage(from, from->on_device);
    }
    for (guint i = 0; i < G_N_ELEMENTS(pipelines); i++)
        ct_bench_case_add(cases, "pipelines", "pipelines", pipelines[i].name,
                          ct_bench_case_pipeline(pipelines[i].name, pipelines[i].source,
                                                 pipelines[i].type, pipelines[i].axes,
                                                 pipelines[i].lengths, pipelines[i].rate));
    ct_bench_cases_add_published(cases);
    return cases;
}
