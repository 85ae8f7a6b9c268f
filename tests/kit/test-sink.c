/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of sinks of files: a format whose library creates files by name, failures of a format at
 * every call, faults of plugins. */
#include "cornerturn/kit/sink.h"
#include "model/node-params.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file of this test: "TOY", then a byte for each sample. */
typedef struct {
    FILE *library;
    gint64 n;
} Toy;

/* The calls so far; the one of this number fails. */
static guint n_calls, fail_at, n_closed, n_cleared;

static gboolean
call(GError **error)
{
    if (++n_calls != fail_at)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "call %u fails", n_calls);
    return FALSE;
}

static gboolean
toy_open(CtSinkFile *file, GError **error)
{
    Toy *toy = file->self;
    g_assert_true(!file->sink->by_name == (file->fd >= 0));
    if (!call(error))
        return FALSE;
    if (!file->sink->by_name)
        return ct_sink_append(file, "TOY", 3, error);
    toy->library = fopen(file->path, "wx");
    g_assert_nonnull(toy->library);
    return fputs("TOY", toy->library) >= 0;
}

static gboolean
toy_write(CtSinkFile *file, const CtBlock *block, GError **error)
{
    Toy *toy = file->self;
    if (!call(error))
        return FALSE;
    if (!file->sink->by_name)
        return ct_sink_append(file, block->data, block->n_samples, error);
    toy->n += block->n_samples;
    return fwrite(block->data, 1, (gsize)block->n_samples, toy->library) == (gsize)block->n_samples;
}

static gboolean
toy_mark(CtSinkFile *file, GError **error)
{
    const Toy *toy = file->self;
    if (toy->library)
        fflush(toy->library);
    if (file->sink->by_name)
        file->n_samples = file->length = toy->n;
    return call(error);
}

static gboolean
toy_close(CtSinkFile *file, GError **error)
{
    n_closed++;
    return toy_mark(file, error);
}

static void
toy_clear(gpointer self)
{
    Toy *toy = self;
    n_cleared++;
    if (toy->library)
        fclose(toy->library);
}

static const CtSink by_name = {
    .name = "toy files",
    .self_bytes = sizeof(Toy),
    .by_name = TRUE,
    .open = toy_open,
    .write = toy_write,
    .mark = toy_mark,
    .close = toy_close,
    .clear = toy_clear,
};
static const CtSink appended = {
    .name = "toy files",
    .self_bytes = sizeof(Toy),
    .streams = TRUE,
    .open = toy_open,
    .write = toy_write,
    .mark = toy_mark,
    .close = toy_close,
    .clear = toy_clear,
};

static const CtParam table[] = {CT_SINK_PARAMS("the file"), {0}};
static const CtStage stage = {.name = "toy.sink", .params = table};

/* ---- a run ---- */

enum { N = 100 };

typedef struct {
    char *folder;
    CtParams *params;
    CtStream stream;
    CtBinding binding;
    CtNode node;
} Run;

static void
run_init(Run *run, const char *rotation)
{
    run->folder = g_dir_make_tmp("test-sink-XXXXXX", NULL);
    g_autofree char *text =
        g_strdup_printf("{ path: '%s/x%s.toy', digest: sha256%s%s }", run->folder,
                        rotation ? "%i" : "", rotation ? ", " : "", rotation ? rotation : "");
    g_autoptr(CtValue) values = ct_value_parse(text, -1, "g", NULL);
    const CtPlace place = {"g", 1, 1};
    run->params = ct_params_new("x", &stage, &place, values, NULL);
    g_assert_nonnull(run->params);
    ct_stream_init(&run->stream);
    run->stream.type = CT_U8;
    ct_stream_add_axis(&run->stream, "time", N);
    run->binding = (CtBinding){.stream = &run->stream, .max_samples = N};
    g_assert_true(ct_layout_parse(&run->binding.layout, "u8[time]", NULL));
    run->node =
        (CtNode){.stage = &stage, .params = run->params, .n_inputs = 1, .inputs = &run->stream};
    n_calls = n_closed = n_cleared = 0;
}

