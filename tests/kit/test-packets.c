/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of packet files: lost, doubled, swapped, cut and damaged packets, each counted once. */
#include "cornerturn/packets.h"
#include "cornerturn/stage.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* A packet of this test: "PK", lane, flag, stamp (32 bits, host order), then 24 bytes of 0xaa. It
 * has 10 samples. */
enum { HEADER = 8, PACKET = 32, SAMPLES = 10 };

static gsize
toy_size(const guint8 *header, gconstpointer data G_GNUC_UNUSED)
{
    return header[0] == 'P' && header[1] == 'K' ? PACKET : 0;
}

static gboolean
toy_alike(const guint8 *a, const guint8 *b, gconstpointer data G_GNUC_UNUSED)
{
    return memcmp(a, b, 2) == 0;
}

/* Here the size of the packet is in place of the flag. */
static gsize
sized_size(const guint8 *header, gconstpointer data)
{
    return toy_size(header, data) ? header[3] : 0;
}

static gboolean
sized_alike(const guint8 *a, const guint8 *b, gconstpointer data G_GNUC_UNUSED)
{
    return memcmp(a, b, 4) == 0;
}

static const CtPacketFormat toy = {"toy packets", HEADER, toy_size, toy_alike, NULL};

static void
toy_found(const guint8 *header, CtPacket *packet, gpointer data G_GNUC_UNUSED)
{
    guint32 stamp;
    memcpy(&stamp, header + 4, 4);
    packet->stamp = stamp;
    packet->lane = header[2];
    packet->flagged = header[3];
}

static void
append(GByteArray *bytes, guint lane, gboolean flagged, guint32 stamp)
{
    guint8 packet[PACKET];
    memset(packet, 0xaa, sizeof packet);
    memcpy(packet, "PK", 2);
    packet[2] = lane;
    packet[3] = flagged;
    memcpy(packet + 4, &stamp, 4);
    g_byte_array_append(bytes, packet, sizeof packet);
}

/* Packets 0 … n − 1 of lane 0, from sample 1000. */
static GByteArray *
make_stream(guint n)
{
    GByteArray *bytes = g_byte_array_new();
    for (guint i = 0; i < n; i++)
        append(bytes, 0, FALSE, 1000 + SAMPLES * i);
    return bytes;
}

static CtPackets *
try_scan(const GByteArray *bytes, guint n_lanes, const CtPacketFormat *format, GError **error)
{
    g_autofree char *path = NULL;
    const int fd = g_file_open_tmp("test-packets-XXXXXX", &path, NULL);
    g_assert_cmpint(write(fd, bytes->data, bytes->len), ==, bytes->len);
    g_autoptr(CtPackets) packets = ct_packets_new();
    guint8 pattern[HEADER];
    const gboolean found =
        ct_packets_scan(packets, "x.pk", fd, 0, format, toy_found, NULL, pattern, error) &&
        ct_packets_arrange(packets, n_lanes, SAMPLES, 500, error);
    close(fd);
    g_unlink(path);
    return found ? g_steal_pointer(&packets) : NULL;
}

static CtPackets *
scan_as(const GByteArray *bytes, guint n_lanes, const CtPacketFormat *format)
{
    g_autoptr(GError) error = NULL;
    CtPackets *packets = try_scan(bytes, n_lanes, format, &error);
    g_assert_no_error(error);
    return packets;
}

static CtPackets *
scan(const GByteArray *bytes, guint n_lanes)
{
    return scan_as(bytes, n_lanes, &toy);
}

/* The validity of a lane from first to end, as a string with a 0 or 1 for each ten samples (which
 * must be the same). */
static char *
validity_string(const CtPackets *packets, guint lane)
{
    const gint64 n = packets->end - packets->first;
    g_autofree guint8 *validity = g_malloc(n);
    ct_packets_validity(packets, lane, packets->first, n, validity);
    GString *text = g_string_new(NULL);
    for (gint64 i = 0; i < n; i++) {
        if (i % SAMPLES == 0)
            g_string_append_c(text, '0' + validity[i]);
        g_assert_cmpint(text->str[text->len - 1], ==, '0' + validity[i]);
    }
    return g_string_free(text, FALSE);
}

