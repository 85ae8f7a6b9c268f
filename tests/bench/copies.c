/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of whole blocks from memory to memory, by memcpy or by the device. */
#include "copies.h"

#include "device/device.h"
#include "measure/moment.h"

#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (2u << 20)

struct CopyMeter {
    gsize bytes;
    guint8 *from, *to;
    CtDevice *device; /* NULL: on the host */
    CtCuStream stream;
    CtQueue *queue;
    CtCuEvent begin, end;
};

static guint8 *
new_block(gsize bytes)
{
    guint8 *block = g_aligned_alloc(bytes, 1, HUGE_PAGE);
    madvise(block, bytes, MADV_HUGEPAGE);
    for (gsize i = 0; i < bytes; i++)
        block[i] = (guint8)(i * 2654435761u >> 7);
    return block;
}

static gboolean
open_device(CopyMeter *self, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(self->device);
    g_autofree guint8 *random = g_malloc(self->bytes);
    for (gsize i = 0; i < self->bytes; i++)
        random[i] = (guint8)(i * 2654435761u >> 7);
    if (!ct_device_enter(self->device, error))
        return FALSE;
    driver->stream_create(&self->stream, CT_CU_STREAM_NON_BLOCKING);
    driver->event_create(&self->begin, CT_CU_EVENT_DEFAULT);
    driver->event_create(&self->end, CT_CU_EVENT_DEFAULT);
    self->queue = ct_queue_new(self->device, self->stream, 0, 1, error);
    self->from = ct_device_alloc(self->device, self->bytes, "copies", error);
    self->to = self->from ? ct_device_alloc(self->device, self->bytes, "copies", error) : NULL;
    return self->queue && self->to &&
           ct_device_upload(self->device, self->from, random, self->bytes, error);
}

CopyMeter *
copy_meter_new(CtDevice *device, gsize bytes, GError **error)
{
    g_autoptr(CopyMeter) self = g_new0(CopyMeter, 1);
    self->bytes = bytes;
    self->device = device;
    if (!device) {
        self->from = new_block(bytes);
        self->to = new_block(bytes);
    } else if (!open_device(self, error)) {
        return NULL;
    }
    return g_steal_pointer(&self);
}

static void
close_device(CopyMeter *self)
{
    const CtCudaDriver *driver = ct_device_driver(self->device);
    ct_device_enter(self->device, NULL);
    driver->context_synchronize();
    ct_queue_free(self->queue);
    driver->event_destroy(self->begin);
    driver->event_destroy(self->end);
    driver->stream_destroy(self->stream);
    ct_device_free(self->device, self->from);
    ct_device_free(self->device, self->to);
}

void
copy_meter_free(CopyMeter *self)
{
    if (self && self->device) {
        close_device(self);
    } else if (self) {
        g_aligned_free(self->from);
        g_aligned_free(self->to);
    }
    g_free(self);
}

/* Seconds of `n` copies. */
static gdouble
copy_on_host(CopyMeter *self, guint64 n)
{
    const CtMoment from = ct_moment_of_thread();
    for (guint64 i = 0; i < n; i++)
        memcpy(self->to, self->from, self->bytes);
    const CtMoment to = ct_moment_of_thread();
    return (gdouble)ct_moments_between(&from, &to, 1) * 1e-9;
}

static gboolean
copy_on_device(CopyMeter *self, guint64 n, gdouble *seconds, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(self->device);
    float milliseconds = 0;
    if (!ct_device_enter(self->device, error) ||
        !ct_device_check(self->device, driver->event_record(self->begin, self->stream), error,
                         "an event"))
        return FALSE;
    for (guint64 i = 0; i < n; i++)
        if (!ct_queue_copy(self->queue, self->to, self->from, self->bytes, error))
            return FALSE;
    if (!ct_device_check(self->device, driver->event_record(self->end, self->stream), error,
                         "an event") ||
        !ct_device_check(self->device, driver->event_synchronize(self->end), error, "a copy") ||
        !ct_device_check(self->device, driver->event_elapsed(&milliseconds, self->begin, self->end),
                         error, "a copy"))
        return FALSE;
    *seconds = milliseconds * 1e-3;
    return TRUE;
}

gboolean
copy_meter_run(CopyMeter *self, gdouble seconds, gdouble *rate, GError **error)
{
    for (guint64 n = 1;; n *= 2) {
        gdouble taken = 0;
        if (!self->device)
            taken = copy_on_host(self, n);
        else if (!copy_on_device(self, n, &taken, error))
            return FALSE;
        *rate = 2 * (gdouble)n * (gdouble)self->bytes / MAX(taken, 1e-9);
        if (taken >= seconds / 2)
            return TRUE;
    }
}
