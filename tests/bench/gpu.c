/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device reaches: stages and pipelines on blocks of random data, beside its ceilings in the
 * same run.
 *
 *     bench-gpu [WORD…]        cases and floors whose names contain one of the words
 *
 * Blocks lie in the device's memory and are fed again and again; `node` times are those that events
 * on the device give, rates of a whole graph those of the clock on the wall. */
#include "device-ceilings.h"

#include <cornerturn/npy.h>
#include <cornerturn/pipeline.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runs of a case, of which the median counts. */
#define N_RUNS 5
/* Blocks before the clock begins. */
#define N_SKIPPED 8

typedef struct {
    const char *name;
    const char *stages; /* between `source` and the sinks, which read what they name */
    const char *type;
    const char *layout;  /* axes of the source */
    gint64 shape[8];     /* in their order; −1: time */
    const char *options; /* further keys of the source; NULL: none */
    gint64 n_samples;    /* of a block */
    guint n_blocks;
    const char *node; /* whose time is told; NULL: none's */
    gboolean from_host;
} Case;

/* Per second and per element of the source, medians. */
typedef struct {
    gdouble wall;         /* elements per second, of the whole graph */
    gdouble node;         /* elements per second, of the node while it runs */
    gdouble per_firing;   /* seconds of the wall per block */
    gdouble node_seconds; /* of the node per element */
    gdouble operations;   /* of the node per element */
    char *nodes;          /* "filter 120.1, spectra 200.3": elements per second of each, in 10⁹ */
} Figures;

typedef struct {
    CtDevice *device;
    DeviceMeter *meter;
    DeviceCeilings ceilings;
    char **words;
    GString *summary;
    gboolean good;
} Bench;

static gint64
width_of(const Case *one)
{
    gint64 width = 1;
    for (guint a = 0; one->shape[a] != 0; a++)
        width *= one->shape[a] > 0 ? one->shape[a] : 1;
    return width;
}

static gboolean
is_wanted(const Bench *bench, const char *name)
{
    if (!bench->words[0])
        return TRUE;
    for (guint i = 0; bench->words[i]; i++)
        if (strstr(name, bench->words[i]))
            return TRUE;
    return FALSE;
}

/* ---- random blocks ---- */

/* Numbers that a voltage may have: integers over most of their range, floats of one standard
 * deviation or so. */
static void
fill_random(guint8 *memory, gsize bytes, CtType type)
{
    guint64 x = 88172645463325252u;
    const CtTypeInfo *info = ct_type_info(type);
    for (gsize at = 0; at + 8 <= bytes; at += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (info->is_float && info->part_bits == 32) {
            gfloat pair[2] = {(gfloat)(gint32)x / 1.2e9f, (gfloat)(gint32)(x >> 32) / 1.2e9f};
            memcpy(memory + at, pair, sizeof pair);
        } else {
            memcpy(memory + at, &x, sizeof x);
        }
    }
}

/* ---- a run ---- */

static char *
graph_text(const Case *one)
{
    GString *shape = g_string_new(NULL);
    for (guint a = 0; one->shape[a] != 0; a++)
        g_string_append_printf(shape, "%s%" G_GINT64_FORMAT, a ? ", " : "", one->shape[a]);
    char *text =
        g_strdup_printf("backend: cuda\nstages:\n"
                        "  source: { stage: input, backend: %s, layout: \"%s[%s]\", "
                        "shape: [%s], block: { time: %" G_GINT64_FORMAT " }%s }\n%s",
                        one->from_host ? "cpu" : "cuda", one->type, one->layout, shape->str,
                        one->n_samples, one->options ? one->options : "", one->stages);
    g_string_free(shape, TRUE);
    return text;
}

/* The number `key` in the line of node `name`; NaN where it is not there. */
static gdouble
read_number(const char *json, const char *name, const char *key)
{
    g_autofree char *start = g_strdup_printf("{\"name\": \"%s\"", name);
    g_autofree char *quoted = g_strdup_printf("\"%s\": ", key);
    const char *line = strstr(json, start);
    const char *end = line ? strchr(line, '\n') : NULL;
    const char *at = line ? g_strstr_len(line, end ? end - line : -1, quoted) : NULL;
    return at ? g_ascii_strtod(at + strlen(quoted), NULL) : NAN;
}

