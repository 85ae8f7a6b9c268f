/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices in tests of variants: a queue, and copies to the device of blocks made on the host. */
#pragma once

#include "../core/device/device.h"

#include <string.h>

/* Bytes before and after a block that nothing may write. */
#define DEVICE_TEST_GUARD 512
#define DEVICE_TEST_MARK  0xa5
/* Uploads of this many firings stay valid. */
#define DEVICE_TEST_SLOTS 2

/* The members that a firing gets. */
typedef struct {
    CtCuStream stream;
    CtQueue *queue;
    guint8 *scratch;
    guint64 *counters;
} DeviceTest;

/* A block on the device, with the same alignment as on the host. */
typedef struct {
    CtBlock there;
    guint8 *memory;
    gsize bytes; /* from its first element to its last */
    gsize begin; /* of the block in `memory` */
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
    const CtCudaDriver *driver = ct_device_driver(device_test_device());
    g_autofree guint8 *nothing = g_malloc(prepare->scratch_bytes + 1);
    g_autoptr(GError) error = NULL;

    ct_device_enter(device_test_device(), &error);
    g_assert_no_error(error);
    device_test_check(driver->stream_create(&test->stream, 1));
    test->queue = ct_queue_new(device_test_device(), test->stream, prepare->upload_bytes,
                               DEVICE_TEST_SLOTS, &error);
    g_assert_no_error(error);
    memset(nothing, 0xff, prepare->scratch_bytes); /* NaN, in any type */
    test->scratch = device_test_alloc(prepare->scratch_bytes);
    device_test_copy(test->scratch, nothing, prepare->scratch_bytes);
    test->counters = device_test_alloc(16 * sizeof(guint64));
}

static inline void
device_test_wait(DeviceTest *test)
{
    const CtCudaDriver *driver = ct_device_driver(device_test_device());

    device_test_check(driver->stream_synchronize(test->stream));
}

static inline void
device_test_end(DeviceTest *test)
{
    const CtCudaDriver *driver = ct_device_driver(device_test_device());

    ct_queue_free(test->queue);
    ct_device_free(device_test_device(), test->scratch);
    ct_device_free(device_test_device(), test->counters);
    device_test_check(driver->stream_destroy(test->stream));
}

/* The bytes from its first element to its last. */
static inline gsize
device_test_span(const CtBlock *block)
{
    gsize bytes = ct_type_info(block->type)->bytes;

    for (guint a = 0; a < block->n_axes; a++) {
        if (block->length[a] == 0)
            return 0;
        bytes += (gsize)((block->length[a] - 1) * block->stride[a]);
    }
    return bytes;
}

/* Makes a block on the device with the contents of `here`, including its gaps. */
static inline void
device_test_send(DeviceTestBlock *block, const CtBlock *here)
{
    block->there = *here;
    block->bytes = device_test_span(here);
    block->begin = DEVICE_TEST_GUARD + GPOINTER_TO_SIZE(here->data) % 64;
    const gsize all = block->begin + block->bytes + DEVICE_TEST_GUARD;
    g_autofree guint8 *image = g_malloc(all);
    memset(image, DEVICE_TEST_MARK, all);
    memcpy(image + block->begin, here->data, block->bytes);
    block->memory = device_test_alloc(all);
    device_test_copy(block->memory, image, all);
    block->there.data = block->memory + block->begin;
}

/* Copies the elements back, checks that nothing else was written, and frees the block on the
 * device. */
static inline void
device_test_fetch(DeviceTestBlock *block, const CtBlock *here)
{
    const gsize all = block->begin + block->bytes + DEVICE_TEST_GUARD;
    const gsize bytes = ct_type_info(here->type)->bytes;
    g_autofree guint8 *image = g_malloc(all);
    gint64 n = 1;

    device_test_copy(image, block->memory, all);
    ct_device_free(device_test_device(), block->memory);
    for (guint a = 0; a < here->n_axes; a++)
        n *= here->length[a];
    for (gint64 element = 0; element < n; element++) {
        gint64 at = 0, left = element;
        for (guint a = here->n_axes; a-- > 0; left /= here->length[a])
            at += left % here->length[a] * here->stride[a];
        memcpy(here->data + at, image + block->begin + at, bytes);
    }
    g_assert_cmpmem(image + block->begin, block->bytes, here->data, block->bytes);
    for (gsize i = 0; i < all; i++)
        if (i < block->begin || i >= block->begin + block->bytes)
            g_assert_cmpuint(image[i], ==, DEVICE_TEST_MARK);
}
