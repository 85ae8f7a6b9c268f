/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of the process for targets whose files need names. It is removed at the end. */
#pragma once

#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>

static char *fuzz_folder;

static inline void
remove_folder(void)
{
    g_autoptr(GDir) listing = g_dir_open(fuzz_folder, 0, NULL);
    for (const char *name; listing && (name = g_dir_read_name(listing));) {
        g_autofree char *path = g_build_filename(fuzz_folder, name, NULL);
        g_unlink(path);
    }
    g_rmdir(fuzz_folder);
    g_free(fuzz_folder);
}

/* Whether it has been made now. */
static inline gboolean
make_folder(void)
{
    if (fuzz_folder)
        return FALSE;
    fuzz_folder = g_dir_make_tmp("fuzz-XXXXXX", NULL);
    g_assert_nonnull(fuzz_folder);
    atexit(remove_folder);
    return TRUE;
}

/* Writes a file of the folder. */
static inline void
store_file(const char *name, gconstpointer bytes, gsize n)
{
    g_autofree char *path = g_build_filename(fuzz_folder, name, NULL);
    FILE *file = g_fopen(path, "wb");
    g_assert_nonnull(file);
    g_assert_cmpuint(fwrite(bytes, 1, n, file), ==, n);
    fclose(file);
}
