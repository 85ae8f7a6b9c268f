/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the cost database: it gives back what was put, with other writers and with a damaged
 * file. */
#include "cost/database.h"

#include <cornerturn/stage.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    char *folder;
    char *path;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    fixture->folder = g_dir_make_tmp("store-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->path = g_build_filename(fixture->folder, "further", "costs.db", NULL);
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autofree char *further = g_path_get_dirname(fixture->path);
    g_autofree char *journal = g_strconcat(fixture->path, "-journal", NULL);
    g_unlink(fixture->path);
    g_unlink(journal);
    g_rmdir(further);
    g_rmdir(fixture->folder);
    g_free(fixture->path);
    g_free(fixture->folder);
}

static CtMeasurement sample;

static void
set_sample(void)
{
    sample = (CtMeasurement){
        .key =
            {
                .stages = g_intern_string("fir"),
                .variant = g_intern_string("cpu-avx2"),
                .row = g_intern_string("ci8|cf32[... time] -> cf32[... time phase]"),
                .way = g_intern_string(""),
                .machine = g_intern_string("a \\ machine, 2 µs"),
                .n_workers = 2,
                .aim = 1 << 20,
                .code = g_intern_string("0123456789abcdef"),
            },
        .operations = 1e6 / 3,
        .bytes = 12345,
        .seconds = 1.0 / 3e9,
        .spread = 0.0123,
        .n_repetitions = 7,
        .time = 1700000000,
    };
    g_assert_true(ct_cost_key_parse(&sample.key, CT_KEY_LAYOUTS,
                                    "ci8[station pol time], - -> cf32[station pol time phase]"));
    g_assert_true(ct_cost_key_parse(&sample.key, CT_KEY_LENGTHS, "64 2 0, - -> 64 2 0 256"));
    g_assert_true(
        ct_cost_key_parse(&sample.key, CT_KEY_PARAMETERS, "window=4096 hop=-2 taper=\"1\" x="));
    g_assert_true(ct_cost_key_parse(&sample.key, CT_KEY_TUNING, "tile=4,threads=2"));
}

static void
assert_same(const CtMeasurement *a, const CtMeasurement *b)
{
    g_autofree char *x = ct_measurement_to_json(a);
    g_autofree char *y = ct_measurement_to_json(b);
    g_assert_cmpstr(x, ==, y);
    g_assert_true(ct_cost_key_equal(&a->key, &b->key));
    g_assert_cmpuint(ct_cost_key_hash(&a->key), ==, ct_cost_key_hash(&b->key));
}

static CtDatabase *
open_database(const Fixture *fixture, gboolean writes)
{
    g_autoptr(GError) error = NULL;
    CtDatabase *database = ct_database_open(fixture->path, writes, &error);
    g_assert_no_error(error);
    return database;
}

static void
put(CtDatabase *database, const CtMeasurement *measurement)
{
    g_autoptr(GError) error = NULL;
    ct_database_put(database, measurement, &error);
    g_assert_no_error(error);
}

static guint
count(const Fixture *fixture, const char *const *stages)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtDatabase) database = open_database(fixture, FALSE);
    g_autoptr(GPtrArray) list = ct_database_list(database, stages, &error);
    g_assert_no_error(error);
    return list->len;
}

static void
test_round_trip(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(count(fixture, NULL), ==, 0);
    g_assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));

    g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
    g_assert_null(ct_database_get(database, &sample.key, &error));
    g_assert_no_error(error);
    put(database, &sample);
    CtMeasurement failed = sample;
    failed.key.stages = g_intern_string("fir+fft");
    failed.failure = "out of \"memory\"";
    put(database, &failed);
    CtMeasurement again = sample;
    again.seconds = 1;
    put(database, &again);

    g_autoptr(CtMeasurement) found = ct_database_get(database, &sample.key, &error);
    g_assert_no_error(error);
    assert_same(found, &again);
    static const char *const fused[] = {"fft", "fir+fft", NULL};
    g_assert_cmpuint(count(fixture, NULL), ==, 2);
    g_assert_cmpuint(count(fixture, fused), ==, 1);
    g_autoptr(GPtrArray) list = ct_database_list(database, fused, &error);
    assert_same(g_ptr_array_index(list, 0), &failed);

    guint n;
    g_assert_true(ct_database_forget(database, fused, &n, &error));
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpuint(count(fixture, NULL), ==, 1);
}

