/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the kernels of flag. */
#include "../../tests/kernel-test.h"

/* Adds a statistic, which lacks the polarisations and whose samples are longer. */
static void
add_statistic(CtStream *streams)
{
    streams[1].type = CT_F32;
    streams[1].rate_num = streams[0].rate_num;
    streams[1].rate_den = 1;
    streams[1].ticks_per_sample = 10;
    ct_stream_add_axis(&streams[1], "time", 64);
    ct_stream_add_axis(&streams[1], "channel", 4);
}

static void
test_kernels(void)
{
    static const CtType types[] = {CT_CI4, CT_CI8, CT_F16, CT_F32, CT_CF32, CT_CF64, CT_I64};
    static const char *const order[2] = {"time channel pol", "time channel pol"};

    for (guint i = 0; i < G_N_ELEMENTS(types) && kernel_test_can(); i++) {
        VariantTest *test = variant_test_new_described("flag", "{ upper: 2 }", types[i],
                                                       "time:64 channel:4 pol:2", add_statistic);
        kernel_test_compile(test, order, 64);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/flag/kernels", test_kernels);
    return g_test_run();
}
