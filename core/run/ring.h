/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: the memory of a link, written along time by one node and read by any number.
 *
 * Samples stand densely, one after the other, for one *generation* of the memory; the writer begins
 * the next generation where a whole firing would not fit before the end. The last `history` samples
 * are then copied in front of the new generation, so that every reader's window is contiguous along
 * time, whatever the layout. A generation in memory of the caller (embedding) is the same thing at
 * another address.
 *
 * All functions but ct_ring_new, ct_ring_free and ct_ring_wrap want the scheduler's lock. */
#pragma once

#include "device/device.h"
#include "plan/plan.h"

#include <cornerturn/pipeline.h>

/* Firings of a node in flight, at most. */
#define CT_MAX_IN_FLIGHT CT_PIPELINE_MAX_IN_FLIGHT

/* The position of a reader that has ended. */
#define CT_RING_GONE (G_MAXINT64 / 4)

/* Samples first … end − 1 of the stream, contiguous in memory; `base` is where sample `first` lies.
 */
typedef struct {
    gint64 first;
    gint64 end;
    gint64 fresh; /* what is before it was copied from the generation before */
    guint8 *base;
    guint8 *validity; /* of sample `first` of lane 0; NULL: all valid */
    gint64 validity_stride;
    const gint64 *stride; /* bytes, per axis of the layout */
} CtRingGeneration;

/* What a ring needs whose blocks lie in the program's memory. */
typedef struct CtRingFeed CtRingFeed;

/* Memory that a firing in flight reads or writes. */
typedef struct {
    gint64 from; /* the first sample */
    gint64 n;
    const guint8 *data; /* where it lies */
    gpointer ran;       /* the CUevent of the firing's end */
} CtRingSubmission;

/* The oldest first. */
typedef struct {
    guint n;
    guint first;
    CtRingSubmission submissions[CT_MAX_IN_FLIGHT];
} CtRingSubmissions;

typedef struct {
    gint64 position;  /* samples before it will not be read again */
    gint64 held_from; /* first sample of the window of the firing that begins, −1: none */
    guint8 *held;     /* its memory: a generation's address range */
    CtRingSubmissions in_flight;
    gboolean keeps; /* what a firing in flight reads is not written over before it has landed */
} CtRingReader;

/* Copies rows on a queue, for rings that firings in flight write; NULL stands for the host's own
 * copy. */
typedef struct CtRingMover {
    gboolean (*copy)(gpointer queue, guint8 *to, gsize to_pitch, const guint8 *from,
                     gsize from_pitch, gsize bytes, gsize rows, GError **error);
    gpointer queue;
} CtRingMover;

typedef struct {
    const CtPlanLink *link;
    CtBlock form;         /* a block of this ring, to be completed */
    gint time;            /* its (outer) time axis, −1 without */
    gint64 sample_stride; /* bytes from a granule to the next along time */
    gint64 granule;
    gint64 history;
    gint64 capacity;
    gint64 n_lanes;
    guint8 *memory; /* history + capacity samples */
    gsize bytes;
    guint8 *validity; /* [lane][history + capacity]; all 1 until something is lost */

    guint n_generations;
    CtRingGeneration
        *generations; /* the newest first: generations[0] is being written, generations[1] may still
           be read; of a ring that is fed, those in the program's memory and the splices between */
    CtRingFeed *feed; /* NULL: the memory is the ring's own */
    gboolean owns_memory;
    gint64 written;
    gint64 shown; /* samples that readers may have; less than written where the writer's firings
                     become visible when they have landed */
    gboolean shows_late;
    gboolean is_crossed;         /* written and read on different queues: memory is used in turn */
    CtRingSubmissions in_flight; /* the writer's */
    gint64 start;                /* tick of sample 0, as the first block gave it */
    gint64 ticks;                /* per sample */
    gint64 lost_end; /* samples before it may be invalid; −1: all that stand are valid */
    gboolean started;
    gboolean ended;
    gboolean interrupted; /* it ended earlier than it would have */
    guint n_readers;
    CtRingReader *readers;
} CtRing;

