/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles the kernels of a stage's cuda variants for devices that need not be here; the test fails
 * if registers spill. */
#pragma once

#include "sanitized.h"
#include "variant-test.h"

#include <cornerturn/kit/epilogue.h>

/* FALSE, and the test is skipped, if there is no compiler, or if the run is for one device
 * alone. */
static inline gboolean
kernel_test_can(void)
{
    const char *reason = NULL;

    if (g_getenv("CORNERTURN_TEST_BACKEND"))
        reason = "one device is as good as another for what runs the kernels here";
    else if (is_sanitized(NULL))
        reason = "the compiler is NVIDIA's: it is the same without the sanitizers";
    else if (ct_cuda_nvrtc(&reason))
        return TRUE;
    g_test_skip(reason);
    return FALSE;
}

static const guint kernel_test_architectures[] = {80, 90, 100, 120};
/* The tunings for each case besides the default; a tuning counts once for each architecture. */
#define KERNEL_TEST_SHARE 24
/* The most combinations of least and largest values, and with `-m thorough`; the two with all least
 * and all largest values are among them. */
#define KERNEL_TEST_COMBINATIONS 8
#define KERNEL_TEST_THOROUGH     16
#define KERNEL_TEST_ALL          ((1u << G_N_ELEMENTS(kernel_test_architectures)) - 1)

/* Prepares `variant` for a device that need not be here, which compiles its kernels. */
static inline void
kernel_test_prepare(const VariantTest *test, const CtVariant *variant, const CtBinding *inputs,
                    const CtBinding *outputs, const gint64 *tuning, guint architecture)
{
    g_autoptr(CtDevice) device = ct_device_new_dry(architecture);
    CtPrepare prepare = {
        .nodes = test->nodes ? test->nodes : &test->node,
        .n_nodes = test->nodes ? test->n_nodes : 1,
        .n_inputs = test->node.n_inputs,
        .inputs = inputs,
        .n_outputs = test->node.n_outputs,
        .outputs = outputs,
        .n_workers = 1,
        .tuning = tuning,
        .device = device,
        .variant = variant,
    };
    g_autoptr(GError) error = NULL;
    gpointer state = NULL;
    variant->prepare(&prepare, &state, &error);
    if (variant->finish)
        variant->finish(state);
    g_autofree char *name = ct_tuning_name(variant, tuning);
    if (error)
        g_error("%s: %s", name, error->message);
    g_assert_cmpuint(ct_device_allocated(device), ==, 0);
}

/* ---- tunings, spread over the cases of a test ---- */

/* The tunings of a variant that are not compiled yet: each value alone, and combinations of least
 * and largest values; with a bit for each architecture. */
typedef struct {
    char *name;
    guint n_tunings,
        n_singles; /* number of tunings with one value that is not the default, which come first */
    char **names;
    guint8 *left;
    gboolean *wanted; /* [tuning] it makes a difference in some case */
    guint n_cases;
} KernelTestTunings;

/* The k-th tuning: first each value alone, then combinations. FALSE: there is none. */
static inline gboolean
kernel_test_tuning(const CtVariant *variant, guint k, gint64 tuning[CT_MAX_TUNABLES])
{
    const guint n = ct_tuning_count(variant);
    guint n_singles = 0;

    if (variant_test_single_tuning(variant, k, tuning))
        return TRUE;
    while (variant_test_single_tuning(variant, n_singles, tuning))
        n_singles++;
    const guint most = g_test_thorough() ? KERNEL_TEST_THOROUGH : KERNEL_TEST_COMBINATIONS;
    const guint n_combinations = MIN(1u << n, most);
    const guint combination = (k - n_singles) * ((1u << n) - 1) / MAX(1, n_combinations - 1);
    for (guint i = 0; i < n; i++) {
        const CtTunable *tunable = &variant->tunables[i];
        /* 0 means that something else chooses the value. */
        const guint least = tunable->values[0] == 0 && tunable->n_values > 1;
        tuning[i] = tunable->values[combination >> i & 1 ? tunable->n_values - 1 : least];
    }
    return n > 1 && k - n_singles < n_combinations;
}

