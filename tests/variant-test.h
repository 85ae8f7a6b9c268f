/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs variants of a stage on blocks made here, without planner and scheduler, with any strides and
 * firings. Only the first input has data, and only the first output is compared; further inputs are
 * not connected, and nothing reads further outputs. Marked samples are cleared, as the core does.
 * The test programs of plugins include this header. */
#pragma once

#include "variant-block.h"

/* The samples by which firings are counted: a sum's inputs, otherwise outputs. */
static inline const gint64 *
variant_test_total(const VariantTest *test, const CtBlock *in, const CtBlock *out)
{
    return test->node.footprint.kind == CT_FOOTPRINT_SUM ? &in->n_samples : &out->n_samples;
}

/* Fills `out` from `in`, in firings whose numbers of outputs repeat `firings`; for a sum, these are
 * numbers of inputs. On the host, one firing lies in memory as `in` and `out` do; of several, each
 * ends where memory ends. */
static inline void
variant_test_run(const VariantTest *test, const CtVariant *variant, const char *in_axes,
                 const CtBlock *in, const char *out_axes, const CtBlock *out, guint n_workers,
                 const gint64 *firings, guint n_firings)
{
    const char *const order[2] = {in_axes, out_axes};
    const gint64 samples[2] = {in->n_samples, out->n_samples};
    const CtNode *nodes = test->nodes ? test->nodes : &test->node;
    const guint n_nodes = test->nodes ? test->n_nodes : 1;
    const gboolean is_sum = test->node.footprint.kind == CT_FOOTPRINT_SUM;
    CtBinding bindings[2][VARIANT_TEST_PORTS];
    CtLayout layouts[2][VARIANT_TEST_PORTS];
    CtBlock inputs[VARIANT_TEST_PORTS] = {*in}, outputs[VARIANT_TEST_PORTS] = {*out};
    g_autoptr(GError) error = NULL;

    variant_test_bind(test, order, samples, bindings[0], bindings[1]);
    for (guint i = 0; i < VARIANT_TEST_PORTS; i++) {
        layouts[0][i] = bindings[0][i].layout;
        layouts[1][i] = bindings[1][i].layout;
    }
    const CtTestRun run = {
        .nodes = nodes,
        .n_nodes = n_nodes,
        .variant = variant,
        .tuning = test->tuning,
        .inputs = layouts[0],
        .outputs = layouts[1],
        .n_workers = n_workers,
        .cut_by = is_sum ? CT_CUT_ARRIVALS : CT_CUT_ROOM,
        .cuts = firings,
        .n_cuts = n_firings,
        .side = n_firings == 1 ? CT_GUARD_LIKE : CT_GUARD_END,
        .poison = 0xff,
        .device = variant->backend == CT_CUDA ? device_test_device() : NULL,
    };
    ct_test_run(&run, inputs, outputs, test->counters, &error);
    g_assert_no_error(error);
    g_assert_cmpint(outputs[0].n_samples, ==, out->n_samples);
}

/* The largest difference between float or double blocks of one shape, and the largest value of the
 * second one. */
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

/* Says whether the next of many runs on a device is wanted: one in four is if each firing takes a
 * hundred times as long, one in two if its kernels are compiled for the emulator. */
static inline gboolean
variant_test_wants_device(void)
{
    static guint n_calls;
    const guint share = is_sanitized("compute") ? 4 : is_emulated() ? 2 : 1;

    return n_calls++ < 12 || n_calls % share == 0;
}

/* Whether this machine can run the variant, and the run is for it: if the environment names a
 * backend, it is for that and the reference. */
static inline gboolean
variant_test_is_wanted(const CtVariant *variant)
{
    const char *only = g_getenv("CORNERTURN_TEST_BACKEND");

    if (variant->backend == CT_CUDA)
        return ct_devices(NULL, NULL) > 0 && variant_test_wants_device();
    return only == NULL || variant->backend == CT_REFERENCE;
}

/* Sets the test to another tuning of the variant than last time, if there is one. On a device,
 * where each tuning must be compiled, this happens at every third call, and less often after
 * many. */
static inline gboolean
variant_test_turn(VariantTest *test, const CtVariant *variant, guint turn,
                  gint64 tuning[CT_MAX_TUNABLES])
{
    static guint n_calls;
    const CtNode *nodes = test->nodes ? test->nodes : &test->node;
    const guint n_tunings = variant_test_n_tunings(variant);

    test->tuning = tuning;
    if (test->all_values) { /* compiling takes long with sanitizers and for the emulator */
        const gboolean is_slow = is_sanitized(NULL) || is_emulated();
        return variant_test_single_tuning(
            variant, is_slow ? 3 * turn + (guint)test->in.type % 3 : turn, tuning);
    }
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

/* Runs every variant of this machine on `in` and compares it with the reference, with the default
 * tuning and with another one: the difference must be at most `absolute` + `relative` times the
 * largest value. Also compares it with itself in short firings, which must give the same bits
 * unless the test says otherwise. `order`: the axes of input and output; `what`: for messages. */
static inline void
variant_test_compare(const VariantTest *test, const char *const order[2], const CtBlock *in,
                     gint64 n_outputs, gsize padding, gint32 longest_firing, gdouble absolute,
                     gdouble relative, const char *what, GRand *random)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);
    CtBlock wanted = variant_test_block(&test->out, order[1], n_outputs, padding, 0);

    /* The reference is the last in the table and runs first. */
    for (guint i = variants->len; i-- > 0;) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        const gboolean on_device = variant->backend == CT_CUDA;
        if (variant->covers[1] != NULL || !variant_test_is_wanted(variant) ||
            (on_device && padding > 0 && test->packed_on_device) ||
            ct_registry_isa_refusal(test->registry, variant->isa) ||
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

/* Replaces a part of the block that is NaN by that of `data`, if that is NaN as well. */
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

/* Runs every variant of this machine on `in` as a whole and in short firings, the latter also with
 * another tuning than the default. Each must give the reference's elements to the bit (all NaNs are
 * equal) and its counters, if there are any, and write nothing else. `out`: a block as
 * variant_test_block makes it; it is kept. */
static inline void
variant_test_same(const VariantTest *test, const char *const order[2], const CtBlock *in,
                  const CtBlock *out, gint32 longest_firing, const char *what, GRand *random)
{
    const GPtrArray *variants = ct_registry_variants(test->registry, test->node.stage->name);
    const gsize bytes = ct_block_span(out);
    g_autofree guint8 *wanted = NULL;
    g_autofree guint8 *before = g_memdup2(out->data, bytes);
    guint64 counted[VARIANT_TEST_COUNTERS];

    /* The reference is the last in the table and runs first. */
    for (guint i = variants->len; i-- > 0;) {
        const CtVariant *variant = g_ptr_array_index(variants, i);
        if (variant->covers[1] != NULL || !variant_test_is_wanted(variant) ||
            ct_registry_isa_refusal(test->registry, variant->isa) ||
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
