/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that the program feeds and takes in the memory of a device. */
#include "scheduler-private.h"

CtEndpoint *
ct_endpoint_new(CtRunQueue *queue, GError **error)
{
    CtEndpoint *endpoint = g_new0(CtEndpoint, 1);
    endpoint->queue = queue;
    endpoint->after = g_ptr_array_new();
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
    g_free(endpoint);
}

gboolean
ct_endpoint_follow(CtEndpoint *endpoint, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    if (endpoint->stream)
        g_atomic_int_set(&endpoint->queue->waits, TRUE);
    return ct_device_enter(device, error) &&
           (!endpoint->stream ||
            (ct_device_check(device, driver->event_record(endpoint->event, endpoint->stream), error,
                             "recording an event on the program's stream") &&
             ct_device_check(device,
                             driver->stream_wait(endpoint->queue->stream, endpoint->event, 0),
                             error, "waiting for the program's stream")));
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