static inline GPtrArray *
kernel_test_tunings(void)
{
    static GPtrArray *all;

    if (!all)
        all = g_ptr_array_new();
    return all;
}

static inline KernelTestTunings *
kernel_test_find_tunings(const CtVariant *variant)
{
    GPtrArray *all = kernel_test_tunings();
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    g_autofree char *name = g_strconcat(covers, "/", variant->name, NULL);
    gint64 tuning[CT_MAX_TUNABLES];

    for (guint i = 0; i < all->len; i++)
        if (g_str_equal(((KernelTestTunings *)all->pdata[i])->name, name))
            return all->pdata[i];
    KernelTestTunings *made = g_new0(KernelTestTunings, 1);
    made->name = g_steal_pointer(&name);
    while (variant_test_single_tuning(variant, made->n_singles, tuning))
        made->n_singles++;
    while (kernel_test_tuning(variant, made->n_tunings, tuning))
        made->n_tunings++;
    made->left = g_new(guint8, made->n_tunings + 1);
    made->wanted = g_new0(gboolean, made->n_tunings + 1);
    made->names = g_new0(char *, made->n_tunings + 1);
    for (guint k = 0; k < made->n_tunings; k++) {
        kernel_test_tuning(variant, k, tuning);
        made->names[k] = ct_tuning_name(variant, tuning);
        made->left[k] = 1u << k % G_N_ELEMENTS(kernel_test_architectures);
    }
    g_ptr_array_add(all, made);
    return made;
}

typedef void (*KernelTestCompile)(gconstpointer data, const gint64 *tuning, guint architecture);

/* Calls `compile` for a case: with the default tuning for one architecture (the next for the next
 * case), and with `share` of the remaining tunings that make a difference in it; with
 * `-m thorough`, with all of these for all architectures. */
static inline void
kernel_test_spread(const CtVariant *variant, const CtNode *nodes, guint share,
                   KernelTestCompile compile, gconstpointer data)
{
    KernelTestTunings *tunings = kernel_test_find_tunings(variant);
    gint64 tuning[CT_MAX_TUNABLES];
    guint n_compiled = 0;

    const guint turn = tunings->n_cases++ % G_N_ELEMENTS(kernel_test_architectures);
    ct_tuning_defaults(variant, tuning);
    for (guint a = 0; a < G_N_ELEMENTS(kernel_test_architectures); a++)
        if (g_test_thorough() || a == turn)
            compile(data, tuning, kernel_test_architectures[a]);
    for (guint k = 0; k < tunings->n_tunings; k++) {
        kernel_test_tuning(variant, k, tuning);
        const guint8 wanted = g_test_thorough() ? KERNEL_TEST_ALL : tunings->left[k];
        if (wanted == 0 || !ct_tuning_differs(variant, nodes, tuning))
            continue;
        tunings->wanted[k] = n_compiled >= share && !g_test_thorough();
        if (tunings->wanted[k])
            continue;
        for (guint a = 0; a < G_N_ELEMENTS(kernel_test_architectures); a++)
            if (wanted >> a & 1) {
                compile(data, tuning, kernel_test_architectures[a]);
                n_compiled++;
            }
        tunings->left[k] = 0;
    }
}

/* Ends a test; fails if it had too few cases to compile all tunings that make a difference. */
static inline void
kernel_test_finish(void)
{
    const GPtrArray *all = kernel_test_tunings();
    g_autoptr(GString) missing = g_string_new(NULL);

    for (guint i = 0; i < all->len; i++) {
        const KernelTestTunings *tunings = all->pdata[i];
        for (guint k = 0; k < tunings->n_tunings; k++)
            if (tunings->left[k] != 0 && tunings->wanted[k])
                g_string_append_printf(missing, " %s", tunings->names[k]);
            else if (tunings->left[k] != 0 && k < tunings->n_singles)
                g_test_message("%s makes no difference to any case", tunings->names[k]);
    }
    if (missing->len > 0)
        g_error("compiled for no case:%s", missing->str);
}

