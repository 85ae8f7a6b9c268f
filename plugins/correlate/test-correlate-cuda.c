/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the correlator on a device against the reference, and of its kernels. */
#include "../../tests/kernel-test.h"

/* The number of spectra after which floating-point sums are added to a running sum; see
 * README.md. */
#define CHUNK 128

/* A problem, and how its stream is cut. Channels pass through. With 0 polarisations, there is no
 * such axis. */
typedef struct {
    CtType type, output;
    gint64 n_spectra, integration;
    gint64 n_channels, n_stations, n_pols;
    const char *axes, *to; /* orders of voltages and visibilities, all axes */
    const char *over;
    const char *loses[4];   /* axes that lose data separately */
    gboolean extreme;       /* all at the most negative value */
    gint64 most_per_firing; /* for prepare; 0: all spectra */
    gboolean has_blocks;    /* the device reads time in blocks of 16 */
    gint64 n_early;         /* spectra of the first block before the first integration */
} Case;

typedef struct {
    const Case *one;
    CtRegistry *registry;
    CtParams *params;
    CtStream in, out[2];
    CtNode node;
    CtLayout layouts[3];
    CtBlock voltages;
    CtLayout blocked_layout; /* the same voltages with time in blocks, if the case has them */
    CtBlock blocked;
    guint8 *validity; /* [lane][spectrum]; NULL: all valid */
    gint64 n_lanes, n_results;
    gint64 tuning[CT_MAX_TUNABLES]; /* of the variant on the device; 0: defaults */
} Correlation;

/* "time channel station pol" without the axes that the case does not have. */
static char *
order_of(const Case *one, const char *axes)
{
    g_auto(GStrv) words = g_strsplit(axes, " ", 0);
    GString *kept = g_string_new(NULL);
    for (guint i = 0; words[i]; i++)
        if (one->n_pols > 0 || !g_str_has_prefix(words[i], "pol"))
            g_string_append_printf(kept, "%s%s", kept->len ? " " : "", words[i]);
    return g_string_free(kept, FALSE);
}

static void
describe(Correlation *self)
{
    const Case *one = self->one;
    const char *over = one->over ? one->over : "station";
    const CtPlace place = {"test", 1, 1};
    g_autoptr(GError) error = NULL;
    g_autofree char *text =
        g_strdup_printf("{ integration: %" G_GINT64_FORMAT ", output: %s, over: %s }",
                        one->integration, ct_type_info(one->output)->name, over);
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "test", &error);
    g_assert_no_error(error);

    self->registry = ct_registry_new(&error);
    g_assert_no_error(error);
    self->node.stage = ct_registry_stage(self->registry, "correlate", &error);
    g_assert_no_error(error);
    self->params = ct_params_new("test", self->node.stage, &place, values, &error);
    g_assert_no_error(error);
    ct_stream_init(&self->in);
    self->in.type = one->type;
    self->in.rate_num = 1000;
    self->in.rate_den = self->in.ticks_per_sample = 1;
    ct_stream_add_axis(&self->in, "time", one->n_spectra);
    ct_stream_add_axis(&self->in, "channel", one->n_channels);
    ct_stream_add_axis(&self->in, over, one->n_stations);
    if (one->n_pols > 0)
        ct_stream_add_axis(&self->in, "pol", one->n_pols);
    for (guint i = 0; one->loses[i]; i++)
        self->in.axes[ct_stream_axis(&self->in, one->loses[i])].loses = TRUE;
    for (guint o = 0; o < 2; o++)
        ct_stream_init(&self->out[o]);
    self->node.name = "test";
    self->node.params = self->params;
    self->node.n_inputs = 1;
    self->node.n_outputs = 2;
    self->node.inputs = &self->in;
    self->node.outputs = self->out;
    self->node.input_layouts = g_new0(CtLayout, 1);
    self->node.output_layouts = g_new0(CtLayout, 2);
    self->node.footprint = (CtFootprint){.window = 1, .hop = 1};
    ct_node_infer(&self->node, &error);
    g_assert_no_error(error);
    self->node.footprint.offset = one->n_early;
}

static void
fill_part(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    *part = (guint8)g_rand_int((GRand *)data);
}

