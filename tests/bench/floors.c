/* SPDX-License-Identifier: BSD-3-Clause */
/* Floors: the least rates, each relative to a peer or ceiling in the same run. */
#include "bench.h"
#include "model/isa.h"
#include "peers.h"

#include <math.h>
#include <stdio.h>

typedef struct {
    CtMeter *meter;
    const GPtrArray *contenders; /* of the stages */
    guint n_slices;
    GString *summary;
    gboolean good;
} Floors;

/* Records a floor; a value that was not measured (a peer that was not built) is not a miss. */
static void
note_held(Floors *floors, const char *name, gdouble value, gboolean held, const char *bound,
          gdouble limit, const char *unit)
{
    if (isnan(value)) {
        g_string_append_printf(floors->summary, "%-50s not measured\n", name);
        return;
    }
    g_string_append_printf(floors->summary, "%-50s %6.2f, at %s %5.2f %-12s %s\n", name, value,
                           bound, limit, unit, held ? "pass" : "FALL SHORT");
    floors->good &= held;
}

static void
note(Floors *floors, const char *name, gdouble value, gdouble floor, const char *unit)
{
    note_held(floors, name, value, value >= floor, "least", floor, unit);
}

static void
note_most(Floors *floors, const char *name, gdouble value, gdouble most, const char *unit)
{
    note_held(floors, name, value, value <= most, "most", most, unit);
}

/* Measures and prints the contenders; those that are NULL are left out. */
static void
measure(Floors *floors, Contender *const *contenders, guint n)
{
    g_autoptr(GPtrArray) present = g_ptr_array_new();
    for (guint i = 0; i < n; i++)
        if (contenders[i])
            g_ptr_array_add(present, contenders[i]);
    contenders_measure(present, floors->meter, floors->n_slices);
    for (guint i = 0; i < present->len; i++)
        contender_print(present->pdata[i]);
    fflush(stdout);
}

static gdouble
ratio(const Contender *a, const Contender *b)
{
    return a && b ? contenders_ratio(a, b) : NAN;
}

static void
free_all(Contender **contenders, guint n)
{
    for (guint i = 0; i < n; i++)
        if (contenders[i])
            contender_free(contenders[i]);
}

/* The stage of this name. */
static Contender *
find(const Floors *floors, const char *name)
{
    for (guint i = 0; i < floors->contenders->len; i++) {
        Contender *contender = floors->contenders->pdata[i];
        if (g_str_equal(contender->name, name))
            return contender;
    }
    g_error("no case '%s'", name);
}

static Contender *
correlate_new(const char *type, const char *isa, guint n_stations, guint n_channels,
              guint integration, guint n_workers)
{
    g_autofree char *name = g_strdup_printf("correlate %s %u stations%s%s", type, n_stations,
                                            isa ? ", " : "", isa ? isa : "");
    g_autofree char *text = g_strdup_printf(
        "stages:\n"
        "  source: { stage: bench.source, type: %s, axes: [channel, station, pol], "
        "lengths: [%u, %u, 2] }\n"
        "  stage: { stage: correlate, from: source, integration: %u%s%s }\n"
        "  sink: { stage: bench.sink, from: stage }\n",
        type, n_channels, n_stations, integration, isa ? ", variant: cpu-" : "", isa ? isa : "");
    return graph_contender_new("floor", name, n_workers, text, "source", "source", "stage");
}

/* Nothing where the machine lacks the set. */
static void
check_bytes(Floors *floors, CtIsa isa, guint n_stations, guint n_channels, gdouble floor)
{
    if (floor == 0 || ct_isa_missing(isa))
        return;
    Contender *one = correlate_new("ci8", ct_isa_name(isa), n_stations, n_channels, 1024, 1);
    measure(floors, &one, 1);
    g_autofree char *name = g_strdup_printf("%s: times the FMA peak", one->name);
    note(floors, name, one->of_fma, floor, "× the peak");
    contender_free(one);
}

