/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: packets from the network, with any stamps. Each that is loaded is one that was put,
 * at its time, and all others are counted. */
#include "fuzz.h"
#include "kit/received.h"

#include <string.h>

enum { LANES = 3, SAMPLES = 10 };

typedef struct {
    CtReceived *received;
    CtPackets *packets;
    gint64 position;
    guint64 n_put, n_used;
} State;

static void
put(State *state, guint lane, gboolean flagged, gint64 stamp)
{
    gint64 offset;
    ct_received_borrow(state->received, &offset, 1);
    memcpy(ct_received_bytes(state->received, offset), &stamp, sizeof stamp);
    const CtPacket packet = {
        .stamp = stamp, .offset = offset, .file = lane, .lane = lane, .flagged = flagged};
    ct_received_put(state->received, &packet);
    state->n_put++;
}

static void
check_lane(State *state, guint lane, gint64 end)
{
    const CtPackets *packets = state->packets;
    for (guint i = packets->lane_begin[lane]; i < packets->lane_begin[lane + 1]; i++) {
        const CtPacket *packet = &g_array_index(packets->packets, CtPacket, i);
        gint64 stamp;
        memcpy(&stamp, ct_received_bytes(state->received, packet->offset), sizeof stamp);
        g_assert_cmpint(stamp, ==, packet->stamp);
        g_assert_cmpuint(packet->lane, ==, lane);
        g_assert_true(stamp < end && stamp + SAMPLES > state->position);
        g_assert_true(i == packets->lane_begin[lane] || packet[-1].stamp < stamp);
        state->n_used += stamp >= state->position;
    }
}

static void
load(State *state, gint64 most)
{
    const gint64 safe = ct_received_safe(state->received, G_MININT64) - state->position;
    const gint64 n = MIN(MIN(safe, most), ct_received_most(state->received));
    if (n < 0)
        return;
    ct_received_load(state->received, state->packets, state->position, state->position + n);
    for (guint lane = 0; lane < LANES; lane++)
        check_lane(state, lane, state->position + n);
    state->position += n;
}

static void
check_account(const State *state)
{
    static const guint reasons[] = {CT_PACKETS_LATE, CT_PACKETS_DUPLICATE, CT_PACKETS_MISTIMED,
                                    CT_PACKETS_FLAGGED, CT_PACKETS_DROPPED};
    CtReceivedCounts rows[2 * LANES], counts = {0};
    ct_received_account(state->received, rows);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        for (guint c = 0; c < CT_PACKETS_N_RECEIVED_COUNTS; c++)
            counts.n[c] += rows[i].n[c];
    guint64 n = state->n_used;
    for (guint i = 0; i < G_N_ELEMENTS(reasons); i++)
        n += counts.n[reasons[i]];
    g_assert_cmpuint(counts.n[CT_PACKETS_READ], ==, n);
    g_assert_cmpuint(n, <=, state->n_put);
}

/* The input: window and max_gap, of two bytes each, then ten bytes for each packet: its lane,
 * whether it is flagged, and its stamp. Lane 3 stands for loading so many samples. */
int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 4)
        return 0;
    CtReceivedSizes sizes = {.n_lanes = LANES,
                             .n_addresses = LANES,
                             .n_samples = SAMPLES,
                             .window = data[0] | (data[1] & 15) << 8,
                             .max_gap = data[2] | data[3] << 8,
                             .packet_bytes = sizeof(gint64)};
    sizes.buffer_bytes = ct_received_least_bytes(&sizes);
    sizes.memory = g_malloc((gsize)sizes.buffer_bytes);
    State state = {.received = ct_received_new(&sizes, NULL), .packets = ct_packets_new()};
    g_assert_nonnull(state.received);
    state.packets->lane_begin = g_new0(guint, LANES + 1);
    for (gsize at = 4; at + 10 <= size; at += 10) {
        gint64 stamp;
        memcpy(&stamp, data + at + 2, sizeof stamp);
        stamp /= 2; /* stamps are between ±2⁶² */
        if ((data[at] & 3) < LANES)
            put(&state, data[at] & 3, data[at + 1] & 1, stamp);
        else
            load(&state, MAX(stamp, 0));
        check_account(&state);
    }
    ct_received_free(state.received);
    ct_packets_free(state.packets);
    g_free(sizes.memory);
    return 0;
}
