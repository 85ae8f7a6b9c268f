/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the beamformer's variants against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

#include <glib/gstdio.h>

typedef struct {
    CtType type;
    GRand *random;
} Fill;

/* Fills a part with a random integer or, in floating point, a number from −1 to 1. */
static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const Fill *fill = data;
    const guint32 bits = g_rand_int(fill->random);

    if (fill->type == CT_CF32)
        *(gfloat *)part = (gfloat)g_rand_double_range(fill->random, -1, 1);
    else
        memcpy(part, &bits, MAX(ct_type_info(fill->type)->part_bits, 8) / 8);
}

/* The largest modulus that a part of a voltage may have. */
static gdouble
largest(CtType type)
{
    return type == CT_CF32 ? 1 : (gdouble)(1 << (ct_type_info(type)->part_bits - 1));
}

/* With 0 channels or polarisations, there is no such axis. */
typedef struct {
    gint64 n_channels, n_stations, n_pols, n_beams;
    gboolean pol_weights;
} Shape;

/* The stage with random weights, used `as` is said, from a new file at *path. */
static VariantTest *
beamformer(const Shape *shape, CtType type, const char *as, gint64 n, char **path, GRand *random)
{
    guint64 lengths[4];
    guint n_axes = 0;
    if (shape->n_channels > 0)
        lengths[n_axes++] = (guint64)shape->n_channels;
    lengths[n_axes++] = (guint64)shape->n_beams;
    lengths[n_axes++] = (guint64)shape->n_stations;
    if (shape->pol_weights)
        lengths[n_axes++] = (guint64)shape->n_pols;
    gsize n_weights = 2;
    for (guint a = 0; a < n_axes; a++)
        n_weights *= lengths[a];
    g_autofree gdouble *weights = g_new(gdouble, n_weights);
    for (gsize i = 0; i < n_weights; i++)
        weights[i] = g_rand_double_range(random, -1, 1);
    *path = variant_test_npy(weights, 'c', n_axes, lengths);

    g_autofree char *parameters = g_strdup_printf("{ weights: %s, weights_as: %s }", *path, as);
    g_autoptr(GString) axes = g_string_new(NULL);
    g_string_append_printf(axes, "time:%" G_GINT64_FORMAT, n);
    if (shape->n_channels > 0)
        g_string_append_printf(axes, " channel:%" G_GINT64_FORMAT, shape->n_channels);
    g_string_append_printf(axes, " station:%" G_GINT64_FORMAT, shape->n_stations);
    if (shape->n_pols > 0)
        g_string_append_printf(axes, " pol:%" G_GINT64_FORMAT, shape->n_pols);
    return variant_test_new("beamform", parameters, type, axes->str);
}

/* Compares the variants on `n` samples from sample `first` on. */
static void
check(const Shape *shape, CtType type, const char *as, const char *const order[2], gint64 first,
      gint64 n, gsize padding, gboolean all_values, GRand *random)
{
    g_autofree char *path = NULL;
    VariantTest *test = beamformer(shape, type, as, first + n, &path, random);
    test->all_values = all_values;
    const CtLayout layout = variant_test_layout(type, order[0]);
    const CtBlock whole = variant_test_block(&test->in, order[0], first + n, padding, 0);
    variant_test_visit(&whole, fill_part, &(Fill){type, random});
    const CtBlock in = ct_block_slice(&whole, &layout, first, n);
    const gdouble sum = 2 * (gdouble)shape->n_stations * largest(type);
    const gdouble roundings = g_str_equal(as, "cf16") ? 5 : 2;
    variant_test_compare(test, order, &in, n, padding, 80,
                         (roundings * (gdouble)shape->n_stations + 1) * 0x1p-24 * sum, 0, as,
                         random);
    g_aligned_free(whole.data);
    variant_test_free(test);
    g_unlink(path);
}

/* Orders of voltages and beams. The columns of a tile are times, with polarisations if the layout
 * allows that; else polarisations pass through. In some orders, columns are not adjacent in
 * memory. */
static const char *const orders[][2] = {
    {"channel time station pol", "channel time beam pol"},
    {"time channel station pol", "channel beam time pol"},
    {"channel station time pol", "channel beam time pol"},
    {"channel station time pol", "time channel beam pol"},
    {"channel station pol time", "channel beam pol time"},
    {"channel pol time station", "channel pol time beam"},
    {"pol channel station time", "channel beam pol time"},
    {"station pol time channel", "beam pol time channel"},
};

