/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as JSON writes them. */
#pragma once

#include <cornerturn/export.h>
#include <glib.h>

G_BEGIN_DECLS

/* Appends a string with quotes around it. */
CT_EXPORT void ct_json_append_string(GString *text, const char *string);
/* Appends a number that reads back as the same; `null` where it is not finite. */
CT_EXPORT void ct_json_append_real(GString *text, gdouble value);

G_END_DECLS
