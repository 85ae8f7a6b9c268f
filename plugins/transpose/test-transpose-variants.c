/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the transpose's variants against the reference, to the bit, and of its kernels. */
#include "../../tests/kernel-test.h"

/* A type of each size of elements. */
static const CtType types[] = {CT_I8, CT_CI8, CT_CI16, CT_CF32, CT_CF64};

static const char *const names[] = {"time", "channel", "station", "pol",
                                    "beam", "subband", "tap",     "phase"};

static void
fill_part(guint8 *part, gsize count, gpointer data)
{
    const CtBlock *block = data;
    const CtTypeInfo *type = ct_type_info(block->type);
    const guint64 bits = (count + 1) * 0x9e3779b97f4a7c15; /* all values differ, in every 16 bits */

    memcpy(part, (const guint8 *)&bits + 8 - type->part_bits / 8, type->part_bits / 8);
}

/* Moves the axes outside time apart in memory, as in rings. */
static void
spread(CtBlock *block, const char *axes, GRand *random)
{
    g_auto(GStrv) words = g_strsplit(axes, " ", 0);
    guint time = 0;
    while (strcmp(words[time], "time") != 0)
        time++;
    gint64 bytes = block->stride[time] * block->length[time];
    for (guint a = time; a-- > 0;) {
        bytes = (bytes + 15) / 16 * 16 + 16 * g_rand_int_range(random, 0, 3);
        block->stride[a] = bytes;
        bytes *= block->length[a];
    }
    g_aligned_free(block->data);
    block->data = g_aligned_alloc((gsize)bytes + 1, 1, 64);
    memset(block->data, 0xa5, (gsize)bytes + 1);
}

/* Compares the variants on the samples from `first` on, in one order and in the other. */
static void
check(CtType type, const char *lengths, gint64 n, const char *const order[2], gint64 first,
      gsize padding, GRand *random)
{
    g_autofree char *parameters = g_strdup_printf("{ layout: '[%s]' }", order[1]);
    g_autofree char *what = g_strdup_printf("%s, from sample %" G_GINT64_FORMAT, lengths, first);
    VariantTest *test = variant_test_new("transpose", parameters, type, lengths);
    const CtLayout layouts[] = {variant_test_layout(type, order[0]),
                                variant_test_layout(type, order[1])};
    CtBlock blocks[] = {variant_test_block(&test->in, order[0], n, padding, 0),
                        variant_test_block(&test->out, order[1], n, padding, 0xa5)};
    const gboolean is_blocked = strchr(order[0], ':') || strchr(order[1], ':');

    for (guint i = 0; i < 2 && padding == 0; i++)
        spread(&blocks[i], order[i], random);
    variant_test_visit(&blocks[0], fill_part, &blocks[0]);
    const CtBlock in = ct_block_slice(&blocks[0], &layouts[0], first, n - first);
    const CtBlock out = ct_block_slice(&blocks[1], &layouts[1], first, n - first);
    if (is_blocked)
        variant_test_same(test, order, &blocks[0], &blocks[1], 0, what, random);
    else
        variant_test_same(test, order, &in, &out, (gint32)n, what, random);
    g_aligned_free(blocks[0].data);
    g_aligned_free(blocks[1].data);
    variant_test_free(test);
}

static char *
order_of(const guint *axes, guint n)
{
    GString *order = g_string_new(NULL);
    for (guint a = 0; a < n; a++)
        g_string_append_printf(order, "%s%s", a > 0 ? " " : "", names[axes[a]]);
    return g_string_free(order, FALSE);
}

static void
shuffle(guint *axes, guint n, GRand *random)
{
    for (guint a = 0; a < n; a++)
        axes[a] = a;
    for (guint a = n; a-- > 1;) {
        const guint b = (guint)g_rand_int_range(random, 0, (gint32)a + 1), kept = axes[a];
        axes[a] = axes[b];
        axes[b] = kept;
    }
}