static const char *const ways[] = {"given", "ci8", "cf16"};

static void
test_layouts(void)
{
    static const CtType types[] = {CT_CF32, CT_CI8, CT_CI4, CT_CI16};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < 2 * G_N_ELEMENTS(orders); i++) {
        const Shape shape = {3, 11, 2, 18, i % 2};
        const CtType type = types[(i + i / G_N_ELEMENTS(types)) % G_N_ELEMENTS(types)];
        check(&shape, type, "given", orders[i / 2], i % 3, 133, i % 5 == 4 ? 2 : 0, FALSE, random);
    }
}

/* Quantised weights, in each order with both types of the matrix units, and with the others; blocks
 * that are aligned and that are not. */
static void
test_quantised(void)
{
    static const CtType types[] = {CT_CI8, CT_CI4, CT_CI16, CT_CF32};
    g_autoptr(GRand) random = g_rand_new_with_seed(6);

    for (guint i = 0; i < 8 * G_N_ELEMENTS(orders); i++) {
        const Shape shape = {2, i % 16 < 8 ? 40 : 35, 2, i % 5 ? 70 : 20, i / 2 % 2};
        const CtType type = types[i % 7 ? i % 2 : 2 + i % 2];
        check(&shape, type, ways[1 + i / 4 % 2], orders[i / 8], i % 3, 141, i % 5 == 4 ? 2 : 0,
              FALSE, random);
    }
}

/* Sizes that fill tiles and that do not; one station, one beam, one sample. */
static void
test_sizes(void)
{
    static const struct {
        Shape shape;
        gint64 n;
    } cases[] = {
        {{1, 1, 2, 1, FALSE}, 1},   {{2, 3, 2, 2, FALSE}, 65},  {{1, 17, 2, 8, FALSE}, 128},
        {{2, 8, 2, 17, TRUE}, 64},  {{1, 16, 2, 33, FALSE}, 7}, {{2, 24, 2, 64, TRUE}, 130},
        {{1, 9, 2, 130, TRUE}, 70}, {{1, 40, 2, 3, TRUE}, 129}, {{4, 5, 1, 16, FALSE}, 200},
        {{3, 7, 3, 5, TRUE}, 20},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        for (guint k = 0; k < 3; k += 2) {
            check(&cases[i].shape, i % 2 ? CT_CI8 : CT_CF32, "given", orders[k], 0, cases[i].n, 0,
                  FALSE, random);
            check(&cases[i].shape, i % 2 ? CT_CI8 : CT_CI4, ways[1 + (i + k / 2) % 2], orders[k], 0,
                  cases[i].n, 0, FALSE, random);
        }
}

/* Every value of the tunables gives the same result. */
static void
test_tunings(void)
{
    static const CtType types[] = {CT_CF32, CT_CI8};
    g_autoptr(GRand) random = g_rand_new_with_seed(5);

    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        const Shape shape = {2, 21, 2, 70, i == 1};
        check(&shape, types[i], "given", orders[2 * i], 0, 150, 0, TRUE, random);
        check(&shape, CT_CI8, ways[1 + i], orders[2 * i], 0, 300, 0, TRUE, random);
    }
}

/* More tiles than a device has multiprocessors, of more beams than the least for warpgroups: wide
 * and high ones, with weights of both types. */
