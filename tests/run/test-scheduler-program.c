/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of all lengths that the program feeds give the same answer as the whole stream. */
#include "chains.h"

#include <sys/mman.h>

static const CtVariant fed_variant = {.name = "test", .prepare = prepare};

static void
count_released(gpointer data, gpointer user_data)
{
    g_free(data);
    g_atomic_int_inc((gint *)user_data);
}

/* Feeds the source's samples in blocks of random lengths up to `longest`. */
static gint
feed_all(CtScheduler *scheduler, const Test *test, const CtPlanLink *link, GRand *random,
         gint64 longest, gint *released)
{
    gint n_fed = 0;
    for (gint64 from = 0; from < test->n_samples;) {
        const gint64 wanted = g_rand_int_range(random, 1, (gint32)longest + 1);
        const gint64 n = MIN(test->n_samples - from, wanted);
        CtBlock block = {.type = CT_I64, .n_axes = 2, .n_samples = n};
        const gsize bytes =
            ct_layout_strides(&link->layout, link->stream, n, block.length, block.stride);
        block.data = g_malloc(bytes);
        const CtBinding binding = {.stream = link->stream, .layout = link->layout};
        for (gint64 t = 0; t < n; t++)
            for (gint64 l = 0; l < N_LANES; l++)
                *element(&block, &binding, t, l) = value(from + t, l);
        g_autoptr(GError) error = NULL;
        ct_scheduler_feed(
            scheduler, 0, &block,
            &(CtFeed){.seconds = -1, .released = count_released, .user_data = released}, &error);
        g_assert_no_error(error);
        from += n;
        n_fed++;
    }
    ct_scheduler_feed_end(scheduler, 0);
    return n_fed;
}

static void
random_fed(GRand *random)
{
    Test test;
    test_init(&test, g_rand_int_range(random, 0, 700));
    test.first_tick = 0;
    Chain chain;
    chain_init(&chain, (guint)g_rand_int_range(random, 1, 4));
    const guint source = add_node(&chain, "fed", &source_stage, &fed_variant, -1, sample, &test);
    const gint link = add_output(&chain, source, layouts[g_rand_int_range(random, 0, 2)],
                                 g_rand_int_range(random, 1, 90), 2);
    const CtFootprint rule = {.window = g_rand_int_range(random, 1, 40),
                              .hop = g_rand_int_range(random, 1, 12)};
    const guint node = add_node(&chain, "stage", &window_stage, &window_variant, link, rule, &test);
    const gint last =
        add_output(&chain, node, layouts[0], g_rand_int_range(random, 1, 30), 2 * rule.hop);
    add_node(&chain, "sink", &sink_stage, &sink_variant, last, sample, &test);
    size_rings(&chain);
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) validity = g_array_new(FALSE, FALSE, 1);
    expect_source(&test, values, validity);
    expect(values, validity, test.n_samples, &rule);

    g_autoptr(GError) error = NULL;
    const CtRunOptions options = {0};
    CtScheduler *scheduler = ct_scheduler_new(&chain.plan, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    gint released = 0;
    const gint n_fed = feed_all(scheduler, &test, chain.plan.links->pdata[link], random,
                                g_rand_int_range(random, 1, 80), &released);
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    g_assert_true(ct_scheduler_result(scheduler, &error));
    ct_scheduler_free(scheduler);
    g_assert_cmpint(released, ==, n_fed);
    g_assert_cmpmem(test.values->data, test.values->len * sizeof(gint64), values->data,
                    values->len * sizeof(gint64));
    chain_clear(&chain);
    test_clear(&test);
}

/* Makes the memory inaccessible, so that any use of it fails. */
static void
forbid(gpointer data, gpointer user_data)
{
    g_assert_cmpint(mprotect(data, *(gsize *)user_data, PROT_NONE), ==, 0);
}

typedef struct {
    CtScheduler *scheduler;
    gint feeds;
} Interrupter;

static gpointer
interrupt(gpointer data)
{
    Interrupter *interrupter = data;
    while (!g_atomic_int_get(&interrupter->feeds))
        g_usleep(100);
    g_usleep(2000);
    ct_scheduler_interrupt(interrupter->scheduler);
    return NULL;
}

/* An interrupt comes while a block is fed: the block before it is not released while it is read for
 * the splice. */
static void
test_interrupted(void)
{
    const CtFootprint rule = {.window = 1 << 20, .hop = 1};
    Test test;
    test_init(&test, 0);
    Chain chain;
    chain_init(&chain, 1);
    const guint source = add_node(&chain, "fed", &source_stage, &fed_variant, -1, sample, &test);
    const gint link = add_output(&chain, source, layouts[0], 90, 2);
    const guint node = add_node(&chain, "stage", &window_stage, &window_variant, link, rule, &test);
    const gint last = add_output(&chain, node, layouts[0], 30, 2);
    add_node(&chain, "sink", &sink_stage, &sink_variant, last, sample, &test);
    size_rings(&chain);
    g_autoptr(GError) error = NULL;
    const CtRunOptions options = {0};
    CtScheduler *scheduler = ct_scheduler_new(&chain.plan, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ct_scheduler_start(scheduler, NULL));

    const CtPlanLink *fed = chain.plan.links->pdata[link];
    CtBlock block = {.type = CT_I64, .n_axes = 2, .n_samples = rule.window - 1};
    const gsize bytes =
        ct_layout_strides(&fed->layout, fed->stream, block.n_samples, block.length, block.stride);
    gsize size = bytes;
    guint8 *memory = mmap(NULL, 2 * (bytes + 4096), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    g_assert_true(memory != MAP_FAILED);
    Interrupter interrupter = {.scheduler = scheduler};
    GThread *thread = g_thread_new("interrupt", interrupt, &interrupter);
    block.data = memory;
    const CtFeed how = {.seconds = -1, .released = forbid, .user_data = &size};
    g_assert_true(ct_scheduler_feed(scheduler, 0, &block, &how, &error));
    g_assert_no_error(error);
    block.data = memory + (bytes + 4095) / 4096 * 4096;
    g_atomic_int_set(&interrupter.feeds, TRUE);
    /* The interrupt may come before or after the end. */
    if (!ct_scheduler_feed(scheduler, 0, &block, &how, &error)) {
        g_assert_error(error, CT_ERROR, CT_ERROR_CANCELLED);
        memset(block.data, 0, bytes);
    }
    g_thread_join(thread);
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    g_clear_error(&error);
    g_assert_true(ct_scheduler_result(scheduler, &error));
    ct_scheduler_free(scheduler);
    munmap(memory, 2 * (bytes + 4096));
    chain_clear(&chain);
    test_clear(&test);
}

static void
test_fed(void)
{
    const guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    GRand *random = g_rand_new_with_seed(seed);
    for (guint i = 0; i < (g_test_quick() ? 300 : 3000); i++)
        random_fed(random);
    g_rand_free(random);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scheduler-program/fed", test_fed);
    g_test_add_func("/scheduler-program/interrupted", test_interrupted);
    return g_test_run();
}
