/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the registry, on good and bad plugins. */
#include "graph/registry.h"
#include "model/isa.h"
#include "model/row.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

/* The core's own stages: input and output. */
enum { n_own = 2 };

typedef struct {
    char *folder;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->folder = g_dir_make_tmp("cornerturn-XXXXXX", NULL);
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GDir) listing = g_dir_open(fixture->folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(listing));) {
        g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(fixture->folder);
    g_free(fixture->folder);
}

/* Copies the test plugin `name` to the fixture's folder. */
static void
add_plugin(const Fixture *fixture, const char *name)
{
    g_autofree char *file = g_strdup_printf("ct-%s.so", name);
    g_autofree char *from = g_build_filename(g_getenv("CORNERTURN_TEST_PLUGINS"), file, NULL);
    g_autofree char *to = g_build_filename(fixture->folder, file, NULL);
    g_assert_no_errno(symlink(from, to));
}

static void
add_text(const Fixture *fixture, const char *file)
{
    g_autofree char *path = g_build_filename(fixture->folder, file, NULL);
    g_assert_true(g_file_set_contents(path, "not an ELF file\n", -1, NULL));
}

static CtRegistry *
open_folder(const Fixture *fixture, GError **error)
{
    const char *const folders[] = {fixture->folder, NULL};
    return ct_registry_new_from(folders, error);
}

static void
check_problem(const Fixture *fixture, const char *file, const char *what)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) registry = open_folder(fixture, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_strv_length((char **)ct_registry_problems(registry)), ==, 1);
    g_autofree char *message = g_strdup_printf("%s/%s: %s", fixture->folder, file, what);
    const char *problem = ct_registry_problems(registry)[0];
    if (!strstr(problem, message))
        g_assert_cmpstr(problem, ==, message);
    /* The error for a missing stage gives the reason. */
    g_assert_null(ct_registry_stage(registry, "hollow", &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_assert_nonnull(strstr(error->message, problem));
}

static void
test_stages(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "fail");
    add_plugin(fixture, "more");
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) registry = open_folder(fixture, &error);
    g_assert_no_error(error);
    g_assert_null(ct_registry_problems(registry)[0]);

    const GPtrArray *stages = ct_registry_stages(registry);
    /* The core's own stages, input and output, are among them. */
    g_assert_cmpuint(stages->len, ==, 10);
    g_assert_cmpstr(((const CtStage *)stages->pdata[0])->name, ==, "fail.advance");
    g_assert_cmpstr(((const CtStage *)stages->pdata[7])->name, ==, "fail.work");
    const CtStage *stage = ct_registry_stage(registry, "fail.work", NULL);
    g_assert_true(g_str_has_suffix(ct_registry_stage_file(registry, stage), "/ct-fail.so"));

    const GPtrArray *variants = ct_registry_variants(registry, "fail.work");
    g_assert_cmpuint(variants->len, ==, 3);
    const CtVariant *fused = variants->pdata[0], *own = variants->pdata[1];
    const CtVariant *more = variants->pdata[2];
    g_assert_cmpstr(fused->covers[1], ==, "fail.prepare");
    g_assert_null(more->covers[1]);
    g_assert_cmpstr(own->name, ==, "reference");
    g_assert_cmpstr(more->name, ==, "cpu");
    g_assert_true(g_str_has_suffix(ct_registry_variant_file(registry, more), "/ct-more.so"));
    g_assert_cmpuint(ct_registry_variants(registry, "nothing")->len, ==, 0);
}

/* A variant of another plugin's stage is checked once all plugins are loaded. */
static void
test_unfit(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "unfit");
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) alone = open_folder(fixture, &error);
    g_assert_no_error(error);
    g_assert_null(ct_registry_problems(alone)[0]);

    add_plugin(fixture, "fail");
    g_autoptr(CtRegistry) registry = open_folder(fixture, &error);
    g_assert_no_error(error);
    g_autofree char *problem =
        g_strdup_printf("%s/ct-unfit.so: variant 'unfit' of 'fail.work': rows: '[...] -> [...], "
                        "[...]': wants a layout for each of 1 output ports, but is given 2",
                        fixture->folder);
    g_autofree char *stale =
        g_strdup_printf("%s/ct-unfit.so: variant 'stale' of 'fail.work+fail.prepare+fail.work': "
                        "covers: wants version 2 of stage 'fail.prepare', but is given version 1",
                        fixture->folder);
    g_assert_cmpstr(ct_registry_problems(registry)[0], ==, problem);
    g_assert_cmpstr(ct_registry_problems(registry)[1], ==, stale);
    g_assert_cmpuint(ct_registry_variants(registry, "fail.work")->len, ==, 1);
    g_autofree char *left_out = ct_registry_left_out(registry, "fail.work");
    g_autofree char *wanted = g_strdup_printf(" (left out: %s; %s)", problem, stale);
    g_assert_cmpstr(left_out, ==, wanted);
}

