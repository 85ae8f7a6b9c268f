/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of filter and transform in one kernel against the two references in a row. */
#include "../../tests/kernel-test.h"

#include <math.h>

/* fir, fft, and both fused. */
typedef struct {
    VariantTest *fir, *fft, both;
    CtNode nodes[2];
    const CtVariant *fused;
} Chain;

typedef struct {
    CtType type;
    gint64 n_channels, n_taps, hop, n_outputs, n_stations, n_pols;
    gint64 start;
    guint order;
    gboolean shift;
} Problem;

/* Orders of the input, of what is filtered, and of what is transformed. */
enum { BLOCKS = 2 };
static const char *const orders[][3] = {
    {"station pol time", "station pol time phase", "station pol time channel"},
    {"station pol time", "time station pol phase", "time station pol channel"},
    [BLOCKS] = {"station pol time", "station pol time phase", "channel time station pol time:16"},
};

static const CtType types[] = {CT_CI8, CT_CI4, CT_CI16, CT_CF16, CT_CF32};

static const CtVariant *
find_variant(const VariantTest *test, const char *name)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);

    for (guint i = 0; i < variants->len; i++) {
        const CtVariant *variant = variants->pdata[i];
        if (g_str_equal(variant->name, name))
            return variant;
    }
    g_assert_not_reached();
}

static Chain *
chain_new(const Problem *problem)
{
    Chain *chain = g_new0(Chain, 1);
    g_autofree char *fir =
        g_strdup_printf("{ n_channels: %" G_GINT64_FORMAT ", n_taps: %" G_GINT64_FORMAT
                        ", hop: %" G_GINT64_FORMAT " }",
                        problem->n_channels, problem->n_taps, problem->hop);
    g_autofree char *others = g_strdup_printf("station:%" G_GINT64_FORMAT " pol:%" G_GINT64_FORMAT,
                                              problem->n_stations, problem->n_pols);
    g_autofree char *before = g_strdup_printf(
        "time:%" G_GINT64_FORMAT " %s",
        (problem->n_outputs - 1) * problem->hop + problem->n_channels * problem->n_taps, others);
    g_autofree char *between =
        g_strdup_printf("time:%" G_GINT64_FORMAT " phase:%" G_GINT64_FORMAT " %s",
                        problem->n_outputs, problem->n_channels, others);

    chain->fir = variant_test_new("fir", fir, problem->type, before);
    chain->fft =
        variant_test_new("fft", problem->shift ? "{ shift: true }" : "{ }",
                         ct_type_info(problem->type)->is_complex ? CT_CF32 : CT_F32, between);
    chain->fir->in.start = problem->start;
    chain->fft->in.ticks_per_sample = chain->fft->out.ticks_per_sample =
        chain->fir->out.ticks_per_sample;
    chain->nodes[0] = chain->fir->node;
    chain->nodes[1] = chain->fft->node;
    chain->both = *chain->fir;
    chain->both.out = chain->fft->out;
    chain->both.nodes = chain->nodes;
    chain->both.n_nodes = 2;
    chain->fused =
        find_variant(chain->fir, problem->order == BLOCKS ? "fused-blocks-cuda" : "fused-cuda");
    return chain;
}

static void
chain_free(Chain *chain)
{
    variant_test_free(chain->fir);
    variant_test_free(chain->fft);
    g_free(chain);
}

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer random)
{
    *part = (guint8)g_rand_int(random);
}

/* Random halves from −1 to 1. */
static void
fill_half(guint8 *part, G_GNUC_UNUSED gsize count, gpointer random)
{
    *(guint16 *)part = g_rand_int(random) & 0xbbff;
}

static void
fill_float(guint8 *part, G_GNUC_UNUSED gsize count, gpointer random)
{
    *(float *)part = (float)g_rand_double_range(random, -1, 1);
}

/* The block [station pol time channel] with time in blocks, which zeros fill up. Frees `from`. */
static CtBlock
put_in_blocks(const CtStream *stream, CtBlock from)
{
    const CtBlock to = variant_test_block(stream, orders[BLOCKS][2], from.n_samples, 0, 0);
    const gsize bytes = ct_type_info(stream->type)->bytes;

    for (gint64 s = 0; s < from.length[0]; s++)
        for (gint64 p = 0; p < from.length[1]; p++)
            for (gint64 t = 0; t < from.length[2]; t++)
                for (gint64 c = 0; c < from.length[3]; c++)
                    memcpy((guint8 *)to.data + c * to.stride[0] + t / 16 * to.stride[1] +
                               s * to.stride[2] + p * to.stride[3] + t % 16 * to.stride[4],
                           (guint8 *)from.data + s * from.stride[0] + p * from.stride[1] +
                               t * from.stride[2] + c * from.stride[3],
                           bytes);
    g_aligned_free(from.data);
    return to;
}