static void
test_ceilings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    CtCeiling ceiling = {"machine", "bandwidth", 1e10, 12};
    g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
    g_assert_true(ct_database_put_ceiling(database, &ceiling, &error));
    ceiling.value = 2e10;
    g_assert_true(ct_database_put_ceiling(database, &ceiling, &error));
    g_autoptr(GPtrArray) ceilings = ct_database_list_ceilings(database, &error);
    g_assert_cmpuint(ceilings->len, ==, 1);
    const CtCeiling *found = g_ptr_array_index(ceilings, 0);
    g_assert_cmpfloat(found->value, ==, 2e10);

    g_autofree char *text = ct_ceiling_to_json(found);
    g_autoptr(GPtrArray) read = g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
    g_assert_true(ct_database_parse(text, strlen(text), "x.json", NULL, NULL, read, &error));
    g_autofree char *same = ct_ceiling_to_json(g_ptr_array_index(read, 0));
    g_assert_cmpstr(text, ==, same);
}

static void
test_text(void)
{
    g_autoptr(GError) error = NULL;
    CtMeasurement failed = sample;
    failed.key.stages = g_intern_string("fir+fft");
    failed.failure = "line\nand \"quote\"";
    g_autofree char *one = ct_measurement_to_json(&sample);
    g_autofree char *two = ct_measurement_to_json(&failed);
    /* Spaces make no difference. */
    g_autoptr(GString) spaced = g_string_new(one);
    g_string_replace(spaced, "\":", "\": ", 0);
    g_autofree char *text = g_strconcat("\n", spaced->str, "\n", two, NULL);
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
    g_assert_true(ct_database_parse(text, strlen(text), "x.json", NULL, list, NULL, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(list->len, ==, 2);
    assert_same(g_ptr_array_index(list, 0), &sample);
    assert_same(g_ptr_array_index(list, 1), &failed);

    static const char *const fir[] = {"fir", NULL}, *const other[] = {"another", NULL};
    g_ptr_array_set_size(list, 0);
    g_assert_true(ct_database_parse(text, strlen(text), "x.json", &(CtStoreFilter){fir, NULL}, list,
                                    NULL, &error));
    g_assert_cmpuint(list->len, ==, 1);
    g_assert_true(ct_database_parse(text, strlen(text), "x.json", &(CtStoreFilter){fir, other},
                                    list, NULL, &error));
    g_assert_cmpuint(list->len, ==, 1);
}

static void
test_text_errors(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"\n[1]", "x.json:2: wants a measurement or a roof, {\"stages\": …} or {\"machine\": …, "
                  "\"roof\": …}"},
        {"{\"machine\": \"m\", \"roof\": \"r\", \"value\": -1, \"time\": 0}",
         "x.json:1: 'value' wants a number, 0 or more, but is given '-1'"},
        {"{\"machine\": \"m\", \"roof\": \"r\", \"value\": 1, \"time\": 0.5}",
         "x.json:1: 'time' wants an integer, 0 or more, but is given '0.5'"},
        {"{\"stages\": \"fir\", \"variant\": []}",
         "x.json:1: 'variant' wants a text, but is given nothing"},
        {"{\"stages\": \"fir\", \"variant\": \"cpu\", \"row\": \"\", \"way\": \"\", "
         "\"layouts\": \"cf32[time]\"}",
         "x.json:1: 'layouts' wants layouts, cf32[time pol] -> cf32[pol time], but is given "
         "'cf32[time]'"},
    };
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(GPtrArray) list =
            g_ptr_array_new_with_free_func((GDestroyNotify)ct_measurement_free);
        g_autoptr(GPtrArray) ceilings =
            g_ptr_array_new_with_free_func((GDestroyNotify)ct_ceiling_free);
        g_assert_false(ct_database_parse(cases[i].text, strlen(cases[i].text), "x.json", NULL, list,
                                         ceilings, &error));
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
    g_autoptr(GError) error = NULL, cut = NULL;
    g_assert_false(ct_database_parse("{", 1, "x.json", NULL, NULL, NULL, &error));
    g_assert_nonnull(strstr(error->message, "x.json:1"));
    g_assert_false(ct_database_parse("\n \0{}", 5, "x.json", NULL, NULL, NULL, &cut));
    g_assert_cmpstr(cut->message, ==, "x.json:2: wants a line of JSON, but is given a NUL byte");
}

