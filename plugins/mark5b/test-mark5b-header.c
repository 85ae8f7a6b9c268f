/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of Mark 5B headers. */
#include "mark5b-header.c" /* the plugin exports only its description */

static void
put_words(guint8 *bytes, const guint32 words[4])
{
    for (guint i = 0; i < MARK5B_HEADER_BYTES; i++)
        bytes[i] = words[i / 4] >> 8 * (i % 4);
}

/* Headers of the recording of baseband, with the check that its recorder has written. */
static void
test_header(void)
{
    const guint32 words[4] = {0xabaddeed, 0xbead8003, 0x82119801, 0x00041746};
    guint8 bytes[MARK5B_HEADER_BYTES];
    Mark5bHeader header;
    put_words(bytes, words);
    g_assert_null(mark5b_header_parse(bytes, &header));
    g_assert_cmpuint(header.user, ==, 0xbead);
    g_assert_true(header.is_test);
    g_assert_cmpuint(header.frame, ==, 3);
    g_assert_cmpuint(header.day, ==, 821);
    g_assert_cmpuint(header.second, ==, 19801);
    g_assert_cmpuint(header.fraction, ==, 4);
    g_assert_cmpuint(mark5b_check(0x821198010000), ==, 0x975d);
}

static void
test_errors(void)
{
    static const struct {
        guint word;
        guint32 value;
        const char *reason;
    } wrong[] = {
        {0, 0xabaddeec, "no sync word 0xABADDEED"},
        {2, 0x8a119801, "a time code that is not decimal"},
        {2, 0x8211980f, "a time code that is not decimal"},
        {3, 0x000a1746, "a time code that is not decimal"},
        {2, 0x82186401, "a time code of more than a day"},
        {2, 0x82119802, "a time code that its check contradicts"},
        {3, 0x00041747, "a time code that its check contradicts"},
        {3, 0x00040000, NULL},
        {1, 0, NULL},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
        guint32 words[4] = {0xabaddeed, 0xbead0003, 0x82119801, 0x00041746};
        guint8 bytes[MARK5B_HEADER_BYTES];
        Mark5bHeader header;
        words[wrong[i].word] = wrong[i].value;
        put_words(bytes, words);
        g_assert_cmpstr(mark5b_header_parse(bytes, &header), ==, wrong[i].reason);
    }
}

/* Every flipped bit of a time code is found. */
static void
test_check(void)
{
    const guint64 code = 0x821198010004;
    for (guint bit = 0; bit < CODE_BITS; bit++)
        g_assert_cmpuint(mark5b_check(code ^ (guint64)1 << bit), !=, 0x1746);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/mark5b-header/header", test_header);
    g_test_add_func("/mark5b-header/errors", test_errors);
    g_test_add_func("/mark5b-header/check", test_check);
    return g_test_run();
}
