/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of recordings that are read part by part: they give what the index of all packets gives,
 * and opening them reads as much whatever their length. */
#include "packets-test.h"

#include <stdio.h>
#include <unistd.h>

/* ---- against the whole index ---- */

/* The packets of a lane whose samples begin in begin … end − 1. */
static GArray *
packets_in(const CtPackets *packets, guint lane, gint64 begin, gint64 end)
{
    GArray *found = g_array_new(FALSE, FALSE, sizeof(CtPacket));
    for (guint i = packets->lane_begin[lane]; i < packets->lane_begin[lane + 1]; i++) {
        const CtPacket *packet = &g_array_index(packets->packets, CtPacket, i);
        if (packet->stamp >= begin && packet->stamp < end)
            g_array_append_vals(found, packet, 1);
    }
    return found;
}

static void
compare_range(const CtPackets *all, const CtPackets *some, gint64 begin, gint64 end)
{
    guint8 wanted[512], given[512];
    for (guint lane = 0; lane < LANES; lane++) {
        g_autoptr(GArray) a = packets_in(all, lane, begin, end);
        g_autoptr(GArray) b = packets_in(some, lane, begin, end);
        g_assert_cmpuint(a->len, ==, b->len);
        for (guint i = 0; i < a->len; i++) {
            const CtPacket *x = &g_array_index(a, CtPacket, i), *y = &g_array_index(b, CtPacket, i);
            g_assert_cmpint(x->stamp, ==, y->stamp);
            g_assert_cmpint(x->offset, ==, y->offset);
        }
        g_assert_cmpint(ct_packets_validity(all, lane, begin, end - begin, wanted), ==,
                        ct_packets_validity(some, lane, begin, end - begin, given));
        g_assert_cmpmem(wanted, (gsize)(end - begin), given, (gsize)(end - begin));
    }
}

static const CtAheadSizes sizes = {.part = 64, .context = 32, .least = 100};

/* Returns whether the recording was read part by part. */
static gboolean
compare(Files *files, GRand *random, gint64 skip, gint64 left)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRecording) whole = ct_source_open_ahead(&toy, files->params, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(CtRecording) parts = ct_source_open_ahead(&toy, files->params, &sizes, &error);
    g_assert_no_error(error);
    const CtPackets *all = whole->packets, *some = parts->packets;
    CtAhead *ahead = ct_source_ahead(parts);
    g_assert_cmpint(all->first, ==, some->first);
    g_assert_cmpint(all->end, ==, some->end);
    if (!ahead) {
        g_assert_cmpmem(all->counts, sizeof all->counts, some->counts, sizeof some->counts);
        return FALSE;
    }
    const gint64 last = all->end - left;
    gint64 begin = all->first + skip, end;
    if (!ct_ahead_cut(ahead, begin, last, &error))
        g_assert_no_error(error);
    for (; begin < last; begin = end) {
        end = MIN(begin + g_rand_int_range(random, 0, 513), last);
        g_assert_true(ct_ahead_load(ahead, begin, end, &error));
        g_assert_no_error(error);
        compare_range(all, some, begin, end);
        g_assert_cmpuint(some->packets->len, <=, 4 * LANES * (sizes.part + 2 * sizes.context));
    }
    for (guint i = 0; i < CT_PACKETS_N_COUNTS && skip + left == 0; i++)
        /* Arranging all packets counts those, too, that come after a packet which is then found to
         * be wrong, at an end of the recording. */
        if (i == CT_PACKETS_REORDERED ? all->counts[i] < some->counts[i]
                                      : all->counts[i] != some->counts[i])
            g_error("%s: wants %" G_GUINT64_FORMAT ", but is %" G_GUINT64_FORMAT,
                    CT_PACKET_COUNTERS[i], all->counts[i], some->counts[i]);
    return TRUE;
}

