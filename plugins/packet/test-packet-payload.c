/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of packets: fields of headers, and samples in every order. */
#include "packet-fields.c" /* the plugin exports only its description */
#include "packet-payload.c"

/* ---- fields ---- */

static void
test_fields(void)
{
    static const guint8 header[8] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0};
    static const struct {
        const char *text;
        guint64 value;
        gsize end;
    } fields[] = {
        {"u8 at 0", 0x12, 1},
        {"u16 at 1", 0x3456, 3},
        {"u16 big at 1", 0x3456, 3},
        {"u16 little at 1", 0x5634, 3},
        {"u12 at 0 bit 4", 0x234, 2},
        {"u12 at 0 bit 0", 0x123, 2},
        {"u12 little at 0", 0x412, 2},
        {"u12 little at 0 bit 4", 0x341, 2},
        {"u1 at 1 bit 2", 1, 2},
        {"u1 little at 1 bit 2", 1, 2},
        {"u1 little at 1 bit 0", 0, 2},
        {"u64 at 0", 0x123456789abcdef0, 8},
        {"u64 little  at 0x0", 0xf0debc9a78563412, 8},
        {"u57 at 0 bit 7", 0x3456789abcdef0, 8},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
        PacketField field;
        g_assert_true(packet_field_parse(fields[i].text, &field));
        g_assert_cmphex(packet_field_get(&field, header), ==, fields[i].value);
        g_assert_cmpuint(packet_field_end(&field), ==, fields[i].end);
    }
    g_assert_cmphex(packet_field_get(&(PacketField){0}, header), ==, 0);
    g_assert_cmpuint(packet_field_end(&(PacketField){0}), ==, 0);
}

static void
test_constants(void)
{
    PacketConstant constant;
    g_assert_true(packet_constant_parse("u64 at 4 = 0xffffffffffffffff", &constant));
    g_assert_cmphex(constant.value, ==, G_MAXUINT64);
    g_assert_true(packet_constant_parse("u3 little at 1 bit 7 = 7", &constant));
    g_assert_cmpuint(constant.field.first, ==, 15);
    static const char *const wrong[] = {"u3 at 1 = 8", "u3 at 1", "u3 at 1 = ", "u3 at 1 7",
                                        "u3 at 1 = 7 7"};
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_false(packet_constant_parse(wrong[i], &constant));
}

static void
test_wrong_fields(void)
{
    static const char *const wrong[] = {"",
                                        "u",
                                        "8 at 0",
                                        "i8 at 0",
                                        "u8",
                                        "u8 at",
                                        "u8 at -1",
                                        "u8 at 257",
                                        "u8 0",
                                        "u65 at 0",
                                        "u0 at 0",
                                        "u8 at 0 bit 8",
                                        "u8 at 0 bit",
                                        "u8 at 0 0",
                                        "u8 huge at 0",
                                        "u8 big little at 0"};
    PacketField field;
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
        g_assert_false(packet_field_parse(wrong[i], &field));
}

/* ---- samples ---- */

/* Strides of a random order of the axes, with some room between indices. Returns the bytes. */
static gint64
make_strides(const PacketPayload *payload, gint64 n_samples, gint64 *stride)
{
    guint order[CT_MAX_AXES];
    const gint64 pad = g_test_rand_bit() ? (gint64)ct_type_info(payload->type)->bytes : 0;
    gint64 bytes = (gint64)ct_type_info(payload->type)->bytes;
    for (guint a = 0; a < payload->n_axes; a++) {
        const guint other = (guint)g_test_rand_int_range(0, (gint32)a + 1);
        order[a] = order[other];
        order[other] = a;
    }
    for (guint i = 0; i < payload->n_axes; i++) {
        const guint a = order[i];
        stride[a] = bytes;
        bytes *= (gint)a == payload->time ? n_samples : payload->length[a];
        bytes += pad;
    }
    return bytes;
}

/* The fast code against the plain code, for all types, up to five axes, and parts of packets; what
 * is put back is the same. */
static void
test_unpack(void)
{
    static const char *const names[] = {"time", "a", "b", "c", "d"};
    for (guint k = 0; k < 3000; k++) {
        PacketPayload payload = {.type = CT_TYPE_NONE + 1 + k % (CT_N_TYPES - 1), .time = -1};
        payload.is_little = (guint)g_test_rand_bit();
        payload.is_low_first = payload.type == CT_CI4 && g_test_rand_bit();
        payload.n_axes = (guint)g_test_rand_int_range(0, 6);
        const guint turn = (guint)g_test_rand_int_range(0, 5);
        for (guint a = 0; a < payload.n_axes; a++) {
            payload.names[a] = names[(a + turn) % 5];
            payload.length[a] = g_test_rand_int_range(1, 7);
        }
        payload.time = packet_payload_axis(&payload, "time");
        const gint64 n_times = payload.time < 0 ? 1 : payload.length[payload.time];
        const gsize bytes = (gsize)packet_payload_pack(&payload);
        g_autofree guint8 *from = g_malloc(bytes);
        for (gsize i = 0; i < bytes; i++)
            from[i] = (guint8)g_test_rand_int();
        const gint64 begin = g_test_rand_int_range(0, (gint32)n_times);
        const gint64 end = g_test_rand_int_range((gint32)begin, (gint32)n_times) + 1;
        gint64 stride[CT_MAX_AXES];
        const gsize room = (gsize)make_strides(&payload, end - begin, stride);
        g_autofree guint8 *fast = g_malloc0(room), *plain = g_malloc0(room);
        packet_payload_unpack(&payload, from, begin, end, fast, stride);
        packet_payload_unpack_plain(&payload, from, begin, end, plain, stride);
        g_assert_cmpmem(fast, room, plain, room);
        g_autofree guint8 *back = g_malloc0(bytes), *again = g_malloc0(room);
        packet_payload_put(&payload, fast, stride, end - begin, begin, back);
        packet_payload_unpack_plain(&payload, back, begin, end, again, stride);
        g_assert_cmpmem(again, room, plain, room);
    }
}

/* The plain code itself: [time 2][a 3] of big-endian ci16. */
static void
test_plain(void)
{
    const PacketPayload payload = {.type = CT_I16,
                                   .n_axes = 2,
                                   .names = {"time", "a"},
                                   .length = {2, 3},
                                   .stride = {6, 2},
                                   .time = 0};
    const guint8 from[12] = {0, 1, 0, 2, 0, 3, 1, 0, 2, 0, 0xff, 0xfe};
    gint16 out[6];
    packet_payload_unpack_plain(&payload, from, 0, 2, (guint8 *)out, (const gint64[]){2, 4});
    const gint16 wanted[6] = {1, 256, 2, 512, 3, -2};
    g_assert_cmpmem(out, sizeof out, wanted, sizeof wanted);
    packet_payload_unpack_plain(&payload, from, 1, 2, (guint8 *)out, (const gint64[]){0, 2});
    g_assert_cmpmem(out, 6, ((const gint16[]){256, 512, -2}), 6);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet-payload/fields", test_fields);
    g_test_add_func("/packet-payload/constants", test_constants);
    g_test_add_func("/packet-payload/wrong-fields", test_wrong_fields);
    g_test_add_func("/packet-payload/unpack", test_unpack);
    g_test_add_func("/packet-payload/plain", test_plain);
    return g_test_run();
}
