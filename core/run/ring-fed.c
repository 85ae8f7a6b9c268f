/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring that the program feeds: its generations are blocks in the program's memory and the splices
 * between them. */
#include "model/memory.h"
#include "ring-private.h"

#include <string.h>

/* Each block in the queue is a generation, and so is the splice before it. */
#define MAX_GENERATIONS (2 * CT_PIPELINE_QUEUE)

typedef struct {
    gint64 stride[CT_MAX_AXES]; /* the generation's `stride` points here */
    CtReleased released;
    gpointer data;
    gpointer user_data;
    gboolean is_splice;
} Slot;

struct CtRingFeed {
    CtRingGeneration generations[MAX_GENERATIONS]; /* CtRing.generations */
    Slot *slots[MAX_GENERATIONS];                  /* of each generation */
    Slot pool[MAX_GENERATIONS];
    Slot *spare[MAX_GENERATIONS];
    guint n_spare;
    guint n_blocks; /* generations that are no splices */
    guint next_splice;
    gint64 splice_samples; /* samples of a splice: twice the history */
    gint64 splice_stride[CT_MAX_AXES];
    gsize splice_bytes;
    guint8 *splices;         /* [CT_PIPELINE_QUEUE] */
    CtDevice *device;        /* where they lie; NULL: on the host */
    guint8 *splice_validity; /* [CT_PIPELINE_QUEUE][lane][splice_samples] */
    gsize splice_lanes;      /* bytes of validity of a splice */
    CtRingGeneration splice; /* a splice that is not yet visible; first == end: none */
    gboolean is_feeding;     /* a splice is being built, so all generations are kept */
    /* The first samples of splices that are enqueued and not yet finished; the blocks after them
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
    ring->generations = feed->generations;
    for (guint i = 0; i < MAX_GENERATIONS; i++)
        feed->spare[feed->n_spare++] = &feed->pool[i];
    feed->splice_samples = 2 * ring->history;
    gint64 length[CT_MAX_AXES];
    feed->splice_bytes = ct_layout_strides(&link->layout, link->stream, feed->splice_samples,
                                           length, feed->splice_stride);
    memcpy(ring->form.length, length, sizeof length);
    feed->generations[0].stride = feed->splice_stride; /* for readers before the first block */
    feed->splice_lanes = (gsize)(ring->n_lanes * feed->splice_samples);
    static const char what[] = "the splices of an input";
    const gsize bytes = CT_PIPELINE_QUEUE * feed->splice_bytes;
    feed->device = device;
    feed->splices =
        device ? ct_device_alloc(device, bytes, what, error) : ct_memory_new(bytes, what, error);
    if (!feed->splices)
        return NULL;
    feed->splice_validity =
        ct_memory_new(CT_PIPELINE_QUEUE * feed->splice_lanes, "the validity of an input", error);
    if (!feed->splice_validity)
        return NULL;
    return g_steal_pointer(&ring);
}

static void
drop_oldest(CtRing *ring)
{
    CtRingFeed *feed = ring->feed;
    Slot *slot = feed->slots[--ring->n_generations];
    feed->spare[feed->n_spare++] = slot;
    if (slot->is_splice)
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
    while (ring->n_generations > 0)
        drop_oldest(ring);
    if (feed->device)
        ct_device_free(feed->device, feed->splices);
    else
        ct_memory_free(feed->splices, CT_PIPELINE_QUEUE * feed->splice_bytes);
    ct_memory_free(feed->splice_validity, CT_PIPELINE_QUEUE * feed->splice_lanes);
    g_free(feed);
}

gboolean
ct_ring_can_feed(const CtRing *ring)
{
    return ring->feed->n_blocks < CT_PIPELINE_QUEUE;
}

guint
ct_ring_n_unread(const CtRing *ring)
{
    return ring->feed->n_blocks;
}

void
ct_ring_last(CtRing *ring, CtRingGeneration *last)
{
    ring->feed->is_feeding = TRUE;
    *last = ring->n_generations > 0 ? ring->generations[0] : (CtRingGeneration){0};
    /* If the last block is shorter than the history, the splice before it holds all of it and the
     * samples before. */
    if (ring->n_generations > 1 && ring->generations[1].end == last->end)
        *last = ring->generations[1];
}