static void
check(const Problem *problem, gsize padding, GRand *random)
{
    const char *const *order = orders[problem->order];
    Chain *chain = chain_new(problem);
    const gint64 n = problem->n_outputs;
    CtBlock in =
        variant_test_block(&chain->fir->in, order[0], chain->fir->in.axes[0].length, padding, 0);
    CtBlock between = variant_test_block(&chain->fir->out, order[1], n, 0, 0);
    const char *whole_times = problem->order == BLOCKS ? orders[0][2] : order[2];
    CtBlock wanted = variant_test_block(&chain->fft->out, whole_times, n, 0, 0);
    CtBlock whole = variant_test_block(&chain->fft->out, order[2], n, 0, 0xff);
    CtBlock cut = variant_test_block(&chain->fft->out, order[2], n, 0, 0xff);
    const gint64 firings[] = {1 + g_rand_int_range(random, 0, 40), 1,
                              1 + g_rand_int_range(random, 0, 40)};
    g_autofree char *reason = NULL;
    gdouble largest, same;

    chain->fused->fits(chain->nodes, &reason);
    g_assert_cmpstr(reason, ==, NULL);
    const CtType type = problem->type;
    variant_test_visit(&in,
                       type == CT_CF16 || type == CT_F16   ? fill_half
                       : type == CT_CF32 || type == CT_F32 ? fill_float
                                                           : fill_part,
                       random);
    variant_test_run(chain->fir, find_variant(chain->fir, "reference"), order[0], &in, order[1],
                     &between, 1, &n, 1);
    variant_test_run(chain->fft, find_variant(chain->fft, "reference"), order[1], &between,
                     whole_times, &wanted, 1, &n, 1);
    if (problem->order == BLOCKS)
        wanted = put_in_blocks(&chain->fft->out, wanted);
    variant_test_run(&chain->both, chain->fused, order[0], &in, order[2], &whole, 1, &n, 1);
    variant_test_run(&chain->both, chain->fused, order[0], &in, order[2], &cut, 1, firings, 3);

    /* Sums over taps, and log2 P levels, each with an error of a few ulps of the norm. */
    const gdouble difference = variant_test_difference(&whole, &wanted, &largest);
    const gdouble bound =
        0x1p-24 * (2 * (gdouble)problem->n_taps + 8 + 8 * log2((gdouble)problem->n_channels));
    if (!(difference <= bound * largest))
        g_error("%s, %" G_GINT64_FORMAT " channels, %" G_GINT64_FORMAT
                " taps, hop %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT " outputs: off by %g of %g",
                ct_type_info(problem->type)->name, problem->n_channels, problem->n_taps,
                problem->hop, n, difference, largest);
    g_assert_cmpfloat(variant_test_difference(&cut, &whole, &same), ==, 0);
    gint64 tuning[CT_MAX_TUNABLES];
    variant_test_next_tuning(chain->fused, tuning);
    if (ct_tuning_differs(chain->fused, chain->nodes, tuning)) {
        g_autofree char *name = ct_tuning_name(chain->fused, tuning);
        chain->both.tuning = tuning;
        variant_test_run(&chain->both, chain->fused, order[0], &in, order[2], &cut, 1, firings, 3);
        const gdouble tuned = variant_test_difference(&cut, &wanted, &largest);
        if (!(tuned <= bound * largest))
            g_error("%s: off by %g of %g", name, tuned, largest);
    }
    g_aligned_free(in.data);
    g_aligned_free(between.data);
    g_aligned_free(wanted.data);
    g_aligned_free(whole.data);
    g_aligned_free(cut.data);
    chain_free(chain);
}

