/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the correlator on a device against the reference, and of its kernels. */
#include "test-correlate-cuda.h"

/* ---- comparison ---- */

typedef struct {
    const CtBlock *wanted;
    const guint8 *begin; /* of the other block */
    gdouble bound;
    const char *what;
} Comparison;

static void
compare_part(guint8 *part, gsize count, gpointer data)
{
    const Comparison *self = data;
    const guint8 *other = self->wanted->data + (part - self->begin);
    const CtTypeInfo *info = ct_type_info(self->wanted->type);
    if (self->bound == 0) {
        if (memcmp(part, other, info->part_bits / 8) != 0)
            g_error("%s: part %" G_GSIZE_FORMAT " differs", self->what, count);
        return;
    }
    const gdouble difference = variant_test_value(self->wanted->type, part) -
                               variant_test_value(self->wanted->type, other);
    if (!(ABS(difference) <= self->bound))
        g_error("%s: part %" G_GSIZE_FORMAT " is off by %g, more than %g", self->what, count,
                difference, self->bound);
}

static void
compare(const CtBlock *block, const CtBlock *wanted, gdouble bound, const char *what)
{
    Comparison comparison = {wanted, block->data, bound, what};
    variant_test_visit(block, compare_part, &comparison);
}

/* The bound for a part of a visibility; parts are at most 1, or all extreme. */
static gdouble
bound_of(const Case *one)
{
    if (!ct_type_info(one->type)->is_float)
        return 0;
    const gdouble n = (gdouble)MIN(one->integration, one->n_spectra);
    const gboolean is_single = one->type != CT_CF64 && one->output == CT_CF32;
    /* See README.md. */
    const gdouble roundings = one->is_split                       ? 22 * 64 + n / 64
                              : is_single && one->type == CT_CF16 ? 5 * 64 + n / 64
                                                                  : 2 * 128 + n / 128;
    const gdouble growth = (roundings + 1) * (is_single ? 0x1p-24 : 0x1p-53);
    const gdouble rounding = one->output == CT_CF32 ? 0x1p-24 : 0;
    const gdouble largest = one->extreme ? CASE_EXTREME_HALF : 1;
    return (growth + rounding + 2 * n * 0x1p-53) * 2 * n * largest * largest;
}

/* Compares the device with the reference, with the default tuning and up to `n_tunings` − 1 others
 * that change one value and have an effect. Results must be near the reference, and the same to the
 * bit in one firing and in many. */
static void
check_tunings(const Case *one, guint n_tunings, GRand *random)
{
    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("there is no device");
        return;
    }
    Correlation *self = correlation_new(one, random);
    const CtVariant *variant = find_device_variant(self);
    const gint64 most = one->most_per_firing > 0 ? one->most_per_firing : one->n_spectra;
    const gint64 cuts[] = {1 + g_rand_int_range(random, 0, (gint32)most), 1,
                           1 + g_rand_int_range(random, 0, (gint32)MIN(most, 150)), most};
    CtBlock wanted[2];
    for (guint o = 0; o < 2; o++)
        wanted[o] = new_result(self, o);
    run(self, find_variant(self, "reference"), wanted, &one->n_spectra, 1);
    for (guint k = 0; k < n_tunings; k++) {
        if (k > 0 && !variant_test_single_tuning(variant, k - 1, self->tuning))
            break;
        /* Compiling takes long with sanitizers and for the emulator, so there each type has other
         * values. */
        const gboolean is_slow = is_sanitized(NULL) || is_emulated();
        if (!ct_tuning_differs(variant, &self->node, self->tuning) ||
            (k > 0 && is_slow && (k + one->type) % 3 != 0))
            continue;
        g_autofree char *name = ct_tuning_name(variant, self->tuning);
        g_autofree char *what = g_strdup_printf(
            "%s, %s%s to %s, %" G_GINT64_FORMAT " spectra in %" G_GINT64_FORMAT
            "s, %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT " × %" G_GINT64_FORMAT " [%s] -> [%s]",
            name, ct_type_info(one->type)->name, one->has_blocks ? " in blocks" : "",
            ct_type_info(one->output)->name, one->n_spectra, one->integration, one->n_channels,
            one->n_stations, one->n_pols, one->axes, one->to);
        CtBlock whole[2], cut[2];
        for (guint o = 0; o < 2; o++) {
            whole[o] = new_result(self, o);
            cut[o] = new_result(self, o);
        }
        run(self, variant, whole, &most, 1);
        run(self, variant, cut, cuts, G_N_ELEMENTS(cuts));
        compare(&whole[0], &wanted[0], bound_of(one), what);
        compare(&whole[1], &wanted[1], 0, what);
        for (guint o = 0; o < 2; o++) {
            compare(&cut[o], &whole[o], 0, what);
            g_aligned_free(whole[o].data);
            g_aligned_free(cut[o].data);
        }
    }
    for (guint o = 0; o < 2; o++)
        g_aligned_free(wanted[o].data);
    correlation_free(self);
}

