/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's ceilings at this moment: multiply-adds, copies on it, and copies to and from the
 * host. */
#include "device-ceilings.h"

#include <stdlib.h>

/* This is several times the second-level cache. */
#define COPY_BYTES                    ((gsize)1 << 30)
#define HOST_BYTES                    ((gsize)64 << 20)
#define FMA_THREADS                   256
#define FMA_BLOCKS_PER_MULTIPROCESSOR 64
/* This must agree with ceilings.cu. */
#define FMA_OPERATIONS_OF_THREAD (2.0 * 8 * 4096)
#define N_TIMES                  7

enum { MAIN, TO, FROM, N_STREAMS };

struct DeviceMeter {
    CtDevice *device;
    const CtCudaDriver *driver;
    CtCuStream streams[N_STREAMS];
    CtQueue *queues[N_STREAMS];
    CtCuEvent begin[N_STREAMS], end[N_STREAMS];
    guint8 *a, *b; /* COPY_BYTES each */
    void *host[2]; /* pinned, HOST_BYTES each */
    guint8 *on_device[2];
    CtKernel *fma;
};

DeviceMeter *
device_meter_new(CtDevice *device, GError **error)
{
    static const CtKernelSpec fma = {.name = "bench_fma",
                                     .source = "/cornerturn/bench/ceilings.cu"};
    g_autoptr(DeviceMeter) self = g_new0(DeviceMeter, 1);
    self->device = device;
    self->driver = ct_device_driver(device);
    if (!ct_device_enter(device, error))
        return NULL;
    for (guint i = 0; i < N_STREAMS; i++) {
        self->driver->stream_create(&self->streams[i], CT_CU_STREAM_NON_BLOCKING);
        self->driver->event_create(&self->begin[i], CT_CU_EVENT_DEFAULT);
        self->driver->event_create(&self->end[i], CT_CU_EVENT_DEFAULT);
        self->queues[i] = ct_queue_new(device, self->streams[i], 0, 1, error);
        if (!self->queues[i])
            return NULL;
    }
    for (guint i = 0; i < 2; i++) {
        if (!ct_device_check(device, self->driver->host_alloc(&self->host[i], HOST_BYTES, 0), error,
                             "pinned memory"))
            return NULL;
        self->on_device[i] = ct_device_alloc(device, HOST_BYTES, "ceilings", error);
        if (!self->on_device[i])
            return NULL;
        guint32 *words = self->host[i];
        for (gsize k = 0; k < HOST_BYTES / sizeof *words; k++)
            words[k] = (guint32)k * 2654435761u;
    }
    self->a = ct_device_alloc(device, COPY_BYTES, "ceilings", error);
    self->b = ct_device_alloc(device, COPY_BYTES, "ceilings", error);
    self->fma = ct_kernel_new(device, &fma, error);
    if (!self->a || !self->b || !self->fma)
        return NULL;
    /* Random data are used, because zeros may be copied faster. */
    for (gsize at = 0; at < COPY_BYTES; at += HOST_BYTES)
        if (!ct_device_upload(device, self->a + at, self->host[0], HOST_BYTES, error))
            return NULL;
    return g_steal_pointer(&self);
}

void
device_meter_free(DeviceMeter *self)
{
    if (!self)
        return;
    ct_device_enter(self->device, NULL);
    self->driver->context_synchronize();
    for (guint i = 0; i < N_STREAMS; i++) {
        ct_queue_free(self->queues[i]);
        self->driver->event_destroy(self->begin[i]);
        self->driver->event_destroy(self->end[i]);
        self->driver->stream_destroy(self->streams[i]);
    }
    for (guint i = 0; i < 2; i++) {
        ct_device_free(self->device, self->on_device[i]);
        if (self->host[i])
            self->driver->host_free(self->host[i]);
    }
    ct_device_free(self->device, self->a);
    ct_device_free(self->device, self->b);
    ct_kernel_free(self->fma);
    g_free(self);
}