static void
run_clear(Run *run)
{
    GDir *folder = g_dir_open(run->folder, 0, NULL);
    for (const char *name = g_dir_read_name(folder); name; name = g_dir_read_name(folder)) {
        g_autofree char *path = g_build_filename(run->folder, name, NULL);
        g_unlink(path);
    }
    g_dir_close(folder);
    g_rmdir(run->folder);
    ct_params_free(run->params);
    ct_stream_clear(&run->stream);
    g_free(run->folder);
}

static char *
contents(const Run *run, const char *name)
{
    g_autofree char *path = g_build_filename(run->folder, name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

/* Writes samples 'a', 'b', … in random blocks, as a scheduler does. */
static gboolean
write_all(const CtSink *sink, Run *run, GRand *random, GError **error)
{
    const CtVariant variant = {.backend = CT_CPU, .form = sink};
    CtPrepare prepare = {.nodes = &run->node,
                         .n_nodes = 1,
                         .n_inputs = 1,
                         .inputs = &run->binding,
                         .variant = &variant};
    gpointer state = NULL;
    gboolean good = ct_sink_prepare(&prepare, &state, error);
    for (gint64 t = 0, n; good && t < N; t += n) {
        guint8 data[N];
        n = g_rand_int_range(random, 1, (gint32)(N - t + 1));
        for (gint64 i = 0; i < n; i++)
            data[i] = (guint8)('a' + (t + i) % 26);
        const CtBlock block = {.data = data,
                               .type = CT_U8,
                               .n_axes = 1,
                               .length = {n},
                               .stride = {1},
                               .n_samples = n,
                               .index = t};
        good = ct_sink_work(state, &(CtWork){.inputs = &block}, error);
    }
    good = good && ct_sink_close(state, FALSE, error) && ct_sink_complete(state, FALSE, error);
    ct_sink_finish(state);
    return good;
}

/* ---- tests ---- */

static void
check_file(const Run *run, const char *name, gint64 first, gint64 n)
{
    g_autofree char *array = contents(run, name);
    g_autofree char *beside = g_strconcat(name, ".json", NULL);
    g_autofree char *json = contents(run, beside);
    g_autofree char *bytes = g_strdup_printf("\"bytes\" : %" G_GINT64_FORMAT ",", n + 3);
    g_assert_nonnull(array);
    g_assert_nonnull(json);
    g_assert_nonnull(strstr(json, bytes));
    g_assert_nonnull(strstr(json, "\"sha256\" : "));
    g_assert_cmpuint(strlen(array), ==, (gsize)n + 3);
    g_assert_true(g_str_has_prefix(array, "TOY"));
    for (gint64 i = 0; i < n; i++)
        g_assert_cmpint(array[3 + i], ==, 'a' + (first + i) % 26);
}

static void
test_files(gconstpointer data)
{
    const CtSink *sink = data;
    const guint32 seed = g_test_rand_int();
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_test_message("seed %u", seed);
    fail_at = 0;
    for (guint round = 0; round < 10; round++) {
        g_autoptr(GError) error = NULL;
        Run run;
        run_init(&run, NULL);
        g_assert_true(write_all(sink, &run, random, &error));
        check_file(&run, "x.toy", 0, N);
        g_assert_cmpuint(n_closed, ==, 1);
        g_assert_cmpuint(n_cleared, ==, 1);
        run_clear(&run);

        run_init(&run, "rotate_samples: 30");
        g_assert_true(write_all(sink, &run, random, &error));
        for (gint64 i = 0; i < 4; i++) {
            g_autofree char *name = g_strdup_printf("x%06d.toy", (int)i);
            check_file(&run, name, 30 * i, MIN(30, N - 30 * i));
        }
        g_assert_cmpuint(n_closed, ==, 4);
        g_assert_cmpuint(n_cleared, ==, 4);
        run_clear(&run);
    }
}

/* Whichever call fails, its error is that of the run, what the plugin has is freed once, and no
 * file that is not whole has a final name. */
static void
test_failures(gconstpointer data)
{
    const CtSink *sink = data;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    gboolean failed = TRUE;
    for (guint i = 1; failed; i++) {
        g_autoptr(GError) error = NULL;
        Run run;
        g_rand_set_seed(random, 1);
        run_init(&run, "rotate_samples: 30");
        fail_at = i;
        failed = !write_all(sink, &run, random, &error);
        if (failed) {
            g_autofree char *wanted = g_strdup_printf("call %u fails", i);
            g_assert_cmpstr(error->message, ==, wanted);
        } else
            g_assert_cmpuint(i, >, 12);
        guint n = 0;
        for (gint64 k = 0; k < 4; k++) {
            g_autofree char *name = g_strdup_printf("x%06d.toy", (int)k);
            g_autofree char *path = g_build_filename(run.folder, name, NULL);
            if (!g_file_test(path, G_FILE_TEST_EXISTS))
                continue;
            check_file(&run, name, 30 * k, MIN(30, N - 30 * k));
            n++;
        }
        g_assert_true(failed ? n < 4 : n == 4);
        g_assert_cmpuint(n_cleared, >=, 1);
        g_assert_cmpuint(n_cleared, <=, n + 1);
        run_clear(&run);
    }
}

static void
refuse(const CtSink *sink, const char *layout, const char *message)
{
    g_autoptr(GError) error = NULL;
    Run run;
    fail_at = 0;
    run_init(&run, NULL);
    g_assert_true(ct_layout_parse(&run.binding.layout, layout, NULL));
    CtLayout wish = {0};
    run.node.input_layouts = &wish;
    const CtVariant variant = {.backend = CT_CPU, .form = sink};
    CtPrepare prepare = {.nodes = &run.node,
                         .n_nodes = 1,
                         .n_inputs = 1,
                         .inputs = &run.binding,
                         .variant = &variant};
    gpointer state = NULL;
    g_assert_false(ct_sink_infer(sink, &run.node, &error) &&
                   ct_sink_prepare(&prepare, &state, &error));
    ct_sink_finish(state);
    g_assert_cmpstr(error->message, ==, message);
    run_clear(&run);
}

static gboolean
more_lanes(CtSinkFile *file, GError **error G_GNUC_UNUSED)
{
    ct_stream_add_axis(&file->stream, "pol", 2)->loses = TRUE;
    return TRUE;
}

static gboolean
set_reserved(CtSinkFile *file, GError **error G_GNUC_UNUSED)
{
    file->reserved[0] = 1;
    return TRUE;
}

static void
test_faults(void)
{
    CtSink sink = appended;
    sink.write = NULL;
    refuse(&sink, "u8[time]", "the plugin for toy files is at fault: its CtSink has no write");
    sink = appended;
    sink.by_name = TRUE;
    refuse(&sink, "u8[time]",
           "the plugin for toy files is at fault: its CtSink streams, but by_name");
    sink = appended;
    sink.reserved[G_N_ELEMENTS(sink.reserved) - 1] = 1;
    refuse(
        &sink, "u8[time]",
        "the plugin for toy files sets a member of CtSink that this Cornerturn does not know: the "
        "plugin wants a newer one");
    sink = appended;
    sink.open = set_reserved;
    refuse(
        &sink, "u8[time]",
        "the plugin for toy files sets a member of CtSinkFile that this Cornerturn does not know: "
        "the plugin wants a newer one");
    sink = appended;
    sink.open = more_lanes;
    refuse(&sink, "u8[time]",
           "the plugin for toy files describes an array of other lanes than the stream's, and does "
           "not say which");
    refuse(&appended, "u8[time time:4]",
           "the plugin for toy files is at fault: its rows take blocks of time");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/sink/files/appended", &appended, test_files);
    g_test_add_data_func("/sink/files/by-name", &by_name, test_files);
    g_test_add_data_func("/sink/failures/appended", &appended, test_failures);
    g_test_add_data_func("/sink/failures/by-name", &by_name, test_failures);
    g_test_add_func("/sink/faults", test_faults);
    return g_test_run();
}
