/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets that have been received and are not read yet. */
#include "received.h"

#include "cornerturn/error.h"
#include "receiver.h"

#include <string.h>

enum {
    ALIGNMENT = 64,
    /* A stamp that is farther ahead of the newest one than the window and than so many packets is
     * believed when the next packet of its lane is near it. */
    LEAP_PACKETS = 16,
    /* So many packets to an address that are of no later time say nothing of where it is. */
    STILL_PACKETS = 1000,
    /* One of so many parts of the window is worth a load, and so is a batch of packets, which is
     * copied faster while it is in the cache. An address may be ahead of the others by one, too. */
    PARTS = 4
};

/* Between these, differences do not overflow. */
#define MOST_STAMP ((gint64)1 << 60)

/* Offsets of slots without a packet that waits: nothing came, or it was settled and only its stamp
 * is kept. */
enum { EMPTY = -1, SETTLED = -2 };

typedef struct {
    CtPacket *slots; /* [n_slots] the packets that begin in the window; offset EMPTY, SETTLED */
    gint64 filled;   /* all slots from the window's beginning to before this one have had packets */
    GArray *queue;   /* CtPacket, those that are settled, from `head` on in their order */
    guint head;
    gint64 phase; /* of its stamps, from 0 to n_samples − 1 behind the grid of the slots */
    gboolean has_phase;
    gint64 newest;    /* stamp of those that were accepted */
    CtPacket pending; /* a packet whose stamp is to be confirmed; offset −1: none */
    CtReceivedCounts counts;
} Lane;

typedef struct {
    guint64 n_unused;        /* datagrams since the last one that was accepted */
    gint64 newest;           /* stamp of those that were accepted */
    guint64 n_since;         /* datagrams since that one */
    CtReceivedCounts counts; /* of those that are of no lane */
} Address;

struct CtReceived {
    CtReceivedSizes sizes;
    gint64 leap;  /* LEAP_PACKETS, or the window, in samples */
    gsize stride; /* from buffer to buffer */
    guint n_buffers;
    guint8 *memory; /* [n_buffers][stride] */
    gint64 *free;   /* [n_free] offsets; the one that was used last is used first */
    guint n_free;
    Lane *lanes;        /* [n_lanes] */
    Address *addresses; /* [n_addresses] */
    CtPacket *slots;    /* [n_lanes][n_slots] */
    gint64 n_slots;
    gint64 base;    /* the first slot; slot s stands for the n_samples samples from first + s ·
                       n_samples on */
    gint64 settled; /* the first slot that may have packets that are not settled */
    guint behind;   /* the lane that was least filled when last asked */
    gint64 newest;  /* stamp of those that were accepted */
    gint64 safe;    /* the sample with which the window begins: nothing before it is accepted */
    gint64 begin;   /* packets that end before this sample are not wanted */
    GArray *spare;  /* CtPacket, for the next load */
};

static gint64
floor_divide(gint64 a, gint64 b)
{
    return a / b - (a % b < 0);
}

static gint64
slot_of(const CtReceived *received, gint64 sample)
{
    return floor_divide(sample - received->sizes.first, received->sizes.n_samples);
}

/* ---- memory ---- */

