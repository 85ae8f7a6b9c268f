/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's ceilings at this moment: multiply-adds, copies on it, and copies to and from the
 * host. */
#include "device-meter.h"

#include <stdlib.h>

/* The most bytes of a copy, several times the second-level cache, and the most blocks of
 * multiply-adds. Slow devices, such as emulated ones, get fewer. */
#define COPY_BYTES                    ((gsize)1 << 30)
#define HOST_BYTES                    ((gsize)64 << 20)
#define FMA_THREADS                   256
#define FMA_BLOCKS_PER_MULTIPROCESSOR 64
#define FMA_ROUNDS                    4096
/* This must agree with fma.cu. */
#define FMA_OPERATIONS_OF_ROUND (2.0 * 8)
/* The number of repeats of a measurement, unless the device is slow. */
#define N_TIMES 5
/* The seconds that a copy, or the multiply-adds, should take; and all N_TIMES at most. */
static const gdouble seconds_each = 1e-3, most_seconds = 0.1;

enum { MAIN, TO, FROM, N_STREAMS };

struct CtDeviceMeter {
    CtDevice *device;
    const CtCudaDriver *driver;
    CtCuStream streams[N_STREAMS];
    CtQueue *queues[N_STREAMS];
    CtCuEvent begin[N_STREAMS], end[N_STREAMS];
    guint8 *a, *b; /* `most` bytes each */
    gsize most;
    gsize n_bytes;   /* that are copied at a time, on the device … */
    gsize n_host;    /* … and between it and the host */
    guint n_blocks;  /* of multiply-adds; 0: the sizes are not known yet */
    gint32 n_rounds; /* of each */
    void *host[2];   /* pinned, HOST_BYTES each */
    guint8 *on_device[2];
    CtKernel *fma;
};

CtDeviceMeter *
ct_device_meter_new(CtDevice *device, GError **error)
{
    static const CtKernelSpec fma = {.name = "ct_fma", .source = "/cornerturn/kernel/fma.cu"};
    g_autoptr(CtDeviceMeter) self = g_new0(CtDeviceMeter, 1);
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
    self->most =
        MIN(COPY_BYTES, ct_device_info(device)->memory_bytes / 16 / HOST_BYTES * HOST_BYTES);
    self->most = MAX(self->most, HOST_BYTES);
    self->a = ct_device_alloc(device, self->most, "ceilings", error);
    self->b = ct_device_alloc(device, self->most, "ceilings", error);
    self->fma = ct_kernel_new(device, &fma, error);
    if (!self->a || !self->b || !self->fma)
        return NULL;
    /* Random data are used, because zeros may be copied faster. */
    for (gsize at = 0; at < self->most; at += HOST_BYTES)
        if (!ct_device_upload(device, self->a + at, self->host[0], HOST_BYTES, error))
            return NULL;
    return g_steal_pointer(&self);
}

void
ct_device_meter_free(CtDeviceMeter *self)
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
enqueue_fma(CtDeviceMeter *self, GError **error)
{
    gpointer out = self->b;
    gfloat a = 0.999f, b = 0.5f;
    gpointer arguments[] = {&out, &a, &b, &self->n_rounds};
    const CtLaunch launch = {
        .grid = {self->n_blocks, 1, 1},
        .block = {FMA_THREADS, 1, 1},
    };
    return ct_queue_launch(self->queues[MAIN], self->fma, &launch, arguments, error);
}

static gboolean
enqueue_copy(CtDeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[MAIN], self->b, self->a, self->n_bytes, error);
}

static gboolean
enqueue_to(CtDeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[TO], self->on_device[0], self->host[0], self->n_host, error);
}

