/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes on devices: random chains over host and device, cut in all ways, give one answer, however
 * many firings are in flight. */
#include "chains.h"
#include "device/device.h"
#include "leak-test.h"
#include "plan/plan-sizes.h"
#include "sanitized.h"

#include <sys/mman.h>

#define SOURCE "/cornerturn/tests/chains.cu"

/* ---- the stages on a device ---- */

typedef struct {
    Node *node; /* the test's */
    CtDevice *device;
    CtKernel *kernel;
    gpointer carry;
} Kernel;

/* The same as in chains.cu. */
typedef struct {
    gint64 time, lane;
} Steps;

typedef struct {
    guint8 *validity;
    gint64 stride, mark;
} Marks;

static gboolean
prepare_kernel(CtPrepare *given, gpointer *state, const char *name, GError **error)
{
    gpointer node = NULL;
    Kernel *self = *state = g_new0(Kernel, 1);
    const CtKernelSpec spec = {.name = name, .source = SOURCE};
    prepare(given, &node, NULL);
    self->node = node;
    self->device = given->device;
    self->kernel = ct_kernel_new(given->device, &spec, error);
    self->carry = ct_device_alloc(given->device, N_LANES * sizeof(gint64), "sums", error);
    return self->kernel && self->carry;
}

static gboolean
prepare_window(CtPrepare *given, gpointer *state, GError **error)
{
    return prepare_kernel(given, state, "chain_window", error);
}

static gboolean
prepare_sum(CtPrepare *given, gpointer *state, GError **error)
{
    return prepare_kernel(given, state, "chain_sum", error);
}

static void
finish_kernel(gpointer state)
{
    Kernel *self = state;
    if (!self)
        return;
    ct_kernel_free(self->kernel);
    ct_device_free(self->device, self->carry);
    g_free(self);
}

static Steps
steps_of(const CtBlock *block, const CtBinding *binding)
{
    return (Steps){block->stride[ct_layout_axis(&binding->layout, "time")],
                   block->stride[ct_layout_axis(&binding->layout, "lane")]};
}

static Marks
marks_of(const Node *node, const CtBlock *out)
{
    return (Marks){out->validity, out->validity_stride, node->state.mark};
}

static gboolean
work_window(gpointer state, const CtWork *work, GError **error)
{
    const Kernel *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gpointer from = in->data, to = out->data;
    Steps in_steps = steps_of(in, &self->node->in), out_steps = steps_of(out, &self->node->out);
    gint64 n = out->n_samples, n_lanes = N_LANES;
    gint64 hop = self->node->state.hop, window = self->node->state.window;
    Marks marks = marks_of(self->node, out);
    gpointer arguments[] = {&from, &in_steps, &to, &out_steps, &n, &n_lanes, &hop, &window, &marks};
    const CtLaunch launch = {.grid = {(guint)((n * N_LANES + 63) / 64), 1, 1}, .block = {64, 1, 1}};
    return ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
}

static gboolean
work_sum(gpointer state, const CtWork *work, GError **error)
{
    const Kernel *self = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gpointer from = in->data, to = out->data, carry = self->carry;
    Steps in_steps = steps_of(in, &self->node->in), out_steps = steps_of(out, &self->node->out);
    gint64 n_in = in->n_samples, n_out = out->n_samples, index = in->index;
    gint64 hop = self->node->state.hop;
    Marks marks = marks_of(self->node, out);
    gpointer arguments[] = {&from,  &in_steps, &to,  &out_steps, &n_in,
                            &n_out, &index,    &hop, &carry,     &marks};
    const CtLaunch launch = {.grid = {1, 1, 1}, .block = {N_LANES, 1, 1}};
    return ct_queue_launch(work->queue, self->kernel, &launch, arguments, error);
}

/* Copies between host and device, and on the device; both sides have one layout. */
static gboolean
work_copy(gpointer state, const CtWork *work, GError **error)
{
    const Node *node = state;
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    const gboolean time_first = ct_layout_axis(&node->in.layout, "time") == 0;
    const gsize n = (gsize)out->n_samples, element = sizeof(gint64);
    if (time_first)
        return ct_queue_copy(work->queue, out->data, in->data, n * N_LANES * element, error);
    return ct_queue_copy_rows(work->queue, out->data, (gsize)out->stride[0], in->data,
                              (gsize)in->stride[0], n * element, N_LANES, error);
}

