/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: the memory of a link, written along time by one node and read by any number. */
#include "ring.h"

#include "model/memory.h"
#include "model/strided.h"
#include "ring-private.h"

#include <string.h>

CtRing *
ct_ring_new_bare(const CtPlanLink *link)
{
    CtRing *ring = g_new0(CtRing, 1);
    const CtStream *stream = link->stream;
    ring->link = link;
    ring->granule = link->granule;
    ring->history = link->history;
    ring->capacity = link->capacity;
    ring->n_lanes = ct_stream_n_lanes(stream);
    ring->ticks = stream->ticks_per_sample;
    ring->start = stream->start;
    ring->lost_end = -1;
    ring->n_readers = link->readers->len;
    ring->readers = g_new0(CtRingReader, ring->n_readers);
    for (guint r = 0; r < ring->n_readers; r++)
        ring->readers[r].held_from = -1;
    ring->form.type = ct_layout_type(&link->layout);
    ring->form.n_axes = link->layout.n_axes;
    ring->time = ct_layout_axis(&link->layout, "time");
    return ring;
}

CtRing *
ct_ring_new(const CtPlanLink *link, guint8 *memory, GError **error)
{
    g_autoptr(CtRing) ring = ct_ring_new_bare(link);
    const gint64 total = ring->history + ring->capacity;
    const gsize bytes =
        ct_layout_strides(&link->layout, link->stream, total, ring->form.length, ring->form.stride);
    ring->sample_stride =
        ring->time >= 0 ? ring->form.stride[ring->time] : (gint64)((bytes + 63) & ~(gsize)63);
    ring->bytes = ring->time >= 0 ? bytes : (gsize)(ring->sample_stride * total);
    ring->owns_memory = !memory;
    ring->memory = memory ? memory : ct_memory_new(ring->bytes, "a ring", error);
    if (!ring->memory)
        return NULL;
    ring->validity = ct_memory_new((gsize)(ring->n_lanes * total), "the validity of a ring", error);
    if (!ring->validity)
        return NULL;
    memset(ring->validity, 1, (gsize)(ring->n_lanes * total));
    ring->generations = g_new0(CtRingGeneration, 2);
    ring->n_generations = 2;
    ring->generations[1].stride = ring->form.stride;
    ring->generations[0] = (CtRingGeneration){
        .base = ring->memory + ring->history / ring->granule * ring->sample_stride,
        .validity = ring->validity + ring->history,
        .validity_stride = total,
        .stride = ring->form.stride,
    };
    return g_steal_pointer(&ring);
}

void
ct_ring_free(CtRing *ring)
{
    if (!ring)
        return;
    const gsize total = (gsize)(ring->history + ring->capacity);
    if (ring->owns_memory)
        ct_memory_free(ring->memory, ring->bytes);
    ct_memory_free(ring->validity, (gsize)ring->n_lanes * total);
    if (!ring->feed)
        g_free(ring->generations);
    ct_ring_feed_free(ring);
    g_free(ring->readers);
    g_free(ring);
}

/* The whole granules of `n` samples. A granule is mostly one sample, and a division slow. */
static gint64
count_granules(const CtRing *ring, gint64 n)
{
    return ring->granule == 1 ? n : n / ring->granule;
}

guint8 *
ct_ring_address(const CtRing *ring, const CtRingGeneration *generation, gint64 index)
{
    const gint64 step = ring->time >= 0 ? generation->stride[ring->time] : ring->sample_stride;
    return generation->base + count_granules(ring, index - generation->first) * step;
}

/* The number of samples between the beginning of the capacity and sample `index` of `generation`;
 * negative in the history. */
static gint64
offset(const CtRing *ring, const CtRingGeneration *generation, gint64 index)
{
    const gint64 first = (generation->base - ring->memory) / ring->sample_stride * ring->granule;
    return first - ring->history + index - generation->first;
}

/* The first sample of `generation` that a reader may still read there; `generation->end`: there is
 * none. A reader that is at sample `next` or later and holds no window reads in the next
 * generation, unless samples become visible late. */