/* Any order of up to 8 axes of any lengths, to any other. */
static void
test_permutations(void)
{
    static const gint64 lengths[] = {1, 2, 2, 2, 3, 4, 5, 7, 8, 16, 31, 33, 64, 100, 257};
    g_autoptr(GRand) random = g_rand_new_with_seed(1);

    for (guint i = 0; i < (is_sanitized(NULL) ? 75 : 150); i++) {
        const guint n_axes = 2 + (guint)g_rand_int_range(random, 0, 7);
        g_autoptr(GString) text = g_string_new(NULL);
        gint64 left = 60000, n = 1;
        guint axes[2][8];
        for (guint a = 0; a < n_axes; a++) {
            const gint64 wanted = lengths[g_rand_int_range(random, 0, G_N_ELEMENTS(lengths))];
            const gint64 length = MIN(wanted, left);
            g_string_append_printf(text, "%s%s:%" G_GINT64_FORMAT, a > 0 ? " " : "", names[a],
                                   length);
            left /= length;
            n = a == 0 ? length : n;
        }
        shuffle(axes[0], n_axes, random);
        shuffle(axes[1], n_axes, random);
        g_autofree char *in = order_of(axes[0], n_axes);
        g_autofree char *out = order_of(axes[1], n_axes);
        const gint64 first = g_rand_boolean(random) ? 0 : g_rand_int_range(random, 0, (gint32)n);
        check(types[i % G_N_ELEMENTS(types)], text->str, n, (const char *const[]){in, out}, first,
              g_rand_int_range(random, 0, 8) == 0 ? 1 : 0, random);
    }
}

/* The orders of streams that fill the tiles, and that do not quite: each order and type with one of
 * them. */
static void
test_orders(void)
{
    static const char *const lengths[] = {"time:128 channel:64 station:4 pol:2",
                                          "time:131 channel:33 station:7 pol:2",
                                          "time:130 channel:6 station:30 pol:4"};
    static const gint64 n[] = {128, 131, 130};
    g_autoptr(GRand) random = g_rand_new_with_seed(2);

    for (guint i = 0; i < 24 * G_N_ELEMENTS(types); i += is_sanitized(NULL) ? 5 : 1) {
        const guint order = i % 24, which = (order + i / 24) % G_N_ELEMENTS(lengths);
        guint left[] = {0, 1, 2, 3}, axes[4];
        for (guint a = 0, rest = order; a < 4; rest /= 4 - a, a++) {
            const guint taken = rest % (4 - a);
            axes[a] = left[taken];
            left[taken] = left[3 - a];
        }
        g_autofree char *out = order_of(axes, 4);
        check(types[i / 24], lengths[which], n[which],
              (const char *const[]){"time channel station pol", out}, i % 3, 0, random);
    }
}

/* Blocks are made, undone, and changed to other lengths; parts of complex numbers are separated. */
static void
test_blocks(void)
{
    static const char *const orders[][2] = {
        {"time channel station pol", "channel time station pol time:16"},
        {"time channel station pol", "time channel pol station time:4"},
        {"time channel station pol", "pol station time channel station:2 time:8"},
        {"time channel station pol", "station time channel time:32 pol"},
        {"channel time station pol time:16", "time pol channel station"},
        {"channel time station pol time:16", "channel time pol station time:4"},
        {"time channel pol station time:6", "station time pol channel time:4"},
        {"time channel pol station channel:3", "time pol station channel channel:2"},
        {"time channel station pol", "channel complex station pol time"},
        {"time channel station pol", "channel time station pol complex time:4"},
        {"station time channel time:16 complex pol", "time channel station pol"},
    };
    static const CtType complex[] = {CT_CI8, CT_CI16, CT_CF32};
    static const gint64 n[] = {96, 83};
    g_autoptr(GRand) random = g_rand_new_with_seed(3);

    for (guint i = 0; i < G_N_ELEMENTS(orders) * G_N_ELEMENTS(complex) * G_N_ELEMENTS(n); i++) {
        const gint64 length = n[i / G_N_ELEMENTS(orders) / G_N_ELEMENTS(complex)];
        g_autofree char *lengths =
            g_strdup_printf("time:%" G_GINT64_FORMAT " channel:6 station:5 pol:2", length);
        check(complex[i / G_N_ELEMENTS(orders) % G_N_ELEMENTS(complex)], lengths, length,
              orders[i % G_N_ELEMENTS(orders)], 0, 0, random);
    }
}

