/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings: the memory of a link, written along time by one node and read by any number.
 *
 * Samples follow one another without gaps for one *generation* of the memory. If a whole firing
 * does not fit before the end of the memory, the writer begins the next generation at its
 * beginning. The last `history` samples are then copied in front of the new generation, so that
 * every reader's window is contiguous along time, whatever the layout. If the program feeds the
 * ring, each of its blocks is a generation.
 *
 * All functions want the scheduler's lock, except ct_ring_new, ct_ring_new_fed, ct_ring_free,
 * ct_ring_splice and, for the writer during its firing, ct_ring_wrap, ct_ring_block and
 * ct_ring_has_lost. */
#pragma once

#include "device/device.h"
#include "plan/plan.h"

#include <cornerturn/pipeline.h>

/* The most firings of a node that are in flight. */
#define CT_MAX_IN_FLIGHT CT_PIPELINE_MAX_IN_FLIGHT

/* The position of a reader that has ended. */
#define CT_RING_GONE (G_MAXINT64 / 4)

/* Samples first … end − 1 of the stream, contiguous in memory; `base` is where sample `first` lies.
 */
typedef struct {
    gint64 first;
    gint64 end;
    gint64 fresh; /* samples before it were copied from the previous generation */
    guint8 *base;
    guint8 *validity; /* of sample `first` of lane 0; NULL: all valid */
    gint64 validity_stride;
    const gint64 *stride; /* bytes, per axis of the layout */
} CtRingGeneration;

/* The additional state of a ring whose blocks are in the program's memory. */
typedef struct CtRingFeed CtRingFeed;

/* Memory that a firing in flight reads or writes. */
typedef struct {
    gint64 from; /* the first sample */
    gint64 n;
    const guint8 *data; /* the address of sample `from` */
    gpointer ran;       /* the CUevent at the end of the firing */
} CtRingSubmission;

/* A queue of these, the oldest at `first`. */
typedef struct {
    guint n;
    guint first;
    CtRingSubmission submissions[CT_MAX_IN_FLIGHT];
} CtRingSubmissions;

typedef struct {
    gint64 position;  /* samples before it will not be read again */
    gint64 held_from; /* first sample of the window of a firing that has begun; −1: none */
    guint8 *held;     /* its memory: a generation's address range */
    CtRingSubmissions in_flight;
    gboolean keeps; /* samples that a firing in flight reads are kept */
} CtRingReader;

/* Copies rows on a queue, for rings that firings in flight write. A function that gets NULL for a
 * mover copies on the host. */
typedef struct CtRingMover {
    gboolean (*copy)(gpointer queue, guint8 *to, gsize to_pitch, const guint8 *from,
                     gsize from_pitch, gsize bytes, gsize rows, GError **error);
    gpointer queue;
} CtRingMover;

typedef struct {
    const CtPlanLink *link;
    CtBlock form;         /* a block of this ring, without address and samples */
    gint time;            /* its (outer) time axis, −1 without */
    gint64 sample_stride; /* bytes from a granule to the next along time */
    gint64 granule;
    gint64 history;
    gint64 capacity;
    gint64 n_lanes;
    guint8 *memory; /* history + capacity samples */
    gsize bytes;
    guint8 *validity; /* [lane][history + capacity]; all 1 until a sample is lost */

    guint n_generations;
    CtRingGeneration *generations; /* the newest first: generations[0] is being written,
                                      generations[1] may still be read; of a fed ring, the blocks in
                                      the program's memory and the splices between */
    CtRingFeed *feed;              /* NULL: the ring has memory of its own */
    gboolean owns_memory;
    gint64 written;
    gint64 shown; /* samples that readers may see; less than written if the writer's firings become
                     visible only when they are retired */
    gboolean shows_late;
    gboolean is_marked;          /* the writer runs on a device and marks samples as invalid there,
                                    so that validity is known when its firings are retired */
    gboolean is_crossed;         /* written and read on different queues */
    CtRingSubmissions in_flight; /* of the writer */
    gint64 start;                /* tick of sample 0, from the first block */
    gint64 ticks;                /* per sample */
    gint64 lost_end; /* samples before it may be invalid; −1: all samples in the ring are valid */
    gboolean started;
    gboolean ended;
    gboolean interrupted; /* an interrupt ended it early */
    guint n_readers;
    CtRingReader *readers;
} CtRing;

/* Makes a ring in `memory`, which has link->bytes bytes and is the caller's; NULL: in memory of its
 * own. */
