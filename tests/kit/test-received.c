/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of packets that are received: each is used once or counted once, whenever anybody reads,
 * and its memory is never given to another while somebody has it. */
#include "kit/received.h"
#include "kit/receiver.h"

#include <string.h>

enum { LANES = 3, ADDRESSES = 2, SAMPLES = 10, BYTES = 24, CASES = 300, PACKETS = 3000 };

/* The payload of a packet of this test. */
typedef struct {
    gint64 stamp;
    guint64 lane;
    guint64 number; /* of the put */
} Payload;

/* A run: packets are put, and read in steps of a few samples. */
typedef struct {
    CtReceived *received;
    guint8 *memory;
    CtPackets *packets;
    GHashTable *lent; /* offsets of buffers that somebody has, or that hold a packet that waits */
    GRand *steps;     /* when it is read */
    gint64 position;
    guint64 n_put, n_used, sum;
} Run;

static CtReceivedSizes
random_sizes(GRand *random)
{
    CtReceivedSizes sizes = {
        .n_lanes = LANES,
        .n_addresses = ADDRESSES,
        .n_samples = SAMPLES,
        .first = g_rand_int_range(random, -1000, 1000),
        .window = g_rand_int_range(random, 0, 400),
        .max_gap = g_rand_int_range(random, 1000, 20000),
        .packet_bytes = BYTES,
    };
    sizes.buffer_bytes = ct_received_least_bytes(&sizes);
    return sizes;
}

static void
run_init(Run *run, const CtReceivedSizes *sizes, guint32 seed)
{
    CtReceivedSizes own = *sizes;
    own.memory = g_malloc((gsize)own.buffer_bytes);
    *run = (Run){.received = ct_received_new(&own, NULL),
                 .memory = own.memory,
                 .packets = ct_packets_new(),
                 .lent = g_hash_table_new(NULL, NULL),
                 .steps = g_rand_new_with_seed(seed),
                 .position = sizes->first};
    g_assert_nonnull(run->received);
    run->packets->n_lanes = LANES;
    run->packets->n_samples = SAMPLES;
    run->packets->lane_begin = g_new0(guint, LANES + 1);
}

static void
run_clear(Run *run)
{
    ct_received_free(run->received);
    ct_packets_free(run->packets);
    g_hash_table_unref(run->lent);
    g_rand_free(run->steps);
    g_free(run->memory);
}

static guint64
count(const Run *run, guint which)
{
    CtReceivedCounts rows[LANES + ADDRESSES];
    guint64 sum = 0;
    ct_received_account(run->received, rows);
    for (guint i = 0; i < LANES + ADDRESSES; i++)
        sum += rows[i].n[which];
    return sum;
}

static void
put(Run *run, guint lane, gint64 stamp, gboolean flagged)
{
    gint64 offset;
    ct_received_borrow(run->received, &offset, 1);
    g_assert_cmpint(offset % 8, ==, 0);
    const Payload payload = {stamp, lane, run->n_put++};
    memcpy(ct_received_bytes(run->received, offset), &payload, sizeof payload);
    const CtPacket packet = {.stamp = stamp,
                             .offset = offset,
                             .file = lane % ADDRESSES,
                             .lane = lane,
                             .flagged = flagged};
    ct_received_put(run->received, &packet);
}

/* Checks the packets of a lane that are loaded, and notes those that are new. */
static void
check_lane(Run *run, guint lane, gint64 begin, gint64 end)
{
    gint64 last = G_MININT64;
    for (guint i = run->packets->lane_begin[lane]; i < run->packets->lane_begin[lane + 1]; i++) {
        const CtPacket *packet = &g_array_index(run->packets->packets, CtPacket, i);
        Payload payload;
        memcpy(&payload, ct_received_bytes(run->received, packet->offset), sizeof payload);
        g_assert_cmpint(payload.stamp, ==, packet->stamp);
        g_assert_cmpuint(payload.lane, ==, lane);
        g_assert_cmpint(packet->stamp, >, last);
        g_assert_cmpint(packet->stamp, >, begin - SAMPLES);
        g_assert_cmpint(packet->stamp, <, end);
        last = packet->stamp;
        if (packet->stamp < begin)
            continue;
        run->n_used++;
        run->sum += (payload.number + 1) * (lane + 1) * 0x9e3779b97f4a7c15;
    }
}

