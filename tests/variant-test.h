/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs variants of a stage on blocks made here, without planner and scheduler: any strides, any
 * cuts. What the first input is given is compared at the first output; nothing is connected to
 * further inputs, and nobody reads further outputs. Included by the test programs of plugins. */
#pragma once

#include "../core/graph/graph.h"
#include "../core/graph/registry.h"
#include "../core/graph/tuning.h"
#include "../core/model/node-params.h"
#include "../core/model/row.h"
#include "device-test.h"
#include "sanitized.h"

#include <cornerturn/npy.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ports on either side, and what a stage counts, at most. */
#define VARIANT_TEST_PORTS    2
#define VARIANT_TEST_COUNTERS 16

typedef struct {
    CtRegistry *registry;
    CtParams *params;
    union {
        CtStream in;
        CtStream inputs[VARIANT_TEST_PORTS];
    };
    union {
        CtStream out;
        CtStream outputs[VARIANT_TEST_PORTS];
    };
    CtNode node;
    const CtNode *nodes; /* the chain that a variant covers, from the first input to the first
                            output; NULL: the node alone */
    guint n_nodes;
    gdouble cut_difference;        /* that short firings may make, where a compiler rounds vectors
                                      otherwise than what is left of a run */
    gdouble device_cut_difference; /* the same, of a device whose library chooses by the length */
    gboolean packed_on_device; /* devices get no padded blocks, as the scheduler gives them none */
    guint64 *counters; /* [VARIANT_TEST_COUNTERS] what a run counted is left there; NULL: nowhere */
    const gint64 *tuning; /* of the variant that is run next; NULL: by default */
    gboolean all_values;  /* compare by every value of every tunable, not by the next ones alone */
} VariantTest;

/* The stage with parameters (YAML) behind a stream of `type` and axes "time:100 station:3", in any
 * order, to which `describe` (unless NULL) may add; fails the test where the stage refuses. */
static inline VariantTest *
variant_test_new_described(const char *stage, const char *parameters, CtType type, const char *axes,
                           void (*describe)(CtStream *stream))
{
    VariantTest *test = g_new0(VariantTest, 1);
    g_autoptr(GError) error = NULL;
    const CtPlace place = {"test", 1, 1};
    g_auto(GStrv) words = g_strsplit(axes, " ", 0);
    g_autoptr(CtValue) values = ct_value_parse(parameters, -1, "test", &error);
    g_assert_no_error(error);

    test->registry = ct_registry_new(&error);
    g_assert_no_error(error);
    test->node.stage = ct_registry_stage(test->registry, stage, &error);
    g_assert_no_error(error);
    test->params = ct_params_new("test", test->node.stage, &place, values, &error);
    g_assert_no_error(error);

    for (guint i = 0; i < VARIANT_TEST_PORTS; i++) {
        ct_stream_init(&test->inputs[i]);
        ct_stream_init(&test->outputs[i]);
    }
    test->in.type = type;
    test->in.rate_num = 1000;
    test->in.rate_den = test->in.ticks_per_sample = 1;
    for (guint i = 0; words[i] != NULL; i++) {
        g_auto(GStrv) pair = g_strsplit(words[i], ":", 2);
        ct_stream_add_axis(&test->in, pair[0], g_ascii_strtoll(pair[1], NULL, 10));
    }
    if (describe)
        describe(&test->in);
    test->node.name = "test";
    test->node.params = test->params;
    while (test->node.stage->inputs[test->node.n_inputs].name)
        test->node.n_inputs++;
    while (test->node.stage->outputs[test->node.n_outputs].name)
        test->node.n_outputs++;
    g_assert_cmpuint(MAX(test->node.n_inputs, test->node.n_outputs), <=, VARIANT_TEST_PORTS);
    test->node.inputs = test->inputs;
    test->node.outputs = test->outputs;
    test->node.input_layouts = g_new0(CtLayout, VARIANT_TEST_PORTS);
    test->node.output_layouts = g_new0(CtLayout, VARIANT_TEST_PORTS);
    test->node.footprint = (CtFootprint){.window = 1, .hop = 1};
    ct_node_infer(&test->node, &error);
    g_assert_no_error(error);
    return test;
}

