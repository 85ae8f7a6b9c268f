/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the files of a sink: two runs at every step, the failure of every call, allowed
 * names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts the calls that write and name the files. Call number `fail_at` fails with `failure` (0: it
 * succeeds); `look` is called before call number `look_at`. */
static guint n_calls, fail_at, look_at;
static int failure;
static void (*look)(void);

static gboolean
next_call_fails(void)
{
    n_calls++;
    if (n_calls == look_at)
        look();
    if (n_calls != fail_at)
        return FALSE;
    errno = failure;
    return TRUE;
}

static int
test_fsync(int fd)
{
    return next_call_fails() ? -1 : fsync(fd);
}

static int
test_rename(const char *from, const char *to)
{
    return next_call_fails() ? -1 : rename(from, to);
}

static int
test_unlink(const char *path)
{
    return next_call_fails() ? -1 : unlink(path);
}

static int
test_ftruncate(int fd, off_t length)
{
    return next_call_fails() ? -1 : ftruncate(fd, length);
}

/* With it, no file can have more bytes than these. */
static gint64 room = G_MAXINT64;

/* Writes half of the bytes, or fails. */
static gssize
test_pwrite(int fd, const void *bytes, gsize n, off_t offset)
{
    if (next_call_fails())
        return -1;
    errno = ENOSPC;
    return offset < room ? pwrite(fd, bytes, MIN((n + 1) / 2, (gsize)(room - offset)), offset) : -1;
}

static int
test_fallocate(int fd, int mode, off_t offset, off_t n)
{
    errno = ENOSPC;
    return next_call_fails() || offset + n > room ? -1 : fallocate(fd, mode, offset, n);
}

/* With it, the file system has no locks. */
static gboolean no_locks;

static int
test_flock(int fd, int operation)
{
    errno = ENOSYS;
    return no_locks ? -1 : flock(fd, operation);
}

#define fallocate test_fallocate
#define fsync     test_fsync
#define rename    test_rename
#define unlink    test_unlink
#define ftruncate test_ftruncate
#define pwrite    test_pwrite
#define flock     test_flock
/* The library has these functions as well. */
#define ct_file_error           test_file_error
#define ct_file_write           test_file_write
#define ct_sink_files_check     test_sink_files_check
#define ct_sink_files_open      test_sink_files_open
#define ct_sink_files_describe  test_sink_files_describe
#define ct_sink_files_digest    test_sink_files_digest
#define ct_sink_files_lend      test_sink_files_lend
#define ct_sink_files_take_back test_sink_files_take_back
#define ct_sink_files_seal      test_sink_files_seal
#define ct_sink_files_commit    test_sink_files_commit
#define ct_sink_files_close     test_sink_files_close
#include "kit/file-io.c"
#include "kit/sink-files.c"
#undef unlink

#include <glib/gstdio.h>
#include <string.h>

/* ---- the test's folder ---- */

static char *folder;

static const char *
name(const char *ending)
{
    static char path[4][4096];
    static guint next;
    char *given = path[next++ % 4];
    g_snprintf(given, sizeof path[0], "%s/x.npy%s", folder, ending);
    return given;
}

static char *
contents(const char *ending)
{
    char *text = NULL;
    g_file_get_contents(name(ending), &text, NULL, NULL);
    return text;
}

static void
put(const char *ending, const char *text)
{
    g_assert_true(g_file_set_contents(name(ending), text, -1, NULL));
}

static const char *const endings[] = {"", ".json", ".partial", ".json.partial"};

static void
clear_folder(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
        unlink(name(endings[i]));
        rmdir(name(endings[i]));
    }
    n_calls = fail_at = look_at = 0;
}

static gboolean
write_run(CtSinkFiles *files, const char *array, const char *json, GError **error)
{
    const gint64 n = (gint64)strlen(array);
    return ct_file_write(files->partial, files->fd, 0, array, n, error) == n &&
           ct_sink_files_seal(files, json, error) && ct_sink_files_commit(files, error);
}

/* ---- tests ---- */

/* Starts another run, which is refused and changes nothing. */
static void
look_as_other_run(void)
{
    const guint at = n_calls;
    look_at = 0;
    char *before[G_N_ELEMENTS(endings)];
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
        before[i] = contents(endings[i]);
    g_autoptr(GError) error = NULL;
    CtSinkFiles other;
    g_assert_false(ct_sink_files_open(&other, name(""), &error));
    g_assert_true(g_str_has_suffix(error->message, "is being written by another sink"));
    ct_sink_files_close(&other);
    for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *after = contents(endings[i]);
        g_assert_cmpstr(before[i], ==, after);
        g_free(before[i]);
    }
    n_calls = at;
}

static guint
count_calls(void)
{
    CtSinkFiles files;
    clear_folder();
    put("", "old");
    put(".json", "old json");
    g_assert_true(ct_sink_files_open(&files, name(""), NULL));
    n_calls = 0;
    g_assert_true(write_run(&files, "new", "new json", NULL));
    ct_sink_files_close(&files);
    return n_calls;
}

