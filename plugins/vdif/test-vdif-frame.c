/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of VDIF frames: headers of each version, leap seconds, levels, the order of samples. */
#include "vdif-frame.c" /* the plugin exports only its description */

static const guint no_bits = 0;

static void
put_word(guint8 *bytes, guint word, guint32 value)
{
    for (guint i = 0; i < 4; i++)
        bytes[4 * word + i] = value >> 8 * i;
}

/* Second 14363767 of 2014, frame 7, thread 5, station "St", 1032 bytes, 2 real bits, EDV 3 of
 * 32 MHz. */
static void
make_header(guint8 bytes[VDIF_HEADER_BYTES])
{
    memset(bytes, 0, VDIF_HEADER_BYTES);
    put_word(bytes, 0, 14363767);
    put_word(bytes, 1, 28 << 24 | 7);
    put_word(bytes, 2, 1 << 29 | 1032 / 8);
    put_word(bytes, 3, 1 << 26 | 5 << 16 | 'S' << 8 | 't');
    put_word(bytes, 4, 3 << 24 | 1 << 23 | 16);
    put_word(bytes, 5, 0xacabfeed);
}

static void
test_header(void)
{
    guint8 bytes[VDIF_HEADER_BYTES];
    VdifHeader header;
    make_header(bytes);
    g_assert_null(vdif_header_parse(bytes, 0, &header));
    g_assert_false(header.invalid);
    g_assert_cmpint(header.edv, ==, 3);
    g_assert_cmpuint(header.version, ==, 1);
    g_assert_cmpuint(header.seconds, ==, 14363767);
    g_assert_cmpuint(header.ref_epoch, ==, 28);
    g_assert_cmpuint(header.frame, ==, 7);
    g_assert_cmpuint(header.n_channels, ==, 1);
    g_assert_cmpuint(header.frame_bytes, ==, 1032);
    g_assert_cmpuint(header.header_bytes, ==, 32);
    g_assert_false(header.is_complex);
    g_assert_cmpuint(header.bits, ==, 2);
    g_assert_cmpuint(header.thread, ==, 5);
    g_assert_cmpuint(header.station, ==, 'S' << 8 | 't');
    g_assert_cmpint(header.rate, ==, 32000000);
    g_assert_cmpint(header.n_samples, ==, 4000);

    /* Complex samples have half the rate and two parts each. */
    put_word(bytes, 3, 1u << 31 | 1 << 26);
    g_assert_null(vdif_header_parse(bytes, 0, &header));
    g_assert_cmpint(header.rate, ==, 16000000);
    g_assert_cmpint(header.n_samples, ==, 2000);

    /* Legacy headers have half the words; the payload follows at once. */
    put_word(bytes, 0, 1u << 31 | 1 << 30 | 5);
    g_assert_null(vdif_header_parse(bytes, 0, &header));
    g_assert_true(header.invalid);
    g_assert_cmpint(header.edv, ==, VDIF_LEGACY);
    g_assert_cmpuint(header.header_bytes, ==, 16);
    g_assert_cmpint(header.rate, ==, 0);
    g_assert_cmpint(header.n_samples, ==, 2032);
}