/* Allocates; `memory`, of link->bytes bytes, may be the caller's instead (NULL: it is not). */
CtRing *ct_ring_new(const CtPlanLink *link, guint8 *memory, GError **error);
void ct_ring_free(CtRing *ring);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRing, ct_ring_free)

/* Where the writer's next firing of up to `wanted` samples may go: 0 while there is no room for it.
 * *wraps says that it begins a new generation: ct_ring_wrap must then run, without the lock, before
 * the memory is written. */
gint64 ct_ring_room(const CtRing *ring, gint64 wanted, gboolean *wraps);
/* Begins the new generation: copies the history in front of it. The writer's alone, without the
 * lock. */
gboolean ct_ring_wrap(CtRing *ring, CtRingGeneration *generation, const CtRingMover *mover,
                      GError **error);
/* The block of `n` samples after those written, in the current generation or, with `wrapped`, in
 * that one.
 */
void ct_ring_block(const CtRing *ring, const CtRingGeneration *wrapped, gint64 n, CtBlock *block);
/* Whether validity must be set to 1 before the writer may use it: something was lost before. */
gboolean ct_ring_is_stained(const CtRing *ring);
/* Makes `n` samples visible to the readers. */
void ct_ring_publish(CtRing *ring, const CtRingGeneration *wrapped, gint64 n, gint64 start,
                     gboolean invalid);

/* All that stands contiguous for this reader, as a block. */
void ct_ring_window(const CtRing *ring, guint reader, CtBlock *block);
/* The reader's firing uses `block`; until release the writer keeps off it. */
void ct_ring_hold(CtRing *ring, guint reader, const CtBlock *block);
void ct_ring_release(CtRing *ring, guint reader, gint64 consumed);

/* ---- firings in flight ---- */

/* What the reader's firing reads is in flight, until ct_ring_reader_landed. */
void ct_ring_reader_flies(CtRing *ring, guint reader, const CtBlock *block, gpointer ran);
void ct_ring_reader_landed(CtRing *ring, guint reader);
/* The same of what the writer's firing has published. */
void ct_ring_writer_flies(CtRing *ring, gint64 n, gpointer ran);
void ct_ring_writer_landed(CtRing *ring);
/* Adds the events of firings in flight that a firing must run after: of the writer, for who reads
 * `block`; of readers, for the writer of the next `n` samples (after a wrap). */
void ct_ring_read_after(const CtRing *ring, const CtBlock *block, GPtrArray *events);
void ct_ring_write_after(const CtRing *ring, gboolean wraps, gint64 n, GPtrArray *events);
/* ---- a ring that the program feeds: its blocks are the generations ----
 *
 * A window that begins in one block and ends in the next finds its samples in a *splice*, a copy of
 * the last `history` samples of the one and the first of the other. */

/* `device`: where its blocks lie; NULL: on the host. */
CtRing *ct_ring_new_fed(const CtPlanLink *link, CtDevice *device, GError **error);
/* Whether a block can be queued. */
gboolean ct_ring_can_feed(const CtRing *ring);
/* What a splice begins with: the generation that was fed last. It stays readable for the feeder
 * until ct_ring_feed, whoever ends meanwhile. */
void ct_ring_last(CtRing *ring, CtRingGeneration *last);
/* Builds the splice from `last` to `block` (packed); the feeder's alone, without the lock, after
 * ct_ring_can_feed. */
gboolean ct_ring_splice(CtRing *ring, const CtRingGeneration *last, const CtBlock *block,
                        const CtRingMover *mover, GError **error);
/* Whether it has built one: not for the first block, nor where no reader looks back. */
gboolean ct_ring_is_spliced(const CtRing *ring);
/* Makes the block visible. On a device its splice is only enqueued: until ct_ring_splice_landed,
 * the blocks that it is made of stay. */
void ct_ring_feed(CtRing *ring, const CtBlock *block, CtReleased released, gpointer user_data);
/* The oldest splice that was not, is made. */
void ct_ring_splice_landed(CtRing *ring);
/* Calls `released` of every block that no reader will see again. */
void ct_ring_reclaim(CtRing *ring);

/* Samples that have been written and not yet released by the slowest reader. */
gint64 ct_ring_fill(const CtRing *ring);