static gint64
first_needed(const CtRing *ring, const CtRingGeneration *generation, gint64 next)
{
    gint64 needed = generation->end;
    if (ring->shows_late)
        next = generation->end;
    for (guint r = 0; r < ring->n_readers; r++) {
        const CtRingReader *reader = &ring->readers[r];
        if (reader->position < next)
            needed = MIN(needed, MAX(reader->position, generation->first));
        /* A generation without memory is one that does not exist yet. */
        if (reader->held_from >= 0 && generation->base &&
            reader->held == ct_ring_address(ring, generation, reader->held_from))
            needed = MIN(needed, reader->held_from);
    }
    return needed;
}

/* The first sample of a generation that would begin now. */
static gint64
next_first(const CtRing *ring)
{
    return MAX(ring->written - ring->history, ring->generations[0].first);
}

/* The number of samples between the start of the memory and `data`. */
static gint64
memory_offset(const CtRing *ring, const guint8 *data)
{
    return (data - ring->memory) / ring->sample_stride * ring->granule;
}

/* The range of memory for the next `n` samples and for the history that a wrap copies in front of
 * them. */
static void
find_target(const CtRing *ring, gboolean wraps, gint64 n, gint64 *begin, gint64 *end)
{
    const CtRingGeneration *generation = &ring->generations[0];
    *begin = wraps ? next_first(ring) - ring->written + ring->history
                   : offset(ring, generation, ring->written) + ring->history;
    *end = (wraps ? ring->history : *begin) + n;
}

static gboolean
overlaps(const CtRing *ring, const CtRingSubmission *submission, gint64 begin, gint64 end)
{
    const gint64 first = memory_offset(ring, submission->data);
    return first < end && begin < first + submission->n;
}

/* Whether firings in flight still read the memory of the next samples. */
static gboolean
is_kept(const CtRing *ring, gboolean wraps, gint64 n)
{
    gint64 begin, end;
    find_target(ring, wraps, n, &begin, &end);
    for (guint r = 0; r < ring->n_readers; r++) {
        const CtRingReader *reader = &ring->readers[r];
        const CtRingSubmissions *of = &reader->in_flight;
        for (guint k = 0; reader->keeps && k < of->n; k++)
            if (overlaps(ring, &of->submissions[(of->first + k) % CT_MAX_IN_FLIGHT], begin, end))
                return TRUE;
    }
    return FALSE;
}

static gint64
find_room(const CtRing *ring, gint64 wanted, gboolean *wraps)
{
    const CtRingGeneration *generation = &ring->generations[0];
    const CtRingGeneration *before = &ring->generations[1];
    const gint64 begin = offset(ring, generation, ring->written);
    const gint64 needed = first_needed(ring, before, generation->first);
    const gboolean alone = needed >= before->end;
    const gint64 limit = alone ? ring->capacity : offset(ring, before, needed);

    *wraps = FALSE;
    /* An empty ring without history starts again in memory that is still in the cache. */
    if (!ring->is_crossed && alone && begin > 0 && next_first(ring) == ring->written &&
        first_needed(ring, generation, ring->written) == ring->written) {
        *wraps = TRUE;
        return wanted;
    }
    if (limit - begin >= wanted)
        return wanted;
    if (!alone)
        return 0;
    const gint64 still = first_needed(ring, generation, next_first(ring));
    const gint64 free = still >= generation->end ? ring->capacity : offset(ring, generation, still);
    if (free < wanted)
        return 0;
    *wraps = TRUE;
    return wanted;
}

/* Whether the next generation cannot begin yet, because the validity of the history that is copied
 * in front of it is not known. */
static gboolean
is_unmarked(const CtRing *ring)
{
    return ring->is_marked && next_first(ring) < ring->written && ring->shown < ring->written;
}

gint64
ct_ring_room(const CtRing *ring, gint64 wanted, gboolean *wraps)
{
    const gint64 room = find_room(ring, wanted, wraps);
    if (room == 0 || (*wraps && is_unmarked(ring)))
        return 0;
    return is_kept(ring, *wraps, room) ? 0 : room;
}

