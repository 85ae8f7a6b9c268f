/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target over the files of a folder, without libFuzzer. */
#include "fuzz.h"

static void
replay(gconstpointer path)
{
    g_autofree char *text = NULL;
    gsize length;
    g_autoptr(GError) error = NULL;
    g_file_get_contents(path, &text, &length, &error);
    g_assert_no_error(error);
    /* An exact copy, so that a sanitizer sees a read past the end. */
    g_autofree guint8 *data = g_memdup2(text, length);
    LLVMFuzzerTestOneInput(data, length);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) listing = g_dir_open(argv[1], 0, &error);
    g_assert_no_error(error);
    for (const char *name; (name = g_dir_read_name(listing));) {
        g_autofree char *title = g_strdup_printf("/%s", name);
        g_test_add_data_func_full(title, g_build_filename(argv[1], name, NULL), replay, g_free);
    }
    return g_test_run();
}
