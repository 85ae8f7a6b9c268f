/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that a program can do through the library what the command does: describe, verify and tune
 * a graph, use the cost database, inspect stages. The program is linked with the library, so all of
 * it is exported. */
#include <cornerturn/costs.h>
#include <cornerturn/inspect.h>
#include <cornerturn/pipeline.h>
#include <cornerturn/text.h>
#include <glib/gstdio.h>
#include <string.h>

#define SKY                                                                                        \
    "  sky: { stage: generate, type: cf32, sample_rate: 1 MHz, n_stations: 2, n_pols: 2,\n"        \
    "         samples: 4000, layout: '[time station pol]' }\n"
#define GRAPH                                                                                      \
    "stages:\n" SKY "  powers: { stage: power, from: sky }\n"                                      \
    "  end: { stage: discard, from: powers }\n"
#define WITH_ENDPOINTS                                                                             \
    "stages:\n"                                                                                    \
    "  x: { stage: input, layout: 'f32[time]', shape: [-1] }\n"                                    \
    "  y: { stage: output, from: x }\n"
#define WITH_OUTPUT "stages:\n" SKY "  y: { stage: output, from: sky }\n"

typedef struct {
    char *folder, *database;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    fixture->folder = g_dir_make_tmp("cornerturn-XXXXXX", &error);
    g_assert_no_error(error);
    fixture->database = g_build_filename(fixture->folder, "costs.db", NULL);
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GDir) folder = g_dir_open(fixture->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(folder));) {
        g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
        g_remove(path);
    }
    g_rmdir(fixture->folder);
    g_free(fixture->database);
    g_free(fixture->folder);
}

static CtPipeline *
parse(const char *text, const char *database)
{
    g_autoptr(GError) error = NULL;
    CtPipeline *pipeline = ct_pipeline_parse(text, -1, "graph", &error);
    g_assert_no_error(error);
    g_assert_true(ct_pipeline_set_workers(pipeline, 1, &error));
    g_assert_true(ct_pipeline_set_backend(pipeline, NULL, "cpu", &error));
    g_assert_true(ct_pipeline_set_costs(pipeline, database, &error));
    return pipeline;
}

/* ---- a graph ---- */

static void
test_streams(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, "off");
    g_autofree char *text = ct_pipeline_streams_text(pipeline, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(text, ==,
                    "sky: generate\n"
                    "  voltages  cf32  time 4000, station 2, pol 2\n"
                    "    1 MHz samples, 4 ms\n"
                    "powers: power\n"
                    "  out  f32  time 4000, station 2, pol 2\n"
                    "    1 MHz samples, 4 ms\n"
                    "end: discard\n");
}

static void
test_endpoints(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) neither = parse(GRAPH, "off");
    g_assert_true(ct_pipeline_check_fed(neither, &error));
    g_assert_true(ct_pipeline_check_taken(neither, &error));
    g_autoptr(CtPipeline) output = parse(WITH_OUTPUT, "off");
    g_assert_true(ct_pipeline_check_fed(output, &error));
    g_assert_false(ct_pipeline_check_taken(output, &error));
    g_assert_cmpstr(error->message, ==,
                    "graph:4:3: node 'y': wants a program that takes its blocks, but is given none "
                    "here");
    g_clear_error(&error);
    g_autoptr(CtPipeline) both = parse(WITH_ENDPOINTS, "off");
    g_assert_false(ct_pipeline_check_fed(both, &error));
    g_assert_cmpstr(error->message, ==,
                    "graph:2:3: node 'x': wants blocks of a program, but is given none here");
}

static void
test_verify(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, "off");
    gboolean agrees = FALSE;
    g_autofree char *text = ct_pipeline_verify(pipeline, "reference", NULL, &agrees, &error);
    g_assert_no_error(error);
    g_assert_true(agrees);
    g_assert_nonnull(strstr(text, "powers"));
}

/* ---- tuning ---- */

typedef struct {
    guint n_told, n_measured, most;
} Count;

static void
note(const CtTuneProgress *progress, gpointer user_data)
{
    Count *count = user_data;
    count->n_told++;
    count->n_measured = progress->n_measured;
}

