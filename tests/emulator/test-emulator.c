/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulator is as strict as the driver: contexts, memory, streams and events, launches,
 * programs. */
#include "emulator-test.h"

enum { N = EMULATOR_THREADS };

/* ---- contexts ---- */

static gpointer
call_without_context(G_GNUC_UNUSED gpointer data)
{
    CtCuAddress address;
    CtCuStream stream;
    fail_with(201, cu->alloc(&address, 16));
    fail_with(201, cu->stream_create(&stream, 0));
    fail_with(201, cu->context_synchronize());
    return NULL;
}

static void
test_contexts(void)
{
    if (!emulator_test_begin())
        return;
    CtCuContext first, second;
    CtCuDevice device;
    CtCuStream stream;
    CtCuEvent event;
    CtCuModule module;
    int value;
    g_thread_join(g_thread_new("bare", call_without_context, NULL));
    fail_with(101, cu->device_get(&device, 2));
    succeed(cu->device_attribute(&value, CT_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
    g_assert_cmpint(value, ==, 9);
    fail_with(1, cu->device_attribute(&value, 9999, 0));

    succeed(cu->context_retain(&first, 0));
    succeed(cu->context_retain(&second, 1));
    const CtCuFunction function = emulator_test_kernel(
        "extern \"C\" __global__ void k(float *x, int n) { x[threadIdx.x] = n; }", &module);
    succeed(cu->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING));
    succeed(cu->event_create(&event, CT_CU_EVENT_DISABLE_TIMING));
    succeed(cu->context_set(second));
    CtCuAddress there;
    CtCuStream other;
    succeed(cu->alloc(&there, 4 * N));
    succeed(cu->stream_create(&other, CT_CU_STREAM_NON_BLOCKING));
    /* Launches and recordings require their own context, waits and copies do not. */
    fail_with(400, emulator_test_launch(function, stream, there, 1));
    fail_with(400, emulator_test_launch(function, other, there, 1));
    fail_with(400, cu->event_record(event, other));
    succeed(cu->stream_wait(other, event, 0));
    succeed(cu->fill(there, 0, 4 * N, stream));
    succeed(cu->stream_synchronize(stream));
    fail_with(400, cu->stream_destroy(stream));
    succeed(cu->stream_destroy(other));
    succeed(cu->free(there));
    succeed(cu->can_access_peer(&value, 0, 1));
    g_assert_true(value);
    succeed(cu->enable_peer(first, 0));
    fail_with(CT_CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cu->enable_peer(first, 0));
    succeed(cu->context_set(first));
    succeed(cu->event_destroy(event));
    succeed(cu->stream_destroy(stream));
    succeed(cu->module_unload(module));
    succeed(cu->context_release(1));
    fail_with(201, cu->context_set(second));
    succeed(cu->context_release(0));
    emulator_test_end();
}

/* ---- memory ---- */

static void
test_memory(void)
{
    if (!emulator_test_begin())
        return;
    CtCuAddress x, y;
    size_t free, total;
    guint8 bytes[4096];
    gpointer pinned;
    succeed(cu->memory_info(&free, &total));
    g_assert_cmpuint(total, ==, EMULATOR_MEMORY);
    g_assert_cmpuint(free, ==, total);
    fail_with(CT_CUDA_ERROR_OUT_OF_MEMORY, cu->alloc(&x, EMULATOR_MEMORY + 1));
    succeed(cu->alloc(&x, EMULATOR_MEMORY / 2));
    fail_with(CT_CUDA_ERROR_OUT_OF_MEMORY, cu->alloc(&y, EMULATOR_MEMORY / 2 + 1));
    succeed(cu->alloc(&y, 4096));
    succeed(cu->memory_info(&free, &total));
    g_assert_cmpuint(free, ==, EMULATOR_MEMORY / 2 - 4096);
    succeed(cu->copy((CtCuAddress)bytes, y, sizeof bytes, NULL));
    for (guint i = 0; i < sizeof bytes; i++)
        g_assert_cmphex(bytes[i], ==, 0xff);

    fail_with(1, cu->copy(y, x, 4097, NULL));
    fail_with(1, cu->copy(y + 4000, x, 100, NULL));
    fail_with(1, cu->fill(y + 1, 0, 4096, NULL));
    fail_with(1, cu->fill((CtCuAddress)bytes, 0, 16, NULL));
    const CtCuMemcpy2D rows = {
        .srcMemoryType = CT_CU_MEMORYTYPE_UNIFIED,
        .srcDevice = x,
        .srcPitch = 64,
        .dstMemoryType = CT_CU_MEMORYTYPE_UNIFIED,
        .dstDevice = y,
        .dstPitch = 128,
        .WidthInBytes = 64,
        .Height = 32,
    };
    CtCuMemcpy2D more = rows;
    succeed(cu->copy_rows(&rows, NULL));
    more.Height = 33;
    fail_with(1, cu->copy_rows(&more, NULL));
    more = rows;
    more.dstPitch = 32;
    fail_with(1, cu->copy_rows(&more, NULL));

    fail_with(1, cu->free(y + 256));
    succeed(cu->free(y));
    fail_with(1, cu->free(y));
    succeed(cu->free(x));
    succeed(cu->host_alloc(&pinned, 100, CT_CU_MEMHOSTALLOC_PORTABLE));
    fail_with(1, cu->free((CtCuAddress)pinned));
    succeed(cu->host_free(pinned));
    succeed(cu->host_register(bytes, sizeof bytes, CT_CU_MEMHOSTREGISTER_PORTABLE));
    fail_with(712, cu->host_register(bytes + 10, 10, 0));
    succeed(cu->host_unregister(bytes));
    fail_with(713, cu->host_unregister(bytes));
    emulator_test_end();
}

/* Pageable memory has been read, or written, when the call that copies it returns; pinned memory
 * has not. */
static void
test_pageable(void)
{
    if (!emulator_test_begin())
        return;
    enum { BYTES = 1000 };
    CtCuStream stream;
    CtCuAddress x;
    guint8 bytes[BYTES], back[BYTES];
    succeed(cu->stream_create(&stream, CT_CU_STREAM_NON_BLOCKING));
    succeed(cu->alloc(&x, BYTES));
    for (guint8 i = 0; i < 20; i++) {
        memset(bytes, i, BYTES);
        succeed(cu->copy(x, (CtCuAddress)bytes, BYTES, stream));
        memset(bytes, 0xff, BYTES);
        succeed(cu->copy((CtCuAddress)back, x, BYTES, stream));
        g_assert_cmpuint(back[0] + back[BYTES - 1], ==, 2 * i);
    }
    succeed(cu->free(x));
    succeed(cu->stream_destroy(stream));
    emulator_test_end();
}

static void
test_virtual_memory(void)
{
    if (!emulator_test_begin())
        return;
    const CtCuMemAllocationProp property = {
        .type = CT_CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CT_CU_MEM_LOCATION_TYPE_DEVICE, 0},
    };
    const CtCuMemAccessDesc access = {{CT_CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                      CT_CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CtCuAddress ring, ignored;
    CtCuAllocation allocation;
    size_t grain, free, total;
    succeed(cu->granularity(&grain, &property, CT_CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    g_assert_cmpuint(grain, ==, 2 << 20);
    fail_with(1, cu->address_reserve(&ignored, grain + 4096, 0, 0, 0));
    fail_with(1, cu->memory_create(&allocation, 100, &property, 0));
    fail_with(CT_CUDA_ERROR_OUT_OF_MEMORY,
              cu->memory_create(&allocation, 2 * EMULATOR_MEMORY, &property, 0));
    succeed(cu->address_reserve(&ring, 3 * grain, 0, 0, 0));
    succeed(cu->memory_create(&allocation, grain, &property, 0));
    succeed(cu->memory_info(&free, &total));
    g_assert_cmpuint(total - free, ==, grain);
    succeed(cu->memory_map(ring, grain, 0, allocation, 0));
    fail_with(1, cu->memory_map(ring, grain, 0, allocation, 0));
    fail_with(1, cu->fill(ring, 1, 16, NULL)); /* there is no access yet */
    succeed(cu->memory_map(ring + grain, grain, 0, allocation, 0));
    fail_with(1, cu->memory_access(ring, 3 * grain, &access, 1));
    succeed(cu->memory_access(ring, 2 * grain, &access, 1));
    succeed(cu->memory_release(allocation));
    fail_with(1, cu->memory_release(allocation));

    guint8 bytes[32], back[32];
    memset(bytes, 7, sizeof bytes);
    succeed(cu->copy(ring + grain - 16, (CtCuAddress)bytes, sizeof bytes, NULL));
    succeed(cu->copy((CtCuAddress)back, ring, 16, NULL));
    succeed(cu->copy((CtCuAddress)back + 16, ring + 2 * grain - 16, 16, NULL));
    g_assert_cmpmem(back, sizeof back, bytes, sizeof bytes);
    fail_with(1, cu->fill(ring + 2 * grain - 8, 0, 16, NULL));

    fail_with(1, cu->address_free(ring, 3 * grain));
    fail_with(1, cu->memory_unmap(ring, grain / 2));
    succeed(cu->memory_unmap(ring, 2 * grain));
    succeed(cu->address_free(ring, 3 * grain));
    succeed(cu->memory_info(&free, &total));
    g_assert_cmpuint(total, ==, free);
    emulator_test_end();
}

/* ---- streams and events ---- */

static const char step_source[] = "extern \"C\" __global__ void k(unsigned *x, int n)\n"
                                  "{\n"
                                  "    x[threadIdx.x] = 3 * x[threadIdx.x] + n;\n"
                                  "}\n";

/* Steps alternate between two streams; each waits for an event of the other stream. */
static void
test_events(void)
{
    if (!emulator_test_begin())
        return;
    CtCuStream streams[2];
    CtCuEvent event, timed[2];
    CtCuModule module;
    CtCuAddress x;
    guint32 values[N], expected = 0;
    float milliseconds;
    const CtCuFunction function = emulator_test_kernel(step_source, &module);
    for (guint s = 0; s < 2; s++) {
        succeed(cu->stream_create(&streams[s], CT_CU_STREAM_NON_BLOCKING));
        succeed(cu->event_create(&timed[s], CT_CU_EVENT_DEFAULT));
    }
    succeed(cu->event_create(&event, CT_CU_EVENT_DISABLE_TIMING));
    /* An event that was never recorded is complete. */
    succeed(cu->event_query(event));
    succeed(cu->event_synchronize(event));
    succeed(cu->stream_wait(streams[0], event, 0));
    fail_with(400, cu->event_elapsed(&milliseconds, timed[0], timed[1]));

    succeed(cu->alloc(&x, sizeof values));
    succeed(cu->event_record(timed[0], streams[0]));
    succeed(cu->fill(x, 0, sizeof values, streams[0]));
    for (int i = 0; i < 40; i++) {
        const guint s = (guint)i % 2;
        /* The event is recorded again: a wait is for what was recorded before it. */
        succeed(cu->event_record(event, streams[1 - s]));
        succeed(cu->stream_wait(streams[s], event, 0));
        if (i == 0) {
            succeed(cu->event_record(event, streams[0]));
            succeed(cu->stream_wait(streams[1], event, 0));
        }
        succeed(emulator_test_launch(function, streams[s], x, i));
        expected = 3 * expected + (guint32)i;
    }
    succeed(cu->event_record(timed[1], streams[1]));
    succeed(cu->event_record(event, streams[1]));
    const CtCuResult state = cu->event_query(event);
    g_assert_true(state == CT_CUDA_SUCCESS || state == CT_CUDA_ERROR_NOT_READY);
    succeed(cu->event_synchronize(event));
    succeed(cu->event_query(event));
    succeed(cu->event_elapsed(&milliseconds, timed[0], timed[1]));
    g_assert_cmpfloat(milliseconds, >, 0);
    fail_with(400, cu->event_elapsed(&milliseconds, timed[0], event));
    succeed(cu->copy((CtCuAddress)values, x, sizeof values, streams[1]));
    for (guint i = 0; i < N; i++)
        g_assert_cmpuint(values[i], ==, expected);
    /* Enqueued operations still run when the stream is destroyed. */
    for (int i = 0; i < 5; i++)
        succeed(emulator_test_launch(function, streams[0], x, i));
    succeed(cu->stream_destroy(streams[0]));
    succeed(cu->copy((CtCuAddress)values, x, sizeof values, streams[1]));
    for (guint32 i = 0; i < 5; i++)
        expected = 3 * expected + i;
    g_assert_cmpuint(values[N - 1], ==, expected);
    succeed(cu->stream_destroy(streams[1]));
    for (guint s = 0; s < 2; s++)
        succeed(cu->event_destroy(timed[s]));
    succeed(cu->event_destroy(event));
    succeed(cu->module_unload(module));
    succeed(cu->free(x));
    emulator_test_end();
}

/* ---- programs and launches ---- */

static CtCuResult
launch_shape(CtCuFunction function, const guint grid[3], const guint block[3], guint shared)
{
    CtCuAddress nothing = 0;
    int n = 0;
    gpointer arguments[] = {&nothing, &n};
    return cu->launch(function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                      NULL, arguments, NULL);
}

static void
test_launches(void)
{
    if (!emulator_test_begin())
        return;
    static const struct {
        guint grid[3], block[3], shared;
        CtCuResult result;
    } shapes[] = {
        {{1, 1, 1}, {32, 32, 1}, 0, 0},       {{1, 1, 1}, {1025, 1, 1}, 0, 1},
        {{1, 1, 1}, {32, 33, 1}, 0, 1},       {{1, 1, 1}, {1, 1, 65}, 0, 1},
        {{1, 1, 1}, {32, 1, 1}, 48 << 10, 0}, {{1, 1, 1}, {32, 1, 1}, (48 << 10) + 1, 1},
        {{1, 65536, 1}, {32, 1, 1}, 0, 1},    {{1, 1, 65536}, {32, 1, 1}, 0, 1},
        {{1, 0, 1}, {32, 1, 1}, 0, 1},        {{70000, 1, 1}, {1, 1, 1}, 0, 0},
    };
    CtCuModule module;
    CtCuFunction other;
    int blocks;
    const CtCuFunction function =
        emulator_test_kernel("extern \"C\" __global__ void k(int *x, int n) {}\n"
                             "extern \"C\" __global__ void __launch_bounds__(2 * 64, 4)\n"
                             "bounded(int *x, int n) {}\n",
                             &module);
    for (guint s = 0; s < G_N_ELEMENTS(shapes); s++)
        fail_with(shapes[s].result,
                  launch_shape(function, shapes[s].grid, shapes[s].block, shapes[s].shared));
    const guint one[3] = {1, 1, 1}, many[3] = {129, 1, 1};
    const int attribute = CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    succeed(cu->function_set(function, attribute, 227 << 10));
    succeed(launch_shape(function, one, one, 227 << 10));
    fail_with(1, cu->function_set(function, attribute, (227 << 10) + 1));
    succeed(cu->occupancy(&blocks, function, 256, 50 << 10));
    g_assert_cmpint(blocks, ==, 4);
    fail_with(500, cu->module_function(&other, module, "absent"));
    succeed(cu->module_function(&other, module, "bounded"));
    fail_with(1, launch_shape(other, one, many, 0));
    succeed(cu->context_synchronize());
    succeed(cu->module_unload(module));
    emulator_test_end();
}

static void
test_programs(void)
{
    if (!emulator_test_begin())
        return;
    const char *const options[] = {"-DVALUE=7", "--gpu-architecture=sm_90", "--std=c++17"};
    static const char source[] = "#if __CUDA_ARCH__ != 900\n"
                                 "#error not for this one\n"
                                 "#endif\n"
                                 "extern \"C\" __global__ void k(int *x) { *x = VALUE; }\n";
    g_autofree char *log = NULL,
                    *bad = emulator_test_compile(
                        "extern \"C\" __global__ void k()\n{\n    wrong;\n}\n", NULL, 0, &log);
    g_assert_null(bad);
    g_assert_nonnull(strstr(log, "test.cu:3"));
    g_autofree char *image = emulator_test_compile(source, options, 3, NULL);
    g_assert_nonnull(image);
    /* Kernels have no declarations from libraries, as on a GPU. */
    g_autofree char *none = emulator_test_compile("uint32_t x;", NULL, 0, NULL);
    g_assert_null(none);
    CtCuModule module;
    char nonsense[64] = "";
    fail_with(200, cu->module_load(&module, nonsense));
    succeed(cu->module_load(&module, image));
    succeed(cu->module_unload(module));
    emulator_test_end();
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/emulator/contexts", test_contexts);
    g_test_add_func("/emulator/memory", test_memory);
    g_test_add_func("/emulator/pageable", test_pageable);
    g_test_add_func("/emulator/virtual-memory", test_virtual_memory);
    g_test_add_func("/emulator/events", test_events);
    g_test_add_func("/emulator/launches", test_launches);
    g_test_add_func("/emulator/programs", test_programs);
    return g_test_run();
}
