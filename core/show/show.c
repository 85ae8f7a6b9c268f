/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of files: reads, then draws. */
#include "show.h"

#include "show-picture.h"

#include <string.h>

char *
ct_show_draw(const CtShow *show, gsize *length, char ***warnings, GError **error)
{
    const gboolean is_text = show->format == CT_SHOW_TEXT || show->format == CT_SHOW_COLOURS;
    g_auto(CtShowView) view = {0};
    if (!is_text && !ct_show_picture_check(error))
        return NULL;
    if (!ct_show_read(&view, show, is_text ? ct_show_text_divide : ct_show_picture_divide, warnings,
                      error))
        return NULL;
    if (!is_text)
        return ct_show_picture(&view, show, length, error);
    char *text = ct_show_text(&view, show);
    *length = strlen(text);
    return text;
}
