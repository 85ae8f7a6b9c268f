/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the model: what nodes require of the machine, and how long that takes. */
#include "cost/cost.h"

#include <math.h>

static gdouble
ten_per_sample(G_GNUC_UNUSED const CtNode *node)
{
    return 10;
}

static const CtPort read_port[] = {{.name = "in"}, {NULL}};
static const CtPort unread_port[] = {{.name = "in", .flags = CT_PORT_UNREAD}, {NULL}};
static const CtStage stage = {.name = "test", .inputs = read_port, .operations = ten_per_sample};
static const CtStage idle = {.name = "idle", .inputs = read_port};
static const CtStage dropping = {.name = "dropping", .inputs = unread_port};

static void
stream_init(CtStream *stream, CtType type, gint64 channels, gint64 ticks)
{
    ct_stream_init(stream);
    stream->type = type;
    ct_stream_add_axis(stream, "time", 1000);
    ct_stream_add_axis(stream, "channel", channels);
    stream->rate_num = 1000;
    stream->rate_den = 1;
    stream->ticks_per_sample = ticks;
}

static CtLayout
layout_of(const char *text)
{
    CtLayout layout;
    g_autoptr(GError) error = NULL;
    ct_layout_parse(&layout, text, &error);
    g_assert_no_error(error);
    return layout;
}

/* A node from ci8 of 4 channels to cf32 of 2 channels, which makes one sample of four. */
static void
test_load(void)
{
    CtStream in = {0}, out = {0};
    stream_init(&in, CT_CI8, 4, 1);
    stream_init(&out, CT_CF32, 2, 4);
    CtNode node = {.stage = &stage,
                   .n_inputs = 1,
                   .inputs = &in,
                   .n_outputs = 1,
                   .outputs = &out,
                   .footprint = {CT_FOOTPRINT_WINDOW, 9, 4, 0, CT_LANES_ALL}};
    const CtLayout from = layout_of("i8[channel complex time]");
    const CtLayout to = layout_of("cf32[time channel]");
    CtLoad load;
    ct_load_init(&load, &node, 1, &from, &to);
    g_assert_cmpfloat(load.operations, ==, 10);
    g_assert_cmpfloat(load.bytes, ==, 4 * 4 * 2 + 2 * 8);
    g_assert_cmpfloat(load.rate, ==, 250);

    /* The next node takes every third of its samples. */
    CtStream last = {0};
    stream_init(&last, CT_CF32, 2, 12);
    const CtNode row[] = {node,
                          {.stage = &stage,
                           .n_inputs = 1,
                           .inputs = &out,
                           .n_outputs = 1,
                           .outputs = &last,
                           .footprint = {CT_FOOTPRINT_WINDOW, 1, 3, 0, CT_LANES_ALL}}};
    ct_load_init(&load, row, 2, &from, &to);
    g_assert_cmpfloat(load.operations, ==, 10 + 3 * 10);
    g_assert_cmpfloat(load.bytes, ==, 12 * 4 * 2 + 2 * 8);
    g_assert_cmpfloat_with_epsilon(load.rate, 1000.0 / 12, 1e-9);

    /* A sink's load is per sample of its input; without a clock, a tick counts as a second. */
    in.rate_num = 0;
    in.ticks_per_sample = 5;
    node.stage = &idle;
    node.n_outputs = 0;
    ct_load_init(&load, &node, 1, &from, NULL);
    g_assert_cmpfloat(load.operations, ==, 0);
    g_assert_cmpfloat(load.bytes, ==, 4 * 2);
    g_assert_cmpfloat(load.rate, ==, 0.2);

    /* A node that does not read its input has no work. */
    node.stage = &dropping;
    ct_load_init(&load, &node, 1, &from, NULL);
    g_assert_cmpfloat(load.bytes, ==, 0);
    node.stage = &idle;

    /* An input without time costs next to nothing. */
    ct_stream_remove_axis(&in, "time");
    ct_load_init(&load, &node, 1, &from, NULL);
    g_assert_cmpfloat(load.bytes * load.rate, <, 0.01);
}

