/* SPDX-License-Identifier: BSD-3-Clause */
/* Appends values in JSON. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* Appends a quoted string. */
CT_EXPORT void ct_json_append_string(GString *text, const char *string);
/* Appends a number with all its digits, or `null` if it is not finite. */
CT_EXPORT void ct_json_append_real(GString *text, gdouble value);

G_END_DECLS