static void
test_same(void)
{
    static const gint rates[] = {0, 300, 60, 20};
    const guint n_seeds = g_test_thorough() ? 5000 : 200;
    guint n_ahead = 0;
    for (guint32 seed = 0; seed < n_seeds; seed++) {
        Files files;
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        const gint rate = rates[seed % G_N_ELEMENTS(rates)];
        g_test_message("seed %u", seed);
        files_init(&files);
        for (guint i = 0; i < LANES; i++) {
            const guint n = 400 + (guint)g_rand_int_range(random, 0, 600);
            const gint64 first = g_rand_int_range(random, 0, 300);
            write_file(files.paths[i], random, n, 1000000 + SAMPLES * first, rate);
        }
        const gint64 skip = g_rand_int_range(random, 0, 3000);
        n_ahead += compare(&files, random, 0, 0);
        compare(&files, random, skip, g_rand_int_range(random, 0, 3000));
        files_clear(&files);
    }
    g_test_message("%u of %u recordings were read part by part", n_ahead, n_seeds);
    g_assert_cmpuint(n_ahead, >, n_seeds / 2);
}

/* ---- what is different ---- */

static void
write_stamps(const char *path, const gint64 *stamps, guint n)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    for (guint i = 0; i < n; i++) {
        guint8 packet[PACKET];
        make_packet(packet, stamps[i] * SAMPLES);
        g_byte_array_append(bytes, packet, PACKET);
    }
    g_assert_true(g_file_set_contents(path, (const char *)bytes->data, bytes->len, NULL));
}

/* The counts of a recording of three such files, read part by part. */
static void
count_all(Files *files, const gint64 *stamps, guint n, gboolean is_ahead, guint64 *counts)
{
    g_autoptr(GError) error = NULL;
    for (guint i = 0; i < LANES; i++)
        write_stamps(files->paths[i], stamps, n);
    g_autoptr(CtRecording) recording = ct_source_open_ahead(&toy, files->params, &sizes, &error);
    g_assert_no_error(error);
    CtAhead *ahead = ct_source_ahead(recording);
    g_assert_cmpint(ahead != NULL, ==, is_ahead);
    const CtPackets *packets = recording->packets;
    for (gint64 at = packets->first; ahead && at < packets->end; at += 100)
        g_assert_true(ct_ahead_load(ahead, at, MIN(at + 100, packets->end), &error));
    g_assert_no_error(error);
    memcpy(counts, packets->counts, sizeof packets->counts);
}

/* Packets that come long after the samples around them were given are mistimed, and missing: a
 * single one, which is far from all that are near it in the file, and some together. */
static void
test_late(void)
{
    Files files;
    guint64 counts[CT_PACKETS_N_COUNTS];
    gint64 stamps[1000];
    files_init(&files);
    for (gint64 n = 1; n <= 3; n++) {
        for (gint64 i = 0; i < (gint64)G_N_ELEMENTS(stamps); i++)
            stamps[i] = i < 200 || i >= 800 + n ? i : i < 800 ? i + n : i - 600;
        count_all(&files, stamps, G_N_ELEMENTS(stamps), TRUE, counts);
        g_assert_cmpuint(counts[CT_PACKETS_READ], ==, LANES * G_N_ELEMENTS(stamps));
        g_assert_cmpuint(counts[CT_PACKETS_MISTIMED], ==, LANES * n);
        g_assert_cmpuint(counts[CT_PACKETS_MISSING], ==, LANES * n);
    }
    files_clear(&files);
}

/* Many packets one after another whose clock is far from that of the recording are mistimed, as in
 * an index of all packets: those after them are used. */
static void
test_clock_jumps(void)
{
    Files files;
    guint64 counts[CT_PACKETS_N_COUNTS];
    gint64 stamps[1000];
    const gint64 far[] = {1000000, -1000000};
    files_init(&files);
    for (guint k = 0; k < G_N_ELEMENTS(far); k++) {
        for (guint i = 0; i < G_N_ELEMENTS(stamps); i++)
            stamps[i] = i + 2000000 + (i >= 400 && i < 600 ? far[k] : 0);
        count_all(&files, stamps, G_N_ELEMENTS(stamps), TRUE, counts);
        g_assert_cmpuint(counts[CT_PACKETS_READ], ==, LANES * G_N_ELEMENTS(stamps));
        g_assert_cmpuint(counts[CT_PACKETS_MISTIMED], ==, LANES * 200);
        g_assert_cmpuint(counts[CT_PACKETS_MISSING], ==, LANES * 200);
    }
    files_clear(&files);
}

/* Packets whose clock is too early do not hide where a part of the time begins: n of them in the
 * middle of the file, where it is looked for first. */