static void
test_suggestion(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "fail");
    g_autoptr(CtRegistry) registry = open_folder(fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_registry_stage(registry, "fail.wrok", &error));
    g_assert_cmpstr(error->message, ==, "there is no stage 'fail.wrok'; did you mean 'fail.work'?");
}

static void
test_nothing(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(CtRegistry) registry = open_folder(fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(ct_registry_stage(registry, "fir", &error));
    g_autofree char *message =
        g_strdup_printf("there is no stage 'fir': there are no plugins in %s", fixture->folder);
    g_assert_cmpstr(error->message, ==, message);
}

/* A folder without plugins is named beside those that have some. */
static void
test_bare_folder(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "fail");
    g_autoptr(GError) error = NULL;
    g_autofree char *bare = g_dir_make_tmp("bare-XXXXXX", NULL);
    const char *const folders[] = {bare, fixture->folder, NULL};
    g_autoptr(CtRegistry) registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
    g_assert_null(ct_registry_stage(registry, "nothing", &error));
    g_autofree char *message =
        g_strdup_printf("there is no stage 'nothing': there are no plugins in %s", bare);
    g_assert_cmpstr(error->message, ==, message);
    g_clear_error(&error);
    g_assert_null(ct_registry_stage(registry, "fail.wrok", &error));
    g_autofree char *with_remark =
        g_strdup_printf("there is no stage 'fail.wrok'; did you mean 'fail.work'? (there are no "
                        "plugins in %s)",
                        bare);
    g_assert_cmpstr(error->message, ==, with_remark);
    g_rmdir(bare);
}

static void
test_old(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "old");
    g_autofree char *what =
        g_strdup_printf("is of ABI version %d, but this Cornerturn wants version %d",
                        CT_ABI_VERSION + 98, CT_ABI_VERSION);
    check_problem(fixture, "ct-old.so", what);
}

static void
test_foreign(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "foreign");
    check_problem(fixture, "ct-foreign.so",
                  "is not a plugin of Cornerturn: it has no symbol ct_plugin");
}

static void
test_hollow(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "hollow");
    check_problem(fixture, "ct-hollow.so",
                  "stage 'hollow': infer: wants a function, but is given none");
}

static void
test_text(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_text(fixture, "ct-text.so");
    add_text(fixture, "text.so");
    add_text(fixture, "ct-text.c");
    check_problem(fixture, "ct-text.so", "");
}

static void
test_double(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "fail");
    add_plugin(fixture, "double");
    g_autoptr(GError) error = NULL;
    g_assert_null(open_folder(fixture, &error));
    g_assert_error(error, CT_ERROR, CT_ERROR_PLUGIN);
    g_autofree char *message =
        g_strdup_printf("stage 'fail.work' stands in two plugins: %s/ct-double.so and "
                        "%s/ct-fail.so",
                        fixture->folder, fixture->folder);
    g_assert_cmpstr(error->message, ==, message);
}

/* A file hides files of the same name in later folders, as with PATH. */
static void
test_order(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add_plugin(fixture, "fail");
    const char *const folders[] = {"/nonexistent", fixture->folder, fixture->folder, NULL};
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) registry = ct_registry_new_from(folders, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ct_registry_stages(registry)->len, ==, 8 + n_own);
    g_assert_cmpstr(ct_registry_problems(registry)[0], ==,
                    "/nonexistent: No such file or directory");
    g_assert_cmpuint(ct_registry_stages(registry)->len, ==, 10);
}