/* What each node of the statistics does while it runs. */
static char *
describe_nodes(const char *json, gdouble elements)
{
    GString *text = g_string_new(NULL);
    for (const char *line = strstr(json, "{\"name\""); line; line = strstr(line + 1, "{\"name\"")) {
        const char *begin = line + strlen("{\"name\": \"");
        g_autofree char *name = g_strndup(begin, strcspn(begin, "\""));
        const gdouble seconds = read_number(json, name, "work_seconds");
        if (seconds > 0)
            g_string_append_printf(text, "%s%s %.0f", text->len ? ", " : "", name,
                                   elements / seconds * 1e-9);
    }
    return g_string_free(text, FALSE);
}

static gdouble
now(void)
{
    return (gdouble)g_get_monotonic_time() * 1e-6;
}

/* When each block was read, one after another. */
static void
note_time(gpointer data, gpointer user_data)
{
    GArray *times = user_data;
    const gdouble time = now();
    (void)data;
    g_array_append_val(times, time);
}

static gboolean
run_once(const Case *one, gpointer data, Figures *figures, gboolean *described, GError **error)
{
    g_autofree char *text = graph_text(one);
    g_autoptr(CtPipeline) pipeline = ct_pipeline_parse(text, -1, one->name, error);
    if (!pipeline || !ct_pipeline_plan(pipeline, error))
        return FALSE;
    if (!*described && g_getenv("BENCH_PLAN")) {
        g_autofree char *plan = ct_pipeline_describe(pipeline, "text", NULL);
        printf("%s", plan);
    }
    *described = TRUE;
    if (!ct_pipeline_start(pipeline, error))
        return FALSE;
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gdouble));
    gboolean fed = TRUE;
    for (guint b = 0; fed && b < one->n_blocks + N_SKIPPED; b++)
        fed = ct_pipeline_feed(pipeline, "source", data, one->n_samples, NULL, note_time, times,
                               NULL);
    ct_pipeline_feed_end(pipeline, "source", NULL);
    ct_pipeline_wait(pipeline, -1);
    if (!ct_pipeline_result(pipeline, error))
        return FALSE;
    const gdouble seconds = g_array_index(times, gdouble, one->n_blocks + N_SKIPPED - 1) -
                            g_array_index(times, gdouble, N_SKIPPED - 1);
    g_autofree char *json = ct_pipeline_stats_json(pipeline);
    const gdouble elements = (gdouble)one->n_samples * (gdouble)width_of(one);
    figures->wall = elements * one->n_blocks / seconds;
    figures->per_firing = seconds / one->n_blocks;
    const gdouble all = elements * (one->n_blocks + N_SKIPPED);
    if (!one->node) {
        figures->nodes = describe_nodes(json, all);
        return TRUE;
    }
    figures->node_seconds = read_number(json, one->node, "work_seconds") / all;
    figures->operations = read_number(json, one->node, "operations") / all;
    figures->node = 1 / figures->node_seconds;
    return TRUE;
}

static gint
by_wall(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const Figures *)a)->wall, y = ((const Figures *)b)->wall;
    return x < y ? -1 : x > y;
}

static gint
by_node(gconstpointer a, gconstpointer b)
{
    const gdouble x = ((const Figures *)a)->node, y = ((const Figures *)b)->node;
    return x < y ? -1 : x > y;
}

static gboolean
run_case(Bench *bench, const Case *one, Figures *figures)
{
    *figures = (Figures){0};
    GError *error = NULL;
    const CtType type = ct_type_from_name(one->type);
    const gsize bytes =
        (gsize)(one->n_samples * width_of(one)) * ct_type_info(type)->bytes / 8 * 8 + 8;
    const CtCudaDriver *driver = ct_device_driver(bench->device);
    void *host = NULL;
    gpointer memory = NULL;
    Figures runs[N_RUNS] = {0};
    gboolean described = FALSE;
    gboolean good =
        ct_device_enter(bench->device, &error) &&
        ct_device_check(bench->device, driver->host_alloc(&host, bytes, 0), &error, "a block");
    if (good) {
        fill_random(host, bytes, type);
        memory = ct_device_alloc(bench->device, bytes, one->name, &error);
        good = memory && ct_device_upload(bench->device, memory, host, bytes, &error);
    }
    for (guint i = 0; good && i < N_RUNS; i++)
        good = run_once(one, one->from_host ? host : memory, &runs[i], &described, &error);
    if (good) {
        qsort(runs, N_RUNS, sizeof runs[0], by_node);
        *figures = runs[N_RUNS / 2];
        qsort(runs, N_RUNS, sizeof runs[0], by_wall);
        figures->wall = runs[N_RUNS / 2].wall;
        figures->per_firing = runs[N_RUNS / 2].per_firing;
    } else {
        printf("%-44s not run: %s\n", one->name, error->message);
        g_string_append_printf(bench->summary, "%-52s not run\n", one->name);
        bench->good = FALSE;
        g_error_free(error);
    }
    ct_device_free(bench->device, memory);
    if (host)
        driver->host_free(host);
    return good;
}