/* Checks what a variant writes past the caches, whatever the size. */
static void
check_streamed(const VariantTest *test, const CtVariant *variant, const char *const order[2],
               const CtBlock *in, const CtBlock *out)
{
    const gsize bytes = (gsize)in->stride[1];
    gint64 tuning[CT_MAX_TUNABLES];
    ct_tuning_defaults(variant, tuning);
    if (ct_registry_isa_refusal(test->registry, variant->isa) ||
        !ct_tuning_set(variant, "stream", 2, tuning))
        return;
    VariantTest tuned = *test;
    tuned.tuning = tuning;
    variant_test_run(&tuned, variant, order[0], in, order[1], out, 1, &in->n_samples, 1);
    for (gint64 t = 0; t < in->length[0]; t++)
        for (gint64 c = 0; c < in->length[1]; c++)
            g_assert_cmpmem(out->data + c * out->stride[0] + t * out->stride[1], bytes,
                            in->data + t * in->stride[0] + c * in->stride[1], bytes);
}

/* Rows of the output that begin at lines of the cache, longer than a tile by any number of
 * elements. */
static void
test_lines(void)
{
    static const char *const order[] = {"time channel", "channel time"};

    for (gint64 n = 64; n < (is_sanitized(NULL) ? 80 : 160); n++) {
        g_autofree char *lengths = g_strdup_printf("time:%" G_GINT64_FORMAT " channel:64", n);
        VariantTest *test =
            variant_test_new("transpose", "{ layout: '[channel time]' }", CT_CF64, lengths);
        const GPtrArray *variants = ct_registry_variants(test->registry, "transpose");
        CtBlock in = variant_test_block(&test->in, order[0], n, 0, 0);
        CtBlock out = variant_test_block(&test->out, order[1], n, 0, 0xa5);
        g_aligned_free(out.data);
        out.stride[0] = (out.stride[0] + 63) / 64 * 64;
        out.data = g_aligned_alloc((gsize)(64 * out.stride[0]), 1, 64);
        variant_test_visit(&in, fill_part, &in);
        for (guint i = 0; i < variants->len; i++)
            check_streamed(test, g_ptr_array_index(variants, i), order, &in, &out);
        g_aligned_free(in.data);
        g_aligned_free(out.data);
        variant_test_free(test);
    }
}

/* Kernels of every form: with words of one, two and four units. */
static void
test_kernels(void)
{
    static const char *const orders[] = {"channel station pol time", "station time channel pol",
                                         "pol channel time station"};

    if (!kernel_test_can())
        return;
    for (guint i = 0; i < G_N_ELEMENTS(orders) * G_N_ELEMENTS(types); i += 2) {
        const char *const order[] = {"time channel station pol", orders[i / G_N_ELEMENTS(types)]};
        g_autofree char *parameters = g_strdup_printf("{ layout: '[%s]' }", order[1]);
        VariantTest *test =
            variant_test_new("transpose", parameters, types[i % G_N_ELEMENTS(types)],
                             "time:1024 channel:64 station:16 pol:2");
        kernel_test_compile(test, order, 1024);
        variant_test_free(test);
    }
    kernel_test_finish();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/transpose/permutations", test_permutations);
    g_test_add_func("/transpose/orders", test_orders);
    g_test_add_func("/transpose/blocks", test_blocks);
    g_test_add_func("/transpose/lines", test_lines);
    g_test_add_func("/transpose/kernels", test_kernels);
    return g_test_run();
}