/* Every power of two, with all numbers of taps that its kernel takes, and several hops. */
static void
test_chain(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < 24; i++) {
        const CtType type = types[i % G_N_ELEMENTS(types)];
        const guint bits = i == 20 ? 11 : 1 + i % 10, most = bits >= 10 ? 8 : bits == 9 ? 16 : 32;
        const gint64 n_channels = (gint64)1 << bits;
        const Problem problem = {
            .type = type,
            .n_channels = n_channels,
            .n_taps = i % 3 == 0   ? 8
                      : i % 7 == 1 ? 1
                                   : g_rand_int_range(random, 1, (gint32)most + 1),
            .hop = i % 4 == 3   ? n_channels / 2
                   : i % 8 == 5 ? MAX(1, n_channels / 8)
                                : n_channels,
            .start = g_rand_int_range(random, -2000, 2000),
            .n_outputs = g_rand_int_range(random, 1, bits > 7 ? 30 : 100),
            .n_stations = g_rand_int_range(random, 1, 4),
            .n_pols = 1 + i % 2,
            .order = i / 2 % 2,
            .shift = i % 3 == 1,
        };
        check(&problem, i % 5 == 4 ? 3 : 0, random);
    }
}

/* Numbers of channels with factors 3 and 5, also odd ones, and the largest: radices that divide the
 * values of a thread and radices that do not, groups that are no parts of warps, long filters and
 * all hops. */
static void
test_factors(void)
{
    static const struct {
        gint64 n_channels, n_taps, hop;
        gboolean shift;
    } banks[] = {
        {100, 8, 100, FALSE},  {96, 8, 48, TRUE},      {768, 8, 768, FALSE},
        {75, 5, 25, FALSE},    {125, 1, 125, FALSE},   {1536, 8, 1536, TRUE},
        {6, 13, 6, TRUE},      {100, 32, 20, TRUE},    {960, 3, 960, FALSE},
        {12, 8, 3, FALSE},     {300, 16, 150, TRUE},   {1000, 7, 500, FALSE},
        {45, 20, 45, FALSE},   {250, 4, 250, TRUE},    {80, 9, 80, FALSE},
        {3, 8, 1, FALSE},      {240, 30, 60, TRUE},    {640, 8, 640, FALSE},
        {3, 1, 3, FALSE},      {2, 2, 2, TRUE},        {2048, 8, 2048, TRUE},
        {640, 1, 640, FALSE},  {4096, 4, 4096, TRUE},  {4096, 2, 2048, FALSE},
        {4096, 2, 512, FALSE}, {4096, 8, 4096, FALSE}, {4096, 8, 1024, TRUE},
        {64, 64, 64, FALSE},   {128, 40, 32, TRUE},    {16, 47, 16, FALSE},
        {64, 64, 64, TRUE},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        const Problem problem = {
            .type = types[i % G_N_ELEMENTS(types)],
            .n_channels = banks[i].n_channels,
            .n_taps = banks[i].n_taps,
            .hop = banks[i].hop,
            .start = g_rand_int_range(random, -2000, 2000),
            .n_outputs = g_rand_int_range(random, 1, banks[i].n_channels > 128 ? 30 : 100),
            .n_stations = g_rand_int_range(random, 1, 4),
            .n_pols = 1 + i % 2,
            .order = i / 2 % 2,
            .shift = banks[i].shift,
        };
        check(&problem, i % 5 == 4 ? 3 : 0, random);
    }
}

/* Real samples. */
static void
test_real(void)
{
    static const struct {
        CtType type;
        gint64 n_channels, n_taps, hop;
    } banks[] = {
        {CT_I8, 64, 8, 64},     {CT_F32, 2048, 8, 2048}, {CT_I8, 4096, 8, 4096},
        {CT_U8, 4, 3, 4},       {CT_I16, 256, 16, 128},  {CT_F16, 200, 5, 50},
        {CT_I8, 2048, 8, 1024}, {CT_F32, 12, 1, 4},      {CT_I8, 1536, 7, 1536},
        {CT_F32, 960, 8, 960},  {CT_I16, 8, 8, 1},       {CT_U8, 320, 12, 160},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        const Problem problem = {
            .type = banks[i].type,
            .n_channels = banks[i].n_channels,
            .n_taps = banks[i].n_taps,
            .hop = banks[i].hop,
            .start = g_rand_int_range(random, -2000, 2000),
            .n_outputs = g_rand_int_range(random, 1, banks[i].n_channels > 256 ? 20 : 100),
            .n_stations = g_rand_int_range(random, 1, 4),
            .n_pols = 1 + i % 2,
            .order = i / 2 % 2,
        };
        check(&problem, i % 5 == 4 ? 3 : 0, random);
    }
}