static void
load(Run *run, gint64 n)
{
    const gint64 end = run->position + n;
    ct_received_load(run->received, run->packets, run->position, end);
    for (guint lane = 0; lane < LANES; lane++)
        check_lane(run, lane, run->position, end);
    run->position = end;
}

/* Reads what is there, in one or several steps. */
static void
load_all(Run *run)
{
    for (gint64 n; (n = ct_received_safe(run->received, G_MININT64) - run->position) > 0;) {
        const gint64 most = MIN(n, ct_received_most(run->received));
        load(run, most > 1 ? g_rand_int_range(run->steps, 1, (gint32)most + 1) : most);
    }
}

/* A stamp near the time `now`, or anywhere. */
static gint64
random_stamp(GRand *random, gint64 now)
{
    const gint fault = g_rand_int_range(random, 0, 100);
    if (fault == 0)
        return now + g_rand_int_range(random, -30000, 30000);
    if (fault == 1)
        return ((gint64)g_rand_int(random) << 30) - ((gint64)1 << 61);
    return now - SAMPLES * g_rand_int_range(random, 0, fault < 20 ? 50 : 3);
}

/* Puts the packets of a seed; reads now and then, or hardly ever. */
static void
put_all(Run *run, guint32 seed, gint64 first, gint reads)
{
    GRand *random = g_rand_new_with_seed(seed);
    static const gint64 offsets[LANES] = {0, 20, 43};
    gint64 now = first;
    for (guint i = 0; i < PACKETS; i++) {
        const guint lane = (guint)g_rand_int_range(random, 0, LANES);
        const gboolean pauses = g_rand_int_range(random, 0, 1000) == 0;
        now += pauses ? 700 : i % LANES == 0 ? SAMPLES : 0;
        put(run, lane, random_stamp(random, now + offsets[lane]),
            g_rand_int_range(random, 0, 50) == 0);
        if (g_rand_int_range(run->steps, 0, reads) == 0)
            load_all(run);
    }
    g_rand_free(random);
}

/* All that is not used is counted, once; what is before the end of the window, and what is to be
 * confirmed, waits. */
static void
check_account(const Run *run)
{
    guint64 refused = 0;
    static const guint reasons[] = {CT_PACKETS_LATE, CT_PACKETS_DUPLICATE, CT_PACKETS_MISTIMED,
                                    CT_PACKETS_FLAGGED, CT_PACKETS_DROPPED};
    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
        refused += count(run, reasons[i]);
    g_assert_cmpuint(count(run, CT_PACKETS_READ), ==, run->n_used + refused);
    g_assert_cmpuint(count(run, CT_PACKETS_RECEIVED), ==, run->n_used + refused);
    g_assert_cmpuint(count(run, CT_PACKETS_USED), ==, run->n_used);
    g_assert_cmpuint(count(run, CT_PACKETS_READ), <=, run->n_put);
}

/* The fate of packets does not depend on when they are read, if nothing is dropped. */
static void
test_any_time(void)
{
    g_test_message("seed %u", g_test_rand_int());
    for (guint c = 0; c < CASES; c++) {
        const guint32 seed = g_test_rand_int();
        GRand *random = g_rand_new_with_seed(seed);
        CtReceivedSizes sizes = random_sizes(random);
        sizes.buffer_bytes += 1 << 20;
        g_rand_free(random);
        Run often, seldom;
        run_init(&often, &sizes, seed + 1);
        run_init(&seldom, &sizes, seed + 2);
        put_all(&often, seed, sizes.first, 1);
        put_all(&seldom, seed, sizes.first, 500);
        load_all(&often);
        load_all(&seldom);
        g_assert_cmpuint(count(&often, CT_PACKETS_DROPPED), ==, 0);
        g_assert_cmpuint(count(&seldom, CT_PACKETS_DROPPED), ==, 0);
        check_account(&often);
        check_account(&seldom);
        g_assert_cmpint(often.position, ==, seldom.position);
        g_assert_cmpuint(often.n_used, >, PACKETS / 8);
        g_assert_cmpuint(often.n_used, ==, seldom.n_used);
        g_assert_cmpuint(often.sum, ==, seldom.sum);
        for (guint i = 0; i < CT_PACKETS_N_RECEIVED_COUNTS; i++)
            if (i != CT_PACKETS_MISSING)
                g_assert_cmpuint(count(&often, i), ==, count(&seldom, i));
        run_clear(&often);
        run_clear(&seldom);
    }
}

