/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues: the calls with which a node's firings enqueue on a stream of their device. */
#include "gathered.h"
#include "model/memory.h"
#include "model/unknown.h"

#include <string.h>

/* Uploads are aligned to this. */
#define ALIGNMENT 256
/* The largest distance between rows, in bytes, that the driver accepts. */
#define MOST_PITCH (gsize) G_MAXINT32

struct CtQueue {
    CtDevice *device;
    CtCuStream stream;
    gsize slot_bytes;
    guint n_slots;
    guint slot;
    gsize used;           /* bytes of the current slot */
    guint8 *staging;      /* [n_slots][slot_bytes] */
    gboolean pinned;      /* of `staging` */
    guint8 *uploaded;     /* the same layout on the device */
    CtGathered *gathered; /* NULL: all is enqueued at once */
    gboolean is_shared;   /* the stage knows the stream */
    GError *failure;      /* of what was gathered when the stage asked for the stream */
};

/* Allocates pinned memory if possible. From other memory, the driver copies while enqueuing. */
static gboolean
allocate_staging(CtQueue *queue, gsize bytes, GError **error)
{
    void *staging = NULL;
    if (!ct_device_enter(queue->device, error))
        return FALSE;
    const CtCuResult result =
        ct_device_driver(queue->device)->host_alloc(&staging, bytes, CT_CU_MEMHOSTALLOC_PORTABLE);
    queue->pinned = result == CT_CUDA_SUCCESS;
    if (queue->pinned)
        queue->staging = staging;
    else if (result == CT_CUDA_ERROR_OUT_OF_MEMORY)
        queue->staging = ct_memory_new(bytes, "uploads", error);
    else
        ct_device_check(queue->device, result, error, "pinned memory for uploads");
    return queue->staging != NULL;
}

CtQueue *
ct_queue_new(CtDevice *device, CtCuStream stream, gsize upload_bytes, guint n_slots, GError **error)
{
    g_autoptr(CtQueue) queue = g_new0(CtQueue, 1);
    queue->device = device;
    queue->stream = stream;
    queue->n_slots = n_slots;
    queue->slot_bytes = (upload_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (upload_bytes == 0)
        return g_steal_pointer(&queue);
    const gsize bytes = queue->n_slots * queue->slot_bytes;
    if (!allocate_staging(queue, bytes, error))
        return NULL;
    queue->uploaded = ct_device_alloc(device, bytes, "uploads", error);
    return queue->uploaded ? g_steal_pointer(&queue) : NULL;
}

void
ct_queue_free(CtQueue *queue)
{
    if (!queue)
        return;
    if (!queue->pinned)
        ct_memory_free(queue->staging, queue->n_slots * queue->slot_bytes);
    else if (ct_device_enter(queue->device, NULL))
        ct_device_driver(queue->device)->host_free(queue->staging);
    ct_device_free(queue->device, queue->uploaded);
    g_clear_error(&queue->failure);
    g_free(queue);
}

void
ct_queue_begin(CtQueue *queue)
{
    queue->slot = (queue->slot + 1) % MAX(queue->n_slots, 1);
    queue->used = 0;
}

/* Issues what was gathered, before something is enqueued at once. */
static gboolean
issue(CtQueue *queue, GError **error)
{
    gpointer owner;
    return !queue->gathered || ct_gathered_issue(queue->gathered, &owner, error);
}

gboolean
ct_queue_check(CtQueue *queue, GError **error)
{
    if (!queue->failure)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&queue->failure));
    return FALSE;
}

gboolean
ct_queue_gather(CtQueue *queue, CtGathered *gathered, gpointer owner, GError **error)
{
    queue->gathered = gathered;
    if (gathered)
        ct_gathered_set_owner(gathered, owner);
    if (!queue->is_shared)
        return TRUE;
    const gboolean good = issue(queue, error);
    queue->gathered = NULL;
    return good;
}

gboolean
ct_queue_launch(CtQueue *queue, const CtKernel *kernel, const CtLaunch *launch, gpointer *arguments,
                GError **error)
{
    const guint *grid = launch->grid;
    if (CT_RESERVED_IS_SET(launch)) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "a launch of kernel '%s' " CT_UNKNOWN_FAULT,
                    ct_kernel_name(kernel));
        return FALSE;
    }
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        return TRUE;
    if (queue->gathered && ct_gathered_launch(queue->gathered, kernel, launch, arguments))
        return TRUE;
    return issue(queue, error) &&
           ct_enqueue_launch(queue->device, queue->stream, kernel, launch, arguments, error);
}