typedef struct {
    const VariantTest *test;
    const CtVariant *variant;
    const CtBinding *inputs, *outputs;
} KernelTestCase;

static inline void
kernel_test_prepare_case(gconstpointer data, const gint64 *tuning, guint architecture)
{
    const KernelTestCase *one = data;

    kernel_test_prepare(one->test, one->variant, one->inputs, one->outputs, tuning, architecture);
}

/* Compiles the kernels of one variant. */
static inline void
kernel_test_compile_variant(const VariantTest *test, const CtVariant *variant,
                            const CtBinding *inputs, const CtBinding *outputs)
{
    const KernelTestCase one = {test, variant, inputs, outputs};

    kernel_test_spread(variant, test->nodes ? test->nodes : &test->node, KERNEL_TEST_SHARE,
                       kernel_test_prepare_case, &one);
}

/* Compiles those of all cuda variants that support the node in these orders, for firings of at most
 * `n_outputs` samples; fails if there is none. */
static inline void
kernel_test_compile(const VariantTest *test, const char *const order[2], gint64 n_outputs)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);
    const CtFootprint *footprint = &test->node.footprint;
    const gint64 samples[2] = {(n_outputs - 1) * footprint->hop + footprint->window, n_outputs};
    CtBinding inputs[VARIANT_TEST_PORTS], outputs[VARIANT_TEST_PORTS];
    guint n_compiled = 0;

    variant_test_bind(test, order, samples, inputs, outputs);
    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (variant->backend != CT_CUDA || variant->covers[1] != NULL ||
            !variant_test_fits(test, variant, order))
            continue;
        kernel_test_compile_variant(test, variant, inputs, outputs);
        n_compiled++;
    }
    g_assert_cmpuint(n_compiled, >, 0);
}

/* Compiles the kernels of a variant of these nodes with stages attached behind it, whose names and
 * parameters `behind` lists, in these orders of the first input and of the output, of `samples`
 * samples each. */
static inline void
kernel_test_compile_attached(const VariantTest *test, const CtVariant *variant,
                             const char *const order[2], const gint64 samples[2],
                             const char *const *behind)
{
    const guint n = test->nodes ? test->n_nodes : 1, n_behind = g_strv_length((char **)behind) / 2;
    g_autofree CtNode *nodes = g_new(CtNode, n + n_behind);
    g_autoptr(GPtrArray) stages = g_ptr_array_new_with_free_func((GDestroyNotify)variant_test_free);
    VariantTest both = *test;
    memcpy(nodes, test->nodes ? test->nodes : &test->node, n * sizeof *nodes);
    for (guint i = 0; i < n_behind; i++) {
        g_autoptr(GString) axes = g_string_new(NULL);
        for (guint a = 0; a < both.out.n_axes; a++)
            g_string_append_printf(axes, "%s%s:%" G_GINT64_FORMAT, a ? " " : "",
                                   both.out.axes[a].name, both.out.axes[a].length);
        VariantTest *stage =
            variant_test_new(behind[2 * i], behind[2 * i + 1], both.out.type, axes->str);
        g_ptr_array_add(stages, stage);
        variant = ct_registry_attach(test->registry, variant, stage->node.stage);
        nodes[n + i] = stage->node;
        both.out = stage->out;
    }
    both.nodes = nodes;
    both.n_nodes = n + n_behind;
    CtBinding inputs[VARIANT_TEST_PORTS], outputs[VARIANT_TEST_PORTS];
    variant_test_bind(&both, order, samples, inputs, outputs);
    g_assert_true(ct_epilogue_variant_fits(variant, nodes));
    kernel_test_compile_variant(&both, variant, inputs, outputs);
}