/* Time in blocks of 16, the last of which is filled up with zeros: these are compared, too. */
static void
test_blocks(void)
{
    static const gint64 others[] = {48, 80, 96, 144, 240, 768};
    g_autoptr(GRand) random = g_rand_new_with_seed(4);

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < 12 + G_N_ELEMENTS(others); i++) {
        const gint64 n_channels = i < 12 ? (gint64)2 << i % 10 : others[i - 12];
        const guint most = n_channels > 512 ? 8 : n_channels > 256 ? 16 : 32;
        const Problem problem = {
            .type = types[i % G_N_ELEMENTS(types)],
            .n_channels = n_channels,
            .n_taps = i % 3 == 0 ? 8 : g_rand_int_range(random, 1, (gint32)most + 1),
            .hop = n_channels,
            .start = g_rand_int_range(random, -2000, 2000),
            .n_outputs = g_rand_int_range(random, 1, n_channels >= 256 ? 60 : 200),
            .n_stations = g_rand_int_range(random, 1, 4),
            .n_pols = 1 + i % 2,
            .order = BLOCKS,
            .shift = i % 3 == 1,
        };
        check(&problem, i % 5 == 4 ? 3 : 0, random);
    }
}

/* Compiles kernels, with stages attached behind them or, if `behind` is NULL, without. */
static void
compile(const Problem *problem, const char *const *behind)
{
    Chain *chain = chain_new(problem);
    const gint64 samples[2] = {chain->fir->in.axes[0].length, 64};
    CtBinding inputs[VARIANT_TEST_PORTS], outputs[VARIANT_TEST_PORTS];
    const char *const order[2] = {orders[problem->order][0], orders[problem->order][2]};
    variant_test_bind(&chain->both, order, samples, inputs, outputs);
    if (behind)
        kernel_test_compile_attached(&chain->both, chain->fused, order, samples, behind);
    else
        kernel_test_compile_variant(&chain->both, chain->fused, inputs, outputs);
    chain_free(chain);
}

/* Whether spectra of so many channels fit blocks of time; for the numbers below. */
static gboolean
can_have_blocks(gint64 n_channels)
{
    return n_channels <= 8 || (n_channels % 16 == 0 && n_channels <= 1024);
}

/* Kernels for devices that need not be here. */
static void
test_kernels(void)
{
    static const gint64 sizes[][2] = {
        {2, 4},    {8, 16},   {64, 8},   {128, 32}, {256, 8}, {256, 16}, {256, 32}, {512, 8},
        {512, 16}, {1024, 8}, {64, 20},  {512, 2},  {64, 3},  {256, 4},  {64, 11},  {16, 17},
        {100, 8},  {768, 8},  {1536, 8}, {96, 16},  {75, 8},  {4096, 8}, {2048, 8}, {64, 64}};

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(sizes) * G_N_ELEMENTS(types); i += 3) {
        const gint64 *size = sizes[i % G_N_ELEMENTS(sizes)];
        const Problem problem = {
            .type = types[i / G_N_ELEMENTS(sizes)],
            .n_channels = size[0],
            .n_taps = size[1],
            .hop = i % 4 == 1 ? size[0] / 2 : size[0],
            .n_outputs = 64,
            .n_stations = 4,
            .n_pols = 2,
            .order = i % 4 == 2 && can_have_blocks(size[0]) ? BLOCKS : 0,
        };
        if (size[0] > 1024 && ct_type_info(problem.type)->bytes > 2)
            continue;
        compile(&problem, NULL);
    }
    kernel_test_finish();
}

/* Kernels of real samples, some with a fold behind them. */
static void
test_real_kernels(void)
{
    static const char *const folded[] = {"power", "{ }", "integrate", "{ length: 64 }", NULL};
    static const struct {
        CtType type;
        gint64 n_channels, n_taps;
    } banks[] = {
        {CT_I8, 4096, 8}, {CT_F32, 2048, 8}, {CT_F32, 64, 16}, {CT_I16, 1024, 8}, {CT_I8, 256, 8},
        {CT_F16, 96, 8},  {CT_U8, 512, 16},  {CT_I8, 2048, 8}, {CT_F32, 256, 4},
    };

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(banks); i++) {
        const Problem problem = {
            .type = banks[i].type,
            .n_channels = banks[i].n_channels,
            .n_taps = banks[i].n_taps,
            .hop = banks[i].n_channels,
            .n_outputs = 64,
            .n_stations = 4,
            .n_pols = 2,
        };
        compile(&problem, i % 4 == 0 ? folded : NULL);
    }
    kernel_test_finish();
}