static gboolean
is_enough(gpointer user_data)
{
    const Count *count = user_data;
    return count->n_measured >= count->most;
}

static void
test_tune(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, fixture->database);
    Count count = {.most = 1};
    const CtTuneControl control = {
        .is_quick = TRUE, .progress = note, .is_over = is_enough, .user_data = &count};
    gboolean is_decided = TRUE;
    g_autofree char *early = ct_pipeline_tune(pipeline, &control, &is_decided, &error);
    g_assert_no_error(error);
    g_assert_false(is_decided);
    const guint64 n_early = g_ascii_strtoull(early, NULL, 10);
    g_assert_cmpuint(n_early, >, 0);
    g_assert_cmpuint(count.n_told, >, 0);

    const CtTuneControl whole = {.is_quick = TRUE};
    g_autofree char *text = ct_pipeline_tune(pipeline, &whole, &is_decided, &error);
    g_assert_no_error(error);
    g_assert_true(is_decided);
    /* Its measurements are in the database. (Which ways of the first search it looks at again
     * depends on the times that these took.) */
    g_assert_cmpuint(g_ascii_strtoull(text, NULL, 10), >, 0);
    g_autofree char *again = ct_pipeline_tune(pipeline, &whole, &is_decided, &error);
    g_assert_no_error(error);
    g_assert_true(is_decided);
    g_assert_null(strstr(again, "; 0 were known\n"));
    g_autofree char *costs =
        ct_costs_list(fixture->database, (const char *const[]){"power", NULL}, &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(costs, "\npower cpu"));

    /* The plan is made after it, and uses the results. */
    g_autofree char *explained = ct_pipeline_describe(pipeline, "explain", &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(explained, "measured"));
}

