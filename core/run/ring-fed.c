/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring that the program feeds: blocks in its memory are the laps, with bridges between. */
#include "model/memory.h"
#include "ring-private.h"

#include <string.h>

/* A block and the bridge that leads to it, each. */
#define MAX_LAPS (2 * CT_PIPELINE_QUEUE)

typedef struct {
    gint64 stride[CT_MAX_AXES]; /* that of the lap points here */
    CtReleased released;
    gpointer data;
    gpointer user_data;
    gboolean is_bridge;
} Slot;

struct CtRingFeed {
    CtRingLap laps[MAX_LAPS]; /* CtRing.laps */
    Slot *slots[MAX_LAPS];    /* of each lap */
    Slot pool[MAX_LAPS];
    Slot *spare[MAX_LAPS];
    guint n_spare;
    guint n_blocks; /* laps that are no bridges */
    guint next_bridge;
    gint64 bridge_samples; /* of a bridge: twice the history */
    gint64 bridge_stride[CT_MAX_AXES];
    gsize bridge_bytes;
    guint8 *bridges;         /* [CT_PIPELINE_QUEUE] */
    CtDevice *device;        /* where they lie; NULL: on the host */
    guint8 *bridge_validity; /* [CT_PIPELINE_QUEUE][lane][bridge_samples] */
    gsize bridge_lanes;      /* bytes of validity of a bridge */
    CtRingLap bridge;        /* built, not yet visible; first == end: none */
    gboolean is_feeding;     /* a bridge is being built: all laps stay */
    /* The first samples of bridges that are enqueued and not yet made; the blocks that they lead to
     * are all kept. */
    gint64 enqueued[CT_PIPELINE_QUEUE];
    guint first_enqueued;
    guint n_enqueued;
};

CtRing *
ct_ring_new_fed(const CtPlanLink *link, CtDevice *device, GError **error)
{
    g_autoptr(CtRing) ring = ct_ring_new_bare(link);
    CtRingFeed *feed = ring->feed = g_new0(CtRingFeed, 1);
    ring->laps = feed->laps;
    for (guint i = 0; i < MAX_LAPS; i++)
        feed->spare[feed->n_spare++] = &feed->pool[i];
    feed->bridge_samples = 2 * ring->history;
    gint64 length[CT_MAX_AXES];
    feed->bridge_bytes = ct_layout_strides(&link->layout, link->stream, feed->bridge_samples,
                                           length, feed->bridge_stride);
    memcpy(ring->form.length, length, sizeof length);
    feed->laps[0].stride = feed->bridge_stride; /* for who looks before anything is fed */
    feed->bridge_lanes = (gsize)(ring->n_lanes * feed->bridge_samples);
    static const char what[] = "the bridges of an input";
    const gsize bytes = CT_PIPELINE_QUEUE * feed->bridge_bytes;
    feed->device = device;
    feed->bridges =
        device ? ct_device_alloc(device, bytes, what, error) : ct_memory_new(bytes, what, error);
    if (!feed->bridges)
        return NULL;
    feed->bridge_validity =
        ct_memory_new(CT_PIPELINE_QUEUE * feed->bridge_lanes, "the validity of an input", error);
    if (!feed->bridge_validity)
        return NULL;
    return g_steal_pointer(&ring);
}

static void
drop_oldest(CtRing *ring)
{
    CtRingFeed *feed = ring->feed;
    Slot *slot = feed->slots[--ring->n_laps];
    feed->spare[feed->n_spare++] = slot;
    if (slot->is_bridge)
        return;
    feed->n_blocks--;
    if (slot->released)
        slot->released(slot->data, slot->user_data);
}

void
ct_ring_feed_free(CtRing *ring)
{
    CtRingFeed *feed = ring->feed;
    if (!feed)
        return;
    while (ring->n_laps > 0)
        drop_oldest(ring);
    if (feed->device)
        ct_device_free(feed->device, feed->bridges);
    else
        ct_memory_free(feed->bridges, CT_PIPELINE_QUEUE * feed->bridge_bytes);
    ct_memory_free(feed->bridge_validity, CT_PIPELINE_QUEUE * feed->bridge_lanes);
    g_free(feed);
}

gboolean
ct_ring_can_feed(const CtRing *ring)
{
    return ring->feed->n_blocks < CT_PIPELINE_QUEUE;
}

void
ct_ring_last(CtRing *ring, CtRingLap *last)
{
    ring->feed->is_feeding = TRUE;
    *last = ring->n_laps > 0 ? ring->laps[0] : (CtRingLap){0};
    /* Of a block shorter than the history, the bridge that led to it holds all, and what was
     * before. */
    if (ring->n_laps > 1 && ring->laps[1].end == last->end)
        *last = ring->laps[1];
}

