/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of SPEAD packets: items, and what is no packet of samples. */
#include "spead-packet.c" /* the plugin exports only its description */

static const SpeadItems meerkat = {0x1600, 0x4101, 0x4103, 0x4300};

/* Of a MeerKAT F-engine: 8 item pointers and 3 of padding. */
static const guint8 example[SPEAD_HEADER_BYTES] = {
    0x53, 4, 2, 6, 0, 0, 0,    11, 0x80, 1, 0, 0, 0, 0, 0,    9, /* heap count */
    0x80, 2, 0, 0, 0, 0, 0x80, 0,  0x80, 3, 0, 0, 0, 0, 0x20, 0, /* length, offset */
    0x80, 4, 0, 0, 0, 0, 0x20, 0,  0x96, 0, 1, 2, 3, 4, 5,    6, /* payload, timestamp */
    0xc1, 1, 0, 0, 0, 0, 0,    63, 0xc1, 3, 0, 0, 0, 0, 1,    0, /* station, channel */
    0x43, 0, 0, 0, 0, 0, 0,    0,  0x80, 0, 0, 0, 0, 0, 0,    0, /* samples, padding */
    0x80, 0, 0, 0, 0, 0, 0,    0,  0x80, 0, 0, 0, 0, 0, 0,    0, 0,
};

static void
test_header(void)
{
    SpeadHeader header;
    g_assert_null(spead_header_parse(example, &meerkat, &header));
    g_assert_cmpuint(header.header_bytes, ==, 96);
    g_assert_cmpuint(header.heap_count, ==, 9);
    g_assert_cmpuint(header.heap_length, ==, 32768);
    g_assert_cmpuint(header.heap_offset, ==, 8192);
    g_assert_cmpuint(header.payload_length, ==, 8192);
    g_assert_cmphex(header.timestamp, ==, 0x010203040506);
    g_assert_cmpuint(header.station, ==, 63);
    g_assert_cmpuint(header.channel, ==, 256);
    g_assert_cmpuint(header.address, ==, 0);
    g_assert_cmpuint(spead_packet_bytes(example, sizeof example), ==, 96 + 8192);
    /* The length of the payload is the fourth item pointer. */
    g_assert_cmpuint(spead_packet_bytes(example, 40), ==, 96 + 8192);
    g_assert_cmpuint(spead_packet_bytes(example, 39), ==, 0);
    g_assert_cmpuint(spead_packet_bytes(example, 7), ==, 0);

    const SpeadItems few = {0x1600, -1, -1, 0x4300};
    g_assert_null(spead_header_parse(example, &few, &header));
    g_assert_cmpuint(header.station, ==, 0);
}

static void
test_write(void)
{
    SpeadHeader header;
    guint8 bytes[SPEAD_HEADER_BYTES];
    g_assert_null(spead_header_parse(example, &meerkat, &header));
    g_assert_cmpuint(spead_header_bytes(&meerkat, 8192), ==, 96);
    spead_header_write(&header, &meerkat, bytes);
    g_assert_cmpmem(bytes, 96, example, 96);

    /* No packet has fewer bytes than are read of a header. */
    const SpeadItems few = {0x1600, -1, -1, 0x3300};
    g_assert_cmpuint(spead_header_bytes(&meerkat, 31), ==, 128);
    g_assert_cmpuint(spead_header_bytes(&meerkat, 32), ==, 96);
    g_assert_cmpuint(spead_header_bytes(&few, 64), ==, 64);
    g_assert_cmpuint(spead_header_bytes(&few, 63), ==, 128);
    const SpeadHeader most = {.header_bytes = 128,
                              .heap_count = ((guint64)1 << 48) - 1,
                              .heap_length = 5,
                              .heap_offset = 4,
                              .payload_length = 1,
                              .timestamp = 0xfedcba987654};
    spead_header_write(&most, &few, bytes);
    g_assert_null(spead_header_parse(bytes, &few, &header));
    g_assert_cmpmem(&header, sizeof header, &most, sizeof most);
}

static void
test_errors(void)
{
    static const struct {
        guint at;
        guint8 value;
        const char *reason;
    } wrong[] = {
        {0, 0x54, "another protocol than SPEAD-64-48"},
        {1, 3, "another protocol than SPEAD-64-48"},
        {2, 3, "another protocol than SPEAD-64-48"},
        {7, 3, "no payload, or packets of more than 65536 bytes"},
        {37, 1, "no payload, or packets of more than 65536 bytes"},
        {38, 0, "no payload, or packets of more than 65536 bytes"},
        {17, 9, "no heap length"},
        {25, 9, "no offset in the heap"},
        {40, 0x16, "no timestamp in each packet"},
        {49, 9, "no number of the station in each packet"},
        {57, 9, "no number of the channel in each packet"},
        {64, 0xc3, "no samples"},
        {30, 0x61, "pieces that are not in their heap"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        guint8 bytes[SPEAD_HEADER_BYTES];
        SpeadHeader header;
        memcpy(bytes, example, sizeof bytes);
        bytes[wrong[i].at] = wrong[i].value;
        g_assert_cmpstr(spead_header_parse(bytes, &meerkat, &header), ==, wrong[i].reason);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/spead-packet/header", test_header);
    g_test_add_func("/spead-packet/write", test_write);
    g_test_add_func("/spead-packet/errors", test_errors);
    return g_test_run();
}