/* Kernels with stages attached behind them, for devices that need not be here. */
static void
test_epilogues(void)
{
    static const char *const attached[][5] = {
        {"quantise", "{ type: ci8 }"},
        {"quantise", "{ type: ci4 }"},
        {"power", "{ }"},
        {"gains", "{ gain: 2 }"},
        {"power", "{ }", "integrate", "{ length: 64 }"},
        {"integrate", "{ length: 65 }"},
        {"power", "{ }", "integrate", "{ length: 1000 }"},
    };
    enum { N_MAPS = 4 };
    static const gint64 sizes[][2] = {{64, 8},  {256, 8}, {256, 16}, {1024, 8}, {256, 32}, {64, 20},
                                      {512, 2}, {64, 3},  {16, 17},  {100, 8},  {96, 8}};

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < 6 * G_N_ELEMENTS(sizes); i++) {
        const gint64 *size = sizes[i * 4 % G_N_ELEMENTS(sizes)];
        const gboolean has_blocks = i >= 3 * G_N_ELEMENTS(sizes) && can_have_blocks(size[0]);
        const Problem problem = {
            .type = types[i / G_N_ELEMENTS(sizes) % 3],
            .n_channels = size[0],
            .n_taps = size[1],
            .hop = size[0],
            .n_outputs = 64,
            .n_stations = 4,
            .n_pols = 2,
            .order = has_blocks ? BLOCKS : 0,
        };
        compile(&problem, attached[i % (has_blocks ? N_MAPS : G_N_ELEMENTS(attached))]);
    }
    kernel_test_finish();
}

#define REFUSED                                                                                    \
    "it wants a product of 2, 3 and 5 that 512 threads can share, of at most 4096 channels (8 "    \
    "taps), 512 (16 taps) or 256 (32 taps) of ci8, but is given "

/* The reasons why the variant refuses chains. */
static void
test_refusals(void)
{
    static const struct {
        gint64 n_channels, n_taps, hop;
        gboolean shift;
        const char *reason;
        guint order;
    } cases[] = {
        {8192, 4, 8192, FALSE, REFUSED "8192 channels of 4 taps"},
        {1024, 9, 1024, FALSE, REFUSED "1024 channels of 9 taps"},
        {56, 4, 56, FALSE, REFUSED "56 channels of 4 taps"},
        {900, 4, 900, FALSE, REFUSED "900 channels of 4 taps"},
        {75, 4, 75, TRUE, "it shifts an even number of channels alone, but is given 75"},
        {75, 4, 75, FALSE, NULL},
        {64, 4, 48, FALSE, "it wants a hop that divides the channels, but is given 48 of 64"},
        {64, 4, 32, TRUE, NULL},
        {64, 4, 32, FALSE, "it wants a hop of all channels, but is given 32 of 64", BLOCKS},
        {100, 8, 100, FALSE,
         "it wants a power of two or a multiple of 16 channels whose spectra are transformed 2, 4 "
         "or 8 at a time, but is given 100",
         BLOCKS},
        {2048, 4, 2048, FALSE, "it has 96 KiB of shared memory for spectra, but these need 114 KiB",
         BLOCKS},
        {1024, 8, 1024, FALSE, NULL, BLOCKS},
        {96, 8, 96, TRUE, NULL, BLOCKS},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Problem problem = {
            CT_CI8, cases[i].n_channels, cases[i].n_taps, cases[i].hop, 4, 1, 1,
            0,      cases[i].order,      cases[i].shift};
        g_autofree char *reason = NULL;
        Chain *chain = chain_new(&problem);
        g_assert_cmpint(chain->fused->fits(chain->nodes, &reason), ==, cases[i].reason == NULL);
        g_assert_cmpstr(reason, ==, cases[i].reason);
        chain_free(chain);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pfb-cuda/chain", test_chain);
    g_test_add_func("/pfb-cuda/factors", test_factors);
    g_test_add_func("/pfb-cuda/real", test_real);
    g_test_add_func("/pfb-cuda/blocks", test_blocks);
    g_test_add_func("/pfb-cuda/kernels", test_kernels);
    g_test_add_func("/pfb-cuda/real-kernels", test_real_kernels);
    g_test_add_func("/pfb-cuda/epilogues", test_epilogues);
    g_test_add_func("/pfb-cuda/refusals", test_refusals);
    return g_test_run();
}