static gboolean
enqueue_from(CtDeviceMeter *self, GError **error)
{
    return ct_queue_copy(self->queues[FROM], self->host[1], self->on_device[1], self->n_host,
                         error);
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
time_one(CtDeviceMeter *self, gboolean (*enqueue)(CtDeviceMeter *, GError **), guint which,
         guint beside, gdouble *seconds, GError **error)
{
    gdouble times[N_TIMES], sum = 0;
    gint n = 0;
    for (gint i = -1; i < N_TIMES && (n == 0 || sum < most_seconds); i++) {
        float milliseconds = 0;
        for (guint k = 0; k < 8 && beside; k++)
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
        sum += milliseconds * 1e-3;
        if (i >= 0)
            times[n++] = milliseconds * 1e-3;
    }
    qsort(times, (gsize)n, sizeof times[0], compare);
    *seconds = times[n / 2];
    return TRUE;
}

/* Doubles the sizes until each takes long enough. */
static gboolean
find_sizes(CtDeviceMeter *self, GError **error)
{
    const guint n = ct_device_info(self->device)->n_multiprocessors;
    gdouble seconds;
    self->n_bytes = self->n_host = 1 << 20;
    self->n_blocks = 1;
    self->n_rounds = 16;
    for (;;) {
        if (!time_one(self, enqueue_fma, MAIN, 0, &seconds, error))
            return FALSE;
        if (seconds >= seconds_each || self->n_blocks >= n * FMA_BLOCKS_PER_MULTIPROCESSOR)
            break;
        /* Long blocks come first: they hide what it takes to begin one. */
        if (self->n_rounds < FMA_ROUNDS)
            self->n_rounds *= 2;
        else
            self->n_blocks = self->n_blocks < n ? MIN(2 * self->n_blocks, n) : 2 * self->n_blocks;
    }
    for (;; self->n_host *= 2) {
        if (!time_one(self, enqueue_to, TO, 0, &seconds, error))
            return FALSE;
        if (seconds >= seconds_each || self->n_host >= HOST_BYTES)
            break;
    }
    /* Smaller copies would stay in the second-level cache. */
    self->n_bytes = MIN(self->most, MAX(1 << 20, 4 * ct_device_info(self->device)->l2_bytes));
    for (;; self->n_bytes = MIN(2 * self->n_bytes, self->most)) {
        if (!time_one(self, enqueue_copy, MAIN, 0, &seconds, error))
            return FALSE;
        if (seconds >= seconds_each || self->n_bytes >= self->most)
            break;
    }
    return TRUE;
}

static gdouble
fma_operations(const CtDeviceMeter *self)
{
    return (gdouble)self->n_blocks * FMA_THREADS * self->n_rounds * FMA_OPERATIONS_OF_ROUND;
}

static gboolean
measure_transfers(CtDeviceMeter *self, CtDeviceCeilings *ceilings, GError **error)
{
    const guint to = 1u << TO, from = 1u << FROM;
    const gdouble bytes = (gdouble)self->n_host;
    gdouble up, down, up_both, down_both, copy_beside, fma_beside;
    if (!time_one(self, enqueue_to, TO, 0, &up, error) ||
        !time_one(self, enqueue_from, FROM, 0, &down, error) ||
        !time_one(self, enqueue_to, TO, from, &up_both, error) ||
        !time_one(self, enqueue_from, FROM, to, &down_both, error) ||
        !time_one(self, enqueue_copy, MAIN, to | from, &copy_beside, error) ||
        !time_one(self, enqueue_fma, MAIN, to | from, &fma_beside, error))
        return FALSE;
    ceilings->to = bytes / up;
    ceilings->from = bytes / down;
    ceilings->both[0] = bytes / up_both;
    ceilings->both[1] = bytes / down_both;
    ceilings->copying = 2.0 * (gdouble)self->n_bytes / ceilings->copy / copy_beside;
    ceilings->fma_left = fma_operations(self) / ceilings->fma / fma_beside;
    return TRUE;
}

gboolean
ct_device_meter_measure(CtDeviceMeter *self, gboolean transfers, CtDeviceCeilings *ceilings,
                        GError **error)
{
    gdouble fma, copy;
    if (!ct_device_enter(self->device, error) || (!self->n_blocks && !find_sizes(self, error)) ||
        !time_one(self, enqueue_fma, MAIN, 0, &fma, error) ||
        !time_one(self, enqueue_copy, MAIN, 0, &copy, error))
        return FALSE;
    CtDeviceCeilings result = {
        .fma = fma_operations(self) / fma,
        .copy = 2.0 * (gdouble)self->n_bytes / copy,
    };
    if (transfers && !measure_transfers(self, &result, error))
        return FALSE;
    *ceilings = result;
    return TRUE;
}