/* With as little memory as is allowed, and nobody who reads for long, packets are dropped, and the
 * others are what they were. */
static void
test_dropped(void)
{
    guint64 dropped = 0;
    for (guint c = 0; c < CASES; c++) {
        const guint32 seed = g_test_rand_int();
        GRand *random = g_rand_new_with_seed(seed);
        const CtReceivedSizes sizes = random_sizes(random);
        g_rand_free(random);
        Run run;
        run_init(&run, &sizes, seed + 1);
        gint64 offsets[CT_RECEIVER_BATCH]; /* as the thread that receives has them */
        ct_received_borrow(run.received, offsets, CT_RECEIVER_BATCH);
        put_all(&run, seed, sizes.first, 1000);
        load_all(&run);
        check_account(&run);
        dropped += count(&run, CT_PACKETS_DROPPED);
        run_clear(&run);
    }
    g_assert_cmpuint(dropped, >, CASES * 100);
}

/* Each buffer is lent once: those that are borrowed, and those of packets that wait or are loaded,
 * are different ones, and none is lost. */
static void
test_buffers(void)
{
    GRand *random = g_rand_new_with_seed(g_test_rand_int());
    CtReceivedSizes sizes = random_sizes(random);
    sizes.window = 100;
    sizes.buffer_bytes = ct_received_least_bytes(&sizes);
    const gint64 n_buffers = sizes.buffer_bytes / 64;
    Run run;
    run_init(&run, &sizes, 1);
    put_all(&run, g_rand_int(random), sizes.first, 100);
    load_all(&run);
    gint64 end = ct_received_safe(run.received, G_MININT64);
    /* Two packets far later: all before them is safe, and they alone wait. */
    for (guint i = 0; i < 2; i++)
        for (guint lane = 0; lane < LANES; lane++)
            put(&run, lane, end + 900 + i * SAMPLES, FALSE);
    load_all(&run);
    for (guint i = 0; i < run.packets->packets->len; i++)
        g_hash_table_add(
            run.lent,
            GSIZE_TO_POINTER((gsize)g_array_index(run.packets->packets, CtPacket, i).offset + 1));
    gint64 offsets[CT_RECEIVER_BATCH], n = 0;
    for (; n < n_buffers - 4 * LANES; n++) {
        ct_received_borrow(run.received, offsets, 1);
        g_assert_true(g_hash_table_add(run.lent, GSIZE_TO_POINTER((gsize)offsets[0] + 1)));
    }
    g_assert_cmpuint(count(&run, CT_PACKETS_DROPPED), ==, 0);
    run_clear(&run);
    g_rand_free(random);
}