/* ---- floors ---- */

static void
note(Bench *bench, const char *name, gdouble value, gboolean at_least, gdouble limit,
     const char *unit)
{
    const gboolean held = at_least ? value >= limit : value <= limit;
    g_string_append_printf(bench->summary, "%-52s %8.2f, at %s %7.2f %-16s %s\n", name, value,
                           at_least ? "least" : "most", limit, unit, held ? "pass" : "FALL SHORT");
    bench->good &= held;
}

static void
print(const Bench *bench, const Case *one, const Figures *figures, gdouble bytes_per_element)
{
    printf("%-44s wall %8.2f G/s", one->name, figures->wall * 1e-9);
    if (one->node) {
        const gdouble copy = bytes_per_element * figures->node / bench->ceilings.copy;
        printf("  %s %8.2f G/s", one->node, figures->node * 1e-9);
        if (bytes_per_element > 0)
            printf(" %5.2f of copy", copy);
        if (figures->operations > 0)
            printf(" %7.2f Top/s %5.2f of FMA", figures->operations * figures->node * 1e-12,
                   figures->operations * figures->node / bench->ceilings.fma);
    }
    printf("%s%s\n", figures->nodes ? "  each " : "", figures->nodes ? figures->nodes : "");
    fflush(stdout);
}

/* By these variants or, where they are NULL, as the planner would have it. */
static void
check_bank(Bench *bench, const char *filter, const char *transform, guint n_channels, guint n_taps,
           gdouble floor)
{
    g_autofree char *by = filter ? g_strdup_printf(", variant: %s", filter) : g_strdup("");
    g_autofree char *then = filter ? g_strdup_printf(", variant: %s", transform) : g_strdup("");
    const gboolean two = filter && !g_str_equal(filter, transform);
    g_autofree char *name = g_strdup_printf("PFB ci8 %u channels, %u taps%s%s%s%s", n_channels,
                                            n_taps, filter ? ", " : "", filter ? filter : "",
                                            two ? " and " : "", two ? transform : "");
    g_autofree char *stages =
        g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u%s }\n"
                        "  spectra: { stage: fft, from: filter%s }\n"
                        "  sink: { stage: discard, from: spectra }\n",
                        n_channels, n_taps, by, then);
    const Case one = {
        .name = name,
        .stages = stages,
        .type = "ci8",
        .layout = "station pol time",
        .shape = {64, 2, -1},
        .n_samples = 1 << 18,
        .n_blocks = 100,
    };
    Figures figures;
    if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
        return;
    print(bench, &one, &figures, 0);
    if (floor > 0)
        note(bench, one.name, figures.wall * 1e-9, TRUE, floor, "Gsamples/s");
}

