/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own kernels compile for every architecture. */
#include "kernel-test.h"

static void
test_kernels(void)
{
    static const struct {
        const char *source, *name, *defines[2];
    } kernels[] = {
        {"fill.cu", "ct_fill_invalid", {NULL}},       {"random.cu", "ct_fill_random", {"KIND=1"}},
        {"random.cu", "ct_fill_random", {"KIND=2"}},  {"random.cu", "ct_fill_random", {"KIND=4"}},
        {"random.cu", "ct_fill_random", {"KIND=8"}},  {"random.cu", "ct_fill_random", {"KIND=-2"}},
        {"random.cu", "ct_fill_random", {"KIND=-4"}}, {"random.cu", "ct_fill_random", {"KIND=-8"}},
    };
    if (!kernel_test_can())
        return;
    for (guint k = 0; k < G_N_ELEMENTS(kernels); k++) {
        g_autofree char *source = g_strdup_printf("/cornerturn/kernel/%s", kernels[k].source);
        const CtKernelSpec spec = {
            .name = kernels[k].name, .source = source, .defines = kernels[k].defines};
        for (guint a = 0; a < G_N_ELEMENTS(kernel_test_architectures); a++) {
            g_autoptr(CtDevice) device = ct_device_new_dry(kernel_test_architectures[a]);
            g_autoptr(GError) error = NULL;
            CtKernel *kernel = ct_kernel_new(device, &spec, &error);
            g_assert_no_error(error);
            ct_kernel_free(kernel);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/core-kernels/kernels", test_kernels);
    return g_test_run();
}