static void
test_seconds(void)
{
    const CtMachine machine = {
        .n_workers = 4,
        .bandwidth = 100,
        .peak = {[CT_ISA_BASELINE] = 10, [CT_ISA_AVX2] = 20, [CT_ISA_AVX512] = 40},
    };
    CtVariant variant = {.name = "cpu", .isa = CT_ISA_AVX2};
    const CtRow row = {"[...] -> [...]", 0.5};
    const CtLoad bound_by_memory = {.operations = 10, .bytes = 200, .rate = 3};
    const CtLoad bound_by_operations = {.operations = 100, .bytes = 200, .rate = 3};
    /* A sample's bytes take 2 s, then its operations. */
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &row, &bound_by_memory, CT_HOST), ==,
                      3 * (2 + 0.5) / 0.5);
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &row, &bound_by_operations, CT_HOST), ==,
                      3 * (2 + 5) / 0.5);
    variant.split = "time";
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &row, &bound_by_operations, CT_HOST), ==,
                      3 * (2 + 5) / 0.5 / 4);
    variant.isa = CT_ISA_AVX512;
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &row, &bound_by_operations, CT_HOST), ==,
                      3 * (2 + 2.5) / 0.5 / 4);
    /* This row's units have four times the peak. */
    const CtRow tensor = {"[...] -> [...]", 4};
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &tensor, &bound_by_operations, CT_HOST),
                      ==, 3 * (2 + 0.625) / 4);
}

/* A node that keeps one thread busy takes its share of the workers, and at least its own time. */
static void
test_busy(void)
{
    const CtMachine machine = {.n_workers = 4, .n_devices = 2, .share_of_copies = 0.05};
    g_assert_cmpuint(ct_n_resources(&machine), ==, 9);
    CtVariant variant = {.name = "cpu", .split = "time"};
    CtCost shared, alone, waits;
    ct_cost_init(&shared, &machine, &variant, CT_HOST, 3);
    g_assert_cmpuint(shared.n_parts, ==, 1);
    g_assert_cmpuint(shared.parts[0].resource, ==, ct_resource(CT_HOST, CT_QUEUE_COMPUTE));
    g_assert_cmpfloat(shared.parts[0].seconds, ==, 3);
    g_assert_cmpfloat(ct_cost_longest(&shared), ==, 3);
    variant.split = NULL;
    ct_cost_init(&alone, &machine, &variant, CT_HOST, 12);
    g_assert_cmpfloat(alone.parts[0].seconds, ==, 3);
    g_assert_cmpfloat(ct_cost_longest(&alone), ==, 12);
    g_assert_true(ct_cost_within(&shared, &alone));
    g_assert_false(ct_cost_within(&alone, &shared));
    variant.split = "time";
    variant.waits = TRUE;
    ct_cost_init(&waits, &machine, &variant, CT_HOST, 3);
    g_assert_true(ct_cost_within(&waits, &alone) && ct_cost_within(&alone, &waits));

    CtCost kernels, copy;
    variant.waits = FALSE;
    ct_cost_init(&kernels, &machine, &variant, 1, 12);
    g_assert_cmpfloat(ct_cost_longest(&kernels), ==, 12);
    g_assert_cmpuint(kernels.parts[0].resource, ==, ct_resource(1, CT_QUEUE_COMPUTE));
    g_assert_false(ct_cost_within(&kernels, &alone));
    /* Kernels are slower beside a copy. */
    ct_cost_init_copy(&copy, &machine, 0, 1, 12);
    g_assert_cmpuint(copy.n_parts, ==, 3);
    g_assert_cmpuint(copy.parts[0].resource, ==, ct_resource(0, CT_QUEUE_TO_PEER));
    g_assert_cmpuint(copy.parts[2].resource, ==, ct_resource(1, CT_QUEUE_COMPUTE));
    g_assert_cmpfloat_with_epsilon(copy.parts[2].seconds, 0.6, 1e-12);
    g_assert_cmpfloat(ct_cost_longest(&copy), ==, 12);
    ct_cost_init_copy(&copy, &machine, CT_HOST, 1, 12);
    g_assert_cmpuint(copy.n_parts, ==, 2);
    g_assert_cmpuint(copy.parts[0].resource, ==, ct_resource(1, CT_QUEUE_TO_DEVICE));
    ct_cost_init_copy(&copy, &machine, 1, CT_HOST, 12);
    g_assert_cmpuint(copy.parts[0].resource, ==, ct_resource(1, CT_QUEUE_TO_HOST));
}

