/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the transform's variants against the reference: lengths, orders, strides and cuts. */
#include "../../tests/kernel-test.h"

#include <math.h>
#include <stdio.h>

static const CtType types[] = {CT_CF32, CT_CF64, CT_F32, CT_F64};

static const char *const orders[][2] = {
    {"time phase station pol", "time channel station pol"},
    {"time station pol phase", "time station pol channel"},
    {"station pol time phase", "station pol time channel"},
    {"time station pol phase", "time channel station pol"},
    {"phase time station pol", "channel time station pol"},
    {"station phase pol time", "station channel pol time"},
    {"station time phase pol", "station time channel pol"},
    {"pol phase time station", "time pol station channel"},
};

/* Orders in which a device needs no scratch: samples lie side by side on both sides, on one, on
 * none. */
static const char *const block_orders[][2] = {
    {"time station pol phase", "time station pol channel"},
    {"station time pol phase", "station time pol channel"},
    {"time station pol phase", "time channel station pol"},
    {"time station pol phase", "channel time station pol"},
    {"station pol time phase", "channel station pol time"},
    {"station pol time phase", "channel time station pol"},
    {"time phase station pol", "time channel station pol"},
    {"time phase station pol", "channel time station pol"},
    {"time phase station pol", "time station pol channel"},
    {"phase time station pol", "channel time station pol"},
};

static const char *const time_orders[][2] = {
    {"station pol time", "station pol time channel"},
    {"time station pol", "time channel station pol"},
    {"station time pol", "channel station time pol"},
};

/* Sets the parameters and axes of a problem. */
static void
describe(gint64 length, gboolean along_time, gboolean inverse, gboolean shift, gint64 n_samples,
         gint64 n_stations, gint64 n_pols, char **parameters, char **axes)
{
    g_autofree char *along = along_time
                                 ? g_strdup_printf("axis: time, length: %" G_GINT64_FORMAT, length)
                                 : g_strdup("axis: phase");
    g_autofree char *phase =
        along_time ? g_strdup("") : g_strdup_printf(" phase:%" G_GINT64_FORMAT, length);

    *parameters = g_strdup_printf("{ %s, to: channel, direction: %s, shift: %s }", along,
                                  inverse ? "inverse" : "forward", shift ? "true" : "false");
    *axes = g_strdup_printf("time:%" G_GINT64_FORMAT " station:%" G_GINT64_FORMAT
                            " pol:%" G_GINT64_FORMAT "%s",
                            n_samples, n_stations, n_pols, phase);
}

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    GRand *random = ((gpointer *)data)[0];
    const gboolean wide = ((gpointer *)data)[1] != NULL;

    if (wide)
        *(gdouble *)part = g_rand_double(random) - 0.5;
    else
        *(float *)part = (float)(g_rand_double(random) - 0.5);
}

/* Every variant of this machine on one problem. It must be near the reference, and give the same
 * bits however the stream is cut. */
static void
check(CtType type, const char *const order[2], gint64 length, gboolean along_time, gboolean inverse,
      gboolean shift, gint64 n_times, gint64 n_stations, gint64 n_pols, gsize padding,
      GRand *random)
{
    const gboolean wide = ct_type_info(type)->part_bits == 64;
    const gint64 n_samples = along_time ? n_times * length : n_times;
    g_autofree char *parameters = NULL;
    g_autofree char *axes = NULL;

    describe(length, along_time, inverse, shift, n_samples, n_stations, n_pols, &parameters, &axes);
    VariantTest *test = variant_test_new("fft", parameters, type, axes);
    test->packed_on_device = TRUE;

    CtBlock in = variant_test_block(&test->in, order[0], n_samples, padding, 0);
    variant_test_visit(&in, fill_part, (gpointer[]){random, wide ? random : NULL});

    /* Each of log2 n levels of sums has an error of a few ulps of the norm, which is at most √n ·
     * 0.5; the largest output is above the norm. A prime length takes two longer transforms. */
    const gdouble level = 4 * (wide ? 0x1p-53 : 0x1p-24);
    const gdouble largest = inverse ? 0.5 : 0.5 * (gdouble)length;
    test->device_cut_difference = 2 * level * (2 + 2 * log2((gdouble)length)) * largest;
    g_autofree char *what = g_strdup_printf("%s, %s", parameters, axes);
    const gint32 longest_firing = (gint32)MAX(9, n_times * 15 / 16);
    variant_test_compare(test, order, &in, n_times, padding, longest_firing, 0,
                         level * (2 + 2 * log2((gdouble)length)), what, random);
    g_aligned_free(in.data);
    variant_test_free(test);
}

