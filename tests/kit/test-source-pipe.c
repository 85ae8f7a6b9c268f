/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of recordings from pipes: they give what the index of all packets of a file gives, however
 * their bytes come, and hold few of them. */
#define _GNU_SOURCE /* pipe2 */
#include "packets-test.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A recording as it is written to the pipes of its lanes, by one thread. */
typedef struct {
    Files files;              /* the same recording */
    GByteArray *bytes[LANES]; /* that is owned by the test */
    int fds[LANES];           /* to write to */
    int read[LANES];
    CtParams *params; /* that name the pipes */
    guint32 seed;
    guint lead; /* bytes by which one lane may be written before the others */
    GThread *thread;
} Pipes;

/* Writes pieces of random lengths to lanes of random order, none of which gets far ahead. */
static gpointer
write_pipes(gpointer data)
{
    Pipes *pipes = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(pipes->seed);
    guint at[LANES] = {0};
    for (guint n_open = LANES; n_open > 0;) {
        const guint lane = (guint)g_rand_int_range(random, 0, LANES);
        guint least = G_MAXUINT;
        for (guint i = 0; i < LANES; i++)
            if (pipes->fds[i] >= 0)
                least = MIN(least, at[i]);
        if (pipes->fds[lane] < 0 || at[lane] > least + pipes->lead)
            continue;
        const guint left = pipes->bytes[lane]->len - at[lane];
        const guint most = (guint)g_rand_int_range(random, 1, 2000), n = MIN(left, most);
        if (n == 0) {
            close(pipes->fds[lane]);
            pipes->fds[lane] = -1;
            n_open--;
            continue;
        }
        const gssize given = write(pipes->fds[lane], pipes->bytes[lane]->data + at[lane], n);
        if (given < 0) /* nobody reads it any more */
            at[lane] = pipes->bytes[lane]->len;
        else
            at[lane] += (guint)given;
    }
    return NULL;
}

static void
pipes_init(Pipes *pipes, GRand *random, guint lead)
{
    const CtPlace place = {"g", 1, 1};
    g_autoptr(GString) text = g_string_new("{ path: [");
    pipes->seed = g_rand_int(random);
    pipes->lead = lead;
    for (guint i = 0; i < LANES; i++) {
        int ends[2];
        g_assert_cmpint(pipe2(ends, O_CLOEXEC), ==, 0);
        pipes->fds[i] = ends[1];
        pipes->read[i] = ends[0];
        g_string_append_printf(text, "%s'fd:%d'", i ? ", " : "", ends[0]);
        g_assert_true(g_file_set_contents(pipes->files.paths[i], (char *)pipes->bytes[i]->data,
                                          pipes->bytes[i]->len, NULL));
    }
    g_string_append(text, "] }");
    g_autoptr(CtValue) values = ct_value_parse(text->str, -1, "g", NULL);
    pipes->params = ct_params_new("x", &toy_stage, &place, values, NULL);
    g_assert_nonnull(pipes->params);
    pipes->thread = g_thread_new("writer", write_pipes, pipes);
}

static void
pipes_clear(Pipes *pipes)
{
    g_thread_join(pipes->thread);
    for (guint i = 0; i < LANES; i++) {
        if (pipes->read[i] >= 0)
            close(pipes->read[i]);
        g_byte_array_unref(pipes->bytes[i]);
    }
    ct_params_free(pipes->params);
}

/* ---- against the whole index ---- */

static void
compare_validity(const CtPackets *all, const CtPackets *some, gint64 begin, gint64 n)
{
    guint8 wanted[512], given[512];
    for (guint lane = 0; lane < LANES; lane++) {
        g_assert_cmpint(ct_packets_validity(all, lane, begin, n, wanted), ==,
                        ct_packets_validity(some, lane, begin, n, given));
        g_assert_cmpmem(wanted, (gsize)n, given, (gsize)n);
    }
}

/* Both have the same bytes of each packet that begins in a range. */
static void
compare_bytes(const CtRecording *whole, const CtRecording *parts, gint64 begin, gint64 end)
{
    for (guint lane = 0; lane < LANES; lane++) {
        const CtPacket *last[2];
        const CtPacket *a = ct_packets_find(whole->packets, lane, begin, &last[0]);
        const CtPacket *b = ct_packets_find(parts->packets, lane, begin, &last[1]);
        for (; a < last[0] && a->stamp < end; a++, b++) {
            guint8 wanted[PACKET], given[PACKET];
            g_assert_true(b < last[1]);
            g_assert_cmpint(a->stamp, ==, b->stamp);
            g_assert_true(
                ct_file_read("file", whole->files[lane].fd, a->offset, wanted, PACKET, NULL));
            g_assert_true(
                ct_file_read("pipe", parts->files[lane].fd, b->offset, given, PACKET, NULL));
            g_assert_cmpmem(wanted, PACKET, given, PACKET);
        }
    }
}