static void
check_correlate(Floors *floors)
{
    static const struct {
        guint n_stations, n_channels;
        gdouble vnni, amx; /* floors of ci8; 0: it is not measured */
        gdouble single;    /* of cf32 */
    } sizes[] = {
        {16, 64, 0, 0, 0.46},
        {64, 16, 1.9, 3.4, 0.62},
        {128, 8, 2.3, 3.3, 0.58},
        {256, 4, 1.9, 3.3, 0.6},
    };
    const guint integration = 1024;
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        check_bytes(floors, CT_ISA_AVX512VNNI, sizes[i].n_stations, sizes[i].n_channels,
                    sizes[i].vnni);
        check_bytes(floors, CT_ISA_AMX, sizes[i].n_stations, sizes[i].n_channels, sizes[i].amx);
        Contender *all[] = {
            correlate_new("cf32", NULL, sizes[i].n_stations, sizes[i].n_channels, integration, 1),
            peer_cherk_new(sizes[i].n_stations, sizes[i].n_channels, integration, 1),
        };
        measure(floors, all, G_N_ELEMENTS(all));
        g_autofree char *of_peak = g_strdup_printf("%s: share of the FMA peak", all[0]->name);
        g_autofree char *of_peer = g_strdup_printf("%s: beside OpenBLAS cherk", all[0]->name);
        note(floors, of_peak, all[0]->of_fma, sizes[i].single, "of the peak");
        note(floors, of_peer, ratio(all[0], all[1]), 1, "× cherk");
        free_all(all, G_N_ELEMENTS(all));
    }
}

/* Correlates one station. Its voltages come from memory: their blocks have few samples of many
 * channels. */
static void
check_station(Floors *floors)
{
    for (guint i = 0; i < floors->contenders->len; i++) {
        Contender *stage = floors->contenders->pdata[i];
        if (!g_str_equal(stage->name, "correlate cf32 1 station"))
            continue;
        measure(floors, &stage, 1);
        g_autofree char *name = g_strdup_printf("%s: beside copies in memory", stage->name);
        note(floors, name, stage->of_dram, 0.65, "of copies");
    }
}

static void
check_bank(Floors *floors)
{
    const char *text = "stages:\n"
                       "  source: { stage: bench.source, type: cf32, axes: [station, pol], "
                       "lengths: [16, 2] }\n"
                       "  filter: { stage: fir, from: source, n_channels: 256, n_taps: 16 }\n"
                       "  spectra: { stage: fft, from: filter }\n"
                       "  sink: { stage: bench.sink, from: spectra }\n";
    Contender *all[] = {
        graph_contender_new("floor", "PFB cf32 256x16", 1, text, "source", "source", "filter"),
        peer_firpfbch_new(256, 16),
    };
    measure(floors, all, G_N_ELEMENTS(all));
    note(floors, "PFB cf32 256x16: beside liquid firpfbch", ratio(all[0], all[1]), 5, "× liquid");
    note(floors, "PFB cf32 256x16: share of the FMA peak", all[0]->of_fma, 0.18, "of the peak");
    free_all(all, G_N_ELEMENTS(all));
}

/* Nothing where the machine lacks the vectors for which they were measured. */
static void
check_transforms(Floors *floors)
{
    static const struct {
        const char *name;
        gdouble least;
    } cases[] = {{"fft 256", 0.35}, {"fft 1024", 0.35}, {"fft 4096", 0.35}};
    if (ct_isa_missing(CT_ISA_AVX512))
        return;
    for (guint i = 0; i < floors->contenders->len; i++) {
        Contender *stage = floors->contenders->pdata[i];
        for (guint k = 0; k < G_N_ELEMENTS(cases); k++) {
            if (!g_str_equal(cases[k].name, stage->name))
                continue;
            measure(floors, &stage, 1);
            g_autofree char *name = g_strdup_printf("%s: share of the FMA peak", stage->name);
            note(floors, name, stage->of_fma, cases[k].least, "of the peak");
        }
    }
}