/* The comparisons of whole keys, of candidates, and of settings. */
static void
test_keys(void)
{
    CtCostKey other_tuning, other_variant, other_length;
    ct_cost_key_copy(&other_tuning, &sample.key);
    ct_cost_key_copy(&other_variant, &sample.key);
    ct_cost_key_copy(&other_length, &sample.key);
    g_assert_true(ct_cost_key_parse(&other_tuning, CT_KEY_TUNING, "tile=8,threads=2"));
    other_variant.variant = g_intern_string("cpu");
    g_assert_true(ct_cost_key_parse(&other_length, CT_KEY_LAYOUTS,
                                    "ci8[station pol time], - -> cf32[station pol time phase]"));
    g_assert_true(ct_cost_key_parse(&other_length, CT_KEY_LENGTHS, "64 2 0, - -> 64 2 0 255"));
    g_assert_false(ct_cost_key_equal(&sample.key, &other_tuning));
    g_assert_true(ct_cost_key_equal_candidate(&sample.key, &other_tuning));
    g_assert_false(ct_cost_key_equal_candidate(&sample.key, &other_variant));
    g_assert_true(ct_cost_key_equal_setting(&sample.key, &other_variant));
    g_assert_cmpuint(ct_cost_key_hash(&sample.key), ==, ct_cost_key_hash(&other_variant));
    g_assert_false(ct_cost_key_equal_setting(&sample.key, &other_length));
    ct_cost_key_clear(&other_tuning);
    ct_cost_key_clear(&other_variant);
    ct_cost_key_clear(&other_length);
}

/* ---- several processes ---- */

enum { N_WRITERS = 3, N_EACH = 40 };

static void
write_many(const Fixture *fixture, gint64 writer)
{
    g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
    for (gint64 i = 0; i < N_EACH; i++) {
        CtMeasurement measurement = sample;
        measurement.key.n_workers = writer;
        measurement.key.aim = i;
        put(database, &measurement);
    }
}

static void
test_processes(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    pid_t writers[N_WRITERS];
    for (gint64 w = 0; w < N_WRITERS; w++) {
        writers[w] = fork();
        g_assert_cmpint(writers[w], >=, 0);
        if (writers[w] == 0) {
            write_many(fixture, w);
            _exit(0);
        }
    }
    guint seen = 0;
    for (guint w = 0; w < N_WRITERS;) {
        const guint n = count(fixture, NULL);
        g_assert_cmpuint(n, >=, seen);
        seen = n;
        int status;
        const pid_t ended = waitpid(writers[w], &status, WNOHANG);
        g_assert_cmpint(ended, >=, 0);
        if (ended == 0)
            continue;
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        w++;
    }
    g_assert_cmpuint(count(fixture, NULL), ==, N_WRITERS * N_EACH);
}