/* The bytes that the pipes of a recording hold. */
static gint64
most_held(const CtRecording *recording)
{
    gint64 most = 0;
    for (guint i = 0; i < recording->n_files; i++)
        most = MAX(most, ct_pipe_held(((const CtSourceOpened *)recording)->pipes[i]));
    return most;
}

static const CtAheadSizes sizes = {.part = 64,
                                   .context = 32,
                                   .least = 100,
                                   .context_bytes = 1 << 20,
                                   .head_bytes = 2000,
                                   .lead_bytes = 3 << 20};

/* Reads the pipes from sample `skip` on. */
static void
compare(Pipes *pipes, GRand *random, gint64 skip)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRecording) whole = ct_source_open_ahead(&toy, pipes->files.params, NULL, &error);
    g_assert_no_error(error);
    /* As of a check, and a run. */
    g_autoptr(CtRecording) checked = ct_source_open_ahead(&toy, pipes->params, &sizes, &error);
    g_assert_no_error(error);
    g_autoptr(CtRecording) parts = ct_source_open_ahead(&toy, pipes->params, &sizes, &error);
    g_assert_no_error(error);
    const CtPackets *all = whole->packets, *some = parts->packets;
    CtAhead *ahead = ct_source_ahead(parts);
    g_assert_nonnull(ahead);
    g_assert_cmpint(all->first, ==, checked->packets->first);
    g_assert_cmpint(all->first, ==, some->first);
    g_assert_cmpint(some->end, ==, G_MAXINT64);
    for (guint i = 0; i < LANES; i++)
        ct_pipe_start(((CtSourceOpened *)parts)->pipes[i]);
    gint64 position = all->first + skip;
    g_assert_true(ct_ahead_cut(ahead, position, G_MAXINT64, &error));
    for (gboolean ended = FALSE; !ended;) {
        gint64 n;
        if (!ct_ahead_wait(ahead, position, g_rand_int_range(random, 1, 513), &n, &ended, &error) ||
            !ct_ahead_load(ahead, position, position + n, &error))
            g_assert_no_error(error);
        g_assert_cmpint(position + n, <=, MAX(all->end, position));
        compare_validity(all, some, position, n);
        compare_bytes(whole, parts, position, position + n);
        g_assert_cmpint(most_held(parts), <=, ct_ahead_room(ahead));
        position += n;
    }
    g_assert_cmpint(position, ==, MAX(all->end, all->first + skip));
    for (guint i = 0; i < CT_PACKETS_N_COUNTS && skip == 0; i++)
        /* As in test-source-ahead. */
        if (i == CT_PACKETS_REORDERED ? all->counts[i] < some->counts[i]
                                      : all->counts[i] != some->counts[i])
            g_error("%s: wants %" G_GUINT64_FORMAT ", but is %" G_GUINT64_FORMAT,
                    CT_PACKET_COUNTERS[i], all->counts[i], some->counts[i]);
}

static void
test_same(void)
{
    static const gint rates[] = {0, 300, 60, 20};
    const guint n_seeds = g_test_thorough() ? 3000 : 120;
    for (guint32 seed = 0; seed < n_seeds; seed++) {
        Pipes pipes;
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        const gint rate = rates[seed % G_N_ELEMENTS(rates)];
        g_test_message("seed %u", seed);
        files_init(&pipes.files);
        for (guint i = 0; i < LANES; i++) {
            const guint n = 400 + (guint)g_rand_int_range(random, 0, 600);
            const gint64 first = g_rand_int_range(random, 0, 30);
            pipes.bytes[i] = make_recording(random, n, 1000000 + SAMPLES * first, rate);
        }
        pipes_init(&pipes, random, 1 << g_rand_int_range(random, 8, 20));
        compare(&pipes, random, seed % 3 ? 0 : g_rand_int_range(random, 0, 12000));
        pipes_clear(&pipes);
        files_clear(&pipes.files);
    }
}

