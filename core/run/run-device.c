/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of a run: contexts, the memory of links, and the streams on which nodes enqueue. */
#include "run-device.h"

static gboolean
open_devices(CtRunDevices *self, const CtPlan *plan, GError **error)
{
    for (guint i = 0; i < plan->queues->len; i++) {
        const guint n = (guint)g_array_index(plan->queues, CtPlanQueue, i).device;
        if (!self->devices[n])
            self->devices[n] = ct_device_open(n, error);
        if (!self->devices[n])
            return FALSE;
    }
    /* Devices that reach each other directly copy without the host. */
    for (guint from = 0; from < self->n_devices; from++)
        for (guint to = 0; to < self->n_devices; to++)
            if (from != to && self->devices[from] && self->devices[to] &&
                !ct_device_reach(self->devices[from], self->devices[to], error))
                return FALSE;
    return TRUE;
}

gboolean
ct_run_queue_add_events(CtRunQueue *queue, guint n, GError **error)
{
    const CtCudaDriver *driver = ct_device_driver(queue->device);
    if (!ct_device_enter(queue->device, error))
        return FALSE;
    for (guint k = 0; k < n; k++) {
        const CtRunEvents none = {0};
        g_array_append_val(queue->events, none);
        CtRunEvents *events = &g_array_index(queue->events, CtRunEvents, queue->events->len - 1);
        if (!ct_device_check(queue->device,
                             driver->event_create(&events->begun, CT_CU_EVENT_DEFAULT), error,
                             "creating an event") ||
            !ct_device_check(queue->device,
                             driver->event_create(&events->ran, CT_CU_EVENT_BLOCKING_SYNC), error,
                             "creating an event") ||
            !ct_device_check(queue->device,
                             driver->event_create(&events->joint, CT_CU_EVENT_DISABLE_TIMING),
                             error, "creating an event"))
            return FALSE;
    }
    return TRUE;
}

static void
destroy_events(CtRunQueue *queue)
{
    const CtCudaDriver *driver = ct_device_driver(queue->device);
    ct_device_enter(queue->device, NULL);
    for (guint k = 0; k < queue->events->len; k++) {
        const CtRunEvents *events = &g_array_index(queue->events, CtRunEvents, k);
        if (events->begun)
            driver->event_destroy(events->begun);
        if (events->ran)
            driver->event_destroy(events->ran);
        if (events->joint)
            driver->event_destroy(events->joint);
    }
    g_array_unref(queue->events);
}

static gboolean
create_queues(CtRunDevices *self, const CtPlan *plan, GError **error)
{
    for (guint i = 0; i < plan->queues->len; i++) {
        CtRunQueue *queue = &self->queues[i];
        queue->device = self->devices[g_array_index(plan->queues, CtPlanQueue, i).device];
        if (!ct_device_enter(queue->device, error) ||
            !ct_device_check(queue->device,
                             ct_device_driver(queue->device)
                                 ->stream_create(&queue->stream, CT_CU_STREAM_NON_BLOCKING),
                             error, "creating a stream"))
            return FALSE;
        if (g_array_index(plan->queues, CtPlanQueue, i).kind == CT_QUEUE_COMPUTE)
            queue->gathered = ct_gathered_new(queue->device, queue->stream);
        queue->events = g_array_new(FALSE, TRUE, sizeof(CtRunEvents));
        self->n_queues++;
        if (!ct_run_queue_add_events(queue, 1, error))
            return FALSE;
    }
    return TRUE;
}

CtRunDevices *
ct_run_devices_new(const CtPlan *plan, GError **error)
{
    g_autoptr(CtRunDevices) self = g_new0(CtRunDevices, 1);
    self->n_devices = plan->n_devices;
    self->devices = g_new0(CtDevice *, plan->n_devices + 1);
    self->memory = g_new0(guint8 *, plan->n_devices + 1);
    self->queues = g_new0(CtRunQueue, plan->queues->len + 1);
    self->pinned = g_array_new(FALSE, FALSE, sizeof(CtPinned));
    if (!open_devices(self, plan, error) || !create_queues(self, plan, error))
        return NULL;
    for (guint n = 0; n < plan->n_devices; n++) {
        if (!self->devices[n] || plan->device_bytes[n] == 0)
            continue;
        self->memory[n] =
            ct_device_alloc(self->devices[n], plan->device_bytes[n], "the graph's links", error);
        if (!self->memory[n])
            return NULL;
    }
    return g_steal_pointer(&self);
}

void
ct_run_devices_unpin(CtRunDevices *self)
{
    ct_run_devices_synchronize(self);
    for (guint i = 0; i < self->pinned->len; i++) {
        const CtPinned *pinned = &g_array_index(self->pinned, CtPinned, i);
        pinned->driver->host_unregister(pinned->memory);
    }
    g_array_set_size(self->pinned, 0);
}

void
ct_run_devices_free(CtRunDevices *self)
{
    if (!self)
        return;
    ct_run_devices_unpin(self);
    for (guint i = 0; i < self->n_queues; i++) {
        CtRunQueue *queue = &self->queues[i];
        ct_device_free(queue->device, queue->scratch);
        ct_gathered_free(queue->gathered);
        destroy_events(queue);
        if (ct_device_enter(queue->device, NULL))
            ct_device_driver(queue->device)->stream_destroy(queue->stream);
    }
    for (guint n = 0; n < self->n_devices; n++) {
        if (self->devices[n])
            ct_device_free(self->devices[n], self->memory[n]);
        ct_device_close(self->devices[n]);
    }
    g_array_unref(self->pinned);
    g_free(self->devices);
    g_free(self->memory);
    g_free(self->queues);
    g_free(self);
}

guint8 *
ct_run_devices_memory(const CtRunDevices *self, const CtPlanLink *link)
{
    return self->memory[link->place] + link->offset;
}

void
ct_run_devices_pin(CtRunDevices *self, gpointer memory, gsize bytes)
{
    for (guint n = 0; n < self->n_devices; n++) {
        if (!self->devices[n])
            continue;
        const gint64 from = g_get_monotonic_time();
        const CtPinned pinned = {memory, ct_device_driver(self->devices[n])};
        if (ct_device_enter(self->devices[n], NULL) &&
            pinned.driver->host_register(memory, bytes, CT_CU_MEMHOSTREGISTER_PORTABLE) ==
                CT_CUDA_SUCCESS)
            g_array_append_val(self->pinned, pinned);
        const CtDeviceCosts costs = {.memory = (gdouble)(g_get_monotonic_time() - from) * 1e-6};
        ct_device_add_costs(self->devices[n], &costs);
        /* Pinned memory is portable: it is pinned for all devices. */
        return;
    }
}

void
ct_run_devices_synchronize(const CtRunDevices *self)
{
    for (guint n = 0; n < self->n_devices; n++)
        if (self->devices[n] && ct_device_enter(self->devices[n], NULL))
            ct_device_driver(self->devices[n])->context_synchronize();
}

gboolean
ct_run_devices_allocate_scratch(CtRunDevices *self, GError **error)
{
    for (guint i = 0; i < self->n_queues; i++) {
        CtRunQueue *queue = &self->queues[i];
        if (queue->scratch_bytes == 0)
            continue;
        queue->scratch = ct_device_alloc(queue->device, queue->scratch_bytes,
                                         "the scratch of the stages", error);
        if (!queue->scratch)
            return FALSE;
    }
    return TRUE;
}