/* Fills the voltages with random bytes, or with floating-point parts from −1 to 1. */
static void
fill(Correlation *self, GRand *random)
{
    const CtTypeInfo *info = ct_type_info(self->one->type);
    const CtBlock *block = &self->voltages;
    gint64 n = 1;
    for (guint a = 0; a < block->n_axes; a++)
        n *= block->length[a];
    for (gint64 element = 0; element < n; element++) {
        guint8 *at = block->data;
        gint64 left = element;
        for (guint a = block->n_axes; a-- > 0; left /= block->length[a])
            at += left % block->length[a] * block->stride[a];
        for (guint k = 0; k < info->bytes; k++)
            fill_part(at + k, 0, random);
        for (guint part = 0; part < 2 && info->is_float; part++) {
            const gdouble x = g_rand_double_range(random, -1, 1);
            if (info->part_bits == 32)
                ((gfloat *)at)[part] = (gfloat)x;
            else
                ((gdouble *)at)[part] = x;
        }
        for (guint part = 0; part < 2 && self->one->extreme; part++) {
            if (self->one->type == CT_CI16)
                ((gint16 *)at)[part] = G_MININT16;
            else if (self->one->type == CT_CI8)
                ((gint8 *)at)[part] = G_MININT8;
            else
                *at = 0x88;
        }
    }
}

/* A block whose axes other than time have strides of multiples of 16 bytes, as in rings. */
static CtBlock
new_block(const CtStream *stream, const char *axes, gint64 n_samples, guint8 fill)
{
    g_auto(GStrv) words = g_strsplit(axes, " ", 0);
    CtBlock block = {.type = stream->type, .n_axes = g_strv_length(words), .n_samples = n_samples};
    gint64 step = (gint64)ct_type_info(stream->type)->bytes;
    const gint64 count = g_str_has_suffix(axes, " time:16") ? 16 : 1;
    gboolean is_outside = FALSE;

    for (guint a = block.n_axes; a-- > 0;) {
        const gboolean is_time = strcmp(words[a], "time") == 0;
        block.length[a] = is_time                            ? (n_samples + count - 1) / count
                          : g_str_equal(words[a], "time:16") ? count
                                                             : ct_stream_length(stream, words[a]);
        if (is_outside)
            step = (step + 15) / 16 * 16 + 16;
        block.stride[a] = step;
        step *= block.length[a];
        is_outside = is_outside || is_time;
    }
    block.data = g_aligned_alloc((gsize)step + 64, 1, 256);
    memset(block.data, fill, (gsize)step + 64);
    return block;
}

/* Copies the voltages to blocks of time; the rest of the last one is not zero. */
static void
fill_blocks(Correlation *self, const char *axes)
{
    const CtBlock *from = &self->voltages;
    g_autofree char *blocked = g_strdup_printf("%s time:16", axes);
    const gint time = ct_layout_axis(&self->layouts[0], "time");
    gint64 n = 1;
    self->blocked_layout = variant_test_layout(self->one->type, blocked);
    self->blocked = new_block(&self->in, blocked, self->one->n_early + from->n_samples, 0x5a);
    for (guint a = 0; a < from->n_axes; a++)
        n *= from->length[a];
    for (gint64 element = 0; element < n; element++) {
        const guint8 *x = from->data;
        guint8 *to = self->blocked.data;
        gint64 left = element;
        for (guint a = from->n_axes; a-- > 0; left /= from->length[a]) {
            const gint64 i = left % from->length[a], t = self->one->n_early + i;
            const gboolean is_time = (gint)a == time;
            x += i * from->stride[a];
            to += (is_time ? t / 16 : i) * self->blocked.stride[a];
            to += is_time ? t % 16 * self->blocked.stride[from->n_axes] : 0;
        }
        memcpy(to, x, ct_type_info(from->type)->bytes);
    }
}

static void
make_valid(Correlation *self, GRand *random)
{
    const gsize n = (gsize)self->one->n_spectra;
    self->n_lanes = ct_stream_n_lanes(&self->in);
    if (!self->one->loses[0])
        return;
    self->validity = g_malloc(n * (gsize)self->n_lanes);
    for (gsize k = 0; k < n * (gsize)self->n_lanes; k++)
        self->validity[k] = g_rand_int_range(random, 0, 10) > 0;
    memset(self->validity, 1, n);
}

static Correlation *
correlation_new(const Case *one, GRand *random)
{
    Correlation *self = g_new0(Correlation, 1);
    self->one = one;
    describe(self);
    g_autofree char *axes = order_of(one, one->axes);
    g_autofree char *to = order_of(one, one->to);
    g_autofree char *weights = g_strdup(self->out[1].n_axes == self->out[0].n_axes ? to : NULL);
    if (!weights) {
        const Case none = {.n_pols = 0};
        weights = order_of(&none, one->to);
    }
    self->layouts[0] = variant_test_layout(one->type, axes);
    self->layouts[1] = variant_test_layout(one->output, to);
    self->layouts[2] = variant_test_layout(CT_U32, weights);
    self->n_results = (one->n_spectra + one->integration - 1) / one->integration;
    self->voltages = new_block(&self->in, axes, one->n_spectra, 0);
    fill(self, random);
    if (one->has_blocks)
        fill_blocks(self, axes);
    make_valid(self, random);
    return self;
}

