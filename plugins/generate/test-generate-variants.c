/* SPDX-License-Identifier: BSD-3-Clause */
/* The sky of every variant, in firings of several lengths, against the reference's; its kernels. */
#include "../../tests/kernel-test.h"

#include <math.h>

#define N_SAMPLES 400

/* Parameters of a sky with everything, or with receivers' noise alone; `type` and others stand
 * between. */
#define HEAD "{ sample_rate: 20 MHz, seed: 77, "
#define FULL                                                                                       \
    "noise: [1, 0, 2, 0.5, 3], spiral: 40 m, source_directions: [[0.15, 0.25], [-0.3, 0.1]], "     \
    "source_powers: [0.2, 0.1], source_correlations: [0.6, -0.3], tone_frequencies: [153 MHz, "    \
    "157 MHz], tone_amplitudes: [0.3, 0.1], tone_directions: [[-0.6, -0.7], [0, 0]], "
#define COMPLEX "n_stations: 5, n_pols: 2, centre_frequency: 150 MHz"
#define REAL    "n_stations: 5, n_pols: 2, first_frequency: 150 MHz"

static const char *const orders[] = {
    "time station pol",
    "station pol time",
    "station time pol",
    "pol time station",
};

typedef struct {
    VariantTest base;
    const char *order;
} Sky;

static void
sky_init(Sky *sky, const char *parameters, const char *order)
{
    VariantTest *test = &sky->base;
    const CtPlace place = {"test", 1, 1};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtValue) values = ct_value_parse(parameters, -1, "test", &error);

    g_assert_no_error(error);
    *sky = (Sky){.order = order};
    test->registry = ct_registry_new(&error);
    g_assert_no_error(error);
    test->node.stage = ct_registry_stage(test->registry, "generate", &error);
    g_assert_no_error(error);
    test->params = ct_params_new("test", test->node.stage, &place, values, &error);
    g_assert_no_error(error);
    ct_stream_init(&test->out);
    test->node.name = "test";
    test->node.params = test->params;
    test->node.n_outputs = 1;
    test->node.footprint = (CtFootprint){.window = 1, .hop = 1};
    test->node.outputs = &test->out;
    test->node.output_layouts = g_new0(CtLayout, 1);
    ct_node_infer(&test->node, &error);
    g_assert_no_error(error);
}

static void
sky_clear(Sky *sky)
{
    ct_stream_clear(&sky->base.out);
    ct_params_free(sky->base.params);
    ct_registry_free(sky->base.registry);
    g_free(sky->base.node.output_layouts);
}

static gpointer
sky_prepare(const Sky *sky, const CtVariant *variant, CtDevice *device, gint64 most,
            CtPrepare *prepare, CtBinding *output)
{
    const VariantTest *test = &sky->base;
    g_autoptr(GError) error = NULL;
    gpointer state = NULL;

    *output = (CtBinding){&test->out, variant_test_layout(test->out.type, sky->order), most};
    *prepare = (CtPrepare){
        .nodes = &test->node,
        .n_nodes = 1,
        .n_outputs = 1,
        .outputs = output,
        .n_workers = 1,
        .device = device,
    };
    variant->prepare(prepare, &state, &error);
    g_assert_no_error(error);
    return state;
}

/* Fills `out` in firings of `firing` samples; returns the number of clipped samples. */
static guint64
sky_run(const Sky *sky, const CtVariant *variant, const CtBlock *out, gint64 firing)
{
    const gboolean on_device = variant->backend == CT_CUDA;
    g_autoptr(GError) error = NULL;
    CtPrepare prepare;
    CtBinding output;
    DeviceTest device = {0};
    DeviceTestBlock there = {.there = *out};
    guint64 clipped = 0;

    gpointer state = sky_prepare(sky, variant, on_device ? device_test_device() : NULL, firing,
                                 &prepare, &output);
    g_autofree guint8 *own = g_malloc(prepare.scratch_bytes + 64);
    gpointer scratch = own + (64 - GPOINTER_TO_SIZE(own) % 64);
    if (on_device) {
        device_test_begin(&device, &prepare);
        device_test_send(&device, &there, out);
        scratch = device.scratch;
    }
    for (gint64 t = 0, n; t < out->n_samples; t += n) {
        n = MIN(firing, out->n_samples - t);
        CtBlock made = ct_block_slice(&there.there, &output.layout, t, n);
        made.index = t;
        const CtWork work = {
            .outputs = &made,
            .begin = 0,
            .end = variant->split ? n : 1,
            .scratch = scratch,
            .counters = on_device ? device.counters : &clipped,
            .queue = device.queue,
        };
        if (on_device)
            ct_queue_begin(device.queue);
        variant->work(state, &work, &error);
        g_assert_no_error(error);
    }
    if (on_device) {
        device_test_wait(&device);
        device_test_fetch(&device, &there, out);
        device_test_copy(&clipped, device.counters, sizeof clipped);
        device_test_end(&device);
    }
    variant->finish(state);
    return clipped;
}