/* Copies samples: the host copies elements, `mover` a row for each element outside time. */
static gboolean
copy_data(const CtRing *ring, const CtRingGeneration *to, const CtRingGeneration *from,
          gint64 first, gint64 n, const CtRingMover *mover, GError **error)
{
    const gint time = ring->time;
    const gint64 granules = (n + ring->granule - 1) / ring->granule;
    CtBlock source = ring->form, target = ring->form;
    source.data = ct_ring_address(ring, from, first);
    target.data = ct_ring_address(ring, to, first);
    memcpy(source.stride, from->stride, sizeof source.stride);
    memcpy(target.stride, to->stride, sizeof target.stride);
    source.length[time] = target.length[time] = granules;
    if (!mover) {
        ct_strided_copy(&target, &source);
        return TRUE;
    }
    gsize rows = 1;
    for (gint a = 0; a < time; a++)
        rows *= (gsize)ring->form.length[a];
    return mover->copy(mover->queue, target.data, time > 0 ? (gsize)to->stride[time - 1] : 0,
                       source.data, time > 0 ? (gsize)from->stride[time - 1] : 0,
                       (gsize)(granules * from->stride[time]), rows, error);
}

gboolean
ct_ring_copy(const CtRing *ring, const CtRingGeneration *to, const CtRingGeneration *from,
             gint64 first, gint64 n, const CtRingMover *mover, GError **error)
{
    if (n == 0)
        return TRUE;
    for (gint64 l = 0; l < ring->n_lanes; l++) {
        guint8 *target = to->validity + l * to->validity_stride + first - to->first;
        if (from->validity)
            memmove(target, from->validity + l * from->validity_stride + first - from->first,
                    (gsize)n);
        else
            memset(target, 1, (gsize)n);
    }
    return copy_data(ring, to, from, first, n, mover, error);
}

gboolean
ct_ring_wrap(CtRing *ring, CtRingGeneration *generation, const CtRingMover *mover, GError **error)
{
    const gint64 first = next_first(ring);
    const gint64 n = ring->written - first;
    const CtRingGeneration *old = &ring->generations[0];
    *generation = (CtRingGeneration){
        .first = first,
        .end = ring->written,
        .fresh = ring->written,
        .base = ring->memory + (ring->history - n) / ring->granule * ring->sample_stride,
        .validity = ring->validity + ring->history - n,
        .validity_stride = old->validity_stride,
        .stride = ring->form.stride,
    };
    return ct_ring_copy(ring, generation, old, first, n, mover, error);
}

/* Sets `block` to samples first … first + n − 1 of `generation`. The rest of a block is 0, or was
 * set from the same ring: this is done for every port of every firing. */
static void
fill_block(const CtRing *ring, const CtRingGeneration *generation, gint64 first, gint64 n,
           CtBlock *block)
{
    const gsize bytes = ring->form.n_axes * sizeof(gint64);
    block->type = ring->form.type;
    block->n_axes = ring->form.n_axes;
    memcpy(block->length, ring->form.length, bytes);
    memcpy(block->stride, generation->stride, bytes);
    block->data = ct_ring_address(ring, generation, first);
    if (ring->time >= 0)
        block->length[ring->time] = count_granules(ring, n + ring->granule - 1);
    block->n_samples = n;
    block->index = first;
    block->start = ring->start + first * ring->ticks;
    block->validity =
        generation->validity ? generation->validity + first - generation->first : NULL;
    block->validity_stride = generation->validity_stride;
}

void
ct_ring_block(const CtRing *ring, const CtRingGeneration *wrapped, gint64 n, CtBlock *block)
{
    fill_block(ring, wrapped ? wrapped : &ring->generations[0], ring->written, n, block);
}

gboolean
ct_ring_has_lost(const CtRing *ring)
{
    return ring->is_marked || ring->lost_end >= 0;
}

void
ct_ring_publish(CtRing *ring, const CtRingGeneration *wrapped, gint64 n, gint64 start,
                gboolean invalid)
{
    if (wrapped) {
        ring->generations[1] = ring->generations[0];
        ring->generations[0] = *wrapped;
    }
    if (!ring->started && n > 0) {
        ring->start = start - ring->written * ring->ticks;
        ring->started = TRUE;
    }
    ring->written += n;
    if (!ring->shows_late)
        ring->shown = ring->written;
    ring->generations[0].end = ring->written;
    if (invalid)
        ring->lost_end = ring->written;
}