static void
test_variants(void)
{
    static const gint64 lengths[] = {1,  2,  3,  4,  5,  7,   8,   12,  15,  16,
                                     30, 31, 60, 64, 97, 128, 135, 256, 257, 500};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    /* Kernels take long to compile. */
    const guint n_turns = g_getenv("CORNERTURN_TEST_BACKEND") == NULL ? 3 : 2;
    for (guint i = 0; i < n_turns * G_N_ELEMENTS(lengths); i++) {
        const gboolean along_time = i % 4 == 3;
        const CtType type = types[g_rand_int_range(random, 0, G_N_ELEMENTS(types))];
        const gboolean is_complex = ct_type_info(type)->is_complex;
        const char *const *order =
            along_time ? time_orders[g_rand_int_range(random, 0, G_N_ELEMENTS(time_orders))]
                       : orders[g_rand_int_range(random, 0, G_N_ELEMENTS(orders))];
        check(type, order, lengths[i % G_N_ELEMENTS(lengths)], along_time,
              is_complex && g_rand_boolean(random), is_complex && g_rand_boolean(random),
              1 + g_rand_int_range(random, 0, 12), 1 + g_rand_int_range(random, 0, 19),
              1 + g_rand_int_range(random, 0, 2), g_rand_int_range(random, 0, 4) == 0 ? 3 : 0,
              random);
    }
}

/* FALSE, and the test is skipped, if only devices are tested. */
static gboolean
runs_on_processor(void)
{
    if (g_getenv("CORNERTURN_TEST_BACKEND") == NULL)
        return TRUE;
    g_test_skip("it is of the processor's variants alone");
    return FALSE;
}

/* Lengths and layouts that are transformed as columns: all radices, full and short vectors. */
static void
test_columns(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    if (!runs_on_processor())
        return;
    for (gint64 length = 2; length <= 128; length++)
        check(CT_CF32, orders[length % 2 * 4], length, FALSE, length % 3 == 0, length % 5 == 0, 3,
              1 + length % 23, 2, 0, random);
    check(CT_CF32, orders[0], 4096, FALSE, FALSE, FALSE, 1, 2, 2, 0, random);
    check(CT_CF32, orders[0], 2000, FALSE, TRUE, TRUE, 2, 3, 2, 0, random);
}

/* Transforms along time: so many in a firing that a device does the remainder of a short one
 * together with transforms that are done already. */
static void
test_left_over(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < 2 * G_N_ELEMENTS(time_orders); i++)
        check(CT_CF32, time_orders[i % G_N_ELEMENTS(time_orders)], 16, TRUE, FALSE, i % 2 > 0, 64,
              2, 2, 0, random);
}

static const gint64 products[] = {5, 6, 12, 45, 50, 75, 96, 100, 120, 243, 375, 768, 1000, 1536};

/* Products of 2, 3 and 5, for which the plugin has a kernel of its own: every power of two, each
 * way of reading and writing, all tunings. */
static void
test_blocks(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    const guint n_turns = is_sanitized(NULL) ? 1 : 3;

    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    for (guint i = 0; i < n_turns * 11; i++) {
        const guint bits = 2 + i % 11;
        check(CT_CF32, block_orders[i % G_N_ELEMENTS(block_orders)], (gint64)1 << bits, FALSE,
              i % 7 == 1, i % 3 == 1, 1 + g_rand_int_range(random, 0, bits > 8 ? 3 : 12),
              1 + g_rand_int_range(random, 0, bits > 10 ? 5 : 19), 1 + i % 2, 0, random);
    }
    for (guint i = 0; i < G_N_ELEMENTS(products); i++)
        for (guint k = 0; k < (is_sanitized(NULL) ? 1 : 3); k++)
            check(CT_CF32, block_orders[(i + k) % G_N_ELEMENTS(block_orders)], products[i], FALSE,
                  (i + k) % 2 == 1, products[i] % 2 == 0 && k == 1,
                  1 + g_rand_int_range(random, 0, products[i] > 200 ? 3 : 12),
                  1 + g_rand_int_range(random, 0, 19), 1 + i % 2, 0, random);
}

/* Kernels of the device: every type, through scratch on both sides, on one, and scaled in place;
 * powers of two and other lengths of the plugin's own kernel. */
static void
test_kernels(void)
{
    static const struct {
        const char *const *order;
        gboolean inverse, shift;
    } cases[] = {
        {orders[0], FALSE, FALSE}, {orders[0], TRUE, TRUE},  {orders[1], TRUE, FALSE},
        {orders[1], FALSE, TRUE},  {orders[3], FALSE, TRUE}, {orders[5], FALSE, FALSE},
    };
    const guint n_types = G_N_ELEMENTS(types), n_cases = G_N_ELEMENTS(cases);

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < n_types * n_cases + 22 + G_N_ELEMENTS(products); i++) {
        const guint k = i % n_cases, own = i - MIN(i, n_types * n_cases);
        const gboolean is_own = i >= n_types * n_cases;
        const CtType type = is_own ? CT_CF32 : types[i / n_cases];
        const char *const *order =
            is_own ? block_orders[own % G_N_ELEMENTS(block_orders)] : cases[k].order;
        g_autofree char *parameters = NULL;
        g_autofree char *axes = NULL;
        if (!ct_type_info(type)->is_complex && (cases[k].inverse || cases[k].shift))
            continue;
        const gint64 length = !is_own ? 135 : own < 22 ? 4 << own % 11 : products[own - 22];
        describe(length, FALSE, cases[k].inverse, cases[k].shift && own < 22, 100, 5, 2,
                 &parameters, &axes);
        VariantTest *test = variant_test_new("fft", parameters, type, axes);
        kernel_test_compile(test, order, 100);
        variant_test_free(test);
    }
    kernel_test_finish();
}

