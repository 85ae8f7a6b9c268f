/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as JSON writes them. */
#pragma once

#include <glib.h>

/* With quotes around. */
void ct_json_append_string(GString *text, const char *string);
/* `null` where it is not finite. */
void ct_json_append_real(GString *text, gdouble value);
