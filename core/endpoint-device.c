/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that the program feeds and takes in the memory of a device. */
#include "scheduler-private.h"

CtEndpoint *
ct_endpoint_new(CtRunQueue *queue, GError **error)
{
    CtEndpoint *endpoint = g_new0(CtEndpoint, 1);
    endpoint->queue = queue;
    endpoint->after = g_ptr_array_new();
    endpoint->others = g_ptr_array_new();
    endpoint->own = ct_queue_new(queue->device, queue->stream, 0, 1, error);
    if (endpoint->own && ct_device_enter(queue->device, error) &&
        ct_device_check(queue->device,
                        ct_device_driver(queue->device)
                            ->event_create(&endpoint->event, CT_CU_EVENT_DISABLE_TIMING),
                        error, "creating an event"))
        return endpoint;
    ct_endpoint_free(endpoint);
    return NULL;
}

void
ct_endpoint_free(CtEndpoint *endpoint)
{
    if (!endpoint)
        return;
    if (endpoint->event && ct_device_enter(endpoint->queue->device, NULL))
        ct_device_driver(endpoint->queue->device)->event_destroy(endpoint->event);
    ct_queue_free(endpoint->own);
    g_ptr_array_unref(endpoint->after);
    g_ptr_array_unref(endpoint->others);
    g_free(endpoint);
}

void
ct_endpoint_share(CtEndpoint *endpoint, CtRunQueue *queue)
{
    if (queue != endpoint->queue && !g_ptr_array_find(endpoint->others, queue, NULL))
        g_ptr_array_add(endpoint->others, queue);
}

/* The event is of the endpoint's device, and this thread's device may change. */
static gboolean
record(CtEndpoint *endpoint, CtCuStream stream, const char *doing, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    return ct_device_enter(device, error) &&
           ct_device_check(device, ct_device_driver(device)->event_record(endpoint->event, stream),
                           error, "%s", doing);
}

static gboolean
hold_up(const CtEndpoint *endpoint, CtRunQueue *queue, const char *doing, GError **error)
{
    g_atomic_int_set(&queue->waits, TRUE);
    return ct_device_enter(queue->device, error) &&
           ct_device_check(
               queue->device,
               ct_device_driver(queue->device)->stream_wait(queue->stream, endpoint->event, 0),
               error, "%s", doing);
}

static gboolean
hold_up_others(const CtEndpoint *endpoint, const char *doing, GError **error)
{
    for (guint k = 0; k < endpoint->others->len; k++)
        if (!hold_up(endpoint, endpoint->others->pdata[k], doing, error))
            return FALSE;
    return TRUE;
}

gboolean
ct_endpoint_follow(CtEndpoint *endpoint, GError **error)
{
    static const char waiting[] = "waiting for the program's stream";
    if (!endpoint->stream)
        return ct_device_enter(endpoint->queue->device, error);
    return record(endpoint, endpoint->stream, "recording an event on the program's stream",
                  error) &&
           hold_up_others(endpoint, waiting, error) &&
           hold_up(endpoint, endpoint->queue, waiting, error);
}

gboolean
ct_endpoint_spread(CtEndpoint *endpoint, GError **error)
{
    return endpoint->others->len == 0 ||
           (record(endpoint, endpoint->queue->stream, "recording an event", error) &&
            hold_up_others(endpoint, "waiting for another queue", error));
}

gboolean
ct_endpoint_lead(CtEndpoint *endpoint, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    if (!ct_device_enter(device, error))
        return FALSE;
    for (guint k = 0; k < endpoint->after->len; k++) {
        const CtCuEvent event = endpoint->after->pdata[k];
        const CtCuResult result = endpoint->stream ? driver->stream_wait(endpoint->stream, event, 0)
                                                   : driver->event_synchronize(event);
        if (!ct_device_check(device, result, error, "waiting for a block"))
            return FALSE;
    }
    return TRUE;
}