/* Kernels with a stage attached behind them. */
static void
test_epilogues(void)
{
    static const char *const behind[][3] = {
        {"quantise", "{ type: ci8 }"}, {"power", "{ }"}, {"gains", "{ gain: 2 }"}};

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < 11; i++) {
        const char *const *order = block_orders[i % G_N_ELEMENTS(block_orders)];
        const gint64 samples[2] = {100, 100};
        g_autofree char *parameters = NULL;
        g_autofree char *axes = NULL;
        describe(4 << i, FALSE, i % 3 == 1, i % 3 == 2, 100, 5, 2, &parameters, &axes);
        VariantTest *test = variant_test_new("fft", parameters, CT_CF32, axes);
        const GPtrArray *variants = ct_registry_variants(test->registry, "fft");
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = variants->pdata[v];
            if (variant->flags & CT_VARIANT_EPILOGUE && variant_test_fits(test, variant, order))
                kernel_test_compile_attached(test, variant, order, samples,
                                             behind[i % G_N_ELEMENTS(behind)]);
        }
        variant_test_free(test);
    }
    kernel_test_finish();
}

/* Kernels with stages in front of them and behind them. */
static void
test_prologues(void)
{
    if (!kernel_test_can())
        return;
    for (guint i = 0; i < 11; i++) {
        const char *const *order = block_orders[i % G_N_ELEMENTS(block_orders)];
        const gint64 samples[2] = {100, 100};
        g_autofree char *parameters = NULL;
        g_autofree char *axes = NULL;
        describe(4 << i, FALSE, i % 3 == 1, i % 3 == 2, 100, 5, 2, &parameters, &axes);
        const char *const plain[] = {"fft", parameters, NULL};
        const char *const both[] = {"gains", "{ gain: 2 }", "fft", parameters,
                                    "power", "{ }",         NULL};
        VariantTest *test =
            variant_test_new("convert", "{ type: cf32 }", i % 2 ? CT_CI8 : CT_CF16, axes);
        const GPtrArray *variants = ct_registry_variants(test->registry, "convert");
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = variants->pdata[v];
            if (variant->flags & CT_VARIANT_ATTACHABLE)
                kernel_test_compile_attached(test, variant, order, samples,
                                             i % 4 < 2 ? both : plain);
        }
        variant_test_free(test);
    }
    kernel_test_finish();
}

/* Removes a folder, with all that is in it, or a file. */
static void
remove_all(const char *path)
{
    g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
    for (const char *entry; entries && (entry = g_dir_read_name(entries));) {
        g_autofree char *inner = g_build_filename(path, entry, NULL);
        remove_all(inner);
    }
    remove(path);
}

/* With a damaged file of wisdom in the cache folder. */
static void
check_damaged_wisdom(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    g_autofree char *name = g_strdup_printf("fftw-single-%s.wisdom", g_get_host_name());
    g_autofree char *path = g_build_filename(g_get_user_cache_dir(), "cornerturn", name, NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_file_set_contents(path, "(fftw-3.3.10 fftwf_wisdom #x0 not wisdom", -1, &error);
    g_assert_no_error(error);
    check(CT_CF32, orders[1], 74, FALSE, FALSE, FALSE, 3, 2, 2, 0, random);
    g_file_get_contents(path, &text, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(text, "(fftw-"));
    g_assert_null(strstr(text, "not wisdom"));
}

/* FFTW's wisdom is kept in the cache folder. A damaged file does no harm. A process of its own has
 * a folder of its own, since other tests share the one that the build sets. */
static void
test_wisdom(void)
{
    if (!runs_on_processor())
        return;
    if (g_test_subprocess()) {
        check_damaged_wisdom();
        return;
    }
    g_autoptr(GError) error = NULL;
    g_autofree char *shared = g_strdup(g_getenv("XDG_CACHE_HOME"));
    g_autofree char *folder = g_dir_make_tmp("test-fft-XXXXXX", &error);
    g_assert_no_error(error);
    g_setenv("XDG_CACHE_HOME", folder, TRUE);
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    if (shared)
        g_setenv("XDG_CACHE_HOME", shared, TRUE);
    else
        g_unsetenv("XDG_CACHE_HOME");
    remove_all(folder);
    g_test_trap_assert_passed();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fft/variants", test_variants);
    g_test_add_func("/fft/columns", test_columns);
    g_test_add_func("/fft/left-over", test_left_over);
    g_test_add_func("/fft/blocks", test_blocks);
    g_test_add_func("/fft/kernels", test_kernels);
    g_test_add_func("/fft/epilogues", test_epilogues);
    g_test_add_func("/fft/prologues", test_prologues);
    g_test_add_func("/fft/wisdom", test_wisdom);
    return g_test_run();
}