/* The filter alone: a sample's bytes are its own and those of what becomes of it. */
static void
check_filter(Bench *bench, const char *type, const char *layout, guint n_channels, guint n_taps)
{
    const CtTypeInfo *info = ct_type_info(ct_type_from_name(type));
    const gboolean time_first = g_str_has_prefix(layout, "time ");
    g_autofree char *name =
        g_strdup_printf("fir %s[%s] %u channels, %u taps", type, layout, n_channels, n_taps);
    g_autofree char *stages =
        g_strdup_printf("  filter: { stage: fir, from: source, n_channels: %u, n_taps: %u }\n"
                        "  sink: { stage: discard, from: filter }\n",
                        n_channels, n_taps);
    const Case one = {
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
    Figures figures;
    if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
        return;
    print(bench, &one, &figures, bytes);
}

static void
check_filters(Bench *bench)
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

static void
check_correlate(Bench *bench, const char *type, guint n_stations, gdouble floor)
{
    g_autofree char *name = g_strdup_printf("correlate %s %u stations", type, n_stations);
    const Case one = {
        .name = name,
        .stages = "  stage: { stage: correlate, from: source, integration: 1024 }\n"
                  "  sink: { stage: discard, from: stage }\n",
        .type = type,
        .layout = "channel time station pol",
        .shape = {256, -1, n_stations, 2},
        .n_samples = 1024,
        .n_blocks = n_stations > 128 ? 20 : 60,
        .node = "stage",
    };
    Figures figures;
    if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
        return;
    /* Of the node's time alone; what a transpose in front of it takes is in the wall's. */
    const gdouble inputs = 2.0 * n_stations;
    figures.operations = 8 * inputs * (inputs + 1) / 2 / inputs;
    print(bench, &one, &figures, 0);
    const gdouble rate = figures.operations * figures.node;
    if (floor > 0 && g_str_equal(type, "cf32"))
        note(bench, name, rate / bench->ceilings.fma, TRUE, floor, "of the FMA peak");
    else if (floor > 0)
        note(bench, name, rate * 1e-12, TRUE, floor, "useful TOP/s");
}

static void
check_beamform(Bench *bench, const char *type, gboolean by_time, guint n_beams, guint n_stations,
               gdouble floor)
{
    g_autofree char *name = g_strdup_printf("beamform %s %u x %u%s", type, n_beams, n_stations,
                                            by_time ? ", stations outside time" : "");
    g_autofree char *stages = g_strdup_printf(
        "  pointing: { stage: pointing, n_stations: %u, spiral: 150 m, disk: 0.05, n_beams: %u, "
        "first_frequency: 100 MHz, channel_width: 200 kHz, n_channels: 256 }\n"
        "  stage: { stage: beamform, from: { voltages: source, weights: pointing } }\n"
        "  sink: { stage: discard, from: stage }\n",
        n_stations, n_beams);
    const Case one = {
        .name = name,
        .stages = stages,
        .type = type,
        .layout = by_time ? "channel station time pol" : "channel time station pol",
        .shape = {256, by_time ? (gint64)n_stations : -1, by_time ? -1 : (gint64)n_stations, 2},
        .n_samples = 1024,
        .n_blocks = 12,
        .node = "stage",
    };
    Figures figures;
    if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
        return;
    figures.operations = 8.0 * n_beams;
    print(bench, &one, &figures, 0);
    if (floor > 0)
        note(bench, name, figures.operations * figures.node / bench->ceilings.fma, TRUE, floor,
             "of the FMA peak");
}

static void
check_correlator(Bench *bench, gboolean quantised, gboolean from_host, gdouble floor)
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
    const Case one = {
        .name = name,
        .stages = stages,
        .type = "ci8",
        .layout = "station pol time",
        .shape = {64, 2, -1},
        .n_samples = 1 << 18,
        .n_blocks = 60,
        .from_host = from_host,
    };
    Figures figures;
    if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
        return;
    print(bench, &one, &figures, 0);
    if (from_host)
        note(bench, name, 2 * figures.wall / bench->ceilings.to, TRUE, floor, "of the pinned rate");
    else
        note(bench, name, figures.wall * 1e-9, TRUE, floor, "Gsamples/s");
}

/* Stages that are bound by memory: bytes in and out of an element of the source. */
static void
check_elementwise(Bench *bench)
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
        Case one = {
            .name = cases[i].name,
            .stages = stages,
            .type = cases[i].type,
            .layout = cases[i].layout,
            .n_samples = cases[i].n_samples,
            .n_blocks = 12,
            .node = "y",
        };
        memcpy(one.shape, cases[i].shape, sizeof one.shape);
        Figures figures;
        if (is_wanted(bench, one.name) && run_case(bench, &one, &figures))
            print(bench, &one, &figures, cases[i].bytes);
    }
}

/* Delays of spectra, which a Fourier transform gives their channels, and of voltages. */
static void
check_delays(Bench *bench)
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
        Case one = {
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
        Figures figures;
        if (is_wanted(bench, one.name) && run_case(bench, &one, &figures))
            print(bench, &one, &figures, 16);
    }
    g_remove(path);
}

#define N_EMPTY 10

