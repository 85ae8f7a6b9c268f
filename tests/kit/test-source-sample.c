/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of long recordings whose lanes are in one file, or in each of several: what a sample of
 * their packets decides gives what the index of all packets gives, and where the sample does not
 * stand for all, they are read by that index. */
#include "sample-test.h"
#include "vdif-source.c" /* the plugin exports only its description */

/* Frames of 2 bits. Frame `index` of a thread is number index % SECOND of its second. */
enum { PAYLOAD = 16, FRAME = VDIF_HEADER_BYTES + PAYLOAD, SAMPLES = 64, THREADS = 3, SECOND = 50 };
enum { MAX_GAP = 60 * SECOND /* frames */ };

static const Format format = {&vdif_source_files, &vdif_source};

/* ---- recordings ---- */

typedef struct {
    guint32 words[VDIF_HEADER_BYTES / 4];
    guint8 payload[PAYLOAD];
} Frame;
G_STATIC_ASSERT(sizeof(Frame) == FRAME);

static void
make_frame(Frame *frame, gint64 index, guint thread)
{
    *frame =
        (Frame){.words = {(guint32)(1000 + index / SECOND), 28u << 24 | (guint32)(index % SECOND),
                          FRAME / 8, 1u << 26 | thread << 16 | 0x4142}};
    for (guint i = 0; i < PAYLOAD; i++)
        frame->payload[i] = (guint8)(index * 7 + thread * 31 + i);
}

/* Appends a frame, of every 3 · rate of which about one has a fault; 0: none has. Wrong times
 * are within the context, or outside the recording. */
static void
add_frame(GByteArray *bytes, GRand *random, gint rate, gint64 index, guint thread)
{
    const gint fault = rate ? g_rand_int_range(random, 0, 9 * rate) : -1;
    gsize n = FRAME;
    Frame frame;
    make_frame(&frame, index, thread);
    if (fault == 0)
        return; /* lost */
    if (fault == 1)
        frame.words[0] |= 1u << 31; /* marked */
    if (fault == 2)
        frame.words[2] ^= 8; /* its length */
    if (fault == 3)
        frame.words[1] ^= 1u << g_rand_int_range(random, 0, 4); /* its number */
    if (fault == 4)
        frame.words[0] ^= 1u << g_rand_int_range(random, 7, 20); /* its second */
    if (fault == 5 || fault == 6)
        g_byte_array_append(bytes, (guint8 *)&frame, FRAME); /* doubled */
    if (fault == 6)
        frame.payload[0] ^= 1; /* with other contents */
    if (fault == 7)
        frame.words[3] ^= 1u << 20; /* its thread */
    if (fault == 8)
        n = (gsize)g_rand_int_range(random, 1, FRAME);
    g_byte_array_append(bytes, (guint8 *)&frame, n);
}

/* The bytes of frames first … first + n − 1 of all threads, some of which come late. */
static GByteArray *
make_recording(GRand *random, gint64 first, gint64 n, gint rate)
{
    GByteArray *bytes = g_byte_array_new();
    const gint64 all = n * THREADS;
    g_autofree gint64 *order = g_new(gint64, all);
    for (gint64 i = 0; i < all; i++)
        order[i] = i;
    for (gint64 i = 0; rate && i + 12 < all; i++)
        if (g_rand_int_range(random, 0, 3 * rate) == 0) {
            const gint64 k = i + g_rand_int_range(random, 1, 12), kept = order[i];
            order[i] = order[k];
            order[k] = kept;
        }
    for (gint64 i = 0; i < all; i++)
        add_frame(bytes, random, rate, first + order[i] / THREADS, (guint)(order[i] % THREADS));
    return bytes;
}

/* ---- what is the same ---- */

/* Of these, the index wants neither more nor less than a sample: a rate, and perhaps threads. */
static const char *const given[] = {"sample_rate: 3200 Hz", "threads: station",
                                    "sample_rate: 3200 Hz, thread_ids: [2, 0]"};