static void
test_two_runs(void)
{
    const guint n = count_calls();
    g_assert_cmpuint(n, >, 8);
    look = look_as_other_run;
    /* From the last call on, all files have their names, and another run may begin. */
    for (guint i = 1; i < n; i++) {
        CtSinkFiles files;
        clear_folder();
        put("", "old");
        put(".json", "old json");
        g_assert_true(ct_sink_files_open(&files, name(""), NULL));
        n_calls = 0;
        look_at = i;
        g_assert_true(write_run(&files, "new", "new json", NULL));
        g_assert_cmpuint(look_at, ==, 0);
        ct_sink_files_close(&files);
        g_autofree char *array = contents(""), *json = contents(".json");
        g_assert_cmpstr(array, ==, "new");
        g_assert_cmpstr(json, ==, "new json");
        g_assert_false(g_file_test(name(".partial"), G_FILE_TEST_EXISTS));
        g_assert_false(g_file_test(name(".json.partial"), G_FILE_TEST_EXISTS));
    }
}

/* Whichever call fails, the text beside an array belongs to that array, and the error names the
 * file. */
static void
test_failures(void)
{
    static const int failures[] = {EIO, ENOSPC, EDQUOT};
    const guint n = count_calls();
    for (guint f = 0; f < G_N_ELEMENTS(failures); f++)
        for (guint i = 1; i <= n; i++) {
            CtSinkFiles files;
            g_autoptr(GError) error = NULL;
            clear_folder();
            put("", "old");
            put(".json", "old json");
            g_assert_true(ct_sink_files_open(&files, name(""), NULL));
            n_calls = 0;
            fail_at = i;
            failure = failures[f];
            g_assert_false(write_run(&files, "new", "new json", &error));
            g_assert_true(g_str_has_prefix(error->message, name("")));
            g_assert_true(g_str_has_suffix(error->message, g_strerror(failure)));
            ct_sink_files_close(&files);
            g_autofree char *array = contents(""), *json = contents(".json");
            g_assert_true(g_str_equal(array, "old") || g_str_equal(array, "new"));
            if (json && g_str_equal(array, "old"))
                g_assert_cmpstr(json, ==, "old json");
            if (json && g_str_equal(array, "new"))
                g_assert_cmpstr(json, ==, "new json");
            /* The next run is not hindered. */
            fail_at = 0;
            g_assert_true(ct_sink_files_open(&files, name(""), &error));
            g_assert_true(write_run(&files, "next", "next json", &error));
            ct_sink_files_close(&files);
            g_autofree char *last = contents(".json");
            g_assert_cmpstr(last, ==, "next json");
        }
}

/* Where a longer text has no room, the one before stays. */
static void
test_no_room(void)
{
    CtSinkFiles files;
    g_autoptr(GError) error = NULL;
    clear_folder();
    g_assert_true(ct_sink_files_open(&files, name(""), NULL));
    g_assert_true(ct_sink_files_describe(&files, "short", NULL));
    room = 10;
    g_assert_false(ct_sink_files_describe(&files, "a longer text", &error));
    g_assert_cmpint(error->code, ==, CT_ERROR_IO);
    room = G_MAXINT64;
    g_autofree char *text = contents(".json.partial");
    g_assert_cmpstr(text, ==, "short");
    ct_sink_files_close(&files);
}

/* A call that a signal interrupts does not fail. */
static void
test_interrupted_calls(void)
{
    g_autofree char *text = g_strnfill(100000, 'x');
    CtSinkFiles files;
    clear_folder();
    g_assert_true(ct_sink_files_open(&files, name(""), NULL));
    g_assert_cmpint(ct_file_write("x", files.fd, 0, text, 100000, NULL), ==, 100000);
    const guint last = n_calls;
    for (guint i = 0; i < 3; i++) {
        fail_at = n_calls + 1;
        failure = EINTR;
        const gboolean good = i == 0 ? ct_file_write("x", files.fd, 0, text, 100000, NULL) == 100000
                              : i == 1 ? sync_file("x", files.fd, NULL)
                                       : sync_folder(&files, NULL);
        g_assert_true(good);
    }
    g_assert_cmpuint(n_calls, >, last + 3);
    ct_sink_files_close(&files);
}

/* A file that another run renames between opening and locking it is not taken for the partial
 * file. */
static void
test_renamed_since(void)
{
    CtSinkFiles files;
    gboolean is_new;
    clear_folder();
    put(".partial", "whole");
    const int fd = open_file(name(".partial"), &is_new);
    g_assert_cmpint(rename(name(".partial"), name("")), ==, 0);
    g_assert_false(is_same(name(".partial"), fd));
    close(fd);
    g_assert_true(ct_sink_files_open(&files, name(""), NULL));
    ct_sink_files_close(&files);
    g_autofree char *array = contents("");
    g_assert_cmpstr(array, ==, "whole");
}