static void
check_empty(Bench *bench)
{
    GString *stages = g_string_new(NULL);
    for (guint i = 0; i < N_EMPTY; i++) {
        g_autofree char *from = i ? g_strdup_printf("s%u", i - 1) : g_strdup("source");
        g_string_append_printf(stages, "  s%u: { stage: copy, from: %s }\n", i, from);
    }
    g_string_append_printf(stages, "  sink: { stage: discard, from: s%u }\n", N_EMPTY - 1);
    const Case one = {
        .name = "ten empty nodes",
        .stages = stages->str,
        .type = "ci8",
        .layout = "time station pol",
        .shape = {-1, 4, 2},
        .n_samples = 64,
        .n_blocks = 2000,
    };
    Figures figures;
    if (is_wanted(bench, one.name) && run_case(bench, &one, &figures)) {
        const gdouble us = figures.per_firing / (N_EMPTY + 1) * 1e6;
        printf("%-44s %.2f us per node and block\n", one.name, us);
        note(bench, one.name, us, FALSE, 15, "us per node and block");
    }
    g_string_free(stages, TRUE);
}

/* The filter banks of a telescope that samples 250 M real numbers every 125 ms. */
static void
check_real_banks(Bench *bench)
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
        const Case one = {
            .name = name,
            .stages = stages,
            .type = "f32",
            .layout = "time",
            .shape = {-1},
            .n_samples = 250000000,
            .n_blocks = 8,
        };
        Figures figures;
        if (!is_wanted(bench, one.name) || !run_case(bench, &one, &figures))
            continue;
        print(bench, &one, &figures, 0);
        note(bench, name, figures.per_firing * 1e3, FALSE, 125, "ms per 250 M samples");
    }
}

int
main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    const char *reason;
    (void)argc;
    if (ct_devices(NULL, &reason) == 0) {
        printf("no CUDA device: %s\n", reason);
        return 77;
    }
    Bench bench = {.words = argv + 1, .summary = g_string_new("\n"), .good = TRUE};
    g_autoptr(CtDevice) device = ct_device_open(0, &error);
    g_autoptr(DeviceMeter) meter = device ? device_meter_new(device, &error) : NULL;
    if (!meter || !device_meter_measure(meter, &bench.ceilings, &error)) {
        printf("%s\n", error->message);
        return 1;
    }
    bench.device = device;
    bench.meter = meter;
    const DeviceCeilings *c = &bench.ceilings;
    printf("%s: FMA %.1f Top/s, copy %.0f GB/s, from pinned memory %.1f GB/s, to it %.1f (at once "
           "%.1f and %.1f; beside them copy has %.2f of its speed, FMA %.2f)\n",
           ct_device_info(device)->name, c->fma * 1e-12, c->copy * 1e-9, c->to * 1e-9,
           c->from * 1e-9, c->both[0] * 1e-9, c->both[1] * 1e-9, c->copying, c->fma_left);
    check_bank(&bench, NULL, NULL, 256, 8, 115);
    check_bank(&bench, "cuda", "cuda", 256, 8, 0);
    check_bank(&bench, "cuda", "radix-cuda", 64, 8, 0);
    check_bank(&bench, "cuda", "radix-cuda", 256, 8, 115);
    check_bank(&bench, "cuda", "radix-cuda", 1024, 8, 0);
    check_bank(&bench, "fused-cuda", "fused-cuda", 64, 8, 0);
    check_bank(&bench, "fused-cuda", "fused-cuda", 256, 8, 0);
    check_bank(&bench, "fused-cuda", "fused-cuda", 256, 16, 0);
    check_bank(&bench, "fused-cuda", "fused-cuda", 1024, 8, 0);
    check_filters(&bench);
    check_correlator(&bench, FALSE, FALSE, 28);
    check_correlator(&bench, TRUE, FALSE, 40);
    check_correlator(&bench, TRUE, TRUE, 0.9);
    check_correlate(&bench, "cf32", 64, 0);
    check_correlate(&bench, "cf32", 128, 0);
    check_correlate(&bench, "cf32", 256, 0.45);
    check_correlate(&bench, "ci8", 64, 0);
    check_correlate(&bench, "ci8", 128, 0);
    check_correlate(&bench, "ci8", 256, 100);
    check_beamform(&bench, "cf32", FALSE, 128, 64, 0);
    check_beamform(&bench, "cf32", FALSE, 256, 128, 0);
    check_beamform(&bench, "cf32", FALSE, 512, 256, 0.6);
    check_beamform(&bench, "cf32", TRUE, 512, 256, 0.6);
    check_beamform(&bench, "ci8", FALSE, 512, 256, 0);
    check_beamform(&bench, "ci8", FALSE, 8, 256, 0);
    check_real_banks(&bench);
    check_elementwise(&bench);
    check_delays(&bench);
    check_empty(&bench);
    printf("%s", bench.summary->str);
    g_string_free(bench.summary, TRUE);
    return bench.good ? 0 : 1;
}
