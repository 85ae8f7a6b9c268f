/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target over the files of a folder, without libFuzzer. */
#include "fuzz.h"

static void
replay(const char *path)
{
    g_autofree char *text = NULL;
    gsize length;
    g_autoptr(GError) error = NULL;
    g_test_message("%s", path);
    g_file_get_contents(path, &text, &length, &error);
    g_assert_no_error(error);
    /* The copy has exactly this length, so that a sanitizer sees a read past its end. */
    g_autofree guint8 *data = g_memdup2(text, length);
    LLVMFuzzerTestOneInput(data, length);
}

static void
replay_all(gconstpointer folder)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GDir) listing = g_dir_open(folder, 0, &error);
    g_assert_no_error(error);
    guint n = 0;
    for (const char *name; (name = g_dir_read_name(listing)); n++) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        replay(path);
    }
    g_assert_cmpuint(n, >, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_assert_cmpint(argc, ==, 2);
    g_test_add_data_func("/corpus", argv[1], replay_all);
    return g_test_run();
}