static void
check(const Case *one, GRand *random)
{
    if (variant_test_wants_device())
        check_tunings(one, 1, random);
}

/* ---- tests ---- */

#define IN  "channel time station pol"
#define OUT "time channel baseline pol pol'"

static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_CF16, CT_CF32, CT_CF64};
static const CtType outputs[] = {CT_CF32, CT_CF64, CT_CI64};

static void
test_types(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (guint i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(outputs); i++) {
        const Case one = {types[i / 3], outputs[i % 3], 300, 170, 2, 5, 2, IN, OUT};
        if (one.output != CT_CI64 || !ct_type_info(one.type)->is_float)
            check(&one, random);
    }
    const Case split = {
        CT_CF32, CT_CF32, 300, 170, 2, 5, 2, IN, OUT, .is_split = TRUE,
    };
    check(&split, random);
}

/* Full and partial tiles of every size, and inputs at any alignment. */
static void
test_sizes(void)
{
    static const gint64 sizes[][3] = {
        {1, 1, 0}, {3, 1, 2}, {1, 2, 2},  {2, 3, 0},  {1, 3, 3},  {2, 4, 2},
        {1, 9, 0}, {1, 8, 2}, {1, 17, 2}, {1, 33, 0}, {1, 65, 0}, {1, 50, 3},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(2);
    for (guint i = 0; i < G_N_ELEMENTS(types) * G_N_ELEMENTS(sizes); i++) {
        const gint64 *size = sizes[i % G_N_ELEMENTS(sizes)];
        const CtType type = types[i / G_N_ELEMENTS(sizes)];
        /* Other types run mostly the same code, so only every other size is tested. */
        if (type != CT_CI8 && type != CT_CF32 && (i + type) % 2 == 0)
            continue;
        Case one = {type,
                    CT_CF32,
                    150 + g_rand_int_range(random, 0, 80),
                    g_rand_int_range(random, 1, 300),
                    size[0],
                    size[1],
                    size[2],
                    IN,
                    OUT};
        check(&one, random);
        one.is_split = type == CT_CF32;
        if (one.is_split)
            check(&one, random);
    }
}

/* Several tiles of tensor cores: the visibilities of a baseline are written together, or there are
 * too few polarisations for that, or their order does not allow it. */
static void
test_large(void)
{
    static const Case cases[] = {
        {CT_CI8, CT_CF32, 130, 100, 1, 130, 2, IN, OUT},
        {CT_CI8, CT_CI64, 70, 70, 1, 131, 0, IN, OUT},
        {CT_CI8, CT_CF64, 40, 33, 1, 66, 2, IN, "time channel pol' pol baseline"},
        {CT_CI4, CT_CF32, 70, 64, 1, 72, 2, IN, OUT},
        {CT_CI8, CT_CF32, 300, 170, 1, 63, 2, IN, OUT},
        {CT_CI8, CT_CI64, 70, 50, 2, 123, 2, IN, OUT},
        {CT_CI4, CT_CF32, 300, 200, 1, 124, 2, IN, OUT},
        {CT_CF32, CT_CF32, 140, 130, 1, 66, 2, IN, OUT},
        {CT_CF32, CT_CF64, 60, 50, 1, 40, 2, IN, OUT},
        {CT_CI16, CT_CI64, 70, 50, 1, 67, 2, IN, OUT},
        {CT_CI16, CT_CF32, 40, 40, 1, 70, 0, IN, OUT},
        {CT_CF16, CT_CF32, 150, 130, 1, 66, 2, IN, OUT},
        {CT_CF16, CT_CF32, 70, 70, 1, 75, 0, IN, "time channel pol' pol baseline"},
        {CT_CF16, CT_CF32, 200, 140, 2, 131, 0, IN, OUT},
        {CT_CF16, CT_CF32, 300, 170, 1, 96, 2, IN, OUT},
        {CT_CF16, CT_CF32, 200, 130, 1, 20, 2, IN, OUT, .extreme = TRUE},
        {CT_CF32, CT_CF32, 150, 130, 1, 66, 2, IN, OUT, .is_split = TRUE},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        check(&cases[i], random);
}

/* So many items that integrations are not split: each stage of shared memory is filled several
 * times, and a block that stays on its multiprocessor has several jobs. */
static void
test_stages(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    const Case one = {CT_CI8, CT_CF32, 820, 410, 200, 17, 2, IN, OUT, .most_per_firing = 820};
    check(&one, random);
    for (guint i = 0; i < 3; i++) {
        const Case other = {(const CtType[]){CT_CI16, CT_CF16, CT_CF32}[i],
                            CT_CF32,
                            500,
                            410,
                            60,
                            9,
                            2,
                            IN,
                            OUT,
                            .most_per_firing = 500,
                            .is_split = i == 2};
        check(&other, random);
    }
}

static void
test_layouts(void)
{
    static const char *const axes[] = {"channel time station pol", "time channel station pol"};
    static const char *const to[] = {
        "time channel baseline pol pol'",
        "channel time baseline pol pol'",
        "time pol pol' baseline channel",
        "baseline channel pol' time pol",
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    for (guint i = 0; i < 3 * G_N_ELEMENTS(axes) * G_N_ELEMENTS(to); i++) {
        const CtType type = (const CtType[]){CT_CI8, CT_CF32, CT_CI16}[i / 8];
        const Case one = {type, CT_CF32, 90, 20, 3, 6, 2, axes[i % 2], to[i / 2 % 4]};
        check(&one, random);
    }
}

static void
test_beams(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    const Case one = {CT_CF32, CT_CF32, 100, 40, 2, 5, 2, "time channel beam pol", OUT, "beam"};
    check(&one, random);
}

/* Sums beyond 32 bits, of the most negative values, which cannot be negated. */
static void
test_extreme(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(6);
    for (guint i = 0; i < 3; i++) {
        const Case one = {.type = types[i],
                          .output = CT_CI64,
                          .n_spectra = 200000,
                          .integration = 170000,
                          .n_channels = 1,
                          .n_stations = 2,
                          .n_pols = 2,
                          .axes = IN,
                          .to = OUT,
                          .extreme = TRUE};
        check(&one, random);
    }
}

/* Firings so short that integrations are not split: what these keep goes on in 32 bits until it may
 * no longer fit, for products of warps and of warpgroups. */
static void
test_carried(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(12);
    for (guint i = 0; i < 2; i++) {
        const Case one = {.type = CT_CI8,
                          .output = CT_CI64,
                          .n_spectra = 74000,
                          .integration = 70000,
                          .n_channels = 1,
                          .n_stations = (const gint64[]){2, 9}[i],
                          .n_pols = 2,
                          .axes = IN,
                          .to = OUT,
                          .extreme = TRUE,
                          .most_per_firing = 256};
        check(&one, random);
    }
}

/* Integrations longer and shorter than a chunk, with and without being split among blocks. */
static void
test_integrations(void)
{
    static const gint64 integrations[] = {1, 7, 127, 128, 129, 400, 2000};
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    static const CtType types_of_sums[] = {CT_CF32, CT_CF64, CT_CI8, CT_CI16, CT_CF16, CT_CF32};
    for (guint i = 0; i < G_N_ELEMENTS(types_of_sums) * G_N_ELEMENTS(integrations); i++) {
        const guint k = i / G_N_ELEMENTS(integrations);
        Case one = {types_of_sums[k],
                    CT_CF32,
                    1500,
                    integrations[i % G_N_ELEMENTS(integrations)],
                    2,
                    3,
                    2,
                    IN,
                    OUT,
                    .is_split = k == 5};
        check(&one, random);
        one.most_per_firing = 200;
        one.n_stations = 9;
        check(&one, random);
    }
    /* There are enough items here that integrations are not split. */
    const Case many = {CT_CF32, CT_CF32, 300, 280, 3000, 1, 2, IN, OUT};
    check(&many, random);
}

static void
test_weights(void)
{
    static const char *const loses[][4] = {
        {NULL}, {"station"}, {"channel", "station"}, {"station", "pol"}, {"pol"}, {"channel"},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(8);
    for (guint i = 0; i < G_N_ELEMENTS(loses) * 3; i++) {
        Case one = {CT_CI8, CT_CF32, 500, (const gint64[]){7, 64, 1000}[i % 3], 2, 5, 2, IN, OUT};
        memcpy(one.loses, loses[i / 3], sizeof one.loses);
        check(&one, random);
    }
    /* More items than one thread writes. */
    const Case many = {CT_CI8, CT_CF32, 50, 20, 70, 2, 2, IN, OUT, NULL, {"station"}};
    check(&many, random);
}

/* Time in blocks: firings, integrations and parts of them begin and end inside of blocks, in tiles
 * of every size, of warps and of warpgroups. */
static void
test_blocks(void)
{
    static const gint64 sizes[][3] = {
        {1, 1, 0}, {3, 1, 2},  {2, 3, 0},  {1, 3, 3},  {2, 4, 2},  {1, 9, 0},
        {3, 9, 2}, {1, 17, 2}, {1, 33, 0}, {2, 50, 2}, {1, 50, 3}, {1, 66, 2},
    };
    static const char *const axes[] = {IN, "time channel station pol"};
    g_autoptr(GRand) random = g_rand_new_with_seed(13);
    for (guint i = 0; i < 2 * G_N_ELEMENTS(sizes); i++) {
        const gint64 *size = sizes[i / 2];
        const Case one = {.type = types[i % 2],
                          .output = outputs[i % 3],
                          .n_spectra = 150 + g_rand_int_range(random, 0, 200),
                          .integration = g_rand_int_range(random, 1, 300),
                          .n_channels = size[0],
                          .n_stations = size[1],
                          .n_pols = size[2],
                          .axes = axes[i / 4 % 2],
                          .to = OUT,
                          .loses = {i % 4 == 1 ? "station" : NULL},
                          .has_blocks = TRUE};
        check(&one, random);
    }
    static const Case others[] = {
        {CT_CI8, CT_CI64, 200000, 170000, 1, 2, 2, IN, OUT, .extreme = TRUE, .has_blocks = TRUE},
        {CT_CI8, CT_CI64, 74000, 70000, 1, 9, 2, IN, OUT, .extreme = TRUE, .most_per_firing = 250,
         .has_blocks = TRUE},
        {CT_CI4, CT_CI64, 3000, 1000, 1, 65, 2, IN, OUT, .extreme = TRUE, .has_blocks = TRUE},
        {CT_CI8, CT_CF32, 820, 100, 200, 17, 2, IN, OUT, .most_per_firing = 820,
         .has_blocks = TRUE},
        {CT_CI8, CT_CF32, 600, 5, 2, 9, 2, IN, OUT, "beam", .has_blocks = TRUE},
        {CT_CI8, CT_CF32, 500, 100, 1, 131, 2, IN, OUT, .has_blocks = TRUE},
        {CT_CI8, CT_CF32, 300, 100, 1, 9, 2, IN, OUT, .has_blocks = TRUE, .n_early = 5},
        {CT_CI4, CT_CF32, 300, 50, 1, 4, 2, IN, OUT, .has_blocks = TRUE, .n_early = 13},
    };
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        Case one = others[i];
        if (one.over)
            one.axes = "channel time beam pol";
        check(&one, random);
    }
}

/* Every value of the tunables, for the arithmetic of every type. */
static void
test_tunings(void)
{
    static const Case cases[] = {
        {CT_CF32, CT_CF32, 140, 130, 1, 33, 2, IN, OUT},
        {CT_CF64, CT_CF64, 140, 70, 1, 33, 2, IN, OUT},
        {CT_CI16, CT_CF32, 70, 50, 1, 17, 2, IN, OUT},
        {CT_CI8, CT_CF32, 130, 100, 1, 66, 2, IN, OUT},
        {CT_CI4, CT_CF32, 130, 100, 1, 65, 2, IN, OUT},
        {CT_CI8, CT_CF32, 130, 100, 1, 66, 2, IN, OUT, .has_blocks = TRUE},
        {CT_CF16, CT_CF32, 130, 100, 1, 34, 2, IN, OUT},
        {CT_CF32, CT_CF32, 130, 100, 1, 34, 2, IN, OUT, .is_split = TRUE},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(10);
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        check_tunings(&cases[i], G_MAXUINT, random);
}

static void
compile(gconstpointer data, const gint64 *tuning, guint architecture)
{
    Correlation self = *(const Correlation *)data;
    g_autoptr(CtDevice) device = ct_device_new_dry(architecture);
    g_autoptr(GError) error = NULL;
    CtBinding bindings[3];
    memcpy(self.tuning, tuning, sizeof self.tuning);
    CtPrepare prepare = make_prepare(&self, bindings, device);
    const CtVariant *variant = find_device_variant(&self);
    gpointer state = NULL;
    variant->prepare(&prepare, &state, &error);
    variant->finish(state);
    g_assert_no_error(error);
    g_assert_cmpuint(ct_device_allocated(device), ==, 0);
}

/* Kernels for every tile and every arithmetic. */
static void
test_kernels(void)
{
    static const struct {
        CtType type, output;
        gint64 n_inputs[8];
        gboolean is_split, has_blocks;
    } cases[] = {
        {CT_CF32, CT_CF32, {2, 8, 16, 32, 80, 512}},
        {CT_CF32, CT_CF64, {2, 8, 16, 128}},
        {CT_CF64, CT_CF32, {32, 512}},
        {CT_CI16, CT_CI64, {2, 128, 512}},
        {CT_CI8, CT_CF32, {2, 32, 128, 512}},
        {CT_CI4, CT_CF32, {2, 512}},
        {CT_CF16, CT_CF32, {2, 32, 128, 512}},
        {CT_CF32, CT_CF32, {2, 32, 512}, .is_split = TRUE},
        {CT_CI8, CT_CF32, {2, 32, 128, 512}, .has_blocks = TRUE},
        {CT_CI4, CT_CF32, {2, 512}, .has_blocks = TRUE},
    };
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
        for (guint k = 0; cases[i].n_inputs[k] > 0; k++) {
            const gint64 n_inputs = cases[i].n_inputs[k];
            /* With few channels, integrations are split. */
            const Case one = {cases[i].type,
                              cases[i].output,
                              2048,
                              1024,
                              1 + k % 2,
                              n_inputs / 2,
                              2,
                              IN,
                              OUT,
                              NULL,
                              {"station"},
                              .most_per_firing = 2048,
                              .is_split = cases[i].is_split,
                              .has_blocks = cases[i].has_blocks};
            Correlation *self = correlation_new(&one, random);
            /* The kernel for the weights is the same in all cases. */
            if (i + k > 0)
                self->out[1].type = CT_TYPE_NONE;
            kernel_test_spread(find_device_variant(self), &self->node, KERNEL_TEST_SHARE, compile,
                               self);
            correlation_free(self);
        }
    kernel_test_finish();
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/correlate/cuda/types", test_types);
    g_test_add_func("/correlate/cuda/sizes", test_sizes);
    g_test_add_func("/correlate/cuda/large", test_large);
    g_test_add_func("/correlate/cuda/stages", test_stages);
    g_test_add_func("/correlate/cuda/layouts", test_layouts);
    g_test_add_func("/correlate/cuda/beams", test_beams);
    g_test_add_func("/correlate/cuda/extreme", test_extreme);
    g_test_add_func("/correlate/cuda/carried", test_carried);
    g_test_add_func("/correlate/cuda/integrations", test_integrations);
    g_test_add_func("/correlate/cuda/weights", test_weights);
    g_test_add_func("/correlate/cuda/blocks", test_blocks);
    g_test_add_func("/correlate/cuda/tunings", test_tunings);
    g_test_add_func("/correlate/cuda/kernels", test_kernels);
    return g_test_run();
}
