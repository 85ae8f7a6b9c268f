/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of finding the payload of frames: lengths that agree, and that contradict one another. */
#include "kit/frame.h"

#include <string.h>

enum { PAYLOAD = 20 };

/* Writes headers for a payload; returns their bytes. The lengths are those that the headers tell.
 */
static gsize
write_headers(guint8 *bytes, guint tag, gboolean is_6, guint n_packet, guint n_datagram)
{
    guint8 *to = bytes + 12;
    if (tag != 0) {
        *to++ = (guint8)(tag >> 8);
        *to++ = (guint8)tag;
        to += 2;
    }
    *to++ = is_6 ? 0x86 : 0x08;
    *to++ = is_6 ? 0xdd : 0x00;
    to[is_6 ? 4 : 2] = (guint8)(n_packet >> 8);
    to[is_6 ? 5 : 3] = (guint8)n_packet;
    to += is_6 ? 40 : 20;
    to[4] = (guint8)(n_datagram >> 8);
    to[5] = (guint8)n_datagram;
    return (gsize)(to + 8 - bytes);
}

static void
test_whole(void)
{
    static const guint tags[] = {0, 0x8100, 0x88a8};
    for (guint i = 0; i < 6; i++) {
        const gboolean is_6 = i % 2;
        guint8 bytes[200] = {0};
        const guint n_packet = is_6 ? 8 + PAYLOAD : 28 + PAYLOAD;
        const gsize header = write_headers(bytes, tags[i / 2], is_6, n_packet, 8 + PAYLOAD);
        gsize at, n;
        g_assert_true(ct_frame_find(bytes, header + PAYLOAD, header + PAYLOAD, &at, &n));
        g_assert_cmpuint(at, ==, header);
        g_assert_cmpuint(n, ==, PAYLOAD);
        /* Filled up, or with the payload in another buffer. */
        g_assert_true(ct_frame_find(bytes, sizeof bytes, sizeof bytes, &at, &n));
        g_assert_cmpuint(n, ==, PAYLOAD);
        g_assert_true(ct_frame_find(bytes, header, header + PAYLOAD, &at, &n));
        g_assert_cmpuint(at, ==, header);
        g_assert_cmpuint(n, ==, PAYLOAD);
        for (gsize cut = 0; cut < header; cut++)
            g_assert_false(ct_frame_find(bytes, cut, header + PAYLOAD, &at, &n));
        g_assert_false(ct_frame_find(bytes, header, header + PAYLOAD - 1, &at, &n));
    }
}

static void
test_contradictions(void)
{
    static const struct {
        gboolean is_6;
        guint n_packet, n_datagram;
        gboolean is_good;
    } cases[] = {
        {FALSE, 28 + PAYLOAD, 8, TRUE},
        {FALSE, 28 + PAYLOAD, 7, FALSE},
        {FALSE, 28 + PAYLOAD, 9 + PAYLOAD, FALSE},
        {FALSE, 27 + PAYLOAD, 8 + PAYLOAD, FALSE},
        {FALSE, 29 + PAYLOAD, 8 + PAYLOAD, FALSE},
        {FALSE, 0, 8 + PAYLOAD, FALSE},
        {TRUE, 8 + PAYLOAD, 0, FALSE},
        {TRUE, 8 + PAYLOAD, 9 + PAYLOAD, FALSE},
        {TRUE, 7 + PAYLOAD, 8 + PAYLOAD, FALSE},
        {TRUE, 9 + PAYLOAD, 8 + PAYLOAD, FALSE},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        guint8 bytes[200] = {0};
        const gsize header =
            write_headers(bytes, 0, cases[i].is_6, cases[i].n_packet, cases[i].n_datagram);
        gsize at = 1, n = 2;
        g_assert_cmpint(ct_frame_find(bytes, header + PAYLOAD, header + PAYLOAD, &at, &n), ==,
                        cases[i].is_good);
        if (!cases[i].is_good)
            g_assert_true(at == 1 && n == 2);
    }
}

static void
test_other_types(void)
{
    guint8 bytes[200] = {0};
    gsize at, n;
    write_headers(bytes, 0, FALSE, 28 + PAYLOAD, 8 + PAYLOAD);
    bytes[12] = 0x09;
    g_assert_false(ct_frame_find(bytes, sizeof bytes, sizeof bytes, &at, &n));
    /* A second tag. */
    write_headers(bytes, 0x88a8, FALSE, 28 + PAYLOAD, 8 + PAYLOAD);
    bytes[16] = 0x81;
    g_assert_false(ct_frame_find(bytes, sizeof bytes, sizeof bytes, &at, &n));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/frame/whole", test_whole);
    g_test_add_func("/frame/contradictions", test_contradictions);
    g_test_add_func("/frame/other-types", test_other_types);
    return g_test_run();
}
