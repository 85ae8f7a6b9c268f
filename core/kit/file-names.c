/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that a parameter of a source names. */
#include "file-names.h"

#include "receiver.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the files that item `i` of the parameter names: that path or address, or those of a pattern,
 * in the order of their names. */
static gboolean
add_names(GPtrArray *names, const char *param, const CtParams *given, guint i, GError **error)
{
    const char *path = ct_params_string_at(given, param, i);
    struct stat status;
    if (!strpbrk(path, "*?[") || ct_receiver_is(path) || stat(path, &status) == 0) {
        g_ptr_array_add(names, g_strdup(path));
        return TRUE;
    }
    glob_t found = {0};
    const gboolean good = glob(path, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc > 0;
    if (good)
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, compare_names);
    for (gsize k = 0; good && k < found.gl_pathc; k++)
        g_ptr_array_add(names, g_strdup(found.gl_pathv[k]));
    globfree(&found);
    return good || ct_params_error(given, param, error,
                                   "wants files whose names match '%s', but there is none", path);
}

GPtrArray *
ct_file_names(const CtParams *given, const char *param, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < ct_params_count(given, param); i++)
        if (!add_names(names, param, given, i, error))
            return NULL;
    return g_steal_pointer(&names);
}