static inline VariantTest *
variant_test_new(const char *stage, const char *parameters, CtType type, const char *axes)
{
    return variant_test_new_described(stage, parameters, type, axes, NULL);
}

static inline void
variant_test_free(VariantTest *test)
{
    for (guint i = 0; i < VARIANT_TEST_PORTS; i++) {
        ct_stream_clear(&test->inputs[i]);
        ct_stream_clear(&test->outputs[i]);
    }
    ct_params_free(test->params);
    ct_registry_free(test->registry);
    g_free(test->node.input_layouts);
    g_free(test->node.output_layouts);
    g_free(test);
}

static inline CtLayout
variant_test_layout(CtType type, const char *axes)
{
    const CtTypeInfo *info = ct_type_info(type);
    const char *name = strstr(axes, "complex") ? ct_type_info(info->part)->name : info->name;
    g_autofree char *text = g_strdup_printf("%s[%s]", name, axes);
    g_autoptr(GError) error = NULL;
    CtLayout layout;

    ct_layout_parse(&layout, text, &error);
    g_assert_no_error(error);
    return layout;
}

/* A block of the stream in the order of `axes` ("time station pol time:16", or with "complex"),
 * with `padding` elements behind each row of each axis; freed with g_aligned_free. Every byte of it
 * is `fill`. */
static inline CtBlock
variant_test_block(const CtStream *stream, const char *axes, gint64 n_samples, gsize padding,
                   guint8 fill)
{
    const CtLayout layout = variant_test_layout(stream->type, axes);
    CtBlock block = {
        .type = ct_layout_type(&layout), .n_axes = layout.n_axes, .n_samples = n_samples};
    gint64 step = (gint64)ct_type_info(block.type)->bytes, element = step;

    for (guint i = block.n_axes; i-- > 0;) {
        const char *name = layout.axes[i].name;
        const gint inner = ct_layout_block_axis(&layout, name);
        const gint64 count = inner < 0 ? 1 : layout.axes[inner].count;
        const gint64 whole = strcmp(name, "time") == 0      ? n_samples
                             : strcmp(name, "complex") == 0 ? 2
                                                            : ct_stream_length(stream, name);
        block.length[i] = (gint)i == inner ? count : (whole + count - 1) / count;
        block.stride[i] = step;
        step = step * block.length[i] + (gint64)padding * element;
    }
    block.data = g_aligned_alloc((gsize)step + 1, 1, 64);
    memset(block.data, fill, (gsize)step + 1);
    return block;
}

/* Calls `each` for every part of every element, in memory order, with a running count. */
static inline void
variant_test_visit(const CtBlock *block, void (*each)(guint8 *part, gsize count, gpointer data),
                   gpointer data)
{
    const CtTypeInfo *type = ct_type_info(block->type);
    const guint n_parts = type->is_complex && type->part != CT_TYPE_NONE ? 2 : 1;
    gint64 n = 1;

    for (guint i = 0; i < block->n_axes; i++)
        n *= block->length[i];
    for (gint64 element = 0; element < n; element++) {
        guint8 *at = block->data;
        gint64 left = element;
        for (guint i = block->n_axes; i-- > 0; left /= block->length[i])
            at += left % block->length[i] * block->stride[i];
        for (guint part = 0; part < n_parts; part++)
            each(at + part * type->bytes / n_parts, (gsize)element * n_parts + part, data);
    }
}