static void
test_many_tiles(void)
{
    static const struct {
        Shape shape;
        CtType type;
        const char *as;
    } cases[] = {
        {{30, 35, 2, 120, FALSE}, CT_CI8, "ci8"},
        {{45, 20, 2, 60, TRUE}, CT_CI4, "cf16"},
        {{45, 33, 2, 70, TRUE}, CT_CI8, "ci8"},
        {{45, 8, 1, 130, FALSE}, CT_CI4, "ci8"},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(8);

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        check(&cases[i].shape, cases[i].type, cases[i].as, orders[0], 0, 300, 0, FALSE, random);
}

/* Streams without channels, and without polarisations. */
static void
test_few_axes(void)
{
    static const char *const few[][2] = {
        {"time station", "time beam"},
        {"station time", "beam time"},
        {"time station", "beam time"},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(3);

    for (guint i = 0; i < 2 * G_N_ELEMENTS(few); i++) {
        const Shape shape = {0, 13, 0, i % 2 ? 20 : 7, FALSE};
        check(&shape, i % 2 ? CT_CI16 : CT_CF32, "given", few[i / 2], 1, 150, 0, FALSE, random);
        check(&shape, i % 2 ? CT_CI4 : CT_CI8, ways[1 + i / 2 % 2], few[i / 2], i % 2, 150, 0,
              FALSE, random);
    }
}

static void
compile(const Shape *shape, CtType type, const char *as, const char *const order[2], GRand *random)
{
    g_autofree char *path = NULL;
    VariantTest *test = beamformer(shape, type, as, 1024, &path, random);
    kernel_test_compile(test, order, 1024);
    variant_test_free(test);
    g_unlink(path);
}

/* Kernels for each tile, in several orders, with and without separate weights for each
 * polarisation. */
static void
test_kernels(void)
{
    static const gint64 n_beams[] = {1, 8, 16, 32, 512};
    static const CtType types[] = {CT_CF32, CT_CI8, CT_CI4, CT_CI16};
    static const struct {
        const char *as;
        gint64 n_beams;
        guint order;
    } quantised[] = {{"ci8", 512, 0}, {"ci8", 512, 1},  {"cf16", 16, 2},  {"cf16", 512, 3},
                     {"ci8", 32, 4},  {"cf16", 512, 0}, {"cf16", 512, 5}, {"ci8", 512, 2}};
    g_autoptr(GRand) random = g_rand_new_with_seed(4);

    for (guint i = 0; i < 3 * G_N_ELEMENTS(n_beams) && kernel_test_can(); i++) {
        const Shape shape = {16, 250, 2, n_beams[i / 3], i % 3 == 1};
        compile(&shape, i % 3 == 2 ? types[1 + i / 3 % 3] : CT_CF32, "given",
                orders[i % G_N_ELEMENTS(orders)], random);
    }
    for (guint i = 0; i < G_N_ELEMENTS(quantised) && kernel_test_can(); i++) {
        const Shape shape = {16, 250, 2, quantised[i].n_beams, i % 3 == 1};
        compile(&shape, i % 2 ? CT_CI8 : CT_CI4, quantised[i].as, orders[quantised[i].order],
                random);
    }
    kernel_test_finish();
}

/* Kernels with stages attached behind them. */
static void
test_epilogues(void)
{
    static const char *const behind[][7] = {
        {"quantise", "{ type: ci8 }"},
        {"power", "{ }"},
        {"power", "{ }", "integrate", "{ length: 64 }"},
        {"gains", "{ gain: 2 }", "power", "{ }", "integrate", "{ length: 48 }"},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);

    for (guint i = 0; i < 12 && kernel_test_can(); i++) {
        const Shape shape = {16, 250, 2, i % 3 ? 512 : 16, i % 4 == 3};
        const char *const *stages = behind[(i + i / 4) % G_N_ELEMENTS(behind)];
        const gint64 samples[2] = {1024, stages[2] ? 16 : 1024};
        const char *const *order = orders[i % 4];
        g_autofree char *path = NULL;
        VariantTest *test =
            beamformer(&shape, i % 2 ? CT_CI8 : CT_CI4, ways[1 + i / 2 % 2], 1024, &path, random);
        const GPtrArray *variants = ct_registry_variants(test->registry, "beamform");
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = variants->pdata[v];
            if (variant->flags & CT_VARIANT_EPILOGUE && variant_test_fits(test, variant, order))
                kernel_test_compile_attached(test, variant, order, samples, stages);
        }
        variant_test_free(test);
        g_unlink(path);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/beamform/layouts", test_layouts);
    g_test_add_func("/beamform/quantised", test_quantised);
    g_test_add_func("/beamform/sizes", test_sizes);
    g_test_add_func("/beamform/tunings", test_tunings);
    g_test_add_func("/beamform/many-tiles", test_many_tiles);
    g_test_add_func("/beamform/few-axes", test_few_axes);
    g_test_add_func("/beamform/kernels", test_kernels);
    g_test_add_func("/beamform/epilogues", test_epilogues);
    return g_test_run();
}
