/* SPDX-License-Identifier: BSD-3-Clause */
/* One graph on several machines and in several shapes, to see where the best plan changes. Nothing
 * is run; the devices do not exist. */
#include "plan/explain.h"
#include "runs.h"

#include <stdio.h>
#include <string.h>

static const CtDeviceInfo large = {
    .name = "large",
    .architecture = 90,
    .n_multiprocessors = 132,
    .shared_bytes = 227 << 10,
    .multiprocessor_shared = 228 << 10,
    .l2_bytes = 50 << 20,
    .memory_bytes = (gsize)139 << 30,
    .bandwidth = 4.8e12,
    .peak = 6.7e13,
};
static const CtDeviceInfo small = {
    .name = "small",
    .architecture = 86,
    .n_multiprocessors = 6,
    .shared_bytes = 99 << 10,
    .multiprocessor_shared = 100 << 10,
    .l2_bytes = 1 << 20,
    .memory_bytes = (gsize)4 << 30,
    .bandwidth = 1e11,
    .peak = 1e12,
};

static const struct {
    const char *name;
    guint n_workers;
    const CtDeviceInfo *device;
} machines[] = {
    {"1 worker", 1, NULL},
    {"64 workers", 64, NULL},
    {"1 worker, a large device", 1, &large},
    {"64 workers, a small device", 64, &small},
};

static const guint stations[] = {4, 64, 256};

enum { N_MACHINES = G_N_ELEMENTS(machines), N_SHAPES = G_N_ELEMENTS(stations) };

static CtPlanOptions
options_of(guint machine)
{
    return (CtPlanOptions){
        .n_workers = machines[machine].n_workers,
        .backend = CT_N_BACKENDS,
        .costs = "off",
        .n_devices = machines[machine].device ? 1 : 0,
        .devices = machines[machine].device ? machines[machine].device : &small,
    };
}

static Run *
plan(const Choices *choices, guint machine, guint n_stations, GError **error)
{
    Choices own = *choices;
    own.options = options_of(machine);
    g_autofree char *text = g_strdup_printf(
        "  source: { stage: input, backend: cpu, layout: \"ci8[time station pol]\", "
        "shape: [-1, %u, 2] }\n"
        "  filter: { stage: fir, from: source, n_channels: 300, n_taps: 8 }\n"
        "  visibilities: { stage: correlate, from: filter, integration: 768 }\n"
        "  sink: { stage: output, backend: cpu, from: visibilities }\n",
        n_stations);
    g_autofree char *name = g_strdup_printf("%s, %u stations", machines[machine].name, n_stations);
    return run_new(&own, name, text, NULL, "visibilities", 1, error);
}

static gboolean
is_same(const Run *a, const Run *b)
{
    g_autofree char *x = run_describe(a);
    g_autofree char *y = run_describe(b);
    return strcmp(x, y) == 0;
}

/* Prints the plans that are different from all before them, with their explanations. */
static void
print_different(const Choices *choices, Run *const *runs, GError **error)
{
    for (guint i = 0; i < N_MACHINES * N_SHAPES && !*error; i++) {
        const CtPlanOptions options = options_of(i / N_SHAPES);
        gboolean is_known = FALSE;
        for (guint k = 0; k < i; k++)
            is_known |= is_same(runs[i], runs[k]);
        if (is_known)
            continue;
        g_autofree char *text = ct_plan_to_text(runs[i]->plan);
        g_autofree char *why =
            ct_explain_to_text(runs[i]->plan, choices->registry, &options, error);
        printf("\n==== %s\n\n%s\n%s", runs[i]->name, text, why ? why : "");
    }
}

gboolean
plans_measure(Choices *choices)
{
    Run *runs[N_MACHINES * N_SHAPES] = {NULL};
    GError *error = NULL;
    printf(
        "plans: a filter of 8 taps and 300 channels, then a correlator of 768 spectra, from ci8 on "
        "the host; ms of a block of 768 spectra as predicted\n");
    for (guint i = 0; i < G_N_ELEMENTS(runs) && !error; i++) {
        runs[i] = plan(choices, i / N_SHAPES, stations[i % N_SHAPES], &error);
        if (error)
            break;
        g_autofree char *how = run_describe(runs[i]);
        printf("  %-40s %9.2f | %s\n", runs[i]->name, 1e3 * runs[i]->plan->seconds * 300 * 768,
               how);
    }
    if (!error)
        print_different(choices, runs, &error);
    if (error)
        printf("plans: %s\n", error->message);
    for (guint i = 0; i < G_N_ELEMENTS(runs); i++)
        run_free(runs[i]);
    const gboolean good = error == NULL;
    g_clear_error(&error);
    return good;
}