/* Samples `first` to `first` + n of a block; where time is blocked, from where a block begins. */
static inline CtBlock
variant_test_slice(const CtBlock *block, const CtLayout *layout, gint64 first, gint64 n)
{
    const gint time = ct_layout_axis(layout, "time");
    const gint inner = ct_layout_block_axis(layout, "time");
    const gint64 count = inner < 0 ? 1 : layout->axes[inner].count;
    CtBlock slice = *block;

    if (time >= 0) {
        slice.data += first / count * block->stride[time];
        slice.length[time] = (n + count - 1) / count;
    }
    slice.n_samples = n;
    return slice;
}

/* Doubles ('f'), or pairs of them ('c'), as a new .npy file: its path, to be removed and freed. */
static inline char *
variant_test_npy(const gdouble *values, char kind, guint n_axes, const guint64 *shape)
{
    CtNpyHeader header = {.kind = kind, .item_bytes = kind == 'c' ? 16 : 8, .n_axes = n_axes};
    gsize bytes = header.item_bytes, header_bytes;
    g_autoptr(GError) error = NULL;
    char *path = NULL;

    for (guint a = 0; a < n_axes; a++)
        bytes *= header.shape[a] = shape[a];
    g_autoptr(GBytes) head = ct_npy_header_format(&header);
    const guint8 *start = g_bytes_get_data(head, &header_bytes);
    g_autofree guint8 *file = g_malloc(header_bytes + bytes);
    memcpy(file, start, header_bytes);
    memcpy(file + header_bytes, values, bytes);
    close(g_file_open_tmp("cornerturn-XXXXXX.npy", &path, &error));
    g_assert_no_error(error);
    g_file_set_contents(path, (const char *)file, (gssize)(header_bytes + bytes), &error);
    g_assert_no_error(error);
    return path;
}

/* Whether the variant takes the node, in these orders. The code of the host's takes more than its
 * rows say; a device's has kernels for its rows alone. */
static inline gboolean
variant_test_fits(const VariantTest *test, const CtVariant *variant, const char *const order[2])
{
    const CtLayout wishes[2] = {variant_test_layout(test->in.type, order[0]),
                                variant_test_layout(test->out.type, order[1])};
    CtRowPort ports[2 * VARIANT_TEST_PORTS] = {{0}};
    const guint n_inputs = test->node.n_inputs, n_outputs = test->node.n_outputs;
    const CtRowPorts all = {n_inputs, n_outputs, ports};
    g_autofree char *reason = NULL;
    gboolean fits = variant->backend != CT_CUDA;

    for (guint i = 0; i < n_inputs + n_outputs; i++)
        ports[i] = i < n_inputs ? (CtRowPort){"in", &test->inputs[i], NULL}
                                : (CtRowPort){"out", &test->outputs[i - n_inputs], NULL};
    ports[0].wish = &wishes[0];
    ports[n_inputs].wish = &wishes[1];
    if (variant->fits && !variant->fits(&test->node, &reason))
        return FALSE;
    for (const CtRow *row = variant->rows; row->layouts && !fits; row++) {
        CtRowPatterns patterns;
        CtLayout layouts[2 * VARIANT_TEST_PORTS];
        fits = ct_row_parse(&patterns, row->layouts, NULL) &&
               ct_row_bind(&patterns, &all, 0, NULL, NULL, layouts, NULL);
    }
    return fits;
}

/* Ports in these orders, further ones in canonical order; `samples`: of the first ones, at most. */
static inline void
variant_test_bind(const VariantTest *test, const char *const order[2], const gint64 samples[2],
                  CtBinding inputs[VARIANT_TEST_PORTS], CtBinding outputs[VARIANT_TEST_PORTS])
{
    for (guint i = 0; i < VARIANT_TEST_PORTS; i++) {
        inputs[i] = (CtBinding){&test->inputs[i], {0}, samples[0]};
        outputs[i] = (CtBinding){&test->outputs[i], {0}, samples[1]};
        ct_layout_canonical(&inputs[i].layout, &test->inputs[i]);
        ct_layout_canonical(&outputs[i].layout, &test->outputs[i]);
    }
    inputs[0].layout = variant_test_layout(test->in.type, order[0]);
    outputs[0].layout = variant_test_layout(test->out.type, order[1]);
}