/* By hand: the edges of the window. */
static void
test_window(void)
{
    const CtReceivedSizes sizes = {.n_lanes = LANES,
                                   .n_addresses = ADDRESSES,
                                   .n_samples = SAMPLES,
                                   .window = 100,
                                   .max_gap = 1000,
                                   .packet_bytes = BYTES,
                                   .buffer_bytes = 1 << 20};
    Run run;
    run_init(&run, &sizes, 1);
    put(&run, 0, 0, FALSE);
    put(&run, 0, 110, FALSE);
    g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, 10);
    put(&run, 1, 0, FALSE); /* late by one packet */
    put(&run, 1, 10, FALSE);
    put(&run, 1, 10, FALSE);
    put(&run, 1, 7, FALSE); /* late, though it has samples of the window */
    g_assert_cmpuint(count(&run, CT_PACKETS_LATE), ==, 2);
    g_assert_cmpuint(count(&run, CT_PACKETS_DUPLICATE), ==, 1);
    put(&run, 2, 1300, FALSE); /* more than max_gap ahead */
    g_assert_cmpuint(count(&run, CT_PACKETS_MISTIMED), ==, 1);
    put(&run, 2, 1000, FALSE); /* to be confirmed, but is not */
    put(&run, 2, 60, FALSE);
    g_assert_cmpuint(count(&run, CT_PACKETS_MISTIMED), ==, 2);
    put(&run, 2, 1000, FALSE);
    g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, 10);
    put(&run, 2, 1010, FALSE);
    g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, 910);
    load_all(&run);
    g_assert_cmpuint(run.n_used, ==, 4); /* 0, 110; 10; 60 */
    g_assert_cmpuint(count(&run, CT_PACKETS_MISSING), ==, 3 * 91 - 4);
    run_clear(&run);
}

/* Samples are safe when the packets of all lanes have come, and stay what they are. */
static void
test_complete(void)
{
    static const gint64 phases[LANES] = {0, 3, 9};
    const CtReceivedSizes sizes = {.n_lanes = LANES,
                                   .n_addresses = ADDRESSES,
                                   .n_samples = SAMPLES,
                                   .window = 1000,
                                   .max_gap = 10000,
                                   .packet_bytes = BYTES,
                                   .buffer_bytes = 1 << 20};
    Run run;
    run_init(&run, &sizes, 1);
    for (gint64 i = 0; i < 50; i++) {
        for (guint lane = 0; lane < LANES; lane++) {
            g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, i * SAMPLES);
            g_assert_cmpint(ct_received_safe(run.received, i * SAMPLES + 1), <=, i * SAMPLES);
            put(&run, lane, i * SAMPLES + phases[lane], lane == 1);
        }
        if (i % 7 == 0)
            load_all(&run);
    }
    load_all(&run);
    g_assert_cmpint(run.position, ==, 50 * SAMPLES);
    g_assert_cmpuint(run.n_used, ==, 100);
    g_assert_cmpuint(count(&run, CT_PACKETS_FLAGGED), ==, 50);
    /* Doubled packets of samples that are read, and others of their time. */
    put(&run, 0, 20 * SAMPLES, FALSE);
    put(&run, 1, 20 * SAMPLES + phases[1], FALSE);
    g_assert_cmpuint(count(&run, CT_PACKETS_DUPLICATE), ==, 2);
    put(&run, 2, 20 * SAMPLES + 5, FALSE);
    put(&run, 2, 21 * SAMPLES + 5, FALSE);
    put(&run, 2, 22 * SAMPLES + 5, FALSE);
    g_assert_cmpuint(count(&run, CT_PACKETS_MISTIMED), ==, 2);
    /* Where one is missing, the window passes first, and then what came meanwhile is safe. */
    for (gint64 i = 51; i < 150; i++)
        for (guint lane = 0; lane < LANES; lane++) {
            put(&run, lane, i * SAMPLES + phases[lane], FALSE);
            g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, 50 * SAMPLES);
        }
    put(&run, 1, 50 * SAMPLES + phases[1], FALSE);
    put(&run, 0, 151 * SAMPLES, FALSE);
    g_assert_cmpint(ct_received_safe(run.received, G_MININT64), ==, 150 * SAMPLES);
    put(&run, 0, 50 * SAMPLES, FALSE);
    g_assert_cmpuint(count(&run, CT_PACKETS_LATE), ==, 1);
    load_all(&run);
    g_assert_cmpuint(count(&run, CT_PACKETS_MISSING), ==, 2);
    g_assert_cmpuint(count(&run, CT_PACKETS_DROPPED), ==, 0);
    run_clear(&run);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/received/window", test_window);
    g_test_add_func("/received/complete", test_complete);
    g_test_add_func("/received/any-time", test_any_time);
    g_test_add_func("/received/dropped", test_dropped);
    g_test_add_func("/received/buffers", test_buffers);
    return g_test_run();
}
