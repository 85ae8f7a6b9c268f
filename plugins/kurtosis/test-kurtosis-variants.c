/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the kernels of kurtosis: a fold that marks, with types of 1 to 16 bytes. */
#include "../../tests/kernel-test.h"

static void
test_kernels(void)
{
    static const struct {
        CtType type;
        const char *axes, *order[2], *parameters;
    } cases[] = {
        {CT_CI4, "time:1024 channel:16 pol:2", {"channel time pol", "channel time pol"}, "64"},
        {CT_CI8, "time:1024 channel:16 pol:2", {"channel time pol", "channel time pol"}, "500"},
        {CT_CF32, "time:1024 channel:512", {"time channel", "time channel"}, "1000"},
        {CT_CF64, "time:1024 channel:16", {"channel time", "channel time"}, "300"},
        {CT_CF16, "time:1024 channel:16", {"channel time", "channel time"}, "300"},
        {CT_F32, "time:1024 channel:512", {"time channel", "time channel"}, "64"},
        {CT_F16, "time:1024 channel:16", {"channel time", "channel time"}, "64"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases) && kernel_test_can(); i++) {
        g_autofree char *parameters = g_strdup_printf("{ length: %s }", cases[i].parameters);
        VariantTest *test = variant_test_new("kurtosis", parameters, cases[i].type, cases[i].axes);
        kernel_test_compile(test, cases[i].order, 10);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kurtosis/kernels", test_kernels);
    return g_test_run();
}