static gboolean
next_are_peers(guint from, guint to)
{
    return from + 1 == to;
}

/* A device has its own ceilings, whatever the number of workers, and launches take time. */
static void
test_device(void)
{
    const CtDeviceInfo devices[] = {{.bandwidth = 100, .peak = 10},
                                    {.bandwidth = 1000, .peak = 100},
                                    {.bandwidth = 0, .peak = 0}};
    CtMachine machine;
    ct_machine_init(&machine, 4);
    g_assert_cmpuint(machine.n_devices, ==, 0);
    machine.devices = devices;
    machine.n_devices = G_N_ELEMENTS(devices);
    machine.device_bytes = 1 << 30;
    const CtVariant variant = {.name = "cuda", .backend = CT_CUDA};
    const CtRow row = {"[...] -> [...]", 0.5};
    const CtLoad load = {.operations = 10, .bytes = 200, .rate = 3};
    g_assert_cmpfloat_with_epsilon(ct_cost_seconds(&machine, &variant, &row, &load, 0), 12, 1e-6);
    g_assert_cmpfloat_with_epsilon(ct_cost_seconds(&machine, &variant, &row, &load, 1), 1.2, 1e-6);
    /* This device does not state its ceilings. */
    g_assert_cmpfloat(ct_cost_seconds(&machine, &variant, &row, &load, 2), <, 1e-3);
    /* 3 GB go in and out over a bus of 10 to 100 GB/s; peers are faster. */
    const CtLoad copy = {.bytes = 2e9, .rate = 3};
    machine.are_peers = next_are_peers;
    const gdouble to_device = ct_cost_copy_seconds(&machine, &copy, CT_HOST, 0);
    g_assert_cmpfloat(to_device, >, 0.03);
    g_assert_cmpfloat(to_device, <, 0.3);
    g_assert_cmpfloat(ct_cost_copy_seconds(&machine, &copy, 1, CT_HOST), ==, to_device);
    g_assert_cmpfloat(ct_cost_copy_seconds(&machine, &copy, 0, 1), <, to_device);
    g_assert_cmpfloat(ct_cost_copy_seconds(&machine, &copy, 1, 0), ==, HUGE_VAL);
    machine.are_peers = NULL;
    g_assert_cmpfloat(ct_cost_copy_seconds(&machine, &copy, 0, 1), ==, HUGE_VAL);
    /* Firings of a tenth of the size are ten times as many. */
    machine.device_bytes = 1 << 10;
    const gdouble many = ct_cost_copy_seconds(&machine, &copy, CT_HOST, 0);
    machine.device_bytes = 10 << 10;
    const gdouble few = ct_cost_copy_seconds(&machine, &copy, CT_HOST, 0);
    g_assert_cmpfloat_with_epsilon((many - to_device) / (few - to_device), 10, 1e-2);
}

static void
test_machine(void)
{
    CtMachine machine;
    ct_machine_init(&machine, 3);
    g_assert_cmpuint(machine.n_workers, ==, 3);
    g_assert_cmpuint(machine.cache_bytes, >=, 1 << 16);
    g_assert_cmpfloat(machine.bandwidth, >, 1e9);
    g_assert_cmpfloat(machine.peak[CT_ISA_AVX512], ==, 2 * machine.peak[CT_ISA_AVX2]);
    ct_machine_init(&machine, 0);
    g_assert_cmpuint(machine.n_workers, >=, 1);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cost/load", test_load);
    g_test_add_func("/cost/seconds", test_seconds);
    g_test_add_func("/cost/busy", test_busy);
    g_test_add_func("/cost/device", test_device);
    g_test_add_func("/cost/machine", test_machine);
    return g_test_run();
}
