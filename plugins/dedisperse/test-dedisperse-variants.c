/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the variants of dedisperse against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <cornerturn/kit/half.h>

/* Small integers, whose sums are exact in any order. */
static void
fill_part(guint8 *part, gsize count, gpointer data)
{
    const gint value = (gint)((count * 2654435761u >> 7) % 100);
    switch ((CtType)GPOINTER_TO_INT(data)) {
    case CT_I8:
    case CT_U8:
        *part = (guint8)value;
        break;
    case CT_I16:
        *(gint16 *)part = (gint16)(value - 50);
        break;
    case CT_F16:
        *(guint16 *)part = ct_half_from_double(value);
        break;
    case CT_F64:
        *(gdouble *)part = value - 50;
        break;
    default:
        *(gfloat *)part = (gfloat)(value - 50);
    }
}

static void
set_frequencies(CtStream *stream)
{
    const gint subband = ct_stream_axis(stream, "subband"),
               channel = ct_stream_axis(stream, "channel");
    const char *hertz = g_intern_static_string("Hz");

    if (subband >= 0)
        stream->axes[subband].coordinate =
            (CtCoordinate){.unit = hertz, .first = 140e6, .step = 5e6};
    if (channel >= 0)
        stream->axes[channel].coordinate =
            subband >= 0 ? (CtCoordinate){.unit = hertz,
                                          .step = 0.4e6,
                                          .parent = g_intern_static_string("subband")}
                         : (CtCoordinate){.unit = hertz, .first = 160e6, .step = -0.7e6};
}

typedef struct {
    const char *parameters, *axes;
    const char *orders[4]; /* of the input; those of the output */
    CtType type;
} Case;

/* Streams have 1000 samples per second: the delay over the band is some 25 samples for 1 pc cm⁻³.
 */
static const Case cases[] = {
    {"{ dms: [0, 0.5, 3.25] }",
     "time:-1 channel:19 pol:3",
     {"channel pol time", "pol dm time", "time channel pol", "dm time pol"},
     CT_F32},
    {"{ first: -1, step: 0.13, n_dms: 37, reference_frequency: 150 MHz }",
     "time:-1 channel:33 beam:2",
     {"beam channel time", "beam dm time", "channel time beam", "time dm beam"},
     CT_U8},
    {"{ first: 0, step: 0.1, n_dms: 17 }",
     "time:-1 subband:3 channel:5",
     {"subband channel time", "dm time", "time channel subband", "time dm"},
     CT_I8},
    {"{ dms: [2] }",
     "time:-1 subband:9",
     {"subband time", "dm time", "time subband", "time dm"},
     CT_F64},
    {"{ first: 0, step: 0.9, n_dms: 5 }",
     "time:-1 channel:8 beam:40",
     {"channel time beam", "dm time beam", "time beam channel", "beam time dm"},
     CT_I16},
    {"{ dms: [1.5, 0] }",
     "time:-1 channel:3",
     {"channel time", "dm time", "time channel", "time dm"},
     CT_F16},
};

static VariantTest *
new_case(const Case *given)
{
    return variant_test_new_described("dedisperse", given->parameters, given->type, given->axes,
                                      set_frequencies);
}

static void
test_cases(void)
{
    static const gint64 lengths[] = {1, 37, 1301};
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (guint i = 0; i < G_N_ELEMENTS(cases) * 6; i++) {
        const Case *given = &cases[i / 6];
        const char *const *order = given->orders + 2 * (i % 2);
        VariantTest *test = new_case(given);
        const CtLayout layout = variant_test_layout(given->type, order[0]);
        const gint64 n = lengths[i % 3], first = i % 2;
        const gint64 used = n + test->node.footprint.window - 1;
        const CtBlock whole = variant_test_block(&test->in, order[0], first + used + i % 5, 0, 0);
        variant_test_visit(&whole, fill_part, GINT_TO_POINTER(given->type));
        const CtBlock in = ct_block_slice(&whole, &layout, first, used);
        variant_test_compare(test, order, &in, n, i % 3 == 1 ? 16 : 0, 200, 0, 0, given->axes,
                             random);
        g_aligned_free(whole.data);
        variant_test_free(test);
    }
}

static void
test_kernels(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(cases) && kernel_test_can(); i++) {
        VariantTest *test = new_case(&cases[i]);
        kernel_test_compile(test, cases[i].orders, 64);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dedisperse/cases", test_cases);
    g_test_add_func("/dedisperse/kernels", test_kernels);
    return g_test_run();
}