static const CtStage copy_stage = {.name = "copy", .inputs = in_port};
static const CtVariant device_window = {.name = "device",
                                        .backend = CT_CUDA,
                                        .prepare = prepare_window,
                                        .work = work_window,
                                        .finish = finish_kernel};
static const CtVariant device_sum = {.name = "device",
                                     .backend = CT_CUDA,
                                     .prepare = prepare_sum,
                                     .work = work_sum,
                                     .finish = finish_kernel};
static const CtVariant device_copy = {
    .name = "device", .backend = CT_CUDA, .prepare = prepare, .work = work_copy};

/* ---- plans, without the planner ---- */

enum { TO_DEVICE, COMPUTE, TO_HOST, N_QUEUES };

static void
place_node(Chain *chain, guint node, gint queue)
{
    CtPlanNode *planned = chain->plan.nodes->pdata[node];
    planned->place = 0;
    planned->queue = queue;
}

static void
place_link(Chain *chain, gint link)
{
    ((CtPlanLink *)chain->plan.links->pdata[link])->place = 0;
}

/* Adds a copy of the link, on the device or on the host. */
static gint
add_copy(Chain *chain, gint link, const char *layout, gint64 max_samples, gint64 ticks,
         gboolean to_device, Test *test)
{
    const guint node = add_node(chain, to_device ? "to device" : "to host", &copy_stage,
                                &device_copy, link, sample, test);
    place_node(chain, node, to_device ? TO_DEVICE : TO_HOST);
    const gint copied = add_output(chain, node, layout, max_samples, ticks);
    if (to_device)
        place_link(chain, copied);
    return copied;
}

static const CtPlanNode *
chain_node(const Chain *chain, guint i)
{
    return chain->plan.nodes->pdata[i];
}

/* Gives memory to all links on the device; those that share memory hold one firing. */
static void
place_memory(Chain *chain)
{
    for (guint l = 0; l < chain->plan.links->len; l++) {
        CtPlanLink *link = chain->plan.links->pdata[l];
        gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
        gboolean one_queue = chain_node(chain, link->writer)->queue == COMPUTE;
        for (guint r = 0; r < link->readers->len; r++)
            one_queue &=
                chain_node(chain, g_array_index(link->readers, CtPlanReader, r).node)->queue ==
                COMPUTE;
        if (one_queue)
            link->capacity = (link->history > 0 ? 2 : 1) * link->max_samples + link->history;
        link->bytes = ct_layout_strides(&link->layout, link->stream, link->history + link->capacity,
                                        length, stride);
    }
    ct_plan_place_links(&chain->plan);
}

static CtScheduler *
new_scheduler(Chain *chain, gboolean poison, guint n_in_flight, GError **error)
{
    const CtPlanQueue queues[] = {
        {0, CT_QUEUE_TO_DEVICE}, {0, CT_QUEUE_COMPUTE}, {0, CT_QUEUE_TO_HOST}};
    g_array_append_vals(chain->plan.queues, queues, N_QUEUES);
    size_rings(chain);
    chain->plan.n_devices = 1;
    place_memory(chain);
    chain->plan.n_in_flight = n_in_flight;
    const CtRunOptions options = {.poison = poison};
    return ct_scheduler_new(&chain->plan, &options, error);
}

static void
run_on_device(Chain *chain, gboolean poison, guint n_in_flight, GError **error)
{
    g_autoptr(CtScheduler) scheduler = new_scheduler(chain, poison, n_in_flight, error);
    if (!scheduler)
        return;
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    ct_scheduler_result(scheduler, error);
}

static guint n_transients; /* number of transient links so far */