static void
test_same(void)
{
    static const gint rates[] = {0, 300, 60, 20};
    const guint n_seeds = g_test_thorough() ? 5000 : 200;
    guint n_ahead = 0;
    for (guint32 seed = 0; seed < n_seeds; seed++) {
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        const gint rate = rates[seed % G_N_ELEMENTS(rates)];
        const char *more = given[seed / 4 % G_N_ELEMENTS(given)];
        g_autoptr(GByteArray) bytes = make_recording(random, g_rand_int_range(random, 0, 200),
                                                     g_rand_int_range(random, 600, 3000), rate);
        const guint n_files = (guint)g_rand_int_range(random, 1, MOST_FILES + 1);
        Files files;
        g_test_message("seed %u", seed);
        files_init(&files);
        for (guint i = 0, begin = 0; i < n_files; i++) {
            const guint most = bytes->len / FRAME, at = begin / FRAME;
            const guint end = i + 1 == n_files
                                  ? bytes->len
                                  : FRAME * (guint)g_rand_int_range(random, (gint)at + 20,
                                                                    (gint)(at + most) / 2 + 20);
            files_add(&files, bytes->data + begin, end - begin);
            begin = end;
        }
        n_ahead += compare(&format, &files, more, random, 0, 0);
        compare(&format, &files, more, random, g_rand_int_range(random, 0, 30000),
                g_rand_int_range(random, 0, 30000));
        files_clear(&files);
    }
    g_test_message("%u of %u recordings were read part by part", n_ahead, n_seeds);
    g_assert_cmpuint(n_ahead, >, n_seeds / 2);
}

/* ---- where a sample does not stand for all ---- */

static GByteArray *
make_thread(gint64 first, gint64 n, guint thread)
{
    GByteArray *bytes = g_byte_array_new();
    for (gint64 i = 0; i < n; i++)
        add_frame(bytes, NULL, 0, first + i, thread);
    return bytes;
}

/* Adds the frames of several threads, each given by its first frame and its length. */
static void
add_threads(GByteArray *bytes, const gint64 (*threads)[2], guint n)
{
    for (gint64 i = 0; i < 2000; i++)
        for (guint thread = 0; thread < n; thread++)
            if (i >= threads[thread][0] && i < threads[thread][0] + threads[thread][1])
                add_frame(bytes, NULL, 0, i, thread);
}

static void
check_whole(GByteArray *const *bytes, guint n)
{
    Files files;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    files_init(&files);
    for (guint i = 0; i < n; i++)
        files_add(&files, bytes[i]->data, bytes[i]->len);
    g_assert_false(compare(&format, &files, given[0], random, 0, 0));
    files_clear(&files);
}

static void
test_threads(void)
{
    static const gint64 recordings[][3][2] = {
        {{0, 2000}, {0, 2000}, {700, 1300}},  /* one begins later, */
        {{0, 2000}, {0, 2000}, {0, 1300}},    /* ends earlier, */
        {{0, 2000}, {0, 2000}, {900, 200}},   /* or is there in between */
        {{0, 2000}, {1000, 1000}, {0, 1000}}, /* one takes the place of another */
    };
    for (guint i = 0; i < G_N_ELEMENTS(recordings); i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        g_test_message("recording %u", i);
        add_threads(bytes, recordings[i], THREADS);
        check_whole(&bytes, 1);
    }
}

static void
test_files(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GByteArray) a = make_thread(0, 1000, 0), b = make_thread(0, 1000, 1);
    g_autoptr(GByteArray) first = make_recording(random, 0, 500, 0);
    g_autoptr(GByteArray) second = make_recording(random, 500, 500, 0);
    g_autoptr(GByteArray) later = make_recording(random, 1000 + MAX_GAP, 500, 0);
    g_autoptr(GByteArray) both = g_byte_array_new(), paused = g_byte_array_new();
    g_autoptr(GByteArray) twice = g_byte_array_new();
    g_byte_array_append(both, a->data, a->len);
    g_byte_array_append(both, b->data, b->len);
    g_byte_array_append(paused, second->data, second->len);
    g_byte_array_append(paused, later->data, later->len);
    g_byte_array_append(twice, second->data, second->len);
    g_byte_array_append(twice, second->data, second->len);
    check_whole((GByteArray *[]){a, b}, 2);          /* threads side by side, */
    check_whole(&both, 1);                           /* or one after another */
    check_whole((GByteArray *[]){second, first}, 2); /* not in the order of time */
    check_whole((GByteArray *[]){second, later}, 2); /* a pause that is too long */
    check_whole(&paused, 1);
    check_whole((GByteArray *[]){first, first}, 2); /* the same again */
    check_whole(&twice, 1);
}

