/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of files: reads, then draws. */
#include "show.h"

#include "show-picture.h"

#include <string.h>

/* What a run has left that failed or was killed: the source reads it only as a bare array. */
static gboolean
check_paths(const CtShow *show, GError **error)
{
    static const char ending[] = ".partial";
    const gboolean is_set = show->stage || (show->settings && show->settings[0]);
    for (guint i = 0; !is_set && show->paths[i]; i++) {
        if (!g_str_has_suffix(show->paths[i], ending) ||
            !g_file_test(show->paths[i], G_FILE_TEST_EXISTS))
            continue;
        const gsize n = strlen(show->paths[i]) - strlen(ending);
        g_set_error(error, CT_ERROR, CT_ERROR_IO,
                    "%s: is not complete; of an array, --set format=npy --set layout='[…]' "
                    "--set sample_rate=… show what there is, with the values in %.*s.json.partial",
                    show->paths[i], (int)n, show->paths[i]);
        return FALSE;
    }
    return TRUE;
}

static void
reword(const CtShow *show, char **text)
{
    char *message = ct_show_message(show, *text);
    g_free(*text);
    *text = message;
}

char *
ct_show_draw(const CtShow *show, gsize *length, char ***warnings, GError **error)
{
    const gboolean is_text = show->format == CT_SHOW_TEXT || show->format == CT_SHOW_COLOURS;
    g_auto(CtShowView) view = {0};
    if (!is_text && !ct_show_picture_check(error))
        return NULL;
    if (!check_paths(show, error))
        return NULL;
    if (!ct_show_read(&view, show, is_text ? ct_show_text_divide : ct_show_picture_divide, warnings,
                      error)) {
        if (error && *error)
            reword(show, &(*error)->message);
        return NULL;
    }
    for (guint i = 0; *warnings && (*warnings)[i]; i++)
        reword(show, &(*warnings)[i]);
    if (!is_text)
        return ct_show_picture(&view, show, length, error);
    char *text = ct_show_text(&view, show);
    *length = strlen(text);
    return text;
}