static void
correlation_free(Correlation *self)
{
    ct_stream_clear(&self->in);
    for (guint o = 0; o < 2; o++)
        ct_stream_clear(&self->out[o]);
    ct_params_free(self->params);
    ct_registry_free(self->registry);
    g_free(self->node.input_layouts);
    g_free(self->node.output_layouts);
    g_free(self->validity);
    g_aligned_free(self->voltages.data);
    g_aligned_free(self->blocked.data);
    g_free(self);
}

static CtBlock
new_result(const Correlation *self, guint o)
{
    GString *axes = g_string_new(NULL);
    for (guint a = 0; a < self->layouts[1 + o].n_axes; a++)
        g_string_append_printf(axes, "%s%s", a ? " " : "", self->layouts[1 + o].axes[a].name);
    const CtBlock block = new_block(&self->out[o], axes->str, self->n_results, 0xff);
    g_string_free(axes, TRUE);
    return block;
}

static CtPrepare
make_prepare(const Correlation *self, CtBinding bindings[3], CtDevice *device)
{
    const Case *one = self->one;
    bindings[0] =
        (CtBinding){&self->in, one->has_blocks && device ? self->blocked_layout : self->layouts[0],
                    one->most_per_firing > 0 ? one->most_per_firing : one->n_spectra};
    for (guint o = 0; o < 2; o++)
        bindings[1 + o] = (CtBinding){&self->out[o], self->layouts[1 + o], self->n_results};
    return (CtPrepare){
        .nodes = &self->node,
        .n_nodes = 1,
        .n_inputs = 1,
        .inputs = bindings,
        .n_outputs = 2,
        .outputs = bindings + 1,
        .n_workers = 1,
        .tuning = self->tuning,
        .device = device,
    };
}

/* Runs a variant on all spectra, in firings whose lengths repeat `cuts`; a last firing has no
 * spectra, only the end of the stream. */
static void
run(const Correlation *self, const CtVariant *variant, const CtBlock results[2], const gint64 *cuts,
    guint n_cuts)
{
    const gboolean on_device = variant->backend == CT_CUDA;
    const gint64 integration = self->one->integration;
    CtBinding bindings[3];
    CtPrepare prepare = make_prepare(self, bindings, on_device ? device_test_device() : NULL);
    g_autoptr(GError) error = NULL;
    gpointer state = NULL;
    variant->prepare(&prepare, &state, &error);
    g_assert_no_error(error);

    DeviceTest device = {0};
    const CtBlock *voltages = on_device && self->one->has_blocks ? &self->blocked : &self->voltages;
    const gint64 n_early = on_device ? self->one->n_early : 0;
    DeviceTestBlock in = {.there = *voltages}, out[2] = {{results[0]}, {results[1]}};
    guint8 *scratch = NULL;
    if (on_device) {
        device_test_begin(&device, &prepare);
        device_test_send(&device, &in, voltages);
        for (guint o = 0; o < 2; o++)
            device_test_send(&device, &out[o], &results[o]);
        scratch = device.scratch;
    } else {
        scratch = g_aligned_alloc(prepare.scratch_bytes + 1, 1, 64);
    }
    gint64 t = 0, n, n_made = 0;
    for (guint firing = 0; n_made < self->n_results; firing++, t += n) {
        n = MIN(cuts[firing % n_cuts], self->one->n_spectra - t);
        const gboolean ended = n == 0;
        const gint64 next = ended ? self->n_results : (t + n) / integration;
        CtBlock used = ct_block_slice(&in.there, &bindings[0].layout, t + n_early, n), made[2];
        used.index = t;
        used.validity = self->validity ? self->validity + t : NULL;
        used.validity_stride = self->one->n_spectra;
        for (guint o = 0; o < 2; o++)
            made[o] = ct_block_slice(&out[o].there, &self->layouts[1 + o], n_made, next - n_made);
        n_made = next;
        const CtWork work = {
            .inputs = &used,
            .outputs = made,
            .begin = 0,
            .end = on_device ? 1 : prepare.n_items,
            .ended = ended,
            .scratch = scratch,
            .queue = device.queue,
        };
        if (on_device)
            ct_queue_begin(device.queue);
        variant->work(state, &work, &error);
        g_assert_no_error(error);
        /* The buffers for uploads are used again. */
        if (on_device)
            device_test_wait(&device);
    }
    if (on_device) {
        device_test_fetch(&device, &in, voltages);
        for (guint o = 0; o < 2; o++)
            device_test_fetch(&device, &out[o], &results[o]);
        device_test_end(&device);
    } else {
        g_aligned_free(scratch);
    }
    variant->finish(state);
}

