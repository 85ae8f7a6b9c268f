/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels: those that are the same are loaded once, whichever threads load and free them. */
#include "device-test.h"

#define SOURCE "/cornerturn/tests/chains.cu"

#define N_THREADS 4
#define N_TURNS   100

static CtKernel *
load_kernel(const char *name)
{
    g_autoptr(GError) error = NULL;
    const CtKernelSpec spec = {.name = name, .source = SOURCE};
    CtKernel *kernel = ct_kernel_new(device_test_device(), &spec, &error);
    g_assert_no_error(error);
    return kernel;
}

static guint
count_loaded(void)
{
    const guint n = g_hash_table_size(ct_device_lock_kernels(device_test_device()));
    ct_device_unlock_kernels(device_test_device());
    return n;
}

static void
test_sharing(void)
{
    CtKernel *window = load_kernel("chain_window"), *again = load_kernel("chain_window");
    CtKernel *sum = load_kernel("chain_sum");
    g_assert_true(again == window);
    g_assert_true(sum != window);
    ct_kernel_free(window);
    g_assert_cmpuint(count_loaded(), ==, 2);
    ct_kernel_free(again);
    ct_kernel_free(sum);
    g_assert_cmpuint(count_loaded(), ==, 0);
}

static gpointer
load_and_free(gpointer kept)
{
    for (guint turn = 0; turn < N_TURNS; turn++) {
        CtKernel *kernel = load_kernel("chain_window"), *sum = load_kernel("chain_sum");
        g_assert_cmpstr(ct_kernel_name(kernel), ==, "chain_window");
        g_assert_true(sum == kept);
        ct_kernel_free(kernel);
        ct_kernel_free(sum);
    }
    return NULL;
}

/* A program sets parameters while a worker prepares a stage with a new array. */
static void
test_threads(void)
{
    CtKernel *kept = load_kernel("chain_sum");
    GThread *threads[N_THREADS];
    for (guint i = 0; i < N_THREADS; i++)
        threads[i] = g_thread_new("loader", load_and_free, kept);
    for (guint i = 0; i < N_THREADS; i++)
        g_thread_join(threads[i]);
    g_assert_cmpuint(count_loaded(), ==, 1);
    ct_kernel_free(kept);
    g_assert_cmpuint(count_loaded(), ==, 0);
}

int
main(int argc, char **argv)
{
    const char *reason = NULL;
    g_test_init(&argc, &argv, NULL);
    if (ct_devices(NULL, &reason) == 0) {
        g_print("1..0 # SKIP no CUDA device: %s\n", reason);
        return 0;
    }
    g_test_add_func("/kernel/sharing", test_sharing);
    g_test_add_func("/kernel/threads", test_threads);
    return g_test_run();
}