/* All combinations of the values of the variant's tunables. */
static inline guint
variant_test_n_tunings(const CtVariant *variant)
{
    guint n = 1;
    for (guint i = 0; i < ct_tuning_count(variant); i++)
        n *= variant->tunables[i].n_values;
    return n;
}

/* The k-th of them; different ones, and in the end all, for as many k in turn as there are. */
static inline void
variant_test_tuning(const CtVariant *variant, guint k, gint64 tuning[CT_MAX_TUNABLES])
{
    /* A prime number as step goes through all, and changes every value at once. */
    guint64 left = (guint64)k * 7919 % variant_test_n_tunings(variant);
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        tuning[i] = tunable->values[left % tunable->n_values];
        left /= tunable->n_values;
    }
}

/* The k-th of the tunings that have one value that is not the default; FALSE: there is none. */
static inline gboolean
variant_test_single_tuning(const CtVariant *variant, guint k, gint64 tuning[CT_MAX_TUNABLES])
{
    ct_tuning_defaults(variant, tuning);
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        for (guint v = 0; v < tunable->n_values; v++) {
            if (tunable->values[v] == tunable->fallback || k-- > 0)
                continue;
            tuning[i] = tunable->values[v];
            return TRUE;
        }
    }
    return FALSE;
}

/* Another combination at each call for this variant. */
static inline void
variant_test_next_tuning(const CtVariant *variant, gint64 tuning[CT_MAX_TUNABLES])
{
    static GHashTable *calls;
    if (!calls)
        calls = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *covers = g_strjoinv("+", (char **)variant->covers);
    char *name = g_strconcat(covers, "/", variant->name, NULL);
    const guint k = GPOINTER_TO_UINT(g_hash_table_lookup(calls, name));
    g_hash_table_insert(calls, name, GUINT_TO_POINTER(k + 1));
    variant_test_tuning(variant, k, tuning);
}

/* What a firing works on: of a window, `n` outputs from `t`; of a sum, `n` inputs from `t`. */
static inline void
variant_test_cut(const VariantTest *test, const CtBinding *in, const CtBinding *out, gint64 t,
                 gint64 n, gboolean ends, CtBlock *used, CtBlock *made)
{
    const gint64 hop = test->node.footprint.hop, window = test->node.footprint.window;
    const gboolean is_sum = test->node.footprint.kind == CT_FOOTPRINT_SUM;
    const gint64 first = is_sum ? t : t * hop, sum = is_sum ? t / hop : t;
    const gint64 last = is_sum ? (t + n + (ends ? hop - 1 : 0)) / hop : t + n;

    *used = variant_test_slice(used, &in->layout, first, is_sum ? n : (n - 1) * hop + window);
    *made = variant_test_slice(made, &out->layout, sum, last - sum);
    used->index = first;
    made->index = sum;
    used->start = test->in.start + first * test->in.ticks_per_sample;
    made->start = test->out.start + sum * test->out.ticks_per_sample;
}

/* Samples that firings are counted in: a sum's inputs, else outputs. */
static inline const gint64 *
variant_test_total(const VariantTest *test, const CtBlock *in, const CtBlock *out)
{
    return test->node.footprint.kind == CT_FOOTPRINT_SUM ? &in->n_samples : &out->n_samples;
}

/* A variant that is prepared, and runs on blocks of one size. */
typedef struct {
    const VariantTest *test;
    const CtVariant *variant;
    CtBinding inputs[VARIANT_TEST_PORTS], outputs[VARIANT_TEST_PORTS];
    gint64 tuning[CT_MAX_TUNABLES];
    CtPrepare prepare;
    gpointer state;
    guint n_workers;
    gboolean on_device;
    DeviceTest device;
    guint8 *scratch;
    guint64 counters[VARIANT_TEST_COUNTERS];
} VariantTestRun;