static void
check_correlator(Floors *floors)
{
    const char *text =
        "stages:\n"
        "  source: { stage: bench.source, type: ci8, axes: [station, pol], lengths: [16, 2] }\n"
        "  filter: { stage: fir, from: source, n_channels: 256, n_taps: 16 }\n"
        "  spectra: { stage: fft, from: filter }\n"
        "  stage: { stage: correlate, from: spectra, integration: 1024 }\n"
        "  sink: { stage: bench.sink, from: stage }\n";
    Contender *all[] = {
        graph_contender_new("floor", "fx-correlator", 2, text, "source", "source", "stage"),
        peer_numpy_new(2),
    };
    measure(floors, all, G_N_ELEMENTS(all));
    note(floors, "fx-correlator, two workers: beside numpy", ratio(all[0], all[1]), 40, "× numpy");
    free_all(all, G_N_ELEMENTS(all));
}

static void
check_beamform(Floors *floors)
{
    static const struct {
        const char *name;
        gdouble floor;
    } cases[] = {{"beamform 64 stations, 100 beams", 0.6}, {"beamform 16 stations, 4 beams", 0.25}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        Contender *stage = find(floors, cases[i].name);
        measure(floors, &stage, 1);
        g_autofree char *name = g_strdup_printf("%s: share of the FMA peak", stage->name);
        note(floors, name, stage->of_fma, cases[i].floor, "of the peak");
    }
}

/* ---- stages that move bytes ---- */

static void
check_copies(Floors *floors)
{
    static const char *const names[] = {"delay of spectra", "delay of samples", "gains", "power",
                                        "power IQUV",       "quantise to ci8",  "copy",  NULL};
    for (guint i = 0; i < floors->contenders->len; i++) {
        Contender *stage = floors->contenders->pdata[i];
        if (!g_strv_contains(names, stage->name))
            continue;
        measure(floors, &stage, 1);
        g_autofree char *name = g_strdup_printf("%s: beside copies in L2", stage->name);
        note(floors, name, stage->of_l2, 0.6, "of copies");
    }
}

/* ---- the framework ---- */

static void
check_framework(Floors *floors)
{
    g_autoptr(GPtrArray) chains = g_ptr_array_new_with_free_func((GDestroyNotify)contender_free);
    gdouble most = NAN;
    framework_add(chains);
    for (guint i = 0; i < chains->len; i++) {
        Contender *chain = chains->pdata[i];
        measure(floors, &chain, 1);
        most = fmax(most, 1e6 / chain->rates.firings);
    }
    note_most(floors, "empty stages: time per node and block", most, 5, "us");
}

static const struct {
    const char *name;
    void (*check)(Floors *floors);
} checks[] = {
    {"correlate", check_correlate},   {"correlate station", check_station},
    {"beamform", check_beamform},     {"pfb", check_bank},
    {"transforms", check_transforms}, {"fx-correlator", check_correlator},
    {"copies", check_copies},         {"framework", check_framework},
};

void
floors_list(GArray *names)
{
    for (guint i = 0; i < G_N_ELEMENTS(checks); i++)
        g_array_append_val(names, ((CaseName){"floor", checks[i].name}));
}

gboolean
floors_measure(CtMeter *meter, const GPtrArray *contenders, guint n_slices, char *const *patterns)
{
    Floors floors = {
        .meter = meter,
        .contenders = contenders,
        .n_slices = n_slices,
        .summary = g_string_new("\n"),
        .good = TRUE,
    };
    table_print_head();
    for (guint i = 0; i < G_N_ELEMENTS(checks); i++)
        if (is_wanted("floor", checks[i].name, patterns))
            checks[i].check(&floors);
    printf("%s", floors.summary->str);
    g_string_free(floors.summary, TRUE);
    return floors.good;
}