/* Measurements that a process has put stay when it is killed. */
static void
test_killed(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    const pid_t writer = fork();
    if (writer == 0) {
        g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
        for (gint64 i = 0;; i++) {
            CtMeasurement measurement = sample;
            measurement.key.aim = i;
            put(database, &measurement);
            if (write(ends[1], "", 1) < 0)
                _exit(1);
        }
    }
    char written[20];
    for (guint n = 0; n < 20;) {
        const gssize more = read(ends[0], written, sizeof written - n);
        g_assert_cmpint(more, >, 0);
        n += (guint)more;
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    g_assert_cmpuint(count(fixture, NULL), >=, 20);
    g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
    put(database, &sample);
}

/* ---- damaged files ---- */

static void
assert_no_database(const Fixture *fixture, gboolean writes, const char *words)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtDatabase) database = ct_database_open(fixture->path, writes, &error);
    g_autoptr(GPtrArray) list = database ? ct_database_list(database, NULL, &error) : NULL;
    g_assert_null(list);
    g_assert_error(error, CT_ERROR, CT_ERROR_IO);
    if (!strstr(error->message, words) || !strstr(error->message, fixture->folder))
        g_error("the error is: %s", error->message);
}

static void
make_folder(const Fixture *fixture)
{
    g_autofree char *further = g_path_get_dirname(fixture->path);
    g_assert_cmpint(g_mkdir(further, 0777), ==, 0);
}

static void
test_garbage(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    make_folder(fixture);
    g_autofree char *noise = g_strnfill(5000, 'x');
    g_assert_true(g_file_set_contents(fixture->path, noise, -1, NULL));
    assert_no_database(fixture, FALSE, "cannot be read: file is not a database");
    assert_no_database(fixture, TRUE, "cannot be read: file is not a database");
}

static void
test_damaged(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    write_many(fixture, 0);
    g_autofree char *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(fixture->path, &bytes, &n, NULL));
    memset(bytes + n / 2, 0xff, n / 2);
    g_assert_true(g_file_set_contents(fixture->path, bytes, (gssize)n, NULL));
    assert_no_database(fixture, FALSE, "cannot be read: database disk image is malformed; remove");
    g_assert_true(g_file_set_contents(fixture->path, bytes, (gssize)n / 3, NULL));
    assert_no_database(fixture, FALSE, "cannot be read: database disk image is malformed; remove");
}