/* However long a pipe is, few of its bytes are held. */
static void
test_memory(void)
{
    Pipes pipes;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    files_init(&pipes.files);
    for (guint i = 0; i < LANES; i++) {
        pipes.bytes[i] = make_recording(random, 300000, 1000000, 300);
        g_assert_cmpint(pipes.bytes[i]->len, >, 2 * sizes.lead_bytes);
    }
    pipes_init(&pipes, random, 1 << 20);
    compare(&pipes, random, 0);
    pipes_clear(&pipes);
    files_clear(&pipes.files);
}

/* Reads all, and returns its length in samples. */
static gint64
read_all(const CtRecording *recording)
{
    g_autoptr(GError) error = NULL;
    CtAhead *ahead = ct_source_ahead(recording);
    gint64 position = recording->packets->first;
    for (guint i = 0; i < LANES; i++)
        ct_pipe_start(((const CtSourceOpened *)recording)->pipes[i]);
    for (gboolean ended = FALSE; !ended;) {
        gint64 n;
        g_assert_true(ct_ahead_wait(ahead, position, 1000, &n, &ended, &error));
        g_assert_true(ct_ahead_load(ahead, position, position + n, &error));
        position += n;
    }
    g_assert_no_error(error);
    return position - recording->packets->first;
}

/* A pause of up to max_gap is a gap. After a longer one, or before the first packets, packets are
 * mistimed, even if they are more than those before: what has been given stays where it is. */
static void
test_pauses(void)
{
    const struct {
        gint64 later, length;
        guint64 mistimed;
    } pauses[] = {{5000, 5900, 0}, {5001, 400, 500}, {1000000, 400, 500}, {-1000, 400, 500}};
    for (guint k = 0; k < G_N_ELEMENTS(pauses); k++) {
        Pipes pipes;
        g_autoptr(GError) error = NULL;
        g_autoptr(GRand) random = g_rand_new_with_seed(k);
        files_init(&pipes.files);
        for (guint i = 0; i < LANES; i++) {
            const gint64 end = 1000000 + 400 * SAMPLES;
            g_autoptr(GByteArray) more =
                make_recording(random, 500, end + pauses[k].later * SAMPLES, 0);
            pipes.bytes[i] = make_recording(random, 400, 1000000, 0);
            g_byte_array_append(pipes.bytes[i], more->data, more->len);
        }
        pipes_init(&pipes, random, 1 << 20);
        CtRecording *recording = ct_source_open_ahead(&toy, pipes.params, &sizes, &error);
        g_assert_no_error(error);
        g_assert_cmpint(read_all(recording), ==, pauses[k].length * SAMPLES);
        g_assert_cmpuint(recording->packets->counts[CT_PACKETS_MISTIMED], ==,
                         LANES * pauses[k].mistimed);
        ct_source_close(recording);
        pipes_clear(&pipes);
        files_clear(&pipes.files);
    }
}

/* A pipe of which a long part has no packets is an error, and none is held without an end. */
static void
test_nothing(void)
{
    Pipes pipes;
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    files_init(&pipes.files);
    for (guint i = 0; i < LANES; i++) {
        g_autofree guint8 *zeros = g_malloc0(8 << 20);
        pipes.bytes[i] = make_recording(random, 400, 1000000, 0);
        g_byte_array_append(pipes.bytes[i], zeros, 8 << 20);
    }
    signal(SIGPIPE, SIG_IGN);
    pipes_init(&pipes, random, 16 << 20);
    CtRecording *recording = ct_source_open_ahead(&toy, pipes.params, &sizes, &error);
    CtAhead *ahead = ct_source_ahead(recording);
    gint64 position = recording->packets->first, n = 0;
    gboolean ended = FALSE;
    while (ct_ahead_wait(ahead, position, 1000, &n, &ended, &error)) {
        g_assert_false(ended);
        g_assert_true(ct_ahead_load(ahead, position, position + n, &error));
        position += n;
    }
    g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    g_assert_nonnull(strstr(error->message, "wants packets of the stream from byte"));
    g_assert_cmpint(most_held(recording), <=, ct_ahead_room(ahead));
    for (guint i = 0; i < LANES; i++)
        ct_pipe_start(((CtSourceOpened *)recording)->pipes[i]);
    ct_source_close(recording);
    for (guint i = 0; i < LANES; i++) {
        close(pipes.read[i]);
        pipes.read[i] = -1;
    }
    pipes_clear(&pipes);
    files_clear(&pipes.files);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/source-pipe/same", test_same);
    g_test_add_func("/source-pipe/memory", test_memory);
    g_test_add_func("/source-pipe/pauses", test_pauses);
    g_test_add_func("/source-pipe/nothing", test_nothing);
    return g_test_run();
}