/* "256 packets, 3 missing, 1 duplicate": the counts that are not 0. */
static char *
counts_string(const CtPackets *packets)
{
    const char *const *names = CT_PACKET_COUNTERS;
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%" G_GUINT64_FORMAT " packets", packets->counts[0]);
    for (guint i = 1; i < CT_PACKETS_N_COUNTS; i++)
        if (packets->counts[i] > 0)
            g_string_append_printf(text, ", %" G_GUINT64_FORMAT " %s", packets->counts[i],
                                   names[i]);
    return g_string_free(text, FALSE);
}

static void
check(const GByteArray *bytes, const char *validity, const char *counts)
{
    g_autoptr(CtPackets) packets = scan(bytes, 1);
    g_autofree char *given = validity_string(packets, 0);
    g_assert_cmpstr(given, ==, validity);
    g_autofree char *description = counts_string(packets);
    g_assert_cmpstr(description, ==, counts);
    g_assert_cmpint(packets->first, ==, 1000);
}

static void
test_in_order(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    check(bytes, "11111111", "8 packets");
    g_autoptr(CtPackets) packets = scan(bytes, 1);
    guint8 validity[4];
    g_assert_true(ct_packets_validity(packets, 0, 998, 4, validity));
    g_assert_cmpmem(validity, 4, "\0\0\1\1", 4);
    g_assert_false(ct_packets_validity(packets, 0, 1009, 4, validity));
    const CtPacket *end, *packet = ct_packets_find(packets, 0, 1009, &end);
    g_assert_cmpint(packet->stamp, ==, 1000);
    g_assert_cmpint(packet->offset, ==, 0);
    g_assert_cmpint(ct_packets_find(packets, 0, 1010, &end)->stamp, ==, 1010);
    g_assert_true(ct_packets_find(packets, 0, 1080, &end) == end);
}

static void
test_removed(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    g_byte_array_remove_range(bytes, 2 * PACKET, PACKET);
    g_byte_array_remove_range(bytes, 4 * PACKET, 2 * PACKET);
    check(bytes, "11011001", "5 packets, 3 missing");
}

static void
test_doubled(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    append(bytes, 0, FALSE, 1030);
    append(bytes, 0, FALSE, 1050);
    check(bytes, "11111111", "10 packets, 2 reordered, 2 duplicate");
    g_autoptr(CtPackets) packets = scan(bytes, 1);
    const CtPacket *end;
    g_assert_cmpint(ct_packets_find(packets, 0, 1030, &end)->offset, ==, 3 * PACKET);
}

static void
test_swapped(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    static const guint order[] = {3, 1, 0, 2, 7, 6, 5, 4};
    for (guint i = 0; i < G_N_ELEMENTS(order); i++)
        append(bytes, 0, FALSE, 1000 + SAMPLES * order[i]);
    check(bytes, "11111111", "8 packets, 6 reordered");
}

/* If the bytes at the end are too few for a header, they may belong to the packet before, which may
 * have lost some. */
static void
test_cut_within(void)
{
    for (guint at = 1; at < PACKET; at++) {
        g_autoptr(GByteArray) bytes = make_stream(8);
        g_byte_array_remove_range(bytes, 3 * PACKET + at, PACKET - at);
        if (at < 2)
            check(bytes, "11001111", "6 packets, 2 missing, 1 corrupt, 1 truncated");
        else
            check(bytes, "11101111", "7 packets, 1 missing, 1 truncated");
    }
}

static void
test_cut_at_end(void)
{
    for (guint at = 1; at < PACKET; at++) {
        g_autoptr(GByteArray) bytes = make_stream(8);
        g_byte_array_set_size(bytes, 7 * PACKET + at);
        check(bytes, "1111111", "7 packets, 1 truncated");
    }
}

/* The end of the file is not a header. So bytes were lost in a packet if the last one begins within
 * it, or if the rest of the file is not a header's beginning and not as long as a packet. */
static void
test_cut_before_end(void)
{
    for (guint at = 4; at < PACKET; at++) {
        g_autoptr(GByteArray) bytes = make_stream(8);
        g_byte_array_remove_range(bytes, 6 * PACKET + at, PACKET - at);
        check(bytes, "11111101", "7 packets, 1 missing, 1 truncated");
        memset(bytes->data + 6 * PACKET + at, 0, PACKET);
        check(bytes, "111111", "6 packets, 1 corrupt, 1 truncated");
    }
    for (guint left = 3; left < HEADER; left++) {
        g_autoptr(GByteArray) bytes = make_stream(8);
        g_byte_array_set_size(bytes, 7 * PACKET + left);
        g_byte_array_remove_range(bytes, 7 * PACKET - 2, 2);
        check(bytes, "111111", "6 packets, 1 corrupt, 1 truncated");
    }
}