static void
test_cut_and_jumps(void)
{
    Files files;
    gint64 stamps[1000];
    files_init(&files);
    for (gint64 back = 300; back <= 3000000; back *= 100)
        for (gint64 n = 1; n <= 100; n += 33)
            for (gint64 first = 20; first < 400; first += 60) {
                g_autoptr(GError) error = NULL;
                for (gint64 i = 0; i < (gint64)G_N_ELEMENTS(stamps); i++)
                    stamps[i] = i + 4000000 - (i >= 500 - n / 2 && i < 500 - n / 2 + n ? back : 0);
                for (guint i = 0; i < LANES; i++)
                    write_stamps(files.paths[i], stamps, G_N_ELEMENTS(stamps));
                g_autoptr(CtRecording) recording =
                    ct_source_open_ahead(&toy, files.params, &sizes, &error);
                g_assert_no_error(error);
                CtAhead *ahead = ct_source_ahead(recording);
                const gint64 begin = (4000000 + first) * SAMPLES;
                g_assert_true(ct_ahead_cut(ahead, begin, begin + 100, &error));
                g_assert_true(ct_ahead_load(ahead, begin, begin + 100, &error));
                for (guint lane = 0; lane < LANES; lane++) {
                    g_autoptr(GArray) found =
                        packets_in(recording->packets, lane, begin, begin + 100);
                    g_assert_cmpuint(found->len, ==, 100 / SAMPLES);
                }
            }
    files_clear(&files);
}

/* The whole is arranged if there may be a pause of which both sides do not belong together, and if
 * files are short. */
static void
test_whole(void)
{
    Files files;
    guint64 counts[CT_PACKETS_N_COUNTS];
    gint64 stamps[1000];
    files_init(&files);
    for (guint i = 0; i < G_N_ELEMENTS(stamps); i++)
        stamps[i] = i < 400 ? i : i + 5001;
    count_all(&files, stamps, G_N_ELEMENTS(stamps), FALSE, counts);
    g_assert_cmpuint(counts[CT_PACKETS_MISTIMED], ==, LANES * 400);
    for (guint i = 0; i < G_N_ELEMENTS(stamps); i++)
        stamps[i] = i;
    count_all(&files, stamps, 100, FALSE, counts);
    g_assert_cmpuint(counts[CT_PACKETS_READ], ==, LANES * 100);
    files_clear(&files);
}

/* ---- what opening reads ---- */

/* The bytes that this process has read so far. */
static gint64
bytes_read(void)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/self/io", &text, NULL, NULL));
    return g_ascii_strtoll(strstr(text, "rchar: ") + strlen("rchar: "), NULL, 10);
}

static gint64
read_by_opening(Files *files, guint n)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (guint i = 0; i < LANES; i++)
        write_file(files->paths[i], random, n, 0, 0);
    bytes_read();
    const gint64 before = bytes_read();
    g_autoptr(CtRecording) recording =
        ct_source_open_ahead(&toy, files->params, &ct_ahead_sizes, &error);
    g_assert_no_error(error);
    const gint64 after = bytes_read();
    g_assert_nonnull(ct_source_ahead(recording));
    g_assert_cmpint(recording->packets->end, ==, (gint64)n * SAMPLES);
    g_assert_cmpuint(recording->packets->packets->len, ==, 0);
    return after - before;
}

static void
test_opening(void)
{
    Files files;
    files_init(&files);
    const gint64 few = read_by_opening(&files, 100000), many = read_by_opening(&files, 300000);
    const guint ends = 2 * (ct_ahead_sizes.part + ct_ahead_sizes.context);
    g_test_message("opening reads %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " bytes", few, many);
    /* /proc/self/io is read, too, and each file is searched by a window of 1 MiB. */
    g_assert_cmpint(ABS(many - few), <, 256);
    g_assert_cmpint(many, <, LANES * (HEADER * (ends + 16) + (1 << 20)) + 4096);
    files_clear(&files);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/source-ahead/same", test_same);
    g_test_add_func("/source-ahead/late", test_late);
    g_test_add_func("/source-ahead/clock-jumps", test_clock_jumps);
    g_test_add_func("/source-ahead/cut-and-jumps", test_cut_and_jumps);
    g_test_add_func("/source-ahead/whole", test_whole);
    g_test_add_func("/source-ahead/opening", test_opening);
    return g_test_run();
}
