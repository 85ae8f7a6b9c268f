/* SPDX-License-Identifier: BSD-3-Clause */
/* The CFITSIO library: its lock and its messages. */
#include "psrfits-library.h"

#include <cornerturn/error.h>
#include <cornerturn/stage.h>

void
psrfits_begin(void)
{
    ct_library_lock("cfitsio");
    fits_clear_errmsg();
}

void
psrfits_end(void)
{
    ct_library_unlock("cfitsio");
}

/* The first message is the cause. It may have bytes of the file. */
gboolean
psrfits_error(GError **error, const char *path, const char *what, int status)
{
    char text[FLEN_ERRMSG] = "";
    if (!fits_read_errmsg(text) || !*text)
        fits_get_errstatus(status, text);
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: %s: %s", path, what, valid);
    return FALSE;
}
