/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices in tests of variants: a queue, and copies to the device of blocks made on the host. */
#pragma once

#include "../core/measure/test-device.h"
#include "../core/measure/test-run.h"

#include <string.h>

typedef CtTestDevice DeviceTest;

/* A block on the device, with the same alignment as on the host. */
typedef struct {
    CtBlock there;
    CtTestDeviceBlock memory;
} DeviceTestBlock;

static inline gpointer
device_test_open(G_GNUC_UNUSED gpointer data)
{
    g_autoptr(GError) error = NULL;
    CtDevice *device = ct_device_open(0, &error);

    g_assert_no_error(error);
    return device;
}

/* The first device; it is opened once, because that takes long. */
static inline CtDevice *
device_test_device(void)
{
    static GOnce once = G_ONCE_INIT;

    return g_once(&once, device_test_open, NULL);
}

static inline void
device_test_check(CtCuResult result)
{
    g_autoptr(GError) error = NULL;

    ct_device_check(device_test_device(), result, &error, "testing");
    g_assert_no_error(error);
}

static inline gpointer
device_test_alloc(gsize bytes)
{
    g_autoptr(GError) error = NULL;
    gpointer memory = ct_device_alloc(device_test_device(), bytes, "a test", &error);

    g_assert_no_error(error);
    return memory;
}

/* Copies and waits for it. */
static inline void
device_test_copy(gpointer to, gconstpointer from, gsize bytes)
{
    const CtCudaDriver *driver = ct_device_driver(device_test_device());

    device_test_check(driver->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(from), bytes, NULL));
    device_test_check(driver->stream_synchronize(NULL));
}

static inline void
device_test_begin(DeviceTest *test, const CtPrepare *prepare)
{
    g_autoptr(GError) error = NULL;

    ct_test_device_init(test, device_test_device(), prepare->scratch_bytes, prepare->upload_bytes,
                        0xff, &error);
    g_assert_no_error(error);
}

static inline void
device_test_wait(DeviceTest *test)
{
    g_autoptr(GError) error = NULL;

    ct_test_device_wait(test, &error);
    g_assert_no_error(error);
}

static inline void
device_test_end(DeviceTest *test)
{
    ct_test_device_clear(test);
}

/* Makes a block on the device with the contents of `here`, including its gaps. */
static inline void
device_test_send(DeviceTest *test, DeviceTestBlock *block, const CtBlock *here)
{
    g_autoptr(GError) error = NULL;

    ct_test_device_send(test, &block->memory, here->data, ct_block_span(here), &error);
    g_assert_no_error(error);
    block->there = *here;
    block->there.data = block->memory.block;
}

/* Copies it back, checks that nothing around it was written, and frees it on the device. */
static inline void
device_test_fetch(DeviceTest *test, DeviceTestBlock *block, const CtBlock *here)
{
    g_autoptr(GError) error = NULL;

    ct_test_device_fetch(test, &block->memory, here->data, "a block", &error);
    g_assert_no_error(error);
}
