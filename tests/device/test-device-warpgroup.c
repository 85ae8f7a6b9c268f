/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of half precision of a warpgroup do on this device, a GPU or the emulator, what
 * cornerturn/warpgroup.h says. */
#include "device-test.h"

#include <cornerturn/kit/half.h>

enum { ROWS = 64, DEPTH = 16, MOST = 256 };

static void
multiply(guint n, const char *major, gboolean in_groups, gboolean adds)
{
    g_autofree char *columns = g_strdup_printf("COLUMNS=%u", n);
    g_autofree char *direction = g_strdup_printf("MAJOR=%s", major);
    const char *const defines[] = {columns, direction,
                                   in_groups ? "IN_GROUPS=true" : "IN_GROUPS=false",
                                   adds ? "ADDS=true" : "ADDS=false", NULL};
    const gsize shared = 13 * 1024;
    const CtKernelSpec spec = {.name = "product",
                               .source = "/cornerturn/tests/warpgroup.cu",
                               .defines = defines,
                               .shared_bytes = shared};
    const CtLaunch launch = {{1, 1, 1}, {128, 1, 1}, shared};
    const CtPrepare prepare = {0};
    g_autoptr(GError) error = NULL;
    static guint16 a[ROWS][DEPTH], b[MOST][DEPTH];
    static float d[ROWS * MOST], expected[ROWS * MOST];
    /* Small whole numbers, whose sums are exact. */
    for (guint i = 0; i < ROWS * DEPTH; i++)
        a[i / DEPTH][i % DEPTH] = ct_half_from_double(g_test_rand_int_range(-9, 10));
    for (guint i = 0; i < n * DEPTH; i++)
        b[i / DEPTH][i % DEPTH] = ct_half_from_double(g_test_rand_int_range(-9, 10));
    for (guint i = 0; i < ROWS * n; i++) {
        d[i] = (float)g_test_rand_int_range(-1000, 1000) / 8;
        expected[i] = adds ? d[i] : 0;
        for (guint k = 0; k < DEPTH; k++)
            expected[i] += ct_half_to_float(a[i / n][k]) * ct_half_to_float(b[i % n][k]);
    }

    DeviceTest test;
    device_test_begin(&test, &prepare);
    const gsize bytes[] = {ROWS * n * sizeof *d, sizeof a, n * sizeof *b};
    const gconstpointer here[] = {d, a, b};
    gpointer there[3], arguments[3];
    for (guint m = 0; m < 3; m++) {
        there[m] = device_test_alloc(bytes[m]);
        device_test_copy(there[m], here[m], bytes[m]);
        arguments[m] = &there[m];
    }
    CtKernel *kernel = ct_kernel_new(device_test_device(), &spec, &error);
    g_assert_no_error(error);
    ct_queue_launch(test.queue, kernel, &launch, arguments, &error);
    g_assert_no_error(error);
    device_test_wait(&test);
    device_test_copy(d, there[0], bytes[0]);
    g_assert_cmpmem(d, bytes[0], expected, bytes[0]);
    ct_kernel_free(kernel);
    for (guint m = 0; m < 3; m++)
        ct_device_free(device_test_device(), there[m]);
    device_test_end(&test);
}

static void
test_product_f16(void)
{
    const char *reason;
    if (ct_devices(NULL, &reason) == 0) {
        g_test_skip(reason);
        return;
    }
    if (ct_device_info(device_test_device())->architecture != 90) {
        g_test_skip("devices of compute capability 9.0 have products of warpgroups");
        return;
    }
    for (guint n = 32; n <= MOST; n *= 2)
        for (guint adds = 0; adds < 2; adds++) {
            multiply(n, "CT_ALONG_DEPTH", FALSE, adds);
            multiply(n, "CT_ALONG_ROWS", FALSE, adds);
            multiply(n, "CT_ALONG_ROWS", TRUE, adds);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/device-warpgroup/product-f16", test_product_f16);
    return g_test_run();
}
