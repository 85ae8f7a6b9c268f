/* SPDX-License-Identifier: BSD-3-Clause */
/* As test-source-sample, of Mark 5B: there is one lane, and fractions of the second contradict
 * wrong rates. */
#include "mark5b-source.c" /* the plugin exports only its description */
#include "sample-test.h"

enum { SECOND = 50 }; /* frames */

static const Format format = {&source, &mark5b_source};

static guint32
digits(guint number)
{
    guint32 word = 0;
    for (guint shift = 0; number > 0; shift += 4, number /= 10)
        word |= number % 10 << shift;
    return word;
}

/* Appends a frame: of every 10 · rate, about one is lost, marked, damaged, or comes twice. The
 * seconds begin before midnight. */
static void
add_frame(GByteArray *bytes, GRand *random, gint rate, guint index)
{
    const gint fault = rate ? g_rand_int_range(random, 0, 10 * rate) : -1;
    const guint second = 86390 + index / SECOND, number = index % SECOND;
    guint32 words[MARK5B_FRAME_BYTES / 4] = {
        0xabaddeed, number, digits(821 + second / 86400) << 20 | digits(second % 86400),
        digits(number * (10000 / SECOND)) << 16};
    for (guint i = 4; i < G_N_ELEMENTS(words); i++)
        words[i] = fault == 1 ? 0x11223344 : index * 7919 + i;
    if (fault == 0)
        return;
    if (fault == 2)
        words[0] ^= 1;
    if (fault == 3)
        words[1] ^= 4;
    if (fault == 4)
        g_byte_array_append(bytes, (guint8 *)words, sizeof words);
    g_byte_array_append(bytes, (guint8 *)words,
                        fault == 5 ? (guint)g_rand_int_range(random, 1, MARK5B_FRAME_BYTES)
                                   : sizeof words);
}

static void
test_same(void)
{
    static const gint rates[] = {0, 300, 60, 20};
    static const char *const given[] = {"n_channels: 8, year: 2014",
                                        "n_channels: 8, year: 2014, sample_rate: 250 kHz"};
    guint n_ahead = 0;
    for (guint32 seed = 0; seed < 8; seed++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        Files files;
        for (guint i = 0; i < 3000; i++)
            add_frame(bytes, random, rates[seed % G_N_ELEMENTS(rates)], 30 * seed + i);
        files_init(&files);
        const guint half = bytes->len / 2 / MARK5B_FRAME_BYTES * MARK5B_FRAME_BYTES;
        files_add(&files, bytes->data, half);
        files_add(&files, bytes->data + half, bytes->len - half);
        n_ahead += compare(&format, &files, given[seed / 4], random, 0, 0);
        compare(&format, &files, given[seed / 4], random, 4000000, 3000000);
        files_clear(&files);
    }
    g_test_message("%u of 8 recordings were read part by part", n_ahead);
    g_assert_cmpuint(n_ahead, >, 4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/source-sample-mark5b/same", test_same);
    return g_test_run();
}