/* Foreign bytes after the next packet make up for those that a packet has lost. */
static void
test_cut_before_foreign(void)
{
    guint8 foreign[PACKET];
    memset(foreign, 0x55, sizeof foreign);
    for (guint at = HEADER; at < PACKET; at++) {
        g_autoptr(GByteArray) bytes = make_stream(4);
        g_byte_array_remove_range(bytes, 3 * PACKET - (PACKET - at), PACKET - at);
        g_byte_array_append(bytes, foreign, PACKET - at);
        for (guint i = 4; i < 8; i++)
            append(bytes, 0, FALSE, 1000 + SAMPLES * i);
        check(bytes, "11001111", "6 packets, 2 missing, 1 corrupt, 1 truncated");
        g_byte_array_set_size(bytes, 4 * PACKET);
        /* Bytes at the end that are too few for a header may belong to the packet before. */
        check(bytes, "11",
              PACKET - at < HEADER ? "2 packets, 1 corrupt, 2 truncated"
                                   : "2 packets, 1 corrupt, 1 truncated");
    }
}

static void
test_corrupt_header(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    bytes->data[4 * PACKET] ^= 1;
    check(bytes, "11110111", "7 packets, 1 missing, 1 corrupt");
    bytes->data[5 * PACKET] ^= 1;
    check(bytes, "11110011", "6 packets, 2 missing, 2 corrupt");
    bytes->data[7 * PACKET] ^= 1;
    check(bytes, "1111001", "5 packets, 2 missing, 3 corrupt");
}

static void
test_garbage(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    guint8 garbage[70];
    memset(garbage, 0x55, sizeof garbage);
    g_byte_array_prepend(bytes, garbage, sizeof garbage);
    check(bytes, "11111111", "8 packets, 2 corrupt");
}

static void
test_flagged(void)
{
    g_autoptr(GByteArray) bytes = make_stream(4);
    append(bytes, 0, TRUE, 1040);
    append(bytes, 0, FALSE, 1050);
    append(bytes, 0, TRUE, 1050);
    check(bytes, "111101", "7 packets, 1 duplicate, 1 flagged");
}

static void
test_mistimed(void)
{
    g_autoptr(GByteArray) bytes = make_stream(4);
    append(bytes, 0, FALSE, 5000000);
    append(bytes, 0, FALSE, 3);
    append(bytes, 0, FALSE, 1045);
    append(bytes, 0, FALSE, 1052);
    append(bytes, 0, FALSE, 1060);
    g_autoptr(CtPackets) packets = scan(bytes, 1);
    g_autofree char *description = counts_string(packets);
    g_assert_cmpint(packets->end, ==, 1070);
    g_assert_cmpstr(description, ==, "9 packets, 2 missing, 4 mistimed");
}

/* A packet whose stamp does not fit its place in the file. */
static void
test_misplaced(void)
{
    static const guint32 wrong[] = {1008, 1032, 1048, 1160, 1400};
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autoptr(GByteArray) bytes = make_stream(8);
        memcpy(bytes->data + 4 * PACKET + 4, &wrong[i], 4);
        check(bytes, "11110111", "8 packets, 1 missing, 1 mistimed");
    }
}

/* A copy of a misplaced packet beside it does not confirm its time. */
static void
test_misplaced_beside_copy(void)
{
    static const guint32 wrong = 1160;
    for (guint before = 0; before < 2; before++) {
        g_autoptr(GByteArray) bytes = make_stream(5);
        append(bytes, 0, FALSE, before ? 1010 : wrong);
        append(bytes, 0, FALSE, before ? wrong : 1010);
        for (guint i = 6; i < 9; i++)
            append(bytes, 0, FALSE, 1000 + SAMPLES * i);
        check(bytes, "111110111", "10 packets, 1 reordered, 1 missing, 1 duplicate, 1 mistimed");
    }
}

