/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices for variants that run by themselves (test-run.h): a queue, and guarded blocks. */
#pragma once

#include "device/device.h"

/* Bytes before and after a block on a device that nothing may write. */
#define CT_TEST_DEVICE_GUARD 512

/* The device and the memory that the firings of a variant need. */
typedef struct {
    CtDevice *device;
    CtCuStream stream;
    CtQueue *queue;
    guint8 *scratch;
    guint64 *counters; /* [CT_MAX_COUNTERS] */
} CtTestDevice;

gboolean ct_test_device_init(CtTestDevice *test, CtDevice *device, gsize scratch_bytes,
                             gsize upload_bytes, guint8 poison, GError **error);
void ct_test_device_clear(CtTestDevice *test);
/* Waits for the work enqueued on the queue. */
gboolean ct_test_device_wait(CtTestDevice *test, GError **error);
gboolean ct_test_device_counters(CtTestDevice *test, guint64 *counters, GError **error);

/* Memory on the device with `bytes` of `here` in its middle, at the same alignment. */
typedef struct {
    guint8 *memory, *block;
    gsize all, bytes;
} CtTestDeviceBlock;

gboolean ct_test_device_send(CtTestDevice *test, CtTestDeviceBlock *block, const guint8 *here,
                             gsize bytes, GError **error);
/* Copies it back, checks that nothing was written around it (an error calls it `what`), and frees
 * it. */
gboolean ct_test_device_fetch(CtTestDevice *test, CtTestDeviceBlock *block, guint8 *here,
                              const char *what, GError **error);
