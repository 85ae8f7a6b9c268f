/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that commands write at their end. */
#include "command.h"

#include <cornerturn/error.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

gboolean
ct_command_check_output(const char *option, const char *path, GError **error)
{
    /* A file is written under another name and renamed, which would replace a device or a link. */
    if (g_file_test(path, G_FILE_TEST_IS_SYMLINK)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: %s: wants a regular file in its place, but is given a link", option, path);
        return FALSE;
    }
    if (g_file_test(path, G_FILE_TEST_EXISTS) && !g_file_test(path, G_FILE_TEST_IS_REGULAR)) {
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: %s: wants a regular file in its place, but is given a folder or device",
                    option, path);
        return FALSE;
    }
    g_autofree char *folder = g_path_get_dirname(path);
    if (*path && access(folder, W_OK | X_OK) == 0)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: cannot be written: %s", option, path,
                g_strerror(*path ? errno : ENOENT));
    return FALSE;
}

gboolean
ct_command_write_output(const char *option, const char *path, const char *bytes, gssize length,
                        GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (!ct_command_check_output(option, path, error))
        return FALSE;
    /* A file beyond the limit of the process is an error. */
    signal(SIGXFSZ, SIG_IGN);
    if (g_file_set_contents(path, bytes, length, &cause))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO, "%s: %s: cannot be written: %s", option, path,
                cause->message);
    return FALSE;
}
