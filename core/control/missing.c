/* SPDX-License-Identifier: BSD-3-Clause */
/* The control port of a program that is built without libsoup. */
#include "control.h"

gboolean
ct_control_check(const CtControlOptions *options G_GNUC_UNUSED, GError **error)
{
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "--control wants libsoup 3, but cornerturn is built without it");
    return FALSE;
}

CtControl *
ct_control_open(CtPipeline *pipeline G_GNUC_UNUSED, const CtControlOptions *options, GError **error)
{
    ct_control_check(options, error);
    return NULL;
}

char *
ct_control_describe(const CtControl *control G_GNUC_UNUSED)
{
    return NULL;
}

gboolean
ct_control_was_ended(const CtControl *control G_GNUC_UNUSED)
{
    return FALSE;
}

void
ct_control_free(CtControl *control G_GNUC_UNUSED)
{
}