/* Two packets claim the same samples with different values. */
static void
test_contested(void)
{
    g_autoptr(GByteArray) bytes = make_stream(4);
    append(bytes, 0, FALSE, 1030);
    bytes->data[5 * PACKET - 1] = 0;
    check(bytes, "1111", "5 packets, 1 duplicate");
    append(bytes, 0, FALSE, 1040);
    check(bytes, "11101", "6 packets, 1 missing, 2 mistimed");
}

/* A packet before the first two consecutive ones is found as well. */
static void
test_second_header(void)
{
    g_autoptr(GByteArray) bytes = make_stream(8);
    bytes->data[PACKET] ^= 1;
    check(bytes, "10111111", "7 packets, 1 missing, 1 corrupt");
}

/* Two headers of one kind have precedence over that of a single packet that ends with the file. */
static void
test_first_header(void)
{
    static const CtPacketFormat sized = {"sized packets", HEADER, sized_size, sized_alike, NULL};
    g_autoptr(GByteArray) bytes = make_stream(3);
    for (guint i = 0; i < 3; i++)
        bytes->data[PACKET * i + 3] = PACKET;
    bytes->data[3] = 3 * PACKET;
    g_autoptr(CtPackets) packets = scan_as(bytes, 1, &sized);
    g_autofree char *description = counts_string(packets);
    g_assert_cmpstr(description, ==, "2 packets, 2 flagged, 1 corrupt");
}

static void
test_lanes(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint i = 0; i < 4; i++) {
        append(bytes, 2, FALSE, 1010 + SAMPLES * i);
        append(bytes, 0, FALSE, 1000 + SAMPLES * i);
    }
    g_autoptr(CtPackets) packets = scan(bytes, 3);
    static const char *const wanted[] = {"11110", "00000", "01111"};
    for (guint lane = 0; lane < 3; lane++) {
        g_autofree char *given = validity_string(packets, lane);
        g_assert_cmpstr(given, ==, wanted[lane]);
    }
    g_assert_cmpuint(packets->counts[CT_PACKETS_MISSING], ==, 7);
}

/* Packets of a lane that is not read, one of them far away in time. */
static void
test_stray(void)
{
    g_autoptr(GByteArray) bytes = make_stream(4);
    append(bytes, 1, FALSE, 1010);
    append(bytes, 255, FALSE, 1000000);
    check(bytes, "1111", "6 packets, 2 stray");
}

/* Bytes are lost, added and changed anywhere: whole packets are used once, in order, and every
 * packet that was read is counted. */
static void
test_random_damage(void)
{
    for (guint round = 0; round < 3000; round++) {
        const guint n = g_test_rand_int_range(1, 30);
        g_autoptr(GByteArray) bytes = make_stream(n);
        for (gint cut = g_test_rand_int_range(0, 6); cut > 0 && bytes->len > 0; cut--) {
            const guint at = g_test_rand_int_range(0, bytes->len);
            const guint wanted = g_test_rand_int_range(1, 2 * PACKET);
            const guint length = MIN(wanted, bytes->len - at);
            const gint kind = g_test_rand_int_range(0, 4);
            if (kind == 0) {
                g_byte_array_remove_range(bytes, at, length);
            } else if (kind == 1) {
                bytes->data[at] ^= 1 << g_test_rand_int_range(0, 8);
            } else if (kind == 2) {
                memset(bytes->data + at, 'P', length);
            } else {
                g_autofree guint8 *copy = g_memdup2(bytes->data + at, length);
                g_byte_array_append(bytes, copy, length);
            }
        }
        g_autoptr(CtPackets) packets = try_scan(bytes, 256, &toy, NULL);
        if (!packets)
            continue;
        const guint64 *counts = packets->counts;
        g_assert_cmpuint(counts[CT_PACKETS_READ], ==,
                         packets->packets->len + counts[CT_PACKETS_DUPLICATE] +
                             counts[CT_PACKETS_FLAGGED] + counts[CT_PACKETS_MISTIMED]);
        const CtPacket *before = NULL;
        for (guint i = 0; i < packets->packets->len; i++) {
            const CtPacket *packet = &g_array_index(packets->packets, CtPacket, i);
            g_assert_cmpint(packet->offset + PACKET, <=, bytes->len);
            g_assert_cmpuint(toy_size(bytes->data + packet->offset, NULL), ==, PACKET);
            g_assert_cmpint(packet->stamp, >=, packets->first);
            g_assert_cmpint(packet->stamp + SAMPLES, <=, packets->end);
            if (before && before->lane == packet->lane)
                g_assert_cmpint(before->stamp + SAMPLES, <=, packet->stamp);
            before = packet;
        }
    }
}