static void
random_chain(GRand *random)
{
    Test test;
    test_init(&test, g_rand_int_range(random, 0, 700));
    if (g_rand_boolean(random))
        test.loss = g_rand_int_range(random, 5, 200);
    Chain chain;
    chain_init(&chain, (guint)g_rand_int_range(random, 1, 4));
    const guint source = add_node(
        &chain, "source", &source_stage,
        g_rand_boolean(random) ? &source_variant : &waiting_source_variant, -1, sample, &test);
    if (g_rand_boolean(random))
        ((Node *)chain.states->pdata[0])->state.random = g_rand_new_with_seed(g_rand_int(random));
    const char *layout = layouts[g_rand_int_range(random, 0, 2)];
    gint64 max_samples = g_rand_int_range(random, 1, 90), ticks = 2;
    gint link = add_output(&chain, source, layout, max_samples, ticks);
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) validity = g_array_new(FALSE, FALSE, 1);
    expect_source(&test, values, validity);
    gboolean on_device = FALSE;
    const gint n_stages = g_rand_int_range(random, 1, 7);
    for (gint i = 0; i < n_stages; i++) {
        CtFootprint rule = {.window = g_rand_int_range(random, 1, 20),
                            .hop = g_rand_int_range(random, 1, 6)};
        const gboolean is_sum = g_rand_int_range(random, 0, 3) == 0;
        const gboolean to_device = g_rand_int_range(random, 0, 4) > 0;
        /* One sample for each sample, so that memory can be shared. */
        if (g_rand_boolean(random))
            rule = sample;
        if (is_sum)
            rule = (CtFootprint){.kind = CT_FOOTPRINT_SUM, .window = rule.hop, .hop = rule.hop};
        if (to_device != on_device)
            link = add_copy(&chain, link, layout, max_samples, ticks, to_device, &test);
        on_device = to_device;
        const CtVariant *variant = is_sum ? (on_device ? &device_sum : &sum_variant)
                                          : (on_device ? &device_window : &window_variant);
        const guint node = add_node(&chain, "stage", is_sum ? &sum_stage : &window_stage, variant,
                                    link, rule, &test);
        layout = layouts[g_rand_int_range(random, 0, 2)];
        if (rule.window > 1 || rule.hop > 1 || g_rand_boolean(random))
            max_samples = g_rand_int_range(random, 1, 90);
        ticks *= rule.hop;
        link = add_output(&chain, node, layout, max_samples, ticks);
        if (on_device) {
            place_node(&chain, node, COMPUTE);
            place_link(&chain, link);
        }
        expect(values, validity, values->len / N_LANES, &rule);
        if (g_rand_int_range(random, 0, 3) > 0)
            continue;
        const gint64 mark = g_rand_int_range(random, 2, 40);
        mark_node(&chain, node, mark);
        expect_marks(values, validity, mark);
    }
    if (on_device)
        link = add_copy(&chain, link, layout, max_samples, ticks, FALSE, &test);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);

    g_autoptr(GError) error = NULL;
    run_on_device(&chain, g_rand_boolean(random), (guint)g_rand_int_range(random, 1, 5), &error);
    g_assert_no_error(error);
    g_assert_true(test.completed);
    g_assert_cmpmem(test.values->data, test.values->len * sizeof(gint64), values->data,
                    values->len * sizeof(gint64));
    g_assert_cmpmem(test.validity->data, test.validity->len, validity->data, validity->len);
    for (guint l = 0; l < chain.plan.links->len; l++)
        n_transients += ((CtPlanLink *)chain.plan.links->pdata[l])->transient;
    g_free(chain.plan.device_bytes);
    chain_clear(&chain);
    test_clear(&test);
}

/* Whether there is a device; otherwise the test is skipped. */
static gboolean
has_device(void)
{
    const char *reason;
    if (ct_devices(NULL, &reason) > 0)
        return TRUE;
    g_autofree char *text = g_strdup_printf("no CUDA device: %s", reason);
    g_test_skip(text);
    return FALSE;
}

static void
test_random(void)
{
    if (!has_device())
        return;
    const guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    GRand *random = g_rand_new_with_seed(seed);
    /* A device's firings take 100 us, however short they are. */
    const guint least = is_sanitized("compute") ? 5 : 20, most = g_test_quick() ? 150 : 1500;
    const gdouble seconds = g_test_quick() ? 30 : 600;
    guint n = 0;
    for (g_test_timer_start(); n < least || (n < most && g_test_timer_elapsed() < seconds); n++)
        random_chain(random);
    g_test_message("%u chains in %.1f s", n, g_test_timer_elapsed());
    g_rand_free(random);
    g_assert_cmpuint(n_transients, >, 0);
}