static gboolean
enqueue_fma(DeviceMeter *self, GError **error)
{
    gpointer out = self->b;
    gfloat a = 0.999f, b = 0.5f;
    gpointer arguments[] = {&out, &a, &b};
    const CtLaunch launch = {
        .grid = {ct_device_info(self->device)->n_multiprocessors * FMA_BLOCKS_PER_MULTIPROCESSOR, 1,
                 1},
        .block = {FMA_THREADS, 1, 1},
    };
    return ct_queue_launch(self->queues[MAIN], self->fma, &launch, arguments, error);
}

static gboolean
enqueue_copy(DeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[MAIN], self->b, self->a, COPY_BYTES, error);
}

static gboolean
enqueue_to(DeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[TO], self->on_device[0], self->host[0], HOST_BYTES, error);
}

static gboolean
enqueue_from(DeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[FROM], self->host[1], self->on_device[1], HOST_BYTES, error);
}

static gint
compare(gconstpointer a, gconstpointer b)
{
    const gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;
    return x < y ? -1 : x > y;
}

/* Measures the median seconds of one `enqueue` on stream `which`, while the streams in the bit mask
 * `beside` copy. */
static gboolean
time_one(DeviceMeter *self, gboolean (*enqueue)(DeviceMeter *, GError **), guint which,
         guint beside, gdouble *seconds, GError **error)
{
    gdouble times[N_TIMES];
    for (gint i = -1; i < N_TIMES; i++) {
        float milliseconds = 0;
        for (guint k = 0; k < 8; k++)
            if ((beside & 1u << TO && !enqueue_to(self, error)) ||
                (beside & 1u << FROM && !enqueue_from(self, error)))
                return FALSE;
        if (!ct_device_check(self->device,
                             self->driver->event_record(self->begin[which], self->streams[which]),
                             error, "an event") ||
            !enqueue(self, error) ||
            !ct_device_check(self->device,
                             self->driver->event_record(self->end[which], self->streams[which]),
                             error, "an event") ||
            !ct_device_check(self->device, self->driver->event_synchronize(self->end[which]), error,
                             "a ceiling") ||
            !ct_device_check(
                self->device,
                self->driver->event_elapsed(&milliseconds, self->begin[which], self->end[which]),
                error, "a ceiling") ||
            !ct_device_check(self->device, self->driver->context_synchronize(), error, "a ceiling"))
            return FALSE;
        if (i >= 0)
            times[i] = milliseconds * 1e-3;
    }
    qsort(times, N_TIMES, sizeof times[0], compare);
    *seconds = times[N_TIMES / 2];
    return TRUE;
}

gboolean
device_meter_measure(DeviceMeter *self, DeviceCeilings *ceilings, GError **error)
{
    const guint to = 1u << TO, from = 1u << FROM;
    const gdouble operations = (gdouble)ct_device_info(self->device)->n_multiprocessors *
                               FMA_BLOCKS_PER_MULTIPROCESSOR * FMA_THREADS *
                               FMA_OPERATIONS_OF_THREAD;
    gdouble fma, copy, up, down, up_both, down_both, copy_beside, fma_beside;
    if (!ct_device_enter(self->device, error) ||
        !time_one(self, enqueue_fma, MAIN, 0, &fma, error) ||
        !time_one(self, enqueue_copy, MAIN, 0, &copy, error) ||
        !time_one(self, enqueue_to, TO, 0, &up, error) ||
        !time_one(self, enqueue_from, FROM, 0, &down, error) ||
        !time_one(self, enqueue_to, TO, from, &up_both, error) ||
        !time_one(self, enqueue_from, FROM, to, &down_both, error) ||
        !time_one(self, enqueue_copy, MAIN, to | from, &copy_beside, error) ||
        !time_one(self, enqueue_fma, MAIN, to | from, &fma_beside, error))
        return FALSE;
    *ceilings = (DeviceCeilings){
        .fma = operations / fma,
        .copy = 2.0 * COPY_BYTES / copy,
        .to = HOST_BYTES / up,
        .from = HOST_BYTES / down,
        .both = {HOST_BYTES / up_both, HOST_BYTES / down_both},
        .copying = copy / copy_beside,
        .fma_left = fma / fma_beside,
    };
    return TRUE;
}