/* Whether the memory is the queue's on the host. */
static gboolean
is_staging(const CtQueue *queue, const guint8 *memory)
{
    return queue->staging && memory >= queue->staging &&
           memory < queue->staging + queue->n_slots * queue->slot_bytes;
}

gboolean
ct_queue_copy(CtQueue *queue, gpointer to, gconstpointer from, gsize bytes, GError **error)
{
    const gboolean to_host = is_staging(queue, to), from_host = is_staging(queue, from);
    if (bytes == 0)
        return TRUE;
    if (queue->gathered && (queue->pinned || (!to_host && !from_host))) {
        ct_gathered_copy(queue->gathered, to, to_host, from, from_host, bytes);
        return TRUE;
    }
    return issue(queue, error) &&
           ct_enqueue_copy(queue->device, queue->stream, to, from, bytes, error);
}

/* Copies row by row: rows so far apart are few. */
static gboolean
copy_each_row(CtQueue *queue, guint8 *to, gsize to_pitch, const guint8 *from, gsize from_pitch,
              gsize bytes, gsize rows, GError **error)
{
    for (gsize r = 0; r < rows; r++)
        if (!ct_queue_copy(queue, to + r * to_pitch, from + r * from_pitch, bytes, error))
            return FALSE;
    return TRUE;
}

gboolean
ct_queue_copy_rows(CtQueue *queue, gpointer to, gsize to_pitch, gconstpointer from,
                   gsize from_pitch, gsize bytes, gsize rows, GError **error)
{
    if (bytes == 0 || rows == 0)
        return TRUE;
    if (rows == 1 || (bytes == to_pitch && bytes == from_pitch))
        return ct_queue_copy(queue, to, from, bytes * rows, error);
    if (MAX(to_pitch, from_pitch) > MOST_PITCH)
        return copy_each_row(queue, to, to_pitch, from, from_pitch, bytes, rows, error);
    const CtCuMemcpy2D copy = {
        .srcMemoryType = CT_CU_MEMORYTYPE_UNIFIED,
        .srcDevice = GPOINTER_TO_SIZE(from),
        .srcPitch = from_pitch,
        .dstMemoryType = CT_CU_MEMORYTYPE_UNIFIED,
        .dstDevice = GPOINTER_TO_SIZE(to),
        .dstPitch = to_pitch,
        .WidthInBytes = bytes,
        .Height = rows,
    };
    return issue(queue, error) &&
           ct_device_check(queue->device,
                           ct_device_driver(queue->device)->copy_rows(&copy, queue->stream), error,
                           "a copy of %" G_GSIZE_FORMAT " rows of %" G_GSIZE_FORMAT " bytes", rows,
                           bytes);
}

gboolean
ct_queue_fill(CtQueue *queue, gpointer to, guint8 value, gsize bytes, GError **error)
{
    if (bytes == 0)
        return TRUE;
    if (queue->gathered) {
        ct_gathered_fill(queue->gathered, to, value, bytes);
        return TRUE;
    }
    return ct_enqueue_fill(queue->device, queue->stream, to, value, bytes, error);
}

gpointer
ct_queue_reserve(CtQueue *queue, gsize bytes, guint8 **staging, GError **error)
{
    const gsize rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (rounded > queue->slot_bytes - queue->used) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "uploads %" G_GSIZE_FORMAT " bytes in a firing, but prepare has set "
                    "%" G_GSIZE_FORMAT,
                    queue->used + rounded, queue->slot_bytes);
        return NULL;
    }
    const gsize at = queue->slot * queue->slot_bytes + queue->used;
    queue->used += rounded;
    *staging = queue->staging + at;
    return queue->uploaded + at;
}

gpointer
ct_queue_upload(CtQueue *queue, gconstpointer data, gsize bytes, GError **error)
{
    guint8 *staging;
    const gpointer to = ct_queue_reserve(queue, bytes, &staging, error);
    if (!to)
        return NULL;
    memcpy(staging, data, bytes);
    return ct_queue_copy(queue, to, staging, bytes, error) ? to : NULL;
}

/* A stage that knows the stream may enqueue on it at any time during `work`. */
gpointer
ct_queue_stream(const CtQueue *queue)
{
    CtQueue *self = (CtQueue *)queue;
    self->is_shared = TRUE;
    if (!self->failure)
        issue(self, &self->failure);
    self->gathered = NULL;
    return queue->stream;
}
