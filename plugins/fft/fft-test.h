/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of transforms keep FFTW's plans in a folder of their own. */
#pragma once

#include <glib.h>
#include <stdio.h>

/* Makes the folder, which takes the place of the user's cache. fft_test_remove removes it. */
static inline char *
fft_test_cache(void)
{
    g_autoptr(GError) error = NULL;
    char *folder = g_dir_make_tmp("test-fft-XXXXXX", &error);

    g_assert_no_error(error);
    g_setenv("XDG_CACHE_HOME", folder, TRUE);
    return folder;
}

/* Removes a folder, with all that is in it, or a file. */
static inline void
fft_test_remove(const char *path)
{
    g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);

    for (const char *entry; entries != NULL && (entry = g_dir_read_name(entries)) != NULL;) {
        g_autofree char *inner = g_build_filename(path, entry, NULL);
        fft_test_remove(inner);
    }
    remove(path);
}
