/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices for variants that run by themselves. */
#include "test-device.h"

#include "guard.h"

#include <string.h>

/* Uploads of this many firings stay valid; the queue is waited for after each. */
enum { SLOTS = 2 };

static gboolean
copy(CtTestDevice *test, gpointer to, gconstpointer from, gsize bytes, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(test->device);
    return ct_device_check(test->device,
                           driver->copy(GPOINTER_TO_SIZE(to), GPOINTER_TO_SIZE(from), bytes, NULL),
                           error, "a copy of %" G_GSIZE_FORMAT " bytes", bytes) &&
           ct_device_check(test->device, driver->stream_synchronize(NULL), error, "waiting");
}

/* Memory filled with a byte. */
static gpointer
filled(CtTestDevice *test, gsize bytes, guint8 byte, GError **error)
{
    gpointer memory = ct_device_alloc(test->device, bytes, "a test", error);
    g_autofree guint8 *image = g_malloc(bytes + 1);
    memset(image, byte, bytes);
    if (memory && copy(test, memory, image, bytes, error))
        return memory;
    ct_device_free(test->device, memory);
    return NULL;
}

gboolean
ct_test_device_init(CtTestDevice *test, CtDevice *device, gsize scratch_bytes, gsize upload_bytes,
                    guint8 poison, GError **error)
{
    *test = (CtTestDevice){.device = device};
    const CtCudaDriver *driver = ct_device_driver(device);
    return ct_device_enter(device, error) &&
           ct_device_check(device, driver->stream_create(&test->stream, 1), error, "a stream") &&
           (test->queue = ct_queue_new(device, test->stream, upload_bytes, SLOTS, error)) &&
           (test->scratch = filled(test, scratch_bytes, poison, error)) &&
           (test->counters = filled(test, CT_MAX_COUNTERS * sizeof(guint64), 0, error));
}

void
ct_test_device_clear(CtTestDevice *test)
{
    if (!test->device)
        return;
    ct_queue_free(test->queue);
    ct_device_free(test->device, test->scratch);
    ct_device_free(test->device, test->counters);
    if (test->stream)
        ct_device_driver(test->device)->stream_destroy(test->stream);
    *test = (CtTestDevice){0};
}

gboolean
ct_test_device_wait(CtTestDevice *test, GError **error)
{
    return ct_device_check(test->device,
                           ct_device_driver(test->device)->stream_synchronize(test->stream), error,
                           "its kernels");
}

gboolean
ct_test_device_counters(CtTestDevice *test, guint64 *counters, GError **error)
{
    return copy(test, counters, test->counters, CT_MAX_COUNTERS * sizeof *counters, error);
}

gboolean
ct_test_device_send(CtTestDevice *test, CtTestDeviceBlock *block, const guint8 *here, gsize bytes,
                    GError **error)
{
    const gsize begin = CT_TEST_DEVICE_GUARD + GPOINTER_TO_SIZE(here) % 64;
    block->bytes = bytes;
    block->all = begin + bytes + CT_TEST_DEVICE_GUARD;
    g_autofree guint8 *image = g_malloc(block->all);
    memset(image, CT_GUARD_MARK, block->all);
    memcpy(image + begin, here, bytes);
    block->memory = ct_device_alloc(test->device, block->all, "a test", error);
    block->block = block->memory ? block->memory + begin : NULL;
    return block->memory && copy(test, block->memory, image, block->all, error);
}

gboolean
ct_test_device_fetch(CtTestDevice *test, CtTestDeviceBlock *block, guint8 *here, const char *what,
                     GError **error)
{
    const gsize begin = (gsize)(block->block - block->memory);
    g_autofree guint8 *image = g_malloc(block->all + 1);
    if (!block->memory)
        return TRUE;
    gboolean good = copy(test, image, block->memory, block->all, error);
    ct_device_free(test->device, block->memory);
    for (gsize i = 0; i < block->all && good; i++) {
        const gboolean is_inside = i >= begin && i < begin + block->bytes;
        if (is_inside || image[i] == CT_GUARD_MARK)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "writes byte %" G_GSSIZE_FORMAT " of %s, which has %" G_GSIZE_FORMAT " bytes",
                    (gssize)i - (gssize)begin, what, block->bytes);
        good = FALSE;
    }
    if (good)
        memcpy(here, image + begin, block->bytes);
    *block = (CtTestDeviceBlock){0};
    return good;
}
