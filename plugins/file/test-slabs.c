/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of arrays that grow in a file: any number of slabs, any lengths of time, too little room,
 * another process that changes the file. */
#define _GNU_SOURCE
#include "slabs.c" /* the plugin exports only its description */

#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

/* The byte of sample t of a slab. */
static guint8
expected(gint64 slab, gint64 t, gint64 byte)
{
    return 31 * slab + 7 * t + byte;
}

/* Adds samples that are staged first, or written at once. */
static void
add_samples(Slabs *slabs, gint64 n, gboolean at_once)
{
    g_autofree guint8 *samples = g_malloc((gsize)(n * slabs->sample_bytes));
    const gint64 first = slabs->n_samples + slabs->n_staged;
    if (at_once)
        g_assert_true(slabs_flush(slabs, NULL));
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++) {
        for (gint64 t = 0; t < n; t++)
            for (gint64 b = 0; b < slabs->sample_bytes; b++)
                samples[t * slabs->sample_bytes + b] = expected(slab, first + t, b);
        if (at_once)
            g_assert_true(slabs_write(slabs, slab, samples, n, NULL));
        else
            memcpy(slabs_place(slabs, slab), samples, (gsize)(n * slabs->sample_bytes));
    }
    *(at_once ? &slabs->n_samples : &slabs->n_staged) += n;
}

static void
check_bytes(const Slabs *slabs, const char *path)
{
    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    g_assert_cmpuint(length, ==,
                     slabs->header_bytes + slabs->n_slabs * slabs->n_samples * slabs->sample_bytes);
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++)
        for (gint64 t = 0; t < slabs->n_samples; t++)
            for (gint64 b = 0; b < slabs->sample_bytes; b++)
                g_assert_cmpuint(
                    (guint8)bytes[slabs->header_bytes +
                                  (slab * slabs->n_samples + t) * slabs->sample_bytes + b],
                    ==, expected(slab, t, b));
}

static void
open_slabs(Slabs *slabs, char **path, gint64 n_slabs, gint64 sample_bytes, gint64 header_bytes,
           gint64 capacity)
{
    *slabs = (Slabs){.path = "x.partial",
                     .n_slabs = n_slabs,
                     .sample_bytes = sample_bytes,
                     .header_bytes = header_bytes};
    slabs->fd = g_file_open_tmp("test-slabs-XXXXXX", path, NULL);
    g_assert_cmpint(ftruncate(slabs->fd, header_bytes), ==, 0);
    g_assert_true(slabs_open(slabs, capacity, NULL));
}

static void
close_slabs(Slabs *slabs, const char *path)
{
    slabs_clear(slabs);
    close(slabs->fd);
    g_unlink(path);
}

/* `room`: samples of staging; if small, slabs are moved in several pieces. */
static void
check_array(gint64 n_slabs, gint64 sample_bytes, gint64 header_bytes, gint64 n_samples,
            gint64 capacity, gint64 room)
{
    g_autofree char *path = NULL;
    Slabs slabs;
    open_slabs(&slabs, &path, n_slabs, sample_bytes, header_bytes, capacity);
    slabs.staging_samples = room;
    for (gint64 done = 0; done < n_samples;) {
        const gint64 n = g_test_rand_int_range(1, MIN(8, n_samples - done + 1));
        const gboolean at_once = g_test_rand_bit();
        if (slabs.n_staged + n > room || done + n > slabs.capacity)
            g_assert_true(slabs_flush(&slabs, NULL));
        if (done + n > slabs.capacity)
            g_assert_true(slabs_reserve(&slabs, 2 * slabs.capacity + n, NULL));
        add_samples(&slabs, n, at_once);
        done += n;
    }
    g_assert_true(slabs_flush(&slabs, NULL));
    g_assert_true(slabs_close(&slabs, NULL));
    g_assert_cmpint(slabs.n_samples, ==, n_samples);
    check_bytes(&slabs, path);
    close_slabs(&slabs, path);
}

static void
test_grow(void)
{
    static const gint64 n_slabs[] = {2, 3, 7, 64}, sample_bytes[] = {1, 3, 16};
    for (gsize i = 0; i < G_N_ELEMENTS(n_slabs); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(sample_bytes); j++)
            for (gint64 n = 0; n < 200; n = 3 * n + 1) {
                check_array(n_slabs[i], sample_bytes[j], 128, n, 0, 8);
                check_array(n_slabs[i], sample_bytes[j], 0, n, n, 50);
                check_array(n_slabs[i], sample_bytes[j], 10, n, 500, 1000);
            }
}

static void
test_no_room(void)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    const struct rlimit limit = {100000, RLIM_INFINITY};
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    signal(SIGXFSZ, SIG_IGN);
    Slabs slabs;
    open_slabs(&slabs, &path, 4, 1000, 0, 20);
    add_samples(&slabs, 20, TRUE);
    g_assert_false(slabs_reserve(&slabs, 40, &error));
    g_assert_cmpstr(error->message, ==, "x.partial: can't be written: File too large");
    g_clear_error(&error);
    /* The written samples stay as they are. */
    g_assert_true(slabs_close(&slabs, &error));
    check_bytes(&slabs, path);
    close_slabs(&slabs, path);
    setrlimit(RLIMIT_FSIZE, &before);
}

/* A file that another process has cut is noticed anywhere, because a hole would look like
 * samples. */
static void
test_cut(void)
{
    static const gint64 n_slabs[] = {2, 8};
    for (gsize i = 0; i < G_N_ELEMENTS(n_slabs); i++) {
        g_autofree char *path = NULL;
        g_autoptr(GError) error = NULL;
        Slabs slabs;
        open_slabs(&slabs, &path, n_slabs[i], 1000, 128, 100);
        add_samples(&slabs, 50, TRUE);
        g_assert_cmpint(truncate(path, 5000), ==, 0);
        add_samples(&slabs, 1, FALSE);
        g_assert_false(slabs_flush(&slabs, &error));
        g_assert_true(g_str_has_prefix(error->message, "x.partial: wants the ") &&
                      g_str_has_suffix(error->message, " bytes that it was left with, but is given "
                                                       "5000: another process has cut it"));
        g_clear_error(&error);
        g_assert_false(slabs_reserve(&slabs, 1000, &error));
        g_clear_error(&error);
        g_assert_false(slabs_close(&slabs, &error));
        close_slabs(&slabs, path);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slabs/grow", test_grow);
    g_test_add_func("/slabs/no-room", test_no_room);
    g_test_add_func("/slabs/cut", test_cut);
    return g_test_run();
}