CtRing *ct_ring_new(const CtPlanLink *link, guint8 *memory, GError **error);
void ct_ring_free(CtRing *ring);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRing, ct_ring_free)

/* Returns for how many samples, up to `wanted`, the writer's next firing has room; 0 while there is
 * none. Sets *wraps to whether the firing begins a new generation. If it does, ct_ring_wrap must be
 * called, without the lock, before the memory is written. */
gint64 ct_ring_room(const CtRing *ring, gint64 wanted, gboolean *wraps);
/* Begins the new generation by copying the history to its front. Only the writer calls this,
 * without the lock. */
gboolean ct_ring_wrap(CtRing *ring, CtRingGeneration *generation, const CtRingMover *mover,
                      GError **error);
/* Sets `block` to the `n` samples after those written, in the current generation or, unless
 * `wrapped` is NULL, in that one. */
void ct_ring_block(const CtRing *ring, const CtRingGeneration *wrapped, gint64 n, CtBlock *block);
/* Whether the writer must set validity to 1 before use, because samples may have been lost before.
 */
gboolean ct_ring_has_lost(const CtRing *ring);
/* Makes `n` samples visible to the readers. */
void ct_ring_publish(CtRing *ring, const CtRingGeneration *wrapped, gint64 n, gint64 start,
                     gboolean invalid);

/* Sets `block` to all samples that the reader may see in contiguous memory. */
void ct_ring_window(const CtRing *ring, guint reader, CtBlock *block);
/* Keeps the writer from overwriting `block`, which the reader's firing uses, until
 * ct_ring_release(). */
void ct_ring_hold(CtRing *ring, guint reader, const CtBlock *block);
void ct_ring_release(CtRing *ring, guint reader, gint64 consumed);

/* ---- firings in flight ---- */

/* Notes that a submission of the reader reads `block`, until ct_ring_reader_retire(). `ran` is the
 * event at the end of the submission. */
void ct_ring_reader_submit(CtRing *ring, guint reader, const CtBlock *block, gpointer ran);
void ct_ring_reader_retire(CtRing *ring, guint reader);
/* Notes that a submission of the writer writes the last `n` samples published, until
 * ct_ring_writer_retire(), which shows them if the ring shows late. `invalid`: the submission has
 * marked some of them as invalid. */
void ct_ring_writer_submit(CtRing *ring, gint64 n, gpointer ran);
void ct_ring_writer_retire(CtRing *ring, gboolean invalid);
/* Add the events of the submissions that a firing must run after: a reader of `block` runs after
 * the writer, and the writer of the next `n` samples (after a wrap) runs after the readers. */
void ct_ring_read_after(const CtRing *ring, const CtBlock *block, GPtrArray *events);
void ct_ring_write_after(const CtRing *ring, gboolean wraps, gint64 n, GPtrArray *events);
/* ---- a ring that the program feeds: its blocks are the generations ----
 *
 * A window that begins in one block and ends in the next finds its samples in a *splice*, a copy of
 * the last `history` samples of the one and the first of the other. */

/* Makes a fed ring whose blocks are on `device`; NULL: on the host. */
CtRing *ct_ring_new_fed(const CtPlanLink *link, CtDevice *device, GError **error);
/* Whether a block can be queued. */
gboolean ct_ring_can_feed(const CtRing *ring);
/* The number of blocks that are not released. */
guint ct_ring_n_unread(const CtRing *ring);
/* Sets `last` to the generation with which the next splice begins. The feeder may read it until
 * ct_ring_feed(), even if readers end meanwhile. */
void ct_ring_last(CtRing *ring, CtRingGeneration *last);
/* Builds the splice from `last` to `block` (packed). Only the feeder calls this, without the lock,
 * after ct_ring_can_feed(). */
gboolean ct_ring_splice(CtRing *ring, const CtRingGeneration *last, const CtBlock *block,
                        const CtRingMover *mover, GError **error);
/* Whether a splice was built. There is none before the first block, or if no reader needs a
 * history. */
gboolean ct_ring_is_spliced(const CtRing *ring);
/* Makes the block visible. On a device its splice is only enqueued, and the blocks of which it is
 * made are kept until ct_ring_splice_finished(). */
void ct_ring_feed(CtRing *ring, const CtBlock *block, CtReleased released, gpointer user_data);
/* Notes that the oldest enqueued splice is finished. */
void ct_ring_splice_finished(CtRing *ring);
/* Calls `released` for every block that no reader needs any more. */
void ct_ring_reclaim(CtRing *ring);

/* Samples that have been written and not yet released by the slowest reader. */
gint64 ct_ring_fill(const CtRing *ring);
