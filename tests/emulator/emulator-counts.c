/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of what a program has taken and not given back. If a device's context is released,
 * everything in it is freed, but still counts. */
#include "emulator.h"

#include <stdio.h>

/* Singular and plural. */
static const char *const names[EMULATOR_N_RESOURCES][2] = {
    [EMULATOR_CONTEXT] = {"context", "contexts"},
    [EMULATOR_ALLOCATION] = {"allocation", "allocations"},
    [EMULATOR_PINNED] = {"pinned allocation", "pinned allocations"},
    [EMULATOR_REGISTRATION] = {"registration of host memory", "registrations of host memory"},
    [EMULATOR_RESERVATION] = {"reservation of addresses", "reservations of addresses"},
    [EMULATOR_PHYSICAL] = {"piece of physical memory", "pieces of physical memory"},
    [EMULATOR_MAPPING] = {"mapping", "mappings"},
    [EMULATOR_STREAM] = {"stream", "streams"},
    [EMULATOR_EVENT] = {"event", "events"},
    [EMULATOR_MODULE] = {"module", "modules"},
    [EMULATOR_GRAPH] = {"graph", "graphs"},
    [EMULATOR_GRAPH_EXEC] = {"executable graph", "executable graphs"},
    [EMULATOR_PROGRAM] = {"program of NVRTC", "programs of NVRTC"},
    [EMULATOR_PLAN] = {"plan of cuFFT", "plans of cuFFT"},
};

static atomic_int counts[EMULATOR_N_RESOURCES];

void
emulator_count(EmulatorResource resource, int change)
{
    atomic_fetch_add(&counts[resource], change);
}

char *
cornerturn_emulator_leaks(void)
{
    GString *text = g_string_new(NULL);
    for (unsigned r = 0; r < EMULATOR_N_RESOURCES; r++) {
        const int n = counts[r];
        if (n != 0)
            g_string_append_printf(text, "%s%d %s", text->len ? ", " : "", n, names[r][n != 1]);
    }
    return g_string_free(text, text->len == 0);
}

/* For programs that do not ask themselves: CORNERTURN_EMULATOR_LEAKS=1 */
__attribute__((destructor)) static void
tell_leaks(void)
{
    g_autofree char *leaks = cornerturn_emulator_leaks();
    if (leaks && g_strcmp0(g_getenv("CORNERTURN_EMULATOR_LEAKS"), "1") == 0)
        fprintf(stderr, "cornerturn-emulator: not given back: %s\n", leaks);
}
