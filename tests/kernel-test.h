/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles the kernels that the cuda variants of a stage ask for, for devices that need not be
 * here; registers that spill fail the test. */
#pragma once

#include "sanitized.h"
#include "variant-test.h"

/* FALSE, with the test skipped, where there is no compiler, or one for the device at hand alone. */
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

/* The architectures to compile for: all with `-m thorough`; else one, the next at each call. */
static inline guint
kernel_test_architectures(const guint **architectures)
{
    static const guint all[] = {80, 90, 100, 120};
    static guint n_calls;

    *architectures = g_test_thorough() ? all : &all[n_calls++ % G_N_ELEMENTS(all)];
    return g_test_thorough() ? G_N_ELEMENTS(all) : 1;
}

/* What `variant` compiles for a device that need not be here. */
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

/* Those of one variant, by its defaults and by one other value of a tunable, the next at each call;
 * with `-m thorough` by all of them. */
static inline void
kernel_test_compile_variant(const VariantTest *test, const CtVariant *variant,
                            const CtBinding *inputs, const CtBinding *outputs)
{
    const CtNode *nodes = test->nodes ? test->nodes : &test->node;
    const guint *architectures;
    const guint n_architectures = kernel_test_architectures(&architectures);
    gint64 tuning[CT_MAX_TUNABLES], next[CT_MAX_TUNABLES];

    ct_tuning_defaults(variant, tuning);
    for (guint i = 0; i < n_architectures; i++)
        kernel_test_prepare(test, variant, inputs, outputs, tuning, architectures[i]);
    if (ct_tuning_count(variant) == 0)
        return;
    variant_test_next_tuning(variant, next);
    for (guint k = 0; variant_test_single_tuning(variant, k, tuning); k++)
        for (guint i = 0; i < n_architectures; i++)
            if ((g_test_thorough() || ct_tuning_equal(variant, tuning, next)) &&
                ct_tuning_differs(variant, nodes, tuning))
                kernel_test_prepare(test, variant, inputs, outputs, tuning, architectures[i]);
}

/* Those of all cuda variants that take the node in these orders, for firings of at most `n_outputs`
 * samples; fails where none does. */
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