/* Parts of elements as numbers; or the comparison with such numbers: the largest difference, and
 * how many are farther apart than `bound`. */
typedef struct {
    const CtBlock *block;
    gdouble *values;
    gdouble bound, largest;
    guint n_apart;
    gboolean compares;
} Numbers;

static gdouble
half_value(guint16 half)
{
    const gint exponent = half >> 10 & 31, fraction = half & 1023;
    const gdouble value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);

    return half >> 15 ? -value : value;
}

static gdouble
part_value(CtType type, const guint8 *part)
{
    const CtTypeInfo *info = ct_type_info(type);

    if (info->is_float)
        return info->part_bits == 64   ? *(const gdouble *)part
               : info->part_bits == 32 ? *(const gfloat *)part
                                       : half_value(*(const guint16 *)part);
    switch (info->part_bits) {
    case 8:
        return info->is_signed ? *(const gint8 *)part : *part;
    case 16:
        return *(const gint16 *)part;
    case 32:
        return info->is_signed ? *(const gint32 *)part : (gdouble) * (const guint32 *)part;
    default:
        return (gdouble) * (const gint64 *)part;
    }
}

static void
each_part(guint8 *part, gsize count, gpointer data)
{
    Numbers *self = data;
    const gdouble value = part_value(self->block->type, part);

    if (!self->compares)
        self->values[count] = value;
    else if (!(fabs(value - self->values[count]) <= self->bound))
        self->n_apart++;
    if (self->compares)
        self->largest = MAX(self->largest, fabs(value - self->values[count]));
}

/* Single precision is off by some 10⁻⁶ of the amplitude, which rounding to integers may turn into
 * one level; halves are rounded once more. */
static gdouble
bound_of(CtType type)
{
    const CtTypeInfo *info = ct_type_info(type);

    if (info->is_float)
        return info->part_bits == 16 ? 0x1p-8 : 2e-5;
    return info->part_bits <= 16 ? 1 : ldexp(2e-5, (gint)info->part_bits - 3);
}

static void
check(const char *parameters, const char *order)
{
    Sky sky;
    sky_init(&sky, parameters, order);
    const GPtrArray *variants = ct_registry_variants(sky.base.registry, "generate");
    const CtType type = sky.base.out.type;
    const CtTypeInfo *info = ct_type_info(type);
    CtBlock wanted = variant_test_block(&sky.base.out, order, N_SAMPLES, 0, 0);
    const gsize n = 2 * ct_block_span(&wanted) / info->bytes;
    g_autofree gdouble *values = g_new(gdouble, n);
    guint64 clipped = 0;

    /* The reference is the last in the table and runs first. */
    for (guint i = variants->len; i-- > 0;) {
        const CtVariant *variant = variants->pdata[i];
        static const gint64 firings[] = {N_SAMPLES, 1, 7, 64};
        Numbers numbers = {&wanted, values, bound_of(type), 0, 0, FALSE};
        if (!variant_test_is_wanted(variant) ||
            ct_registry_isa_refusal(sky.base.registry, variant->isa))
            continue;
        if (variant->backend == CT_REFERENCE) {
            clipped = sky_run(&sky, variant, &wanted, N_SAMPLES);
            if (type != CT_CI4)
                variant_test_visit(&wanted, each_part, &numbers);
            continue;
        }
        CtBlock whole = variant_test_block(&sky.base.out, order, N_SAMPLES, 0, 0xff);
        CtBlock cut = variant_test_block(&sky.base.out, order, N_SAMPLES, 0, 0xff);
        for (guint k = 0; k < G_N_ELEMENTS(firings); k++) {
            const gint64 now = (gint64)sky_run(&sky, variant, k == 0 ? &whole : &cut, firings[k]);
            /* a sample near the limit may be clipped in one variant only */
            g_assert_cmpint(ABS(now - (gint64)clipped), <=, 2);
            if (k > 0)
                g_assert_cmpmem(cut.data, ct_block_span(&cut), whole.data, ct_block_span(&whole));
        }
        numbers.compares = TRUE;
        numbers.block = &whole;
        guint n_apart = 0;
        if (type == CT_CI4) {
            for (gsize k = 0; k < ct_block_span(&whole); k++)
                n_apart += whole.data[k] != wanted.data[k];
        } else {
            variant_test_visit(&whole, each_part, &numbers);
            g_assert_cmpuint(numbers.n_apart, ==, 0);
        }
        g_assert_cmpuint(n_apart, <=, 2);
        g_test_message("%s of %s [%s]: off by %g", variant->name, info->name, order,
                       numbers.largest);
        g_aligned_free(whole.data);
        g_aligned_free(cut.data);
    }
    g_aligned_free(wanted.data);
    sky_clear(&sky);
}