static void
execute(const Fixture *fixture, const char *sql)
{
    sqlite3 *database;
    g_assert_cmpint(sqlite3_open(fixture->path, &database), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(database, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(database);
}

static void
test_foreign(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    make_folder(fixture);
    execute(fixture, "CREATE TABLE costs (stages TEXT)");
    assert_no_database(fixture, FALSE, "is a database, but no cost database");
    assert_no_database(fixture, TRUE, "is a database, but no cost database");
}

/* Rows whose key has another form are left out, and can be deleted. */
static void
test_other_forms(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    static const char *const changes[] = {
        "layouts = 'nonsense'",
        "layouts = 'cf32[time] -> cf32[time] -> cf32[time]'",
        "layouts = 'ci8[station pol time -> cf32[station pol time phase]'",
        "lengths = '64 2 0 -> 64 2 0 256'",
        "lengths = '64 2, - -> 64 2 0 256'",
        "lengths = '64 2 0, - -> 64 2 0 256 1'",
        "lengths = '64 x 0, - -> 64 2 0 256'",
        "lengths = '64 2 0, 1 -> 64 2 0 256'",
        "parameters = 'window'",
        "parameters = '=3'",
        "tuning = 'tile=4,,threads=2'",
    };
    for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *sql = g_strconcat("UPDATE costs SET ", changes[i], NULL);
        g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
        put(database, &sample);
        g_assert_cmpuint(count(fixture, NULL), ==, 1);
        execute(fixture, sql);
        g_assert_cmpuint(count(fixture, NULL), ==, 0);
        guint n;
        g_assert_true(ct_database_forget(database, NULL, &n, &error));
        g_assert_cmpuint(n, ==, 1);
    }
}

/* A table that others have made like ours, but which allows NULL. */
static void
test_nulls(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    ct_database_close(open_database(fixture, TRUE));
    execute(fixture, "CREATE TABLE other AS SELECT * FROM costs; DROP TABLE costs;"
                     "ALTER TABLE other RENAME TO costs; INSERT INTO costs DEFAULT VALUES");
    g_autoptr(CtDatabase) database = open_database(fixture, FALSE);
    g_autoptr(GPtrArray) list = ct_database_list(database, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(list->len, ==, 0);
}

static void
test_version(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    ct_database_close(open_database(fixture, TRUE));
    execute(fixture, "PRAGMA user_version = 99");
    assert_no_database(fixture, FALSE, "(its form is 99, wanted is 1)");
}

static void
test_no_folder(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autofree char *further = g_path_get_dirname(fixture->path);
    g_assert_true(g_file_set_contents(further, "", 0, NULL));
    assert_no_database(fixture, TRUE, "cannot be made: folder");
    g_assert_cmpint(g_unlink(further), ==, 0);
    make_folder(fixture);
    g_assert_cmpint(g_mkdir(fixture->path, 0777), ==, 0);
    assert_no_database(fixture, FALSE, "unable to open database file");
    assert_no_database(fixture, TRUE, "unable to open database file");
    g_assert_cmpint(g_rmdir(fixture->path), ==, 0);
}

static void
test_busy(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    ct_database_close(open_database(fixture, TRUE));
    sqlite3 *other;
    g_assert_cmpint(sqlite3_open(fixture->path, &other), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), ==, SQLITE_OK);
    assert_no_database(fixture, FALSE, "database is locked by another process");
    sqlite3_close(other);
    g_assert_cmpuint(count(fixture, NULL), ==, 0);
}

/* If the disk is full, a put fails and earlier measurements stay. */
static void
test_full(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtDatabase) database = open_database(fixture, TRUE);
    put(database, &sample);
    struct rlimit before;
    g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &before), ==, 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, before.rlim_max});
    CtMeasurement other = sample;
    other.key.stages = g_intern_string("fft");
    const gboolean good = ct_database_put(database, &other, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    g_assert_false(good);
    g_assert_error(error, CT_ERROR, CT_ERROR_IO);
    g_assert_nonnull(strstr(error->message, "cannot be written: "));
    g_assert_cmpuint(count(fixture, NULL), ==, 1);
    put(database, &other);
}

static void
test_path(void)
{
    g_autofree char *given = ct_database_path("here.db");
    g_assert_cmpstr(given, ==, "here.db");
    g_assert_null(ct_database_path("off"));
    g_setenv("CORNERTURN_COSTS", "there.db", TRUE);
    g_autofree char *named = ct_database_path(NULL);
    g_assert_cmpstr(named, ==, "there.db");
    g_setenv("CORNERTURN_COSTS", "off", TRUE);
    g_assert_null(ct_database_path(NULL));
    g_unsetenv("CORNERTURN_COSTS");
    g_autofree char *usual = ct_database_path(NULL);
    g_assert_true(g_str_has_suffix(usual, "/cornerturn/costs.db"));
    g_setenv("CORNERTURN_COSTS", "off", TRUE);
}

#define ADD(name, test) g_test_add(name, Fixture, NULL, set_up, test, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    set_sample();
    g_test_add_func("/database/path", test_path);
    ADD("/database/round-trip", test_round_trip);
    ADD("/database/roofs", test_ceilings);
    g_test_add_func("/database/text", test_text);
    g_test_add_func("/database/text-errors", test_text_errors);
    g_test_add_func("/database/keys", test_keys);
    ADD("/database/processes", test_processes);
    ADD("/database/killed", test_killed);
    ADD("/database/garbage", test_garbage);
    ADD("/database/damaged", test_damaged);
    ADD("/database/foreign", test_foreign);
    ADD("/database/other-forms", test_other_forms);
    ADD("/database/nulls", test_nulls);
    ADD("/database/version", test_version);
    ADD("/database/no-folder", test_no_folder);
    ADD("/database/busy", test_busy);
    ADD("/database/full", test_full);
    const int status = g_test_run();
    ct_measurement_clear(&sample);
    return status;
}
