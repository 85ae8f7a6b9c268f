/* SPDX-License-Identifier: BSD-3-Clause */
/* Benchmarks: stages, pipelines, the overhead of the framework, and the floors. */
#include "bench.h"

#include "measure/bench-cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gboolean
is_wanted(const char *group, const char *name, char *const *patterns)
{
    if (!patterns || !patterns[0])
        return TRUE;
    for (; *patterns; patterns++)
        if (g_str_equal(*patterns, group) || strstr(name, *patterns))
            return TRUE;
    return FALSE;
}

/* The first pattern that chooses none of the cases (CaseName); NULL: there is none. */
static const char *
find_unknown(char *const *patterns, const GArray *cases)
{
    for (; patterns && *patterns; patterns++) {
        char *const one[] = {*patterns, NULL};
        gboolean is_known = FALSE;
        for (guint i = 0; i < cases->len && !is_known; i++) {
            const CaseName *name = &g_array_index(cases, CaseName, i);
            is_known = is_wanted(name->group, name->name, one);
        }
        if (!is_known)
            return *patterns;
    }
    return NULL;
}

/* The names of the cases of all groups, or of the floors. */
static GArray *
list_cases(const GPtrArray *contenders, gboolean floors)
{
    GArray *names = g_array_new(FALSE, FALSE, sizeof(CaseName));
    for (guint i = 0; i < contenders->len && !floors; i++) {
        const Contender *contender = contenders->pdata[i];
        g_array_append_val(names, ((CaseName){contender->group, contender->name}));
    }
    if (floors)
        floors_list(names);
    else
        fusion_list(names);
    return names;
}

void
table_print_head(void)
{
    printf("%-10s %-33s %2s %5s %10s %8s %8s %6s %6s %6s  %s\n", "", "", "w", "busy", "Msamples/s",
           "GB/s", "Gop/s", "of FMA", "of L2", "of mem", "variant, layouts");
}

static void
print_share(gdouble share)
{
    if (share > 0)
        printf(" %5.1f%%", 100 * share);
    else
        printf(" %6s", "");
}

static void
print_row(const Contender *contender)
{
    const Rates *rates = &contender->rates;
    printf("%-10s %-33s %2u ", contender->group, contender->name, contender->n_threads);
    if (contender->failure) {
        printf("not run: %s\n", contender->failure);
        return;
    }
    printf("%4.0f%% %10.2f %8.2f %8.2f", 100 * rates->processors / contender->n_threads,
           rates->samples * 1e-6, rates->bytes * 1e-9, rates->operations * 1e-9);
    print_share(contender->of_fma);
    print_share(contender->of_l2);
    print_share(contender->of_dram);
    printf("  %s\n", contender->remark ? contender->remark : "");
}

static void
print_framework(const Contender *contender)
{
    printf("%-10s %-33s %2u ", contender->group, contender->name, contender->n_threads);
    const Rates *rates = &contender->rates;
    if (contender->failure)
        printf("not run: %s\n", contender->failure);
    else
        printf("%10.2f us per node and block, %.2f us of processor time\n", 1e6 / rates->firings,
               1e6 * rates->processors / rates->firings);
}

void
contender_print(const Contender *contender)
{
    if (g_str_equal(contender->group, "framework"))
        print_framework(contender);
    else
        print_row(contender);
}

static void
measure(GPtrArray *contenders, CtMeter *meter, guint n_slices, char *const *patterns)
{
    table_print_head();
    for (guint i = 0; i < contenders->len; i++) {
        Contender *contender = contenders->pdata[i];
        if (!is_wanted(contender->group, contender->name, patterns))
            continue;
        g_autoptr(GPtrArray) one = g_ptr_array_new();
        g_ptr_array_add(one, contender);
        contenders_measure(one, meter, n_slices);
        contender_print(contender);
        fflush(stdout);
    }
}