static const CtType types[] = {CT_CI4,  CT_CI8,  CT_CI16, CT_CI32, CT_CI64, CT_CF16,
                               CT_CF32, CT_CF64, CT_I8,   CT_I16,  CT_I32,  CT_I64,
                               CT_U8,   CT_U32,  CT_F16,  CT_F32,  CT_F64};

static char *
full_sky(CtType type, gint64 start, const char *more)
{
    return g_strdup_printf(HEAD FULL "%s, type: %s, start: %" G_GINT64_FORMAT "%s }",
                           ct_type_info(type)->is_complex ? COMPLEX : REAL,
                           ct_type_info(type)->name, start, more);
}

static void
test_types(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        g_autofree char *parameters = full_sky(types[i], (gint64)i * 1001 - 5, "");
        check(parameters, orders[i % G_N_ELEMENTS(orders)]);
    }
}

/* Noise alone, tones alone, subbands, one of everything, and clipping. */
static void
test_skies(void)
{
    check(HEAD "type: cf32, start: -1001 }", "time");
    check(HEAD "type: ci8, n_stations: 3, scale: 200 }", "station time");
    check(HEAD "type: f32, n_pols: 1, noise: 0, tone_frequencies: [1 MHz] }", "time pol");
    check(HEAD FULL COMPLEX ", n_subbands: 3, subband_step: 20 MHz, type: cf32 }",
          "subband station time pol");
    check(HEAD FULL COMPLEX ", n_subbands: 3, type: ci16, start: 17179869191 }",
          "pol time station subband");
}

/* Some types are enough, because kernels differ only in how they write. */
static void
test_kernels(void)
{
    const char *const skies[][2] = {
        {HEAD "type: ci4 }", "time"},
        {HEAD "type: ci8, n_stations: 5 }", "station time"},
        {HEAD "type: cf16, n_stations: 5 }", "time station"},
        {HEAD "type: u32 }", "time"},
        {HEAD FULL COMPLEX ", n_subbands: 3, type: cf32 }", "subband station time pol"},
        {HEAD FULL REAL ", type: f64 }", "time station pol"},
    };

    if (!kernel_test_can())
        return;
    for (guint k = 0; k < G_N_ELEMENTS(skies); k++) {
        const guint n_architectures = G_N_ELEMENTS(kernel_test_architectures);
        Sky sky;
        sky_init(&sky, skies[k][0], skies[k][1]);
        const GPtrArray *variants = ct_registry_variants(sky.base.registry, "generate");
        for (guint i = 0; i < variants->len * n_architectures; i++) {
            const CtVariant *variant = variants->pdata[i / n_architectures];
            if (variant->backend != CT_CUDA)
                continue;
            g_autoptr(CtDevice) device =
                ct_device_new_dry(kernel_test_architectures[i % n_architectures]);
            CtPrepare prepare;
            CtBinding output;
            variant->finish(sky_prepare(&sky, variant, device, N_SAMPLES, &prepare, &output));
            g_assert_cmpuint(ct_device_allocated(device), ==, 0);
        }
        sky_clear(&sky);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/generate/types", test_types);
    g_test_add_func("/generate/skies", test_skies);
    g_test_add_func("/generate/kernels", test_kernels);
    return g_test_run();
}
