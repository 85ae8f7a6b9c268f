/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of CEP packets: headers, time stamps, samples in every order. */
#include "lofar-packet.c" /* the plugin exports only its description */

/* A station's header: version 3, board 2, 200 MHz, 8 bit, 61 beamlets. */
static const guint8 example[LOFAR_HEADER_BYTES] = {3,    0x82, 0x01, 0xaa, 0xc2, 0x1a, 61, 16,
                                                   0x18, 0xab, 0xbb, 0x62, 26,   0,    0,  0};

static void
test_header(void)
{
    LofarHeader header;
    g_assert_true(lofar_header_parse(example, &header));
    g_assert_cmpuint(header.board, ==, 2);
    g_assert_false(header.error);
    g_assert_cmpint(header.clock, ==, 200000000);
    g_assert_cmpuint(header.bits, ==, 8);
    g_assert_cmpuint(header.station, ==, 214);
    g_assert_cmpuint(header.n_beamlets, ==, 61);
    g_assert_cmpuint(header.n_slots, ==, 16);
    g_assert_cmpuint(lofar_header_size(example, NULL), ==, 16 + 61 * 16 * 4);
    g_assert_cmpint(lofar_packet_sample(&header), ==, 323528554687500 + 26);

    /* A second at 160 MHz is a whole number of samples; at 200 MHz, odd seconds are rounded. */
    header = (LofarHeader){.second = 1, .clock = 160000000, .sequence = 5};
    g_assert_cmpint(lofar_packet_sample(&header), ==, 156250 + 5);
    header = (LofarHeader){.second = 1, .clock = 200000000};
    g_assert_cmpint(lofar_packet_sample(&header), ==, 195313);
    header = (LofarHeader){.second = 4294967295, .clock = 200000000};
    g_assert_cmpint(lofar_packet_sample(&header), ==, (4294967295 * 200000000 + 512) / 1024);
}

static void
test_header_errors(void)
{
    static const struct {
        guint at;
        guint8 value;
    } wrong[] = {{0, 1}, {0, 4}, {2, 0x03}, {6, 0}, {7, 0}};
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        guint8 bytes[LOFAR_HEADER_BYTES];
        memcpy(bytes, example, sizeof bytes);
        bytes[wrong[i].at] = wrong[i].value;
        g_assert_cmpuint(lofar_header_size(bytes, NULL), ==, 0);
        g_assert_false(lofar_header_alike(example, bytes, NULL));
    }
    guint8 later[LOFAR_HEADER_BYTES];
    memcpy(later, example, sizeof later);
    later[8]++;
    later[12]++;
    later[1] |= 1 << 6; /* error flag */
    g_assert_true(lofar_header_alike(example, later, NULL));
    later[6]++;
    g_assert_false(lofar_header_alike(example, later, NULL));
}

/* The fast code against the plain code, for every order of the three axes, every width, and parts
 * of packets. */
static void
test_unpack(void)
{
    enum { BEAMLETS = 7, SLOTS = 16 };
    static const guint orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                       {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (guint bits = 4; bits <= 16; bits *= 2)
        for (guint o = 0; o < 6; o++)
            for (guint swapped = 0; swapped < 2; swapped++) {
                const LofarHeader header = {.bits = bits, .n_beamlets = BEAMLETS, .n_slots = SLOTS};
                const guint bytes = lofar_packet_bytes(&header) - LOFAR_HEADER_BYTES;
                g_autofree guint8 *payload = g_malloc(bytes);
                for (guint i = 0; i < bytes; i++)
                    payload[i] = g_test_rand_int();
                const guint begin = g_test_rand_int_range(0, SLOTS);
                const guint end = g_test_rand_int_range(begin, SLOTS) + 1;
                const gint64 lengths[3] = {BEAMLETS, end - begin, 2};
                gint64 strides[3], stride = bits / 4;
                for (guint a = 3; a-- > 0; stride *= lengths[orders[o][a]])
                    strides[orders[o][a]] = stride;
                const LofarStrides out = {strides[0], strides[1], strides[2]};
                g_autofree guint8 *plain = g_malloc0(stride), *fast = g_malloc0(stride);
                lofar_payload_unpack_plain(&header, payload, begin, end, swapped, plain, &out);
                lofar_payload_unpack(&header, payload, begin, end, swapped, fast, &out);
                g_assert_cmpmem(fast, stride, plain, stride);
            }
}

static void
test_nibbles(void)
{
    const LofarHeader header = {.bits = 4, .n_beamlets = 1, .n_slots = 1};
    const LofarStrides strides = {2, 2, 1};
    const guint8 payload[2] = {0x8f, 0x71};
    guint8 out[2];
    lofar_payload_unpack(&header, payload, 0, 1, FALSE, out, &strides);
    g_assert_cmpmem(out, 2, "\x8f\x71", 2);
    lofar_payload_unpack(&header, payload, 0, 1, TRUE, out, &strides);
    g_assert_cmpmem(out, 2, "\xf8\x17", 2);
}

static void
test_station_name(void)
{
    static const struct {
        guint station;
        const char *name;
    } names[] = {{1, "CS001"},   {32, "CS032"},  {103, "CS103"}, {106, "RS106"}, {121, "CS201"},
                 {130, "RS210"}, {142, "CS302"}, {150, "RS310"}, {166, "RS406"}, {189, "RS509"},
                 {205, "DE605"}, {208, "UK608"}, {210, "DE609"}, {213, "PL612"}, {214, "IE613"},
                 {215, "LV614"}, {901, "FI901"}, {0, NULL},      {33, NULL},     {209, NULL}};
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
        char name[6] = "";
        g_assert_true(lofar_station_name(names[i].station, name) == (names[i].name != NULL));
        g_assert_cmpstr(name, ==, names[i].name ? names[i].name : "");
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lofar-packet/header", test_header);
    g_test_add_func("/lofar-packet/header-errors", test_header_errors);
    g_test_add_func("/lofar-packet/unpack", test_unpack);
    g_test_add_func("/lofar-packet/nibbles", test_nibbles);
    g_test_add_func("/lofar-packet/station-name", test_station_name);
    return g_test_run();
}