static inline void
variant_test_prepare(VariantTestRun *run, const VariantTest *test, const CtVariant *variant,
                     const char *in_axes, const CtBlock *in, const char *out_axes,
                     const CtBlock *out, guint n_workers)
{
    const char *const order[2] = {in_axes, out_axes};
    const gint64 samples[2] = {in->n_samples, out->n_samples};
    g_autoptr(GError) error = NULL;

    *run = (VariantTestRun){.test = test,
                            .variant = variant,
                            .n_workers = n_workers,
                            .on_device = variant->backend == CT_CUDA};
    variant_test_bind(test, order, samples, run->inputs, run->outputs);
    ct_tuning_defaults(variant, run->tuning);
    run->prepare = (CtPrepare){
        .nodes = test->nodes ? test->nodes : &test->node,
        .n_nodes = test->nodes ? test->n_nodes : 1,
        .n_inputs = test->node.n_inputs,
        .inputs = run->inputs,
        .n_outputs = test->node.n_outputs,
        .outputs = run->outputs,
        .n_workers = run->on_device ? 1 : n_workers,
        .tuning = test->tuning ? test->tuning : run->tuning,
        .device = run->on_device ? device_test_device() : NULL,
    };
    variant->prepare(&run->prepare, &run->state, &error);
    g_assert_no_error(error);
    if (run->on_device) {
        device_test_begin(&run->device, &run->prepare);
        run->scratch = run->device.scratch;
    } else {
        run->scratch = g_aligned_alloc(run->prepare.scratch_bytes + 1, 1, 64);
    }
}

/* One firing, split into items for the workers; the `firing`th. */
static inline void
variant_test_fire(VariantTestRun *run, CtBlock *used, CtBlock *made, guint firing, gboolean ended)
{
    const char *split = run->variant->split;
    g_autoptr(GError) error = NULL;
    gint64 n_items = 1;

    if (split != NULL && strcmp(split, "*") == 0)
        n_items = run->prepare.n_items;
    else if (split != NULL && strcmp(split, "time") == 0)
        n_items = made->n_samples;
    else if (split != NULL)
        n_items = ct_stream_length(&run->test->out, split);
    for (gint64 item = 0, end; item < n_items; item = end) {
        end = MIN(n_items, item + 1 + n_items / (gint64)(run->n_workers + 1));
        const CtWork work = {
            .inputs = (const CtBlock[VARIANT_TEST_PORTS]){*used},
            .outputs = (const CtBlock[VARIANT_TEST_PORTS]){*made},
            .begin = item,
            .end = end,
            .ended = ended,
            .scratch = run->scratch,
            .counters = run->on_device ? run->device.counters : run->counters,
            .queue = run->device.queue,
        };
        if (run->device.queue) {
            /* what the slots of earlier firings hold must have been used */
            if (firing % DEVICE_TEST_SLOTS == 0)
                device_test_wait(&run->device);
            ct_queue_begin(run->device.queue);
        }
        run->variant->work(run->state, &work, &error);
        g_assert_no_error(error);
    }
}

/* Fills `out` from `in`, in firings of `n_firings` outputs each in turn (over and over). Of a sum,
 * they are firings of so many inputs. Of a cuda variant the blocks are copied to the device and
 * back. */
static inline void
variant_test_work(VariantTestRun *run, const CtBlock *in, const CtBlock *out, const gint64 *firings,
                  guint n_firings)
{
    const gint64 total = *variant_test_total(run->test, in, out);
    DeviceTestBlock device_in = {.there = *in}, device_out = {.there = *out};

    if (run->on_device) {
        device_test_send(&device_in, in);
        device_test_send(&device_out, out);
    } else {
        memset(run->scratch, 0xff, run->prepare.scratch_bytes); /* a NaN, whatever it is read as */
    }
    gint64 n;
    guint firing = 0;
    for (gint64 t = 0; t < total; t += n, firing++) {
        CtBlock used = device_in.there, made = device_out.there;
        n = MIN(firings[firing % n_firings], total - t);
        variant_test_cut(run->test, &run->inputs[0], &run->outputs[0], t, n, t + n == total, &used,
                         &made);
        variant_test_fire(run, &used, &made, firing, t + n == total);
    }
    if (run->on_device) {
        device_test_wait(&run->device);
        device_test_fetch(&device_in, in);
        device_test_fetch(&device_out, out);
    }
}