static void
test_isa(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_setenv("CORNERTURN_ISA", "baseline", TRUE);
    g_autoptr(CtRegistry) capped = open_folder(fixture, &error);
    g_assert_no_error(error);
    g_assert_null(ct_registry_isa_refusal(capped, CT_ISA_BASELINE));
    g_assert_cmpstr(ct_registry_isa_refusal(capped, CT_ISA_AVX2), ==, "CORNERTURN_ISA forbids it");

    /* What extends the set is forbidden, and so is what extends a part of it otherwise. */
    g_setenv("CORNERTURN_ISA", "avx512vnni", TRUE);
    g_autoptr(CtRegistry) bytes = open_folder(fixture, &error);
    g_assert_no_error(error);
    for (CtIsa isa = 0; isa < CT_N_ISAS; isa++) {
        const char *forbidden =
            isa == CT_ISA_AMX || isa == CT_ISA_AVXVNNI ? "CORNERTURN_ISA forbids it" : NULL;
        g_assert_cmpstr(ct_registry_isa_refusal(bytes, isa), ==,
                        forbidden ? forbidden : ct_isa_missing(isa));
        g_assert_cmpint(ct_isa_vectors(isa), ==,
                        isa == CT_ISA_AVXVNNI ? CT_ISA_AVX2 : MIN(isa, CT_ISA_AVX512));
        /* A set is missing if what it contains is. */
        for (CtIsa part = 0; part < CT_N_ISAS; part++)
            if (ct_isa_contains(isa, part) && ct_isa_missing(part))
                g_assert_nonnull(ct_isa_missing(isa));
    }

    g_setenv("CORNERTURN_ISA", "sse9", TRUE);
    g_assert_null(open_folder(fixture, &error));
    g_assert_cmpstr(
        error->message, ==,
        "CORNERTURN_ISA wants baseline, avx2, avx512, avxvnni, avx512vnni or amx, but is "
        "given 'sse9'");
    g_unsetenv("CORNERTURN_ISA");
    g_autoptr(CtRegistry) open = open_folder(fixture, NULL);
    g_assert_null(ct_registry_isa_refusal(open, CT_ISA_BASELINE));
}

/* The build tree's plugins are found without any setting. */
static void
test_own(G_GNUC_UNUSED Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autofree char *path = g_strdup(g_getenv("CORNERTURN_PLUGIN_PATH"));
    g_unsetenv("CORNERTURN_PLUGIN_PATH");
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) registry = ct_registry_new(&error);
    g_assert_no_error(error);
    g_autofree char *problems = g_strjoinv("; ", (char **)ct_registry_problems(registry));
    g_assert_cmpstr(problems, ==, "");
    g_autoptr(CtRegistry) told = NULL;
    g_setenv("CORNERTURN_PLUGIN_PATH", path, TRUE);
    told = ct_registry_new(&error);
    g_assert_no_error(error);
    g_assert_cmpuint(ct_registry_stages(registry)->len, ==, ct_registry_stages(told)->len);
}

/* Every row of the built plugins is compatible with the ports of its stages. */
static void
test_rows(G_GNUC_UNUSED Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(CtRegistry) registry = ct_registry_new(&error);
    g_assert_no_error(error);
    const GPtrArray *stages = ct_registry_stages(registry);
    g_assert_cmpuint(stages->len, >, n_own);
    for (guint i = 0; i < stages->len; i++) {
        const CtStage *first = stages->pdata[i];
        const GPtrArray *variants = ct_registry_variants(registry, first->name);
        for (guint v = 0; v < variants->len; v++) {
            const CtVariant *variant = variants->pdata[v];
            const guint n = g_strv_length((char **)variant->covers);
            const CtStage *last = ct_registry_stage(registry, variant->covers[n - 1], &error);
            g_assert_no_error(error);
            for (const CtRow *row = variant->rows; row->layouts; row++) {
                CtRowPatterns patterns;
                if (!ct_row_parse(&patterns, row->layouts, &error) ||
                    !ct_row_check(&patterns, first->inputs, last->outputs, &error))
                    g_error("%s of %s, '%s': %s", variant->name, first->name, row->layouts,
                            error->message);
            }
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    static const struct {
        const char *name;
        void (*function)(Fixture *, gconstpointer);
    } tests[] = {
        {"/registry/stages", test_stages},   {"/registry/suggestion", test_suggestion},
        {"/registry/nothing", test_nothing}, {"/registry/bare-folder", test_bare_folder},
        {"/registry/old", test_old},         {"/registry/foreign", test_foreign},
        {"/registry/hollow", test_hollow},   {"/registry/text", test_text},
        {"/registry/double", test_double},   {"/registry/order", test_order},
        {"/registry/isa", test_isa},         {"/registry/own", test_own},
        {"/registry/rows", test_rows},       {"/registry/unfit", test_unfit},
    };
    for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].name, Fixture, NULL, set_up, tests[i].function, tear_down);
    return g_test_run();
}
