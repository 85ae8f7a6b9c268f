/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths of this program's file and of the files that belong to it. */
#define _GNU_SOURCE
#include "own-file.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

char *
ct_own_file(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)ct_own_file, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    char *path = realpath(map->l_name && *map->l_name ? map->l_name : "/proc/self/exe", NULL);
    char *file = g_strdup(path);
    free(path);
    return file;
}

char *
ct_own_folder(const char *in_build, const char *from_prefix)
{
    g_autofree char *file = ct_own_file();
    if (!file)
        return NULL;
    g_autofree char *folder = g_path_get_dirname(file);
    g_autofree char *above = g_path_get_dirname(folder);
    g_autofree char *mark = g_build_filename(above, "meson-private", NULL);
    if (g_file_test(mark, G_FILE_TEST_IS_DIR))
        return g_build_filename(above, in_build, NULL);
    if (g_path_is_absolute(from_prefix))
        return g_strdup(from_prefix);
    static const char *const places[] = {"/" CT_LIBDIR, "/" CT_BINDIR};
    for (guint i = 0; i < G_N_ELEMENTS(places); i++)
        if (g_str_has_suffix(folder, places[i])) {
            folder[strlen(folder) - strlen(places[i])] = '\0';
            return g_build_filename(folder, "/", from_prefix, NULL);
        }
    return NULL;
}
