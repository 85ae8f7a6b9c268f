/* SPDX-License-Identifier: BSD-3-Clause */
/* Environment variables. A process with raised privileges ignores them. */
#define _GNU_SOURCE
#include "environment.h"

#include <cornerturn/stage.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

const char *
ct_environment(const char *name)
{
    return secure_getenv(name);
}

char *
ct_cache_folder(void)
{
    if (!getauxval(AT_SECURE))
        return g_build_filename(g_get_user_cache_dir(), "cornerturn", NULL);
    char text[16384];
    struct passwd entry, *found = NULL;
    getpwuid_r(geteuid(), &entry, text, sizeof text, &found);
    return g_build_filename(found ? found->pw_dir : "/", ".cache", "cornerturn", NULL);
}