/* An interrupt ends the source; the sink behind the device is told. */
static void
test_interrupt(void)
{
    if (!has_device())
        return;
    Test test;
    test_init(&test, G_MAXINT32);
    Chain chain;
    chain_init(&chain, 2);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    gint link = add_output(&chain, source, layouts[0], 100, 2);
    link = add_copy(&chain, link, layouts[0], 100, 2, TRUE, &test);
    const guint window =
        add_node(&chain, "window", &window_stage, &device_window, link, sample, &test);
    link = add_output(&chain, window, layouts[0], 100, 2);
    place_node(&chain, window, COMPUTE);
    place_link(&chain, link);
    link = add_copy(&chain, link, layouts[0], 100, 2, FALSE, &test);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    g_autoptr(GError) error = NULL;
    g_autoptr(CtScheduler) scheduler = new_scheduler(&chain, FALSE, 3, &error);
    g_assert_no_error(error);
    g_assert_true(ct_scheduler_start(scheduler, NULL));
    g_assert_false(ct_scheduler_wait(scheduler, 0.05));
    ct_scheduler_interrupt(scheduler);
    g_assert_true(ct_scheduler_wait(scheduler, 60));
    g_assert_true(ct_scheduler_result(scheduler, &error));
    CtNodeStats stats;
    ct_scheduler_stats(scheduler, source, &stats);
    g_assert_cmpint(test.values->len, ==, stats.samples * N_LANES);
    g_assert_true(test.completed && test.interrupted);
    g_clear_pointer(&scheduler, ct_scheduler_free);
    g_free(chain.plan.device_bytes);
    chain_clear(&chain);
    test_clear(&test);
}

/* A node on the device that reads `input`, and its output. */
static gint
add_window(Chain *chain, const char *name, gint input, Test *test)
{
    const guint node = add_node(chain, name, &window_stage, &device_window, input, sample, test);
    const gint link = add_output(chain, node, layouts[0], 20, 2);
    place_node(chain, node, COMPUTE);
    place_link(chain, link);
    return link;
}

/* Ends when everything before it is full, and has taken nothing. */
static gboolean
give_up(gpointer state G_GNUC_UNUSED, CtAdvance *advance, GError **error G_GNUC_UNUSED)
{
    g_usleep(100000);
    advance->ended = TRUE;
    return TRUE;
}

static const CtVariant give_up_variant = {
    .name = "test", .waits = TRUE, .prepare = prepare, .advance = give_up, .work = sink_work};

/* A node may wait for memory that holds samples for another node. It goes on when that one ends
 * without having read them. */
static void
test_reader_ends(void)
{
    if (!has_device())
        return;
    Test test;
    test_init(&test, 3000);
    Chain chain;
    chain_init(&chain, 2);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    gint link = add_output(&chain, source, layouts[0], 20, 2);
    link = add_copy(&chain, link, layouts[0], 20, 2, TRUE, &test);
    const gint shared = add_window(&chain, "shared", link, &test);
    link = add_window(&chain, "unread", shared, &test);
    link = add_copy(&chain, link, layouts[0], 20, 2, FALSE, &test);
    const CtFootprint own = {.kind = CT_FOOTPRINT_OWN};
    add_node(&chain, "gives up", &sink_stage, &give_up_variant, link, own, &test);
    link = add_window(&chain, "waits", shared, &test);
    link = add_window(&chain, "last", link, &test);
    link = add_copy(&chain, link, layouts[0], 20, 2, FALSE, &test);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    g_autoptr(GError) error = NULL;
    run_on_device(&chain, FALSE, 3, &error);
    g_assert_no_error(error);
    g_assert_true(((CtPlanLink *)chain.plan.links->pdata[shared])->transient);
    g_assert_cmpint(test.values->len, ==, 3000 * N_LANES);
    g_free(chain.plan.device_bytes);
    chain_clear(&chain);
    test_clear(&test);
}

