/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that the program feeds and takes in the memory of a device. */
#include "scheduler-private.h"

static gboolean
create_events(CtEndpoint *endpoint, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    const CtCudaDriver *driver = ct_device_driver(device);
    static const char doing[] = "creating an event";
    if (!ct_device_enter(device, error) ||
        !ct_device_check(device, driver->event_create(&endpoint->event, CT_CU_EVENT_DISABLE_TIMING),
                         error, doing))
        return FALSE;
    for (guint k = 0; k < CT_PIPELINE_QUEUE; k++)
        if (!ct_device_check(
                device,
                driver->event_create(&endpoint->spliced[k],
                                     CT_CU_EVENT_BLOCKING_SYNC | CT_CU_EVENT_DISABLE_TIMING),
                error, doing))
            return FALSE;
    return TRUE;
}

CtEndpoint *
ct_endpoint_new(CtRunQueue *queue, GError **error)
{
    CtEndpoint *endpoint = g_new0(CtEndpoint, 1);
    endpoint->queue = queue;
    endpoint->after = g_ptr_array_new();
    endpoint->others = g_ptr_array_new();
    endpoint->own = ct_queue_new(queue->device, queue->stream, 0, 1, error);
    if (endpoint->own && create_events(endpoint, error))
        return endpoint;
    ct_endpoint_free(endpoint);
    return NULL;
}

void
ct_endpoint_free(CtEndpoint *endpoint)
{
    if (!endpoint)
        return;
    const CtCudaDriver *driver = ct_device_driver(endpoint->queue->device);
    if (endpoint->event && ct_device_enter(endpoint->queue->device, NULL)) {
        driver->event_destroy(endpoint->event);
        for (guint k = 0; k < CT_PIPELINE_QUEUE && endpoint->spliced[k]; k++)
            driver->event_destroy(endpoint->spliced[k]);
    }
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

/* Records an event of the endpoint's device, which becomes the thread's current one. */
static gboolean
record(CtEndpoint *endpoint, CtCuEvent event, CtCuStream stream, const char *doing, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    return ct_device_enter(device, error) &&
           ct_device_check(device, ct_device_driver(device)->event_record(event, stream), error,
                           "%s", doing);
}

static gboolean
hold_up(CtRunQueue *queue, CtCuEvent event, const char *doing, GError **error)
{
    CtDevice *device = queue->device;
    atomic_store(&queue->waits, TRUE);
    return ct_device_enter(device, error) &&
           ct_device_check(device, ct_device_driver(device)->stream_wait(queue->stream, event, 0),
                           error, "%s", doing);
}

static gboolean
hold_up_others(const CtEndpoint *endpoint, CtCuEvent event, const char *doing, GError **error)
{
    for (guint k = 0; k < endpoint->others->len; k++)
        if (!hold_up(endpoint->others->pdata[k], event, doing, error))
            return FALSE;
    return TRUE;
}

gboolean
ct_endpoint_follow(CtEndpoint *endpoint, GError **error)
{
    static const char waiting[] = "waiting for the program's stream";
    const CtCuEvent event = endpoint->event;
    if (!endpoint->stream)
        return ct_device_enter(endpoint->queue->device, error);
    return record(endpoint, event, endpoint->stream, "recording an event on the program's stream",
                  error) &&
           hold_up_others(endpoint, event, waiting, error) &&
           hold_up(endpoint->queue, event, waiting, error);
}

gboolean
ct_endpoint_finish(CtEndpoint *endpoint, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    return !endpoint->stream ||
           (ct_device_enter(device, error) &&
            ct_device_check(device, ct_device_driver(device)->event_synchronize(endpoint->event),
                            error, "the program's work on a block"));
}

gboolean
ct_endpoint_spliced(CtEndpoint *endpoint, GError **error)
{
    const CtCuEvent event = endpoint->spliced[endpoint->next_splice++ % CT_PIPELINE_QUEUE];
    return record(endpoint, event, endpoint->queue->stream, "recording an event", error) &&
           hold_up_others(endpoint, event, "waiting for another queue", error);
}

gboolean
ct_endpoint_wait(CtEndpoint *endpoint, GError **error)
{
    CtDevice *device = endpoint->queue->device;
    const CtCuEvent event = endpoint->spliced[endpoint->oldest_splice % CT_PIPELINE_QUEUE];
    endpoint->oldest_splice++;
    return ct_device_enter(device, error) &&
           ct_device_check(device, ct_device_driver(device)->event_synchronize(event), error,
                           "what stands between two blocks");
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