static inline void
variant_test_finish(VariantTestRun *run)
{
    if (run->on_device) {
        device_test_copy(run->counters, run->device.counters, sizeof run->counters);
        device_test_end(&run->device);
    } else {
        g_aligned_free(run->scratch);
    }
    if (run->variant->finish)
        run->variant->finish(run->state);
    if (run->test->counters)
        memcpy(run->test->counters, run->counters, sizeof run->counters);
}

static inline void
variant_test_run(const VariantTest *test, const CtVariant *variant, const char *in_axes,
                 const CtBlock *in, const char *out_axes, const CtBlock *out, guint n_workers,
                 const gint64 *firings, guint n_firings)
{
    VariantTestRun run;

    variant_test_prepare(&run, test, variant, in_axes, in, out_axes, out, n_workers);
    variant_test_work(&run, in, out, firings, n_firings);
    variant_test_finish(&run);
}

/* Largest difference of float or double blocks of one shape, and largest value of the second. */
typedef struct {
    const CtBlock *other;
    gdouble *values;
    gdouble difference, largest;
} VariantTestDifference;

static inline gdouble
variant_test_value(CtType type, const guint8 *part)
{
    const CtTypeInfo *info = ct_type_info(type);
    return info->part_bits == 64 ? *(const gdouble *)part : *(const float *)part;
}

static inline void
variant_test_keep(guint8 *part, gsize count, gpointer data)
{
    VariantTestDifference *self = data;
    self->values[count] = variant_test_value(self->other->type, part);
    self->largest = MAX(self->largest, ABS(self->values[count]));
}

static inline void
variant_test_subtract(guint8 *part, gsize count, gpointer data)
{
    VariantTestDifference *self = data;
    const gdouble difference =
        ABS(variant_test_value(self->other->type, part) - self->values[count]);
    if (!(difference <= self->difference))
        self->difference = difference;
}

static inline gdouble
variant_test_difference(const CtBlock *block, const CtBlock *wanted, gdouble *largest)
{
    VariantTestDifference self = {.other = wanted};
    gint64 n = 2;

    for (guint i = 0; i < wanted->n_axes; i++)
        n *= wanted->length[i];
    G_GNUC_UNUSED g_autofree gdouble *values = self.values = g_new(gdouble, n);
    variant_test_visit(wanted, variant_test_keep, &self);
    variant_test_visit(block, variant_test_subtract, &self);
    *largest = self.largest;
    return self.difference;
}

/* Whether this machine has what the variant runs on, and the run is not for others alone: where the
 * environment names a backend, it is for that and the reference. Where each firing takes a hundred
 * times as long, of many cases one in four is run. */
static inline gboolean
variant_test_is_wanted(const CtVariant *variant)
{
    static guint n_calls;
    const char *only = g_getenv("CORNERTURN_TEST_BACKEND");

    if (variant->backend == CT_CUDA)
        return ct_devices(NULL, NULL) > 0 &&
               (!is_sanitized("compute") || n_calls++ < 12 || n_calls % 4 == 0);
    return only == NULL || variant->backend == CT_REFERENCE;
}

/* Sets the test to another tuning of the variant than the last time, if there is one; on a device,
 * where each wants a compiler, at every third call, and less often when there have been many. */