void
ct_ring_window(const CtRing *ring, guint r, CtBlock *block)
{
    const gint64 position = ring->readers[r].position;
    if (ring->n_generations == 0) {
        *block = ring->form;
        block->index = position;
        block->start = ring->start + position * ring->ticks;
        return;
    }
    guint newest = 0;
    while (newest + 1 < ring->n_generations &&
           (position < ring->generations[newest].first ||
            (ring->shown < ring->written && ring->shown <= ring->generations[newest].fresh)))
        newest++;
    const CtRingGeneration *generation = &ring->generations[newest];
    fill_block(ring, generation, position, MIN(generation->end, ring->shown) - position, block);
    if (position >= ring->lost_end)
        block->validity = NULL;
}

void
ct_ring_hold(CtRing *ring, guint r, const CtBlock *block)
{
    ring->readers[r].held_from = block->index;
    ring->readers[r].held = block->data;
}

void
ct_ring_release(CtRing *ring, guint r, gint64 consumed)
{
    ring->readers[r].held_from = -1;
    ring->readers[r].position += consumed;
}

/* ---- firings in flight ---- */

static void
push_submission(CtRingSubmissions *submissions, const CtRingSubmission *submission)
{
    g_assert(submissions->n < CT_MAX_IN_FLIGHT);
    submissions->submissions[(submissions->first + submissions->n++) % CT_MAX_IN_FLIGHT] =
        *submission;
}

static const CtRingSubmission *
pop_submission(CtRingSubmissions *submissions)
{
    const CtRingSubmission *submission = &submissions->submissions[submissions->first];
    submissions->first = (submissions->first + 1) % CT_MAX_IN_FLIGHT;
    submissions->n--;
    return submission;
}

/* Adds the event of the newest firing that uses the memory; earlier ones of the same node run
 * before it. */
static void
add_event(const CtRing *ring, const CtRingSubmissions *submissions, gint64 begin, gint64 end,
          GPtrArray *events)
{
    for (guint k = submissions->n; k-- > 0;) {
        const CtRingSubmission *submission =
            &submissions->submissions[(submissions->first + k) % CT_MAX_IN_FLIGHT];
        if (!overlaps(ring, submission, begin, end))
            continue;
        g_ptr_array_add(events, submission->ran);
        return;
    }
}

void
ct_ring_reader_submit(CtRing *ring, guint r, const CtBlock *block, gpointer ran)
{
    const CtRingSubmission submission = {block->index, block->n_samples, block->data, ran};
    push_submission(&ring->readers[r].in_flight, &submission);
}

void
ct_ring_reader_retire(CtRing *ring, guint r)
{
    pop_submission(&ring->readers[r].in_flight);
}

void
ct_ring_writer_submit(CtRing *ring, gint64 n, gpointer ran)
{
    const CtRingGeneration *generation = &ring->generations[0];
    /* The first firing of a generation has also written the history in front of it. */
    gint64 from = ring->written - n;
    if (n > 0 && from == generation->fresh)
        from = generation->first;
    const CtRingSubmission submission = {from, ring->written - from,
                                         ct_ring_address(ring, generation, from), ran};
    push_submission(&ring->in_flight, &submission);
}

void
ct_ring_writer_retire(CtRing *ring, gboolean invalid)
{
    const CtRingSubmission *submission = pop_submission(&ring->in_flight);
    const gint64 end = submission->from + submission->n;
    ring->shown = MAX(ring->shown, end);
    if (invalid)
        ring->lost_end = MAX(ring->lost_end, end);
}

void
ct_ring_read_after(const CtRing *ring, const CtBlock *block, GPtrArray *events)
{
    if (ring->feed)
        return; /* No firing in flight has written it. */
    const gint64 begin = memory_offset(ring, block->data);
    add_event(ring, &ring->in_flight, begin, begin + block->n_samples, events);
}

void
ct_ring_write_after(const CtRing *ring, gboolean wraps, gint64 n, GPtrArray *events)
{
    gint64 begin, end;
    find_target(ring, wraps, n, &begin, &end);
    for (guint r = 0; r < ring->n_readers; r++)
        add_event(ring, &ring->readers[r].in_flight, begin, end, events);
}

gint64
ct_ring_fill(const CtRing *ring)
{
    gint64 slowest = ring->written;
    for (guint r = 0; r < ring->n_readers; r++)
        slowest = MIN(slowest, ring->readers[r].position);
    return ring->written - slowest;
}
