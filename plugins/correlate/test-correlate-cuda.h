/* SPDX-License-Identifier: BSD-3-Clause */
/* Correlations of random voltages for tests, and their runs by the variants of the stage. */
#pragma once

#include "../../tests/kernel-test.h"

#include <cornerturn/kit/half.h>

/* The largest number of half precision. */
#define CASE_EXTREME_HALF 65504.0

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
    gboolean is_split;      /* by split-cuda */
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
    g_autofree char *text = g_strdup_printf("{ integration: %" G_GINT64_FORMAT
                                            ", output: %s, over: %s, precision: %s }",
                                            one->integration, ct_type_info(one->output)->name, over,
                                            one->is_split ? "split" : "single");
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
            if (info->part_bits == 16)
                ((guint16 *)at)[part] = ct_half_from_double(x);
            else if (info->part_bits == 32)
                ((gfloat *)at)[part] = (gfloat)x;
            else
                ((gdouble *)at)[part] = x;
        }
        for (guint part = 0; part < 2 && self->one->extreme; part++) {
            if (self->one->type == CT_CI16)
                ((gint16 *)at)[part] = G_MININT16;
            else if (self->one->type == CT_CI8)
                ((gint8 *)at)[part] = G_MININT8;
            else if (self->one->type == CT_CF16)
                ((guint16 *)at)[part] = ct_half_from_double(-CASE_EXTREME_HALF);
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
find_variant(const Correlation *self, const char *name)
{
    const GPtrArray *variants = ct_registry_variants(self->registry, "correlate");
    for (guint i = 0; i < variants->len; i++)
        if (g_str_equal(((const CtVariant *)variants->pdata[i])->name, name))
            return variants->pdata[i];
    g_assert_not_reached();
}

static const CtVariant *
find_device_variant(const Correlation *self)
{
    return find_variant(self, self->one->is_split ? "split-cuda" : "cuda");
}
