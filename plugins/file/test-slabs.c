/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of arrays that grow in a file: any number of slabs, any cut of time, room too small. */
#include "slabs.c" /* the plugin exports nothing but its description */

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/resource.h>

gboolean
file_error(GError **error, const char *path, const char *what)
{
    const int saved = errno;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: %s", path, what, g_strerror(saved));
    return FALSE;
}

/* What sample t of a slab holds, byte by byte. */
static guint8
expected(gint64 slab, gint64 t, gint64 byte)
{
    return 31 * slab + 7 * t + byte;
}

static void
append_samples(Slabs *slabs, gint64 n)
{
    g_autofree guint8 *samples = g_malloc(n * slabs->sample_bytes);
    for (gint64 slab = 0; slab < slabs->n_slabs; slab++) {
        for (gint64 t = 0; t < n; t++)
            for (gint64 b = 0; b < slabs->sample_bytes; b++)
                samples[t * slabs->sample_bytes + b] = expected(slab, slabs->n_samples + t, b);
        if (slabs->n_slabs > 1)
            memcpy(slabs_place(slabs, slab), samples, n * slabs->sample_bytes);
    }
    if (slabs->n_slabs > 1)
        slabs->n_samples += n;
    else
        g_assert_true(slabs_append(slabs, samples, n, NULL));
}

static void
check_array(gint64 n_slabs, gint64 sample_bytes, gint64 header_bytes, gint64 n_samples,
            gint64 capacity)
{
    g_autofree char *path = NULL;
    g_autoptr(GError) error = NULL;
    Slabs slabs = {.path = "x",
                   .n_slabs = n_slabs,
                   .sample_bytes = sample_bytes,
                   .header_bytes = header_bytes};
    slabs.fd = g_file_open_tmp("test-slabs-XXXXXX", &path, NULL);
    g_assert_true(slabs_reserve(&slabs, capacity, &error));
    while (slabs.n_samples < n_samples) {
        const gint64 n = g_test_rand_int_range(1, MIN(8, n_samples - slabs.n_samples + 1));
        if (slabs.n_samples + n > slabs.capacity)
            g_assert_true(slabs_reserve(&slabs, 2 * slabs.capacity + n, &error));
        append_samples(&slabs, n);
    }
    g_assert_true(slabs_close(&slabs, &error));
    g_assert_no_error(error);
    close(slabs.fd);

    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    g_assert_cmpuint(length, ==, header_bytes + n_slabs * n_samples * sample_bytes);
    for (gint64 slab = 0; slab < n_slabs; slab++)
        for (gint64 t = 0; t < n_samples; t++)
            for (gint64 b = 0; b < sample_bytes; b++)
                g_assert_cmpuint(
                    (guint8)bytes[header_bytes + (slab * n_samples + t) * sample_bytes + b], ==,
                    expected(slab, t, b));
    g_unlink(path);
}

static void
test_grow(void)
{
    static const gint64 n_slabs[] = {1, 2, 7, 64}, sample_bytes[] = {1, 3, 16};
    for (gsize i = 0; i < G_N_ELEMENTS(n_slabs); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(sample_bytes); j++)
            for (gint64 n = 0; n < 200; n = 3 * n + 1) {
                check_array(n_slabs[i], sample_bytes[j], 128, n, 0);
                check_array(n_slabs[i], sample_bytes[j], 0, n, n);
                check_array(n_slabs[i], sample_bytes[j], 10, n, 500);
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
    Slabs slabs = {.path = "x.partial", .n_slabs = 4, .sample_bytes = 1000};
    slabs.fd = g_file_open_tmp("test-slabs-XXXXXX", &path, NULL);
    g_assert_true(slabs_reserve(&slabs, 20, &error));
    append_samples(&slabs, 20);
    g_assert_false(slabs_reserve(&slabs, 40, &error));
    g_assert_cmpstr(error->message, ==, "x.partial: can't be written: File too large");
    g_clear_error(&error);
    /* What was written stays whole. */
    g_assert_true(slabs_close(&slabs, &error));
    g_assert_cmpint(lseek(slabs.fd, 0, SEEK_END), ==, 80000);

    slabs.n_slabs = 1;
    g_autofree guint8 *samples = g_malloc0(100000);
    g_assert_false(slabs_append(&slabs, samples, 100, &error));
    g_assert_cmpstr(error->message, ==, "x.partial: can't be written: File too large");
    close(slabs.fd);
    setrlimit(RLIMIT_FSIZE, &before);
    g_unlink(path);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/slabs/grow", test_grow);
    g_test_add_func("/slabs/no-room", test_no_room);
    return g_test_run();
}
