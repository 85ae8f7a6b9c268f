/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages, streams, blocks and tunings for tests of variants (variant-test.h). */
#pragma once

#include "../core/graph/graph.h"
#include "../core/graph/registry.h"
#include "../core/graph/tuning.h"
#include "../core/model/node-params.h"
#include "../core/model/row.h"
#include "../core/run/firing.h"
#include "device-test.h"
#include "sanitized.h"

#include <cornerturn/npy.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The most ports on either side, and the most counters of a stage. */
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
    gdouble cut_difference; /* the difference that short firings may make, if a compiler rounds
                               vectors differently from the elements left over */
    gdouble device_cut_difference; /* the same on a device, whose library chooses its code by the
                                      length */
    gboolean
        packed_on_device; /* devices get no padded blocks, because the scheduler gives them none */
    guint64 *counters;    /* [VARIANT_TEST_COUNTERS] gets the counters of a run; NULL: they are not
                             needed */
    const gint64 *tuning; /* of the variant that runs next; NULL: the default */
    gboolean
        all_values; /* compare with every value of every tunable, not only with the next tuning */
} VariantTest;

/* The stage with parameters (YAML) after a stream of `type` and axes "time:100 station:3", in any
 * order, to which `describe` (unless NULL) may add; fails the test if the stage refuses it. */
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
 * with `padding` elements after each row of each axis; to be freed with g_aligned_free. Every byte
 * of it is `fill`. */
static inline CtBlock
variant_test_block(const CtStream *stream, const char *axes, gint64 n_samples, gsize padding,
                   guint8 fill)
{
    const CtLayout layout = variant_test_layout(stream->type, axes);
    CtBlock block;
    const gsize bytes = ct_block_padded(&block, &layout, stream, n_samples, padding, 1);

    block.data = g_aligned_alloc(bytes + 1, 1, 64);
    memset(block.data, fill, bytes + 1);
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

/* Writes doubles ('f'), or pairs of them ('c'), to a new .npy file; returns its path, to be removed
 * and freed. */
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

/* Whether the variant supports the node in these orders. The host's code supports more than its
 * rows declare; a device has kernels for its rows only. */
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

/* Binds the ports in these orders, further ones in canonical order; `samples` are the most of the
 * first ones. */
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

/* The number of combinations of values of the variant's tunables. */
static inline guint
variant_test_n_tunings(const CtVariant *variant)
{
    guint n = 1;
    for (guint i = 0; i < ct_tuning_count(variant); i++)
        n *= variant->tunables[i].n_values;
    return n;
}

/* The k-th combination; consecutive k give different ones, and after that number of them all have
 * been given. */
static inline void
variant_test_tuning(const CtVariant *variant, guint k, gint64 tuning[CT_MAX_TUNABLES])
{
    /* A step that is a prime number reaches all, and changes every value at once. */
    guint64 left = (guint64)k * 7919 % variant_test_n_tunings(variant);
    for (guint i = 0; i < ct_tuning_count(variant); i++) {
        const CtTunable *tunable = &variant->tunables[i];
        tuning[i] = tunable->values[left % tunable->n_values];
        left /= tunable->n_values;
    }
}

/* The k-th of the tunings with one value that is not the default; FALSE: there is none. */
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

/* Gives another combination at each call for this variant. */
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