static gsize
stride_of(const CtReceivedSizes *sizes)
{
    return (sizes->packet_bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

/* Twice what the window and the receiving thread hold: the reader has the other half at most. */
gint64
ct_received_least_bytes(const CtReceivedSizes *sizes)
{
    const gint64 in_window = sizes->window / sizes->n_samples + LEAP_PACKETS;
    return (gint64)stride_of(sizes) * 2 * (sizes->n_lanes * in_window + 2 * CT_RECEIVER_BATCH);
}

static gboolean
make_buffers(CtReceived *received, GError **error)
{
    received->memory = received->sizes.memory;
    received->free = CT_TABLE(gint64, received->n_buffers, "packets", error);
    for (guint i = 0; received->free && i < received->n_buffers; i++)
        received->free[received->n_free++] =
            (gint64)(received->n_buffers - 1 - i) * (gint64)received->stride;
    return received->free != NULL;
}

static gboolean
make_lanes(CtReceived *received, GError **error)
{
    const CtReceivedSizes *sizes = &received->sizes;
    const gsize n = sizes->n_lanes * (gsize)received->n_slots;
    received->slots = CT_TABLE(CtPacket, n, "packets", error);
    received->lanes = received->slots ? CT_TABLE(Lane, sizes->n_lanes, "lanes", error) : NULL;
    received->addresses = g_new0(Address, sizes->n_addresses);
    if (!received->lanes)
        return FALSE;
    for (guint i = 0; i < sizes->n_addresses; i++)
        received->addresses[i].newest = sizes->first;
    for (gsize i = 0; i < n; i++)
        received->slots[i].offset = EMPTY;
    for (guint i = 0; i < sizes->n_lanes; i++)
        received->lanes[i] = (Lane){.slots = received->slots + i * (gsize)received->n_slots,
                                    .queue = g_array_new(FALSE, FALSE, sizeof(CtPacket)),
                                    .newest = G_MININT64,
                                    .pending = {.offset = -1}};
    return TRUE;
}

CtReceived *
ct_received_new(const CtReceivedSizes *sizes, GError **error)
{
    CtReceived *received = g_new0(CtReceived, 1);
    received->sizes = *sizes;
    received->leap = MAX(sizes->window, LEAP_PACKETS * sizes->n_samples);
    received->stride = stride_of(sizes);
    received->n_buffers =
        (guint)MIN(sizes->buffer_bytes / (gint64)received->stride, (gint64)G_MAXINT32);
    received->n_slots = sizes->window / sizes->n_samples + LEAP_PACKETS;
    received->newest = received->safe = received->begin = sizes->first;
    received->spare = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    if (make_buffers(received, error) && make_lanes(received, error))
        return received;
    ct_received_free(received);
    return NULL;
}

void
ct_received_free(CtReceived *received)
{
    if (!received)
        return;
    for (guint i = 0; received->lanes && i < received->sizes.n_lanes; i++)
        g_array_unref(received->lanes[i].queue);
    g_array_unref(received->spare);
    g_free(received->lanes);
    g_free(received->addresses);
    g_free(received->slots);
    g_free(received->free);
    g_free(received);
}

guint8 *
ct_received_bytes(const CtReceived *received, gint64 offset)
{
    return received->memory + offset;
}

gsize
ct_received_room(const CtReceived *received)
{
    return received->stride;
}

static void
give_back(CtReceived *received, gint64 offset)
{
    received->free[received->n_free++] = offset;
}

static void
refuse(CtReceived *received, CtReceivedCounts *counts, gint64 offset, guint count)
{
    counts->n[CT_PACKETS_READ] += count != CT_PACKETS_CORRUPT && count != CT_PACKETS_TRUNCATED;
    counts->n[CT_PACKETS_RECEIVED]++;
    counts->n[count]++;
    give_back(received, offset);
}

/* ---- from the slots to the queues ---- */

/* Queues the packets that begin before sample `end`. */
static void
queue_before(CtReceived *received, gint64 end)
{
    const gint64 slot = slot_of(received, end);
    const gint64 last = MIN(slot, received->base + received->n_slots - 1);
    for (guint i = 0; i < received->sizes.n_lanes; i++) {
        Lane *lane = &received->lanes[i];
        for (gint64 s = received->settled; s <= last; s++) {
            CtPacket *packet = &lane->slots[s % received->n_slots];
            if (packet->offset < 0 || packet->stamp >= end)
                continue;
            g_array_append_val(lane->queue, *packet);
            packet->offset = SETTLED;
        }
    }
    received->settled = MAX(received->settled, slot);
}

/* Settles what begins before sample `end`. Slots of the window are kept, since they tell whether a
 * packet is doubled. */
static void
settle(CtReceived *received, gint64 end)
{
    const gint64 base = slot_of(received, MIN(end, received->safe));
    const gint64 after = MIN(base, received->base + received->n_slots);
    queue_before(received, end);
    for (guint i = 0; i < received->sizes.n_lanes; i++)
        for (gint64 s = received->base; s < after; s++)
            received->lanes[i].slots[s % received->n_slots].offset = EMPTY;
    received->base = MAX(received->base, base);
}

static const CtPacket *
queue_head(const Lane *lane)
{
    return lane->head < lane->queue->len ? &g_array_index(lane->queue, CtPacket, lane->head) : NULL;
}

/* Takes the first packets away, a while after they were read. */
static void
shorten(Lane *lane)
{
    if (lane->head * 2 < lane->queue->len && lane->head < 4096)
        return;
    g_array_remove_range(lane->queue, 0, lane->head);
    lane->head = 0;
}

/* Gives back the packets that begin before sample `end`, and counts them; `count` READ: they are
 * not counted. */
static void
discard(CtReceived *received, gint64 end, guint count)
{
    for (guint i = 0; i < received->sizes.n_lanes; i++) {
        Lane *lane = &received->lanes[i];
        const CtPacket *packet;
        for (; (packet = queue_head(lane)) && packet->stamp < end; lane->head++)
            if (count != CT_PACKETS_READ)
                refuse(received, &lane->counts, packet->offset, count);
            else
                give_back(received, packet->offset);
        shorten(lane);
    }
}

/* Drops the oldest eighth of the time that waits. */
static void
drop(CtReceived *received)
{
    gint64 oldest = received->safe;
    settle(received, received->safe);
    for (guint i = 0; i < received->sizes.n_lanes; i++) {
        const CtPacket *packet = queue_head(&received->lanes[i]);
        oldest = packet ? MIN(oldest, packet->stamp) : oldest;
    }
    const gint64 span = MAX((received->safe - oldest) / 8, received->sizes.n_samples);
    discard(received, MIN(oldest + span, received->safe), CT_PACKETS_DROPPED);
}

void
ct_received_borrow(CtReceived *received, gint64 *offsets, guint n)
{
    while (received->n_free < n) {
        const guint before = received->n_free;
        drop(received);
        g_assert(received->n_free > before); /* by ct_received_least_bytes */
    }
    for (guint i = 0; i < n; i++)
        offsets[i] = received->free[--received->n_free];
}

/* ---- deciding ---- */

/* Moves the end of the window, and with it its beginning. */
static void
move_window(CtReceived *received, gint64 newest)
{
    if (newest <= received->newest)
        return;
    received->newest = newest;
    received->safe = MAX(received->safe, newest - received->sizes.window);
    if (slot_of(received, newest) >= received->base + received->n_slots)
        settle(received, received->safe);
}

/* Notes a packet to an address that is in time. */
static void
note(Address *address, gint64 stamp)
{
    address->n_unused = 0;
    if (stamp <= address->newest)
        return;
    address->newest = stamp;
    address->n_since = 0;
}

static void
accept(CtReceived *received, const CtPacket *packet)
{
    const gint64 n = received->sizes.n_samples;
    Lane *lane = &received->lanes[packet->lane];
    Address *address = &received->addresses[packet->file];
    if (packet->stamp >= received->sizes.first && packet->stamp + n <= received->begin) {
        note(address, packet->stamp);
        move_window(received, packet->stamp);
        give_back(received, packet->offset);
        return;
    }
    if (packet->stamp < received->safe) {
        refuse(received, &lane->counts, packet->offset, CT_PACKETS_LATE);
        return;
    }
    note(address, packet->stamp);
    move_window(received, packet->stamp);
    const gint64 slot = slot_of(received, packet->stamp);
    CtPacket *to = &lane->slots[slot % received->n_slots];
    if (to->offset != EMPTY) {
        refuse(received, &lane->counts, packet->offset,
               to->stamp == packet->stamp ? CT_PACKETS_DUPLICATE : CT_PACKETS_MISTIMED);
        return;
    }
    *to = *packet;
    to->joins = packet->stamp < lane->newest; /* it is reordered */
    lane->newest = MAX(lane->newest, packet->stamp);
    lane->phase = packet->stamp - received->sizes.first - slot * n;
    lane->has_phase = TRUE;
}

/* Whether a stamp is to be confirmed. */
static gboolean
is_doubtful(const CtReceived *received, const Lane *lane, gint64 stamp)
{
    const gint64 from_grid = stamp - received->sizes.first - lane->phase;
    return stamp - received->newest > received->leap ||
           (lane->has_phase && from_grid % received->sizes.n_samples != 0);
}

/* Decides on the packet of a lane that was to be confirmed by the next one, with stamp `next`. */
static void
confirm(CtReceived *received, Lane *lane, gint64 next)
{
    const CtPacket packet = lane->pending;
    const gint64 later = next - packet.stamp;
    const gboolean is_followed =
        ABS(later) <= received->leap && later % received->sizes.n_samples == 0;
    lane->pending.offset = -1;
    if (is_followed || !is_doubtful(received, lane, packet.stamp))
        accept(received, &packet);
    else
        refuse(received, &lane->counts, packet.offset, CT_PACKETS_MISTIMED);
}

static gboolean
is_far(const CtReceived *received, gint64 stamp)
{
    const gint64 most = received->sizes.max_gap + received->sizes.n_samples;
    return ABS(stamp) > MOST_STAMP || ABS(stamp - received->newest) > most;
}

void
ct_received_put(CtReceived *received, const CtPacket *packet)
{
    Lane *lane = &received->lanes[packet->lane];
    received->addresses[packet->file].n_unused++;
    received->addresses[packet->file].n_since++;
    if (is_far(received, packet->stamp)) {
        refuse(received, &lane->counts, packet->offset, CT_PACKETS_MISTIMED);
        return;
    }
    if (lane->pending.offset >= 0) {
        if (packet->stamp == lane->pending.stamp) {
            refuse(received, &lane->counts, packet->offset, CT_PACKETS_DUPLICATE);
            return;
        }
        confirm(received, lane, packet->stamp);
    }
    if (packet->stamp >= received->safe && is_doubtful(received, lane, packet->stamp))
        lane->pending = *packet;
    else
        accept(received, packet);
}

void
ct_received_refuse(CtReceived *received, guint address, gint64 offset, guint count)
{
    Address *of = &received->addresses[address];
    of->n_unused++;
    of->n_since++;
    refuse(received, &of->counts, offset, count);
}

void
ct_received_restamp(CtReceived *received, guint address, guint64 n)
{
    received->addresses[address].counts.n[CT_PACKETS_RESTAMPED] += n;
}

/* ---- reading ---- */

/* The first slot from the window's beginning on in which a lane's packet may still come. */
static gint64
find_empty(const CtReceived *received, Lane *lane)
{
    gint64 s = MAX(lane->filled, slot_of(received, received->safe));
    while (s < received->base + received->n_slots &&
           lane->slots[s % received->n_slots].offset != EMPTY)
        s++;
    return lane->filled = s;
}

gint64
ct_received_safe(CtReceived *received, gint64 wanted)
{
    const CtReceivedSizes *sizes = &received->sizes;
    const guint first = received->behind;
    gint64 least = G_MAXINT64;
    for (guint i = 0; i < sizes->n_lanes && least >= wanted; i++) {
        const guint lane = (first + i) % sizes->n_lanes;
        const gint64 filled =
            sizes->first + find_empty(received, &received->lanes[lane]) * sizes->n_samples;
        received->behind = filled < least ? lane : received->behind;
        least = MIN(least, filled);
    }
    return MAX(received->safe, least);
}

gint64
ct_received_worth(const CtReceived *received)
{
    const CtReceivedSizes *sizes = &received->sizes;
    const gint64 packets = (CT_RECEIVER_BATCH + sizes->n_lanes - 1) / sizes->n_lanes;
    return CLAMP(sizes->window / PARTS, 1, packets * sizes->n_samples);
}

const gint64 *
ct_received_newest(const CtReceived *received)
{
    return &received->newest;
}

gint64
ct_received_reached(const CtReceived *received, guint address)
{
    const Address *of = &received->addresses[address];
    return of->n_since < STILL_PACKETS ? of->newest : G_MAXINT64;
}

gint64
ct_received_lead(const CtReceived *received)
{
    return received->sizes.window / PARTS;
}

guint
ct_received_batch(const CtReceived *received)
{
    const CtReceivedSizes *sizes = &received->sizes;
    const gint64 packets = ct_received_lead(received) / sizes->n_samples;
    return sizes->n_addresses == 1 ? CT_RECEIVER_BATCH
                                   : (guint)CLAMP(packets, 1, CT_RECEIVER_BATCH);
}

gint64
ct_received_most(const CtReceived *received)
{
    const gint64 packets = received->n_buffers / 2 / received->sizes.n_lanes;
    return MAX(packets - 3, 1) * received->sizes.n_samples;
}

void
ct_received_cut(CtReceived *received, gint64 begin)
{
    received->begin = begin;
    if (begin <= received->sizes.first)
        return;
    settle(received, begin - received->sizes.n_samples + 1);
    discard(received, begin - received->sizes.n_samples + 1, CT_PACKETS_READ);
    /* Packets that were dropped or refused until now belong to a time that nobody wants. */
    for (guint i = 0; i < received->sizes.n_lanes; i++)
        received->lanes[i].counts = (CtReceivedCounts){0};
    for (guint i = 0; i < received->sizes.n_addresses; i++)
        received->addresses[i].counts = (CtReceivedCounts){0};
}

/* The packets that begin in samples begin … end − 1, if none is missing. */
static gint64
count_expected(const CtReceived *received, const Lane *lane, gint64 begin, gint64 end)
{
    const gint64 n = received->sizes.n_samples, origin = received->sizes.first + lane->phase;
    return floor_divide(end - 1 - origin, n) - floor_divide(begin - 1 - origin, n);
}

/* Appends the packets of a lane that begin before sample `end`. */
static void
take(CtReceived *received, Lane *lane, GArray *packets, gint64 begin, gint64 end)
{
    gint64 missing = count_expected(received, lane, begin, end);
    const CtPacket *packet;
    for (; (packet = queue_head(lane)) && packet->stamp < end; lane->head++) {
        missing -= packet->stamp >= begin;
        if (packet->flagged) {
            refuse(received, &lane->counts, packet->offset, CT_PACKETS_FLAGGED);
            continue;
        }
        lane->counts.n[CT_PACKETS_READ]++;
        lane->counts.n[CT_PACKETS_RECEIVED]++;
        lane->counts.n[CT_PACKETS_USED]++;
        lane->counts.n[CT_PACKETS_REORDERED] += packet->joins;
        g_array_append_vals(packets, packet, 1);
    }
    lane->counts.n[CT_PACKETS_MISSING] += (guint64)MAX(missing, 0);
    shorten(lane);
}

void
ct_received_load(CtReceived *received, CtPackets *packets, gint64 begin, gint64 end)
{
    const gint64 n = received->sizes.n_samples;
    GArray *had = packets->packets, *has = received->spare;
    settle(received, end);
    g_array_set_size(has, 0);
    for (guint i = 0; i < received->sizes.n_lanes; i++) {
        const guint from = packets->lane_begin[i], to = packets->lane_begin[i + 1];
        packets->lane_begin[i] = has->len;
        for (guint k = from; k < to; k++) {
            const CtPacket *packet = &g_array_index(had, CtPacket, k);
            if (packet->stamp + n > begin)
                g_array_append_vals(has, packet, 1);
            else
                give_back(received, packet->offset);
        }
        take(received, &received->lanes[i], has, begin, end);
    }
    packets->lane_begin[received->sizes.n_lanes] = has->len;
    packets->packets = has;
    received->spare = had;
}

guint64
ct_received_unused(const CtReceived *received, guint *address)
{
    guint64 most = 0;
    for (guint i = 0; i < received->sizes.n_addresses; i++)
        if (received->addresses[i].n_unused > most) {
            most = received->addresses[i].n_unused;
            *address = i;
        }
    return most;
}

void
ct_received_account(const CtReceived *received, CtReceivedCounts *rows)
{
    const CtReceivedSizes *sizes = &received->sizes;
    for (guint i = 0; i < sizes->n_lanes; i++)
        rows[i] = received->lanes[i].counts;
    for (guint i = 0; i < sizes->n_addresses; i++)
        rows[sizes->n_lanes + i] = received->addresses[i].counts;
}