static void
print_ceilings(CtMeter *meter, guint n_threads)
{
    g_autoptr(GArray) fma = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) l2 = g_array_new(FALSE, FALSE, sizeof(gdouble));
    g_autoptr(GArray) dram = g_array_new(FALSE, FALSE, sizeof(gdouble));
    for (guint i = 0; i < 9; i++) {
        CtCeilings ceilings;
        g_autoptr(GError) error = NULL;
        if (!ct_meter_measure(meter, n_threads, ct_meter_isa(), &ceilings, &error)) {
            printf("ceilings, %u threads: not measured: %s\n", n_threads, error->message);
            return;
        }
        g_array_append_val(fma, ceilings.fma);
        g_array_append_val(l2, ceilings.l2);
        g_array_append_val(dram, ceilings.dram);
    }
    printf("ceilings, %u thread%s: FMA %.0f Gop/s, copy in L2 %.0f GB/s, in memory %.1f GB/s\n",
           n_threads, n_threads > 1 ? "s" : "", median(fma) * 1e-9, median(l2) * 1e-9,
           median(dram) * 1e-9);
}

/* OpenBLAS chooses its kernels by the processor's model and takes an unknown model for an old one.
 * This sets its choice from the instruction sets that the processor has. OpenBLAS reads it before
 * main, so the program starts itself again. */
static void
name_the_processor(char **arguments)
{
#if defined(__x86_64__)
    if (g_getenv("OPENBLAS_CORETYPE") || !__builtin_cpu_supports("avx2"))
        return;
    g_setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell", TRUE);
    execv("/proc/self/exe", arguments);
#else
    (void)arguments;
#endif
}

int
main(int n_arguments, char **arguments)
{
    g_auto(GStrv) arguments_given = g_strdupv(arguments);
    gint n_slices = 7;
    gboolean floors = FALSE;
    g_auto(GStrv) patterns = NULL;
    const GOptionEntry options[] = {
        {"slices", 's', 0, G_OPTION_ARG_INT, &n_slices, "of each measurement (7)", "N"},
        {"floors", 'f', 0, G_OPTION_ARG_NONE, &floors, "measure the floors; fail below one", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_STRING_ARRAY, &patterns, NULL, "[NAME…]"},
        {NULL},
    };
    g_autoptr(GOptionContext) context = g_option_context_new(NULL);
    g_option_context_set_summary(context,
                                 "Measures the groups stage, pipeline, framework and fusion, or "
                                 "what has one of the NAMEs in its name: of two, either.");
    g_option_context_add_main_entries(context, options, NULL);
    g_autoptr(GError) error = NULL;
    if (!g_option_context_parse(context, &n_arguments, &arguments, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return EXIT_FAILURE;
    }

    g_autoptr(CtRegistry) registry = ct_registry_new(&error);
    if (!registry) {
        fprintf(stderr, "%s\n", error->message);
        return EXIT_FAILURE;
    }
    g_autoptr(GPtrArray) cases = ct_bench_cases_new();
    g_autoptr(GPtrArray) contenders =
        g_ptr_array_new_with_free_func((GDestroyNotify)contender_free);
    cases_add(contenders, cases, registry);
    filters_add(contenders);
    framework_add(contenders);
    g_autoptr(GArray) names = list_cases(contenders, floors);
    const char *unknown = find_unknown(patterns, names);
    if (unknown) {
        fprintf(stderr, "no group is called '%s', and no case has it in its name\n", unknown);
        return EXIT_FAILURE;
    }

    name_the_processor(arguments_given);
    const guint n_workers = MAX(g_get_num_processors(), 2);
    g_autoptr(CtMeter) meter = ct_meter_new(n_workers);
    print_ceilings(meter, 1);
    print_ceilings(meter, 2);
    if (floors)
        return floors_measure(meter, contenders, (guint)n_slices, patterns) ? EXIT_SUCCESS
                                                                            : EXIT_FAILURE;

    measure(contenders, meter, (guint)n_slices, patterns);
    fusion_measure(meter, (guint)n_slices, patterns);
    return EXIT_SUCCESS;
}