/* The graphs that the emulator has launched; −1: the tests run on another device. */
static gint
count_graphs(void)
{
    const char *path = g_getenv("CORNERTURN_CUDA");
    gpointer symbol = NULL;
    GModule *library =
        path && *path ? g_module_open(path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL) : NULL;
    if (!library || !g_module_symbol(library, "cornerturn_emulator_graph_launches", &symbol))
        return -1;
    unsigned (*launches)(void) = (unsigned (*)(void))symbol;
    const gint n = (gint)launches();
    g_module_close(library);
    return n;
}

/* A chain of brief firings is submitted with graphs, and gives what the source gave. On the
 * emulator, the environment of the tests makes all firings brief. */
static void
test_graphs(void)
{
    if (!has_device())
        return;
    Test test;
    test_init(&test, 3000);
    test.loss = 70;
    Chain chain;
    chain_init(&chain, 2);
    const guint source =
        add_node(&chain, "source", &source_stage, &source_variant, -1, sample, &test);
    gint link = add_output(&chain, source, layouts[0], 20, 2);
    link = add_copy(&chain, link, layouts[0], 20, 2, TRUE, &test);
    for (guint i = 0; i < 6; i++)
        link = add_window(&chain, "window", link, &test);
    link = add_copy(&chain, link, layouts[0], 20, 2, FALSE, &test);
    add_node(&chain, "sink", &sink_stage, &sink_variant, link, sample, &test);
    g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_autoptr(GArray) validity = g_array_new(FALSE, FALSE, 1);
    expect_source(&test, values, validity);
    const gint before = count_graphs();
    g_autoptr(GError) error = NULL;
    run_on_device(&chain, FALSE, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(test.values->data, test.values->len * sizeof(gint64), values->data,
                    values->len * sizeof(gint64));
    g_assert_cmpmem(test.validity->data, test.validity->len, validity->data, validity->len);
    if (before >= 0)
        g_assert_cmpint(count_graphs(), >, before + 20);
    g_free(chain.plan.device_bytes);
    chain_clear(&chain);
    test_clear(&test);
}

/* Rows that are farther apart than the driver takes in one call, as those of a large ring are. */
static void
test_far_rows(void)
{
    if (ct_devices(NULL, NULL) == 0) {
        g_test_skip("no CUDA device");
        return;
    }
    const gsize pitch = (gsize)3 << 30;
    g_autoptr(GError) error = NULL;
    g_autoptr(CtDevice) device = ct_device_open(0, &error);
    g_assert_no_error(error);
    const CtCudaDriver *driver = ct_device_driver(device);
    CtCuStream stream;
    g_assert_cmpint(driver->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING), ==, 0);
    /* Only two pages of this are touched. */
    char *far = mmap(NULL, pitch + 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_assert_true(far != MAP_FAILED);
    char near[8] = "abcdefg", back[8] = "";
    CtQueue *queue = ct_queue_new(device, stream, 0, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ct_queue_copy_rows(queue, far, pitch, near, 4, 4, 2, &error));
    g_assert_no_error(error);
    g_assert_true(ct_queue_copy_rows(queue, back, 4, far, pitch, 4, 2, &error));
    g_assert_no_error(error);
    g_assert_cmpint(driver->stream_synchronize(stream), ==, 0);
    g_assert_cmpmem(back, 8, near, 8);
    ct_queue_free(queue);
    driver->stream_destroy(stream);
    munmap(far, pitch + 4096);
}

int
main(int argc, char **argv)
{
    /* Otherwise, a firing would be retired before the next one is enqueued. */
    g_setenv("CORNERTURN_EMULATOR_JITTER", "300", FALSE);
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/scheduler-device/random", test_random);
    g_test_add_func("/scheduler-device/interrupt", test_interrupt);
    g_test_add_func("/scheduler-device/reader-ends", test_reader_ends);
    g_test_add_func("/scheduler-device/graphs", test_graphs);
    g_test_add_func("/scheduler-device/far-rows", test_far_rows);
    g_test_add_func("/scheduler-device/nothing-is-left", leak_test_nothing_is_left);
    return g_test_run();
}