/* A partial file that is a link is never followed. */
static void
test_links(void)
{
    for (guint i = 2; i < G_N_ELEMENTS(endings); i++)
        for (guint kind = 0; kind < 5; kind++) {
            CtSinkFiles files;
            g_autoptr(GError) error = NULL;
            clear_folder();
            g_autofree char *other = g_build_filename(folder, "other", NULL);
            g_assert_true(g_file_set_contents(other, "mine", -1, NULL));
            const char *path = name(endings[i]);
            g_assert_cmpint(kind == 0   ? symlink(other, path)
                            : kind == 1 ? symlink("nowhere", path)
                            : kind == 2 ? link(other, path)
                            : kind == 3 ? mkfifo(path, 0600)
                                        : symlink("/dev/null", path),
                            ==, 0);
            g_assert_false(ct_sink_files_open(&files, name(""), &error));
            g_autofree char *wanted =
                g_strconcat(path,
                            ": wants a regular file, but is given a link, a folder or a "
                            "device",
                            NULL);
            g_assert_cmpstr(error->message, ==, wanted);
            ct_sink_files_close(&files);
            g_autofree char *text = NULL;
            g_assert_true(g_file_get_contents(other, &text, NULL, NULL));
            g_assert_cmpstr(text, ==, "mine");
            if (i == 2)
                g_assert_false(g_file_test(name(".json.partial"), G_FILE_TEST_EXISTS));
            unlink(other);
        }
}

/* If the partial file is removed or replaced, the final file is still the one that was written. */
static void
test_replaced(void)
{
    for (guint i = 2; i < G_N_ELEMENTS(endings); i++)
        for (guint replaced = 0; replaced < 2; replaced++) {
            CtSinkFiles files;
            g_autoptr(GError) error = NULL;
            clear_folder();
            g_assert_true(ct_sink_files_open(&files, name(""), NULL));
            unlink(name(endings[i]));
            if (replaced)
                put(endings[i], "not mine");
            g_assert_false(write_run(&files, "new", "new json", &error));
            g_assert_true(g_str_has_suffix(error->message,
                                           "wants the file that was written, but it has been "
                                           "removed or replaced"));
            ct_sink_files_close(&files);
            g_assert_false(g_file_test(name(""), G_FILE_TEST_EXISTS));
            g_assert_false(g_file_test(name(".json"), G_FILE_TEST_EXISTS));
        }
}

/* Without locks, only the run that has created the files writes them. */
static void
test_no_locks(void)
{
    CtSinkFiles files, other;
    g_autoptr(GError) error = NULL;
    clear_folder();
    no_locks = TRUE;
    g_assert_true(ct_sink_files_open(&files, name(""), &error));
    g_assert_false(ct_sink_files_open(&other, name(""), &error));
    g_assert_true(
        strstr(error->message, "is there, and can't be locked: remove it if no run writes it"));
    g_clear_error(&error);
    ct_sink_files_close(&other);
    g_assert_true(write_run(&files, "new", "new json", &error));
    ct_sink_files_close(&files);
    g_assert_true(ct_sink_files_open(&files, name(""), &error));
    ct_sink_files_close(&files);
    no_locks = FALSE;
}

/* A library may create the partial file itself; other runs are kept away meanwhile, and the file
 * that gets the final name is the library's. */
static void
test_lent(void)
{
    CtSinkFiles files;
    g_autoptr(GError) error = NULL;
    clear_folder();
    g_assert_true(ct_sink_files_open(&files, name(""), &error));
    g_assert_true(ct_sink_files_lend(&files, &error));
    g_assert_false(g_file_test(name(".partial"), G_FILE_TEST_EXISTS));
    look_as_other_run();
    g_assert_false(ct_sink_files_take_back(&files, &error));
    g_assert_true(g_str_has_suffix(error->message, "can't be created: No such file or directory"));
    g_clear_error(&error);
    put(".partial", "the library's");
    g_assert_true(ct_sink_files_take_back(&files, &error));
    g_assert_true(ct_sink_files_seal(&files, "json", &error));
    g_assert_true(ct_sink_files_commit(&files, &error));
    ct_sink_files_close(&files);
    g_autofree char *array = contents(""), *json = contents(".json");
    g_assert_cmpstr(array, ==, "the library's");
    g_assert_cmpstr(json, ==, "json");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = g_dir_make_tmp("test-sink-files-XXXXXX", NULL);
    g_assert_nonnull(folder);
    g_test_add_func("/sink-files/two-runs", test_two_runs);
    g_test_add_func("/sink-files/failures", test_failures);
    g_test_add_func("/sink-files/no-room", test_no_room);
    g_test_add_func("/sink-files/interrupted-calls", test_interrupted_calls);
    g_test_add_func("/sink-files/renamed-since", test_renamed_since);
    g_test_add_func("/sink-files/links", test_links);
    g_test_add_func("/sink-files/replaced", test_replaced);
    g_test_add_func("/sink-files/no-locks", test_no_locks);
    g_test_add_func("/sink-files/lent", test_lent);
    const int status = g_test_run();
    clear_folder();
    rmdir(folder);
    g_free(folder);
    return status;
}
