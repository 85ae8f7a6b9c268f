/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks of what the planner chooses between, on the host or on a device.
 *
 *     bench-choices [--device] GROUP [WORD…]
 *
 *     kernels     the share of a pipeline's time that its kernels take
 *     orders      transposes between all orders of four axes
 *     cells       the correlator over its tunables
 *     crossings   a shared layout against an inserted transpose, and where that runs
 *     plans       one graph on several machines that do not exist, in several shapes
 *     transforms  filters and transforms alone */
#include "choices.h"

#include <stdio.h>
#include <stdlib.h>

/* The exit status if the benchmark could not run here. */
#define SKIPPED 77

static const struct {
    const char *name;
    gboolean (*measure)(Choices *choices);
    guint n_workers; /* 0: all processors */
    guint n_rounds;
    gdouble seconds;
} groups[] = {
    {"orders", orders_measure, 1, 5, 0.05},         {"cells", cells_measure, 1, 3, 0.03},
    {"crossings", crossings_measure, 0, 5, 0.2},    {"plans", plans_measure, 0, 1, 0},
    {"transforms", transforms_measure, 1, 5, 0.02}, {"kernels", kernels_measure, 1, 9, 0.1},
};

static gboolean
open_device(Choices *choices)
{
    const char *reason;
    g_autoptr(GError) error = NULL;
    if (ct_devices(NULL, &reason) == 0) {
        printf("skip: there is no device: %s\n", reason);
        return FALSE;
    }
    choices->device = ct_device_open(0, &error);
    if (!choices->device) {
        printf("skip: %s\n", error->message);
        return FALSE;
    }
    printf("%s\n", ct_device_info(choices->device)->name);
    return TRUE;
}

int
main(int n_arguments, char **arguments)
{
    gboolean on_device = FALSE;
    gint n_rounds = 0, n_workers = 0;
    gdouble seconds = 0, tuning = 0;
    /* This uses the model alone, so that it is the same every time. */
    Choices choices = {.backend = "cpu", .options = {.backend = CT_CPU, .costs = "off"}};
    g_auto(GStrv) words = NULL;
    const GOptionEntry options[] = {
        {"device", 'd', 0, G_OPTION_ARG_NONE, &on_device, "on the first device", NULL},
        {"workers", 'w', 0, G_OPTION_ARG_INT, &n_workers, "of the host", "N"},
        {"rounds", 'r', 0, G_OPTION_ARG_INT, &n_rounds, "in which all are measured by turns", "N"},
        {"seconds", 's', 0, G_OPTION_ARG_DOUBLE, &seconds, "of a measurement in a round", "S"},
        {"tuning", 't', 0, G_OPTION_ARG_DOUBLE, &tuning, "for what `tune` measures of a graph (20)",
         "S"},
        {"brief", 'b', 0, G_OPTION_ARG_NONE, &choices.brief, "tiny sizes, to see that it runs",
         NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &words, NULL, "GROUP [WORD…]"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, options, NULL);
    if (!g_option_context_parse(context, &n_arguments, &arguments, &error) || !words) {
        fprintf(stderr, "%s\n", error ? error->message : "wants a group, see --help");
        return EXIT_FAILURE;
    }
    guint group = 0;
    while (group < G_N_ELEMENTS(groups) && !g_str_equal(groups[group].name, words[0]))
        group++;
    if (group == G_N_ELEMENTS(groups)) {
        fprintf(stderr, "wants a group, but is given '%s'\n", words[0]);
        return EXIT_FAILURE;
    }
    if (on_device && !open_device(&choices))
        return SKIPPED;
    if (on_device) {
        choices.backend = "cuda";
        choices.options.backend = CT_CUDA;
    }
    choices.options.n_workers = n_workers > 0             ? (guint)n_workers
                                : groups[group].n_workers ? groups[group].n_workers
                                                          : g_get_num_processors();
    choices.n_rounds = n_rounds > 0 ? (guint)n_rounds : choices.brief ? 1 : groups[group].n_rounds;
    choices.seconds = seconds > 0 ? seconds : choices.brief ? 1e-3 : groups[group].seconds;
    choices.tuning = tuning > 0 ? tuning : choices.brief ? 0.1 : 20;
    choices.words = words + 1;
    choices.registry = ct_registry_new(&error);
    if (!choices.registry) {
        fprintf(stderr, "%s\n", error->message);
        return EXIT_FAILURE;
    }
    const gboolean good = groups[group].measure(&choices);
    ct_registry_free(choices.registry);
    ct_device_close(choices.device);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