static void
test_compare(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, fixture->database);
    Count count = {0};
    const CtTuneControl over = {.is_quick = TRUE, .is_over = is_enough, .user_data = &count};
    g_assert_null(ct_pipeline_compare(pipeline, &over, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CANCELLED);
    g_clear_error(&error);
    const CtTuneControl control = {.is_quick = TRUE};
    g_autofree char *text = ct_pipeline_compare(pipeline, &control, &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(text, "\nstage "));
    g_assert_nonnull(strstr(text, "powers"));
    g_autoptr(CtPipeline) fed = parse(WITH_ENDPOINTS, fixture->database);
    g_assert_null(ct_pipeline_compare(fed, &control, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_CONFIG);
}

static void
test_tuning_refused(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    gboolean is_decided;
    g_autoptr(CtPipeline) off = parse(GRAPH, "off");
    g_assert_null(ct_pipeline_tune(off, &(CtTuneControl){0}, &is_decided, &error));
    g_assert_cmpstr(error->message, ==,
                    "tuning wants a file for what it measures, but costs are off");
    g_clear_error(&error);
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, fixture->database);
    g_assert_null(ct_pipeline_tune(pipeline, &(CtTuneControl){.budget = -1}, &is_decided, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
    g_assert_cmpstr(error->message, ==,
                    "ct_pipeline_tune wants a finite budget of 0 s or more, but is given -1");
}

/* ---- costs ---- */

/* Lines that are exported from one database and imported to another are the same there. */
static void
test_costs(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *other = g_build_filename(fixture->folder, "other.db", NULL);
    g_autoptr(CtPipeline) pipeline = parse(GRAPH, fixture->database);
    gboolean is_decided;
    g_autofree char *report G_GNUC_UNUSED =
        ct_pipeline_tune(pipeline, &(CtTuneControl){.is_quick = TRUE}, &is_decided, &error);
    g_assert_no_error(error);

    g_autofree char *lines = ct_costs_export(fixture->database, NULL, &error);
    g_assert_no_error(error);
    g_autofree char *nothing = ct_costs_export(other, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(nothing, ==, "");
    g_assert_false(g_file_test(other, G_FILE_TEST_EXISTS));
    guint n_measurements, n_ceilings, n;
    g_assert_true(ct_costs_import(other, lines, strlen(lines), "lines", NULL, &n_measurements,
                                  &n_ceilings, &error));
    g_assert_cmpuint(n_measurements, >, 0);
    g_assert_cmpuint(n_ceilings, >, 0);
    g_autofree char *again = ct_costs_export(other, NULL, &error);
    g_assert_cmpstr(lines, ==, again);

    g_assert_true(ct_costs_forget(other, NULL, &n, &error));
    g_assert_cmpuint(n, ==, n_measurements);
    g_autofree char *list = ct_costs_list(other, NULL, &error);
    g_autofree char *head = g_strdup_printf("%s: 0 measurements, 0 of them failed\n\n", other);
    g_assert_true(g_str_has_prefix(list, head));
}

static void
test_costs_refused(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    guint n_measurements, n_ceilings;
    const char *const unknown[] = {"fir+fri", NULL};
    g_assert_null(ct_costs_list(fixture->database, unknown, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PARAMETER);
    g_assert_cmpstr(error->message, ==, "fir+fri: there is no stage 'fri'; did you mean 'fir'?");
    g_clear_error(&error);
    g_assert_null(ct_costs_list("off", NULL, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_IO);
    g_clear_error(&error);
    g_assert_false(ct_costs_import(fixture->database, "{}\n", 3, "lines", NULL, &n_measurements,
                                   &n_ceilings, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_DATA);
    g_assert_true(g_str_has_prefix(error->message, "lines:1: "));
}

static void
test_ceilings(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = ct_costs_measure_ceilings(fixture->database, &error);
    g_assert_no_error(error);
    g_assert_nonnull(strstr(text, "peak baseline"));
    g_autofree char *list = ct_costs_list(fixture->database, NULL, &error);
    g_assert_no_error(error);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >, 3);
    for (guint i = 0; lines[i]; i++)
        g_assert_nonnull(strstr(list, lines[i]));
}

/* ---- stages ---- */

static void
test_inspect(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) problems = NULL;
    g_autofree char *list = ct_inspect(NULL, &problems, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_strv_length(problems), ==, 0);
    g_assert_nonnull(strstr(list, "\nfir "));
    g_assert_nonnull(strstr(list, "\n\ncuda is not available: CORNERTURN_CUDA=off forbids it\n"));
    g_autofree char *stage = ct_inspect("fir", NULL, &error);
    g_assert_no_error(error);
    g_assert_true(g_str_has_prefix(stage, "fir: "));
    g_assert_nonnull(strstr(stage, "\nVariants\n"));
    g_assert_null(ct_inspect("fri", NULL, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
}

static void
test_inspect_file(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = NULL, *none = NULL;
    g_assert_true(ct_inspect_file("fir", &file, &error));
    g_assert_true(g_str_has_suffix(file, "/ct-fir.so"));
    g_assert_true(ct_inspect_file("fri", &none, &error));
    g_assert_null(none);
}

/* ---- text ---- */

static void
test_text(void)
{
    g_autoptr(GError) error = NULL;
    CtQuantity quantity;
    g_assert_true(ct_quantity_parse(&quantity, "1.5 GiB", "B", &error));
    g_assert_cmpfloat(quantity.value, ==, 1.5 * 1024 * 1024 * 1024);
    g_autofree char *seconds = ct_format_seconds(8);
    g_autofree char *minutes = ct_format_seconds(80);
    g_assert_cmpstr(seconds, ==, "8 s");
    g_assert_cmpstr(minutes, ==, "1 min 20 s");
    g_autofree char *remark = ct_suggest_remark("pln", (const char *const[]){"plan"}, 1, NULL);
    g_assert_cmpstr(remark, ==, "; did you mean 'plan'?");
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*test)(Fixture *fixture, gconstpointer data);
    } tests[] = {
        {"/program/tune", test_tune},
        {"/program/compare", test_compare},
        {"/program/tuning-refused", test_tuning_refused},
        {"/program/costs", test_costs},
        {"/program/costs-refused", test_costs_refused},
        {"/program/ceilings", test_ceilings},
    };
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/program/streams", test_streams);
    g_test_add_func("/program/endpoints", test_endpoints);
    g_test_add_func("/program/verify", test_verify);
    g_test_add_func("/program/inspect", test_inspect);
    g_test_add_func("/program/inspect-file", test_inspect_file);
    g_test_add_func("/program/text", test_text);
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].test, tear_down);
    return g_test_run();
}
