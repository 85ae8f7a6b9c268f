/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of a build without cairo. */
#include "show-picture.h"

gboolean
ct_show_picture_check(GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "pictures want cairo (libcairo2-dev), which this build lacks; without -o, they are "
                "drawn in the terminal");
    return FALSE;
}

gboolean
ct_show_picture_divide(CtShowView *view, const CtShow *show, GError **error)
{
    return ct_show_view_divide(view, show->width, show->height, error);
}

char *
ct_show_picture(const CtShowView *view G_GNUC_UNUSED, const CtShow *show G_GNUC_UNUSED,
                gsize *length G_GNUC_UNUSED, GError **error)
{
    ct_show_picture_check(error);
    return NULL;
}