static void
test_header_errors(void)
{
    static const struct {
        guint word;
        guint32 value;
        const char *reason;
    } wrong[] = {
        {2, 0, "frames without payload"},
        {2, 4, "frames without payload"},
        {2, 5, "frames of EDV 3 that are not 1032 or 5032 bytes long"},
        {2, 31 << 24 | 1032 / 8, "frames of less than one sample"},
        {3, 16 << 26, "samples of more than 16 bits"},
        {4, 2 << 24, "no sync word in a header of EDV 2"},
        {4, 0xabu << 24, "frames of Mark 5B that are not 10032 bytes long"},
        {5, 0xacabfeec, "no sync word in a header of EDV 3"},
    };
    guint8 bytes[VDIF_HEADER_BYTES], good[VDIF_HEADER_BYTES];
    VdifHeader header;
    make_header(good);
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        memcpy(bytes, good, sizeof bytes);
        put_word(bytes, wrong[i].word, wrong[i].value);
        g_assert_cmpstr(vdif_header_parse(bytes, 0, &header), ==, wrong[i].reason);
        g_assert_cmpuint(vdif_header_size(bytes, &no_bits), ==, 0);
        g_assert_false(vdif_header_alike(good, bytes, &no_bits));
    }
    /* Eight channels of five bits are the mark of a writer that forgot to subtract 1. */
    memcpy(bytes, good, sizeof bytes);
    put_word(bytes, 2, 3 << 24 | 1032 / 8);
    put_word(bytes, 3, 1u << 31 | 4 << 26);
    g_assert_cmpstr(
        vdif_header_parse(bytes, 0, &header), ==,
        "several channels of bits that are no power of two ('bits' gives the right number)");
    g_assert_null(vdif_header_parse(bytes, 4, &header));
    g_assert_cmpint(header.n_samples, ==, 125);

    memcpy(bytes, good, sizeof bytes);
    put_word(bytes, 0, 1u << 31 | 77);
    put_word(bytes, 1, 3);
    put_word(bytes, 3, 1 << 26 | 77 << 16);
    g_assert_true(vdif_header_alike(good, bytes, &no_bits));
    put_word(bytes, 3, 3 << 26);
    g_assert_false(vdif_header_alike(good, bytes, &no_bits));
}

static void
test_time(void)
{
    g_assert_cmpint(vdif_unix_time(28, 14363767), ==, 1402898167); /* 2014-06-16T05:56:07 */
    g_assert_cmpint(vdif_unix_time(0, 0), ==, 946684800);
    g_assert_cmpint(vdif_unix_time(31, 0), ==, 1435708800); /* begins after a leap second */
    g_assert_cmpint(vdif_unix_time(0, 525930401), ==, 946684800 + 525930401 - 4);
    /* The last second of 2016 had a leap second after it. */
    g_assert_cmpint(vdif_unix_time(33, 184 * 86400 - 1), ==, 1483228799);
    g_assert_cmpint(vdif_unix_time(33, 184 * 86400 + 1), ==, 1483228800);
}

static void
check_levels(guint bits, gint edv, const gfloat *levels, guint n)
{
    const VdifHeader header = {.bits = bits, .n_channels = 1, .edv = edv};
    VdifDecoder decoder;
    vdif_decoder_init(&decoder, &header);
    for (guint i = 0; i < n; i++)
        g_assert_cmpfloat(decoder.levels[i], ==, levels[i]);
    vdif_decoder_clear(&decoder);
}

static void
test_levels(void)
{
    check_levels(1, 0, (const gfloat[]){-1, 1}, 2);
    check_levels(1, VDIF_MARK5B, (const gfloat[]){1, -1}, 2);
    check_levels(2, 3, (const gfloat[]){-3.316505f, -1, 1, 3.316505f}, 4);
    check_levels(2, VDIF_MARK5B, (const gfloat[]){-3.316505f, 1, -1, 3.316505f}, 4);
    check_levels(4, 0, (const gfloat[]){-8 / 2.95f, -7 / 2.95f}, 2);
    check_levels(8, 0, (const gfloat[]){-127.5f / 35.5f, -126.5f / 35.5f}, 2);
    /* All other numbers of bits are symmetric, with equal steps. */
    for (guint bits = 3; bits <= VDIF_MAX_BITS; bits++) {
        const VdifHeader header = {.bits = bits, .n_channels = 1};
        VdifDecoder decoder;
        vdif_decoder_init(&decoder, &header);
        const guint n = 1 << bits;
        for (guint i = 0; i < n && bits != 4; i++)
            g_assert_cmpfloat(decoder.levels[i], ==, -decoder.levels[n - 1 - i]);
        g_assert_cmpfloat(decoder.levels[n - 1], >, 1);
        g_assert_cmpfloat(decoder.levels[n - 1], <, 4);
        vdif_decoder_clear(&decoder);
    }
}