/* A second whose last frames are lost does not decide the rate. */
static void
test_rate(void)
{
    Files files;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    for (guint lost = 0; lost < 2; lost++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        for (gint64 i = 0; i < 40 * SECOND; i++)
            for (guint thread = 0; thread < THREADS; thread++)
                if (!lost || i % SECOND < SECOND - 1 || i / SECOND % 2)
                    add_frame(bytes, random, 0, i, thread);
        files_init(&files);
        files_add(&files, bytes->data, bytes->len);
        const gboolean is_ahead = compare(&format, &files, given[1], random, 0, 0);
        if (!lost)
            g_assert_true(is_ahead);
        files_clear(&files);
    }
}

/* A rate that is too low is an error in any case. */
static void
test_low_rate(void)
{
    Files files;
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GByteArray) bytes = make_recording(random, 0, 2000, 0);
    files_init(&files);
    files_add(&files, bytes->data, bytes->len);
    CtParams *params = files_params(&format, &files, "sample_rate: 3136 Hz");
    g_assert_null(ct_source_open_ahead(&vdif_source_files, params, &sizes, &error));
    g_assert_nonnull(strstr(error->message, "wants a greater 'sample_rate' than 3136 Hz"));
    ct_params_free(params);
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
read_by_opening(gint64 n)
{
    Files files;
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autoptr(GByteArray) bytes = make_recording(random, 0, n, 0);
    files_init(&files);
    files_add(&files, bytes->data, bytes->len);
    CtParams *params = files_params(&format, &files, given[1]);
    bytes_read();
    const gint64 before = bytes_read();
    CtRecording *recording =
        ct_source_open_ahead(&vdif_source_files, params, &ct_ahead_sizes, &error);
    g_assert_no_error(error);
    const gint64 after = bytes_read();
    g_assert_nonnull(ct_source_ahead(recording));
    g_assert_cmpint(recording->packets->end - recording->packets->first, ==, n * SAMPLES);
    g_assert_cmpuint(recording->packets->packets->len, ==, 0);
    ct_source_close(recording);
    ct_params_free(params);
    files_clear(&files);
    return after - before;
}

/* Frames are so short here that 8 MiB of them, by which the stream is described, are many. */
static void
test_opening(void)
{
    const gint64 few = read_by_opening(200000), many = read_by_opening(800000);
    const gint64 head = ct_ahead_sizes.head_bytes / FRAME;
    const gint64 groups = 40 * (gint64)ct_ahead_sizes.context;
    const gint64 ends = 2 * (ct_ahead_sizes.part + THREADS * (gint64)ct_ahead_sizes.context);
    g_test_message("opening reads %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " bytes", few, many);
    /* In the shorter one, the first frames have the places of some groups. */
    g_assert_cmpint(ABS(many - few), <, VDIF_HEADER_BYTES * groups);
    /* One window of a search, and each header, for which the next one is read. */
    g_assert_cmpint(many, <, (1 << 20) + 2 * VDIF_HEADER_BYTES * (head + groups + ends));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/source-sample/same", test_same);
    g_test_add_func("/source-sample/threads", test_threads);
    g_test_add_func("/source-sample/files", test_files);
    g_test_add_func("/source-sample/rate", test_rate);
    g_test_add_func("/source-sample/low-rate", test_low_rate);
    g_test_add_func("/source-sample/opening", test_opening);
    return g_test_run();
}