static void
test_errors(void)
{
    g_autoptr(GByteArray) bytes = make_stream(1);
    bytes->data[0] = 0;
    g_autoptr(GError) error = NULL;
    g_assert_null(try_scan(bytes, 1, &toy, &error));
    g_assert_cmpstr(error->message, ==,
                    "x.pk: wants toy packets, but is given 32 bytes without any");
    g_clear_error(&error);
    g_byte_array_set_size(bytes, 0);
    g_assert_null(try_scan(bytes, 1, &toy, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    g_clear_error(&error);
    g_assert_cmpint(ct_file_open("/nowhere/x.pk", &error), ==, -1);
    g_assert_cmpstr(error->message, ==,
                    "/nowhere/x.pk: can't be opened: No such file or directory");
    g_clear_error(&error);
    g_assert_cmpint(ct_file_open("/", &error), ==, -1);
    g_assert_cmpstr(error->message, ==, "/: can't be opened: not a file");
    g_clear_error(&error);
    g_assert_cmpint(ct_file_open("/proc/self/status", &error), ==, -1);
    g_assert_cmpstr(error->message, ==,
                    "/proc/self/status: wants a file of known length, but is given one that says 0 "
                    "bytes and holds more: make a copy of it");
}

/* Counters modulo 1024 of three lanes, with pauses and single damaged counters: all others have
 * their numbers, from the first credible one on. */
static void
test_unwrap(void)
{
    enum { LANES = 3, N = 2000, PERIOD = 1024 };
    const guint32 seed = g_test_rand_int();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_test_message("seed %u", seed);
    for (guint round = 0; round < 50; round++) {
        g_autoptr(CtPackets) packets = ct_packets_new();
        gint64 truth[N], now = g_rand_int_range(random, 0, PERIOD), base = G_MININT64;
        guint intact[LANES] = {0}; /* since a pause or damage */
        gboolean damaged[N];
        for (guint i = 0; i < N; i++) {
            const guint lane = i < 2 * LANES ? i / 2 : (guint)g_rand_int_range(random, 0, LANES);
            const guint least = MIN(MIN(intact[0], intact[1]), intact[2]);
            const gboolean pauses = least > 3 && g_rand_int_range(random, 0, 10) == 0;
            now +=
                pauses ? g_rand_int_range(random, 0, PERIOD / 4) : g_rand_int_range(random, 0, 3);
            truth[i] = now;
            damaged[i] = intact[lane] > 3 && !pauses && g_rand_int_range(random, 0, 20) == 0;
            if (pauses)
                memset(intact, 0, sizeof intact);
            intact[lane] = damaged[i] ? 0 : intact[lane] + 1;
            const gint64 counter = damaged[i] ? g_rand_int_range(random, 0, PERIOD) : now % PERIOD;
            const CtPacket packet = {.stamp = counter, .lane = lane};
            g_array_append_val(packets->packets, packet);
        }
        ct_packets_unwrap(packets, LANES, PERIOD);
        for (guint i = 0; i < N; i++) {
            const gint64 stamp = g_array_index(packets->packets, CtPacket, i).stamp;
            base = i == 0 ? stamp - truth[i] : base;
            if (!damaged[i])
                g_assert_cmpint(stamp - truth[i], ==, base);
        }
        g_assert_cmpint(base % PERIOD, ==, 0);
    }
}

/* The first counter is damaged. */
static void
test_unwrap_from_damage(void)
{
    static const gint64 counters[] = {150, 250, 255, 4, 9};
    static const gint64 wanted[] = {150, 250, 255, 260, 265};
    g_autoptr(CtPackets) packets = ct_packets_new();
    ct_packets_unwrap(packets, 1, 256);
    for (guint i = 0; i < G_N_ELEMENTS(counters); i++)
        g_array_append_vals(packets->packets, &(CtPacket){.stamp = counters[i]}, 1);
    ct_packets_unwrap(packets, 1, 256);
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        g_assert_cmpint(g_array_index(packets->packets, CtPacket, i).stamp, ==, wanted[i]);
}

/* "PO" and the bytes of the packet: one of the protocol that is of another stream. */
static gsize
other_bytes(const guint8 *header, gsize n, gconstpointer data G_GNUC_UNUSED)
{
    return n >= 3 && header[0] == 'P' && header[1] == 'O' ? header[2] : 0;
}

/* Makes a stream of six packets with others, of so many bytes each, before packet `at`. */
static void
check_others(guint at, const guint8 *bytes, gsize n_others, gsize cut, const char *counts)
{
    CtPacketFormat format = toy;
    format.other = other_bytes;
    g_autoptr(GByteArray) stream = make_stream(6);
    g_autoptr(GByteArray) made = g_byte_array_new();
    g_byte_array_append(made, stream->data, at * PACKET);
    for (gsize i = 0; i < n_others; i++) {
        guint8 other[256] = {'P', 'O', bytes[i]};
        g_byte_array_append(made, other, bytes[i]);
    }
    g_byte_array_append(made, stream->data + at * PACKET, (6 - at) * PACKET);
    g_byte_array_set_size(made, made->len - (guint)cut);
    g_autoptr(CtPackets) packets = scan_as(made, 1, &format);
    g_autofree char *given = counts_string(packets), *validity = validity_string(packets, 0);
    g_assert_cmpstr(given, ==, counts);
    g_assert_cmpstr(validity, ==, "111111");
}

/* Packets of the protocol that are not of the stream are no damage, wherever they stand. */
static void
test_others(void)
{
    for (guint at = 0; at <= 6; at++) {
        check_others(at, (const guint8[]){5}, 1, 0, "7 packets, 1 stray");
        check_others(at, (const guint8[]){PACKET}, 1, 0, "7 packets, 1 stray");
        check_others(at, (const guint8[]){3, 100, 77}, 3, 0, "9 packets, 3 stray");
    }
    check_others(6, (const guint8[]){50}, 1, 1, "6 packets, 1 truncated");
    check_others(6, (const guint8[]){50, 50}, 2, 46, "7 packets, 1 truncated, 1 stray");
}

/* A plugin of newer headers may set what is reserved here: its format is refused, not misread. */
static void
test_newer_format(void)
{
    g_autoptr(GByteArray) bytes = make_stream(4);
    for (guint i = 0; i < G_N_ELEMENTS(toy.reserved); i++) {
        CtPacketFormat newer = toy;
        newer.reserved[i] = 1;
        g_autoptr(GError) error = NULL;
        g_assert_null(try_scan(bytes, 1, &newer, &error));
        g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
        g_assert_cmpstr(error->message, ==,
                        "the plugin for toy packets sets a member of CtPacketFormat that this "
                        "Cornerturn does not know: the plugin wants a newer one");
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packets/in-order", test_in_order);
    g_test_add_func("/packets/removed", test_removed);
    g_test_add_func("/packets/doubled", test_doubled);
    g_test_add_func("/packets/swapped", test_swapped);
    g_test_add_func("/packets/cut-within", test_cut_within);
    g_test_add_func("/packets/cut-at-end", test_cut_at_end);
    g_test_add_func("/packets/cut-before-end", test_cut_before_end);
    g_test_add_func("/packets/cut-before-foreign", test_cut_before_foreign);
    g_test_add_func("/packets/corrupt-header", test_corrupt_header);
    g_test_add_func("/packets/garbage", test_garbage);
    g_test_add_func("/packets/flagged", test_flagged);
    g_test_add_func("/packets/mistimed", test_mistimed);
    g_test_add_func("/packets/misplaced", test_misplaced);
    g_test_add_func("/packets/misplaced-beside-copy", test_misplaced_beside_copy);
    g_test_add_func("/packets/contested", test_contested);
    g_test_add_func("/packets/first-header", test_first_header);
    g_test_add_func("/packets/second-header", test_second_header);
    g_test_add_func("/packets/lanes", test_lanes);
    g_test_add_func("/packets/stray", test_stray);
    g_test_add_func("/packets/random-damage", test_random_damage);
    g_test_add_func("/packets/errors", test_errors);
    g_test_add_func("/packets/unwrap", test_unwrap);
    g_test_add_func("/packets/unwrap-from-damage", test_unwrap_from_damage);
    g_test_add_func("/packets/others", test_others);
    g_test_add_func("/packets/newer-format", test_newer_format);
    return g_test_run();
}