static inline gboolean
variant_test_turn(VariantTest *test, const CtVariant *variant, guint turn,
                  gint64 tuning[CT_MAX_TUNABLES])
{
    static guint n_calls;
    const CtNode *nodes = test->nodes ? test->nodes : &test->node;
    const guint n_tunings = variant_test_n_tunings(variant);

    test->tuning = tuning;
    if (test->all_values) /* sanitizers take their time to compile */
        return variant_test_single_tuning(
            variant, is_sanitized(NULL) ? 3 * turn + (guint)test->in.type % 3 : turn, tuning);
    if (n_tunings == 1 || turn > 0)
        return FALSE;
    n_calls += variant->backend == CT_CUDA;
    if (variant->backend == CT_CUDA && n_calls % (n_calls < 60 ? 3 : 20) != 0)
        return FALSE;
    guint tries = 0;
    do {
        variant_test_next_tuning(variant, tuning);
    } while (!ct_tuning_differs(variant, nodes, tuning) && ++tries < n_tunings);
    return TRUE;
}

/* Runs every variant of this machine on `in` and compares: with the reference, from which it may
 * differ by `absolute` + `relative` times the largest value, by its defaults and by another tuning,
 * and with itself in short firings, where it must give the same bits unless the test says
 * otherwise. `order`: the axes of input and output; `what`: for messages. */
static inline void
variant_test_compare(const VariantTest *test, const char *const order[2], const CtBlock *in,
                     gint64 n_outputs, gsize padding, gint32 longest_firing, gdouble absolute,
                     gdouble relative, const char *what, GRand *random)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);
    CtBlock wanted = variant_test_block(&test->out, order[1], n_outputs, padding, 0);

    /* The reference is the last. */
    for (guint i = variants->len; i-- > 0;) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        const gboolean on_device = variant->backend == CT_CUDA;
        if (variant->covers[1] != NULL || !variant_test_is_wanted(variant) ||
            (on_device && padding > 0 && test->packed_on_device) ||
            !ct_registry_allows_isa(test->registry, variant->isa) ||
            !variant_test_fits(test, variant, order))
            continue;
        if (variant->backend == CT_REFERENCE) {
            variant_test_run(test, variant, order[0], in, order[1], &wanted, 1,
                             variant_test_total(test, in, &wanted), 1);
            continue;
        }
        CtBlock whole = variant_test_block(&test->out, order[1], n_outputs, padding, 0xff);
        CtBlock cut = variant_test_block(&test->out, order[1], n_outputs, padding, 0xff);
        const gint64 firings[] = {1 + g_rand_int_range(random, 0, longest_firing), 1,
                                  1 + g_rand_int_range(random, 0, longest_firing)};
        variant_test_run(test, variant, order[0], in, order[1], &whole, 1,
                         variant_test_total(test, in, &whole), 1);
        variant_test_run(test, variant, order[0], in, order[1], &cut, 2, firings, 3);

        gdouble largest, same;
        gint64 tuning[CT_MAX_TUNABLES];
        ct_tuning_defaults(variant, tuning);
        gdouble difference = variant_test_difference(&whole, &wanted, &largest);
        g_assert_cmpfloat(variant_test_difference(&cut, &whole, &same), <=,
                          on_device ? MAX(test->cut_difference, test->device_cut_difference)
                                    : test->cut_difference);
        VariantTest tuned = *test;
        for (guint turn = 0; difference <= absolute + relative * largest &&
                             variant_test_turn(&tuned, variant, turn, tuning);
             turn++) {
            if (!ct_tuning_differs(variant, test->nodes ? test->nodes : &test->node, tuning))
                continue;
            variant_test_run(&tuned, variant, order[0], in, order[1], &cut, 2, firings, 3);
            difference = variant_test_difference(&cut, &wanted, &largest);
        }
        g_autofree char *name = ct_tuning_name(variant, tuning);
        if (!(difference <= absolute + relative * largest))
            g_error("%s of %s [%s] -> [%s], %s: off by %g of %g", name,
                    ct_type_info(test->in.type)->name, order[0], order[1], what, difference,
                    largest);
        g_aligned_free(whole.data);
        g_aligned_free(cut.data);
    }
    g_aligned_free(wanted.data);
}