static const CtVariant *
find_variant(const Correlation *self, CtBackend backend)
{
    const GPtrArray *variants = ct_registry_variants(self->registry, "correlate");
    for (guint i = 0; i < variants->len; i++)
        if (((const CtVariant *)variants->pdata[i])->backend == backend)
            return variants->pdata[i];
    g_assert_not_reached();
}

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

/* The bound for a part of a visibility; |x| is at most √2. */
static gdouble
bound_of(const Case *one)
{
    if (!ct_type_info(one->type)->is_float)
        return 0;
    const gdouble n = (gdouble)MIN(one->integration, one->n_spectra);
    const gboolean is_single = one->type == CT_CF32 && one->output == CT_CF32;
    const gdouble growth = (2 * CHUNK + n / CHUNK + 1) * (is_single ? 0x1p-24 : 0x1p-53);
    const gdouble rounding = one->output == CT_CF32 ? 0x1p-24 : 0;
    return (growth + rounding + 2 * n * 0x1p-53) * 2 * n;
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
    const CtVariant *variant = find_variant(self, CT_CUDA);
    const gint64 most = one->most_per_firing > 0 ? one->most_per_firing : one->n_spectra;
    const gint64 cuts[] = {1 + g_rand_int_range(random, 0, (gint32)most), 1,
                           1 + g_rand_int_range(random, 0, (gint32)MIN(most, 150)), most};
    CtBlock wanted[2];
    for (guint o = 0; o < 2; o++)
        wanted[o] = new_result(self, o);
    run(self, find_variant(self, CT_REFERENCE), wanted, &one->n_spectra, 1);
    for (guint k = 0; k < n_tunings; k++) {
        if (k > 0 && !variant_test_single_tuning(variant, k - 1, self->tuning))
            break;
        /* Compiling takes long with sanitizers, so there each type has other values. */
        if (!ct_tuning_differs(variant, &self->node, self->tuning) ||
            (k > 0 && is_sanitized(NULL) && (k + one->type) % 3 != 0))
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
    check_tunings(one, 1, random);
}

/* ---- tests ---- */

#define IN  "channel time station pol"
#define OUT "time channel baseline pol pol'"

static const CtType types[] = {CT_CI4, CT_CI8, CT_CI16, CT_CF32, CT_CF64};
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
        const Case one = {type,
                          CT_CF32,
                          150 + g_rand_int_range(random, 0, 80),
                          g_rand_int_range(random, 1, 300),
                          size[0],
                          size[1],
                          size[2],
                          IN,
                          OUT};
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
                          .n_spectra = types[i] == CT_CI16 ? 3000 : 200000,
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
    for (guint i = 0; i < 4 * G_N_ELEMENTS(integrations); i++) {
        const CtType type =
            (const CtType[]){CT_CF32, CT_CF64, CT_CI8, CT_CI16}[i / G_N_ELEMENTS(integrations)];
        Case one = {type, CT_CF32, 1500, integrations[i % G_N_ELEMENTS(integrations)], 2, 3,
                    2,    IN,      OUT};
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
    const CtVariant *variant = find_variant(&self, CT_CUDA);
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
        gboolean has_blocks;
    } cases[] = {
        {CT_CF32, CT_CF32, {2, 8, 16, 32, 80, 512}},
        {CT_CF32, CT_CF64, {2, 8, 16, 128}},
        {CT_CF64, CT_CF32, {32, 512}},
        {CT_CI16, CT_CI64, {2, 128, 512}},
        {CT_CI8, CT_CF32, {2, 32, 128, 512}},
        {CT_CI4, CT_CF32, {2, 512}},
        {CT_CI8, CT_CF32, {2, 32, 128, 512}, TRUE},
        {CT_CI4, CT_CF32, {2, 512}, TRUE},
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
                              .has_blocks = cases[i].has_blocks};
            Correlation *self = correlation_new(&one, random);
            /* The kernel for the weights is the same in all cases. */
            if (i + k > 0)
                self->out[1].type = CT_TYPE_NONE;
            kernel_test_spread(find_variant(self, CT_CUDA), &self->node, KERNEL_TEST_SHARE, compile,
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