/* The order of the samples in a word: low bits first, channels within time, parts within
 * channels. */
static void
test_order(void)
{
    const guint8 payload[8] = {0xe4, 0x1b, 0, 0, 0, 0, 0, 0};
    const VdifHeader header = {.bits = 2, .n_channels = 2, .is_complex = TRUE};
    VdifDecoder decoder;
    vdif_decoder_init(&decoder, &header);
    gfloat out[8];
    vdif_payload_decode(&decoder, payload, 0, 2, (guint8 *)out, 16, 8);
    const gfloat high = 3.316505f;
    const gfloat wanted[8] = {-high, -1, 1, high, high, 1, -1, -high};
    g_assert_cmpmem(out, sizeof out, wanted, sizeof wanted);
    vdif_decoder_clear(&decoder);

    /* A word has six samples of five bits, with two unused bits above; if complex, three pairs. */
    const guint8 fives[8] = {0x41, 0x0c, 0x52, 0xcc, 0x1f, 0, 0, 0};
    const VdifHeader real = {.bits = 5, .n_channels = 1};
    vdif_decoder_init(&decoder, &real);
    vdif_payload_decode(&decoder, fives, 0, 7, (guint8 *)out, 4, 0);
    static const guint codes[7] = {1, 2, 3, 4, 5, 6, 31};
    const guint32 word = little_32(fives);
    for (guint i = 0; i < 6; i++)
        g_assert_cmpfloat(out[i], ==, decoder.levels[field(word, 5 * i, 5)]);
    for (guint i = 0; i < 3; i++)
        g_assert_cmpuint(field(word, 5 * i, 5), ==, codes[i]);
    g_assert_cmpfloat(out[6], ==, decoder.levels[31]);
    vdif_decoder_clear(&decoder);
}

/* The fast code against the plain code, for every number of bits, channels and parts, and both
 * orders of time and channel. */
static void
test_decode(void)
{
    for (guint bits = 1; bits <= VDIF_MAX_BITS; bits++)
        for (guint shape = 0; shape < 12; shape++) {
            const guint n_channels = 1 << shape / 4;
            const gboolean time_first = shape & 1;
            VdifHeader header = {.bits = bits,
                                 .n_channels = n_channels,
                                 .is_complex = shape >> 1 & 1,
                                 .header_bytes = 32,
                                 .frame_bytes = 32 + 8 * 23};
            if (n_channels > 1 && bits & (bits - 1))
                continue;
            const gint64 n = count_samples(&header), value_bytes = header.is_complex ? 8 : 4;
            const gint64 time_stride = time_first ? value_bytes * n_channels : value_bytes;
            const gint64 channel_stride = time_first ? value_bytes : value_bytes * n;
            guint8 payload[8 * 23];
            for (guint i = 0; i < sizeof payload; i++)
                payload[i] = g_test_rand_int();
            VdifDecoder decoder;
            vdif_decoder_init(&decoder, &header);
            const gsize bytes = n * n_channels * value_bytes;
            g_autofree guint8 *plain = g_malloc0(bytes), *fast = g_malloc0(bytes);
            const gint64 begin = g_test_rand_int_range(0, n);
            const gint64 end = g_test_rand_int_range(begin, n) + 1;
            vdif_payload_decode_plain(&decoder, payload, begin, end, plain, time_stride,
                                      channel_stride);
            vdif_payload_decode(&decoder, payload, begin, end, fast, time_stride, channel_stride);
            g_assert_cmpmem(fast, bytes, plain, bytes);
            vdif_decoder_clear(&decoder);
        }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vdif-frame/header", test_header);
    g_test_add_func("/vdif-frame/header-errors", test_header_errors);
    g_test_add_func("/vdif-frame/time", test_time);
    g_test_add_func("/vdif-frame/levels", test_levels);
    g_test_add_func("/vdif-frame/order", test_order);
    g_test_add_func("/vdif-frame/decode", test_decode);
    return g_test_run();
}