/* Where a part of the block is no number and `data` there has none either, one becomes the other.
 */
typedef struct {
    const CtBlock *block;
    guint8 *other;
} VariantTestNans;

static inline gboolean
variant_test_is_nan(CtType type, const guint8 *part)
{
    switch (ct_type_info(type)->part_bits) {
    case 16:
        return (*(const guint16 *)part & 0x7fff) > 0x7c00;
    case 32:
        return (*(const guint32 *)part & 0x7fffffff) > 0x7f800000;
    default:
        return (*(const guint64 *)part & G_MAXINT64) > 0x7ff0000000000000;
    }
}

static inline void
variant_test_erase_nan(guint8 *part, G_GNUC_UNUSED gsize count, gpointer data)
{
    const VariantTestNans *self = data;
    const CtType type = self->block->type;
    guint8 *other = self->other + (part - self->block->data);

    if (variant_test_is_nan(type, part) && variant_test_is_nan(type, other))
        memcpy(part, other, ct_type_info(type)->part_bits / 8);
}

static inline void
variant_test_erase_nans(const CtBlock *block, guint8 *other)
{
    VariantTestNans nans = {block, other};

    if (ct_type_info(block->type)->is_float)
        variant_test_visit(block, variant_test_erase_nan, &nans);
}

/* Runs every variant of this machine on `in` in one piece and in short firings, these also by
 * another tuning than the defaults: each must give the reference's elements to the bit, count as it
 * does where counters are kept, and write nothing else; numbers that are none are alike. `out`: as
 * variant_test_block makes it, it is kept. */
static inline void
variant_test_same(const VariantTest *test, const char *const order[2], const CtBlock *in,
                  const CtBlock *out, gint32 longest_firing, const char *what, GRand *random)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);
    const gsize bytes = device_test_span(out);
    g_autofree guint8 *wanted = NULL;
    g_autofree guint8 *before = g_memdup2(out->data, bytes);
    guint64 counted[VARIANT_TEST_COUNTERS];

    /* The reference is the last. */
    for (guint i = variants->len; i-- > 0;) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        if (variant->covers[1] != NULL || !variant_test_is_wanted(variant) ||
            !ct_registry_allows_isa(test->registry, variant->isa) ||
            !variant_test_fits(test, variant, order))
            continue;
        const gint32 longest = MAX(longest_firing, 1);
        const gint64 firings[] = {1 + g_rand_int_range(random, 0, longest), 1,
                                  1 + g_rand_int_range(random, 0, longest)};
        const guint n_runs = longest_firing > 0 ? 2 : 1;
        VariantTest tuned = *test;
        gint64 tuning[CT_MAX_TUNABLES];
        ct_tuning_defaults(variant, tuning);
        for (guint run = 0; run < n_runs + 1; run++) {
            if (run == n_runs && !variant_test_turn(&tuned, variant, 0, tuning))
                break;
            const guint n_firings = MIN(run, n_runs - 1);
            memcpy(out->data, before, bytes);
            variant_test_run(&tuned, variant, order[0], in, order[1], out, 1 + n_firings,
                             n_firings == 0 ? variant_test_total(test, in, out) : firings,
                             n_firings == 0 ? 1 : 3);
            if (test->counters && !wanted)
                memcpy(counted, test->counters, sizeof counted);
            if (test->counters)
                g_assert_cmpmem(test->counters, sizeof counted, counted, sizeof counted);
            if (!wanted)
                wanted = g_memdup2(out->data, bytes);
            else
                variant_test_erase_nans(out, wanted);
            g_autofree char *name = ct_tuning_name(variant, tuning);
            if (memcmp(out->data, wanted, bytes) != 0)
                g_error("%s of %s [%s] -> [%s], %s: not the reference's bits%s", name,
                        ct_type_info(test->in.type)->name, order[0], order[1], what,
                        n_firings == 0 ? "" : ", in short firings");
        }
    }
    memcpy(out->data, before, bytes);
}