gboolean
ct_ring_bridge(CtRing *ring, const CtRingLap *last, const CtBlock *block, const CtRingMover *mover,
               GError **error)
{
    CtRingFeed *feed = ring->feed;
    feed->bridge = (CtRingLap){0};
    if (ring->written == 0 || ring->history == 0)
        return TRUE;
    const gint64 before = MIN(ring->history, ring->written - last->first);
    const gint64 after = MIN(ring->history, block->n_samples);
    feed->bridge = (CtRingLap){
        .first = ring->written - before,
        .end = ring->written + after,
        .base = feed->bridges + feed->next_bridge * feed->bridge_bytes,
        .validity = feed->bridge_validity + feed->next_bridge * feed->bridge_lanes,
        .validity_stride = feed->bridge_samples,
        .stride = feed->bridge_stride,
    };
    feed->next_bridge = (feed->next_bridge + 1) % CT_PIPELINE_QUEUE;
    const CtRingLap next = {
        .first = ring->written,
        .base = block->data,
        .validity = block->validity,
        .validity_stride = block->validity_stride,
        .stride = block->stride,
    };
    return ct_ring_copy(ring, &feed->bridge, last, feed->bridge.first, before, mover, error) &&
           ct_ring_copy(ring, &feed->bridge, &next, ring->written, after, mover, error);
}

gboolean
ct_ring_is_bridged(const CtRing *ring)
{
    return ring->feed->bridge.first < ring->feed->bridge.end;
}

static void
push_lap(CtRing *ring, CtRingLap lap, const Slot *content)
{
    CtRingFeed *feed = ring->feed;
    Slot *slot = feed->spare[--feed->n_spare];
    *slot = *content;
    lap.stride = slot->stride;
    memmove(feed->laps + 1, feed->laps, ring->n_laps * sizeof *feed->laps);
    memmove(feed->slots + 1, feed->slots, ring->n_laps * sizeof *feed->slots);
    feed->laps[0] = lap;
    feed->slots[0] = slot;
    ring->n_laps++;
}

void
ct_ring_feed(CtRing *ring, const CtBlock *block, CtReleased released, gpointer user_data)
{
    CtRingFeed *feed = ring->feed;
    feed->is_feeding = FALSE;
    if (ct_ring_is_bridged(ring)) {
        Slot content = {.is_bridge = TRUE};
        memcpy(content.stride, feed->bridge_stride, sizeof content.stride);
        push_lap(ring, feed->bridge, &content);
        if (feed->device) {
            g_assert(feed->n_enqueued < CT_PIPELINE_QUEUE);
            const guint last = (feed->first_enqueued + feed->n_enqueued++) % CT_PIPELINE_QUEUE;
            feed->enqueued[last] = feed->bridge.first;
        }
    }
    Slot content = {.released = released, .data = block->data, .user_data = user_data};
    memcpy(content.stride, block->stride, sizeof content.stride);
    const CtRingLap lap = {
        .first = ring->written,
        .end = ring->written + block->n_samples,
        .base = block->data,
        .validity = block->validity,
        .validity_stride = block->validity_stride,
    };
    push_lap(ring, lap, &content);
    feed->n_blocks++;
    ring->started = TRUE;
    ring->shown = ring->written += block->n_samples;
    if (block->validity)
        ring->lost_end = ring->written;
}

void
ct_ring_bridge_landed(CtRing *ring)
{
    CtRingFeed *feed = ring->feed;
    feed->first_enqueued = (feed->first_enqueued + 1) % CT_PIPELINE_QUEUE;
    feed->n_enqueued--;
}

/* Whether firings in flight read in the lap. */
static gboolean
is_flown(const CtRing *ring, const CtRingLap *lap, const CtRingFlights *flights)
{
    for (guint k = 0; k < flights->n; k++) {
        const CtRingFlight *flight = &flights->flights[(flights->first + k) % CT_MAX_IN_FLIGHT];
        if (flight->data == ct_ring_address(ring, lap, flight->from))
            return TRUE;
    }
    return FALSE;
}

/* Whether some reader still reads in lap `i`, or will. */
static gboolean
is_read(const CtRing *ring, guint i)
{
    const CtRingFeed *feed = ring->feed;
    const CtRingLap *lap = &ring->laps[i];
    /* The oldest begins first. */
    if (feed->n_enqueued > 0 && lap->end > feed->enqueued[feed->first_enqueued])
        return TRUE;
    /* From here on readers find their samples in a newer lap; the newest is kept for its bridge. */
    gint64 next = i == 0 && ring->ended ? lap->end : G_MAXINT64;
    for (guint newer = 0; newer < i; newer++)
        next = MIN(next, ring->laps[newer].first);
    for (guint r = 0; r < ring->n_readers; r++) {
        const CtRingReader *reader = &ring->readers[r];
        if (reader->position < next)
            return TRUE;
        if (reader->held_from >= 0 && reader->held == ct_ring_address(ring, lap, reader->held_from))
            return TRUE;
        if (is_flown(ring, lap, &reader->in_flight))
            return TRUE;
    }
    return i == 0 && !ring->ended;
}

void
ct_ring_reclaim(CtRing *ring)
{
    while (ring->n_laps > 0 && !ring->feed->is_feeding && !is_read(ring, ring->n_laps - 1))
        drop_oldest(ring);
}