gboolean
ct_ring_splice(CtRing *ring, const CtRingGeneration *last, const CtBlock *block,
               const CtRingMover *mover, GError **error)
{
    CtRingFeed *feed = ring->feed;
    feed->splice = (CtRingGeneration){0};
    if (ring->written == 0 || ring->history == 0)
        return TRUE;
    const gint64 before = MIN(ring->history, ring->written - last->first);
    const gint64 after = MIN(ring->history, block->n_samples);
    feed->splice = (CtRingGeneration){
        .first = ring->written - before,
        .end = ring->written + after,
        .base = feed->splices + feed->next_splice * feed->splice_bytes,
        .validity = feed->splice_validity + feed->next_splice * feed->splice_lanes,
        .validity_stride = feed->splice_samples,
        .stride = feed->splice_stride,
    };
    feed->next_splice = (feed->next_splice + 1) % CT_PIPELINE_QUEUE;
    const CtRingGeneration next = {
        .first = ring->written,
        .base = block->data,
        .validity = block->validity,
        .validity_stride = block->validity_stride,
        .stride = block->stride,
    };
    return ct_ring_copy(ring, &feed->splice, last, feed->splice.first, before, mover, error) &&
           ct_ring_copy(ring, &feed->splice, &next, ring->written, after, mover, error);
}

gboolean
ct_ring_is_spliced(const CtRing *ring)
{
    return ring->feed->splice.first < ring->feed->splice.end;
}

static void
push_generation(CtRing *ring, CtRingGeneration generation, const Slot *content)
{
    CtRingFeed *feed = ring->feed;
    Slot *slot = feed->spare[--feed->n_spare];
    *slot = *content;
    generation.stride = slot->stride;
    memmove(feed->generations + 1, feed->generations,
            ring->n_generations * sizeof *feed->generations);
    memmove(feed->slots + 1, feed->slots, ring->n_generations * sizeof *feed->slots);
    feed->generations[0] = generation;
    feed->slots[0] = slot;
    ring->n_generations++;
}

void
ct_ring_feed(CtRing *ring, const CtBlock *block, CtReleased released, gpointer user_data)
{
    CtRingFeed *feed = ring->feed;
    feed->is_feeding = FALSE;
    if (ct_ring_is_spliced(ring)) {
        Slot content = {.is_splice = TRUE};
        memcpy(content.stride, feed->splice_stride, sizeof content.stride);
        push_generation(ring, feed->splice, &content);
        if (feed->device) {
            g_assert(feed->n_enqueued < CT_PIPELINE_QUEUE);
            const guint last = (feed->first_enqueued + feed->n_enqueued++) % CT_PIPELINE_QUEUE;
            feed->enqueued[last] = feed->splice.first;
        }
    }
    Slot content = {.released = released, .data = block->data, .user_data = user_data};
    memcpy(content.stride, block->stride, sizeof content.stride);
    const CtRingGeneration generation = {
        .first = ring->written,
        .end = ring->written + block->n_samples,
        .base = block->data,
        .validity = block->validity,
        .validity_stride = block->validity_stride,
    };
    push_generation(ring, generation, &content);
    feed->n_blocks++;
    ring->started = TRUE;
    ring->shown = ring->written += block->n_samples;
    if (block->validity)
        ring->lost_end = ring->written;
}

void
ct_ring_splice_finished(CtRing *ring)
{
    CtRingFeed *feed = ring->feed;
    feed->first_enqueued = (feed->first_enqueued + 1) % CT_PIPELINE_QUEUE;
    feed->n_enqueued--;
}

/* Whether firings in flight read the generation. */
static gboolean
is_in_flight(const CtRing *ring, const CtRingGeneration *generation,
             const CtRingSubmissions *submissions)
{
    for (guint k = 0; k < submissions->n; k++) {
        const CtRingSubmission *submission =
            &submissions->submissions[(submissions->first + k) % CT_MAX_IN_FLIGHT];
        if (submission->data == ct_ring_address(ring, generation, submission->from))
            return TRUE;
    }
    return FALSE;
}

/* Whether a reader still reads generation `i`, or will. */
static gboolean
is_read(const CtRing *ring, guint i)
{
    const CtRingFeed *feed = ring->feed;
    const CtRingGeneration *generation = &ring->generations[i];
    /* The oldest splice has the smallest first sample. */
    if (feed->n_enqueued > 0 && generation->end > feed->enqueued[feed->first_enqueued])
        return TRUE;
    /* From sample `next` on, readers use a newer generation. The newest one is kept for the next
     * splice. */
    gint64 next = i == 0 && ring->ended ? generation->end : G_MAXINT64;
    for (guint newer = 0; newer < i; newer++)
        next = MIN(next, ring->generations[newer].first);
    for (guint r = 0; r < ring->n_readers; r++) {
        const CtRingReader *reader = &ring->readers[r];
        if (reader->position < next)
            return TRUE;
        if (reader->held_from >= 0 &&
            reader->held == ct_ring_address(ring, generation, reader->held_from))
            return TRUE;
        if (is_in_flight(ring, generation, &reader->in_flight))
            return TRUE;
    }
    return i == 0 && !ring->ended;
}

void
ct_ring_reclaim(CtRing *ring)
{
    while (ring->n_generations > 0 && !ring->feed->is_feeding &&
           !is_read(ring, ring->n_generations - 1))
        drop_oldest(ring);
}
