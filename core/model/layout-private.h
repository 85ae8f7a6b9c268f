/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core's own files share of layouts. */
#pragma once

#include <cornerturn/layout.h>

/* Whether the text can name an axis. */
gboolean ct_layout_is_axis_name(const char *text);
/* Parses text[begin … end); the error shows the whole of `text`. */
gboolean ct_layout_parse_part(CtLayout *layout, const char *text, gsize begin, gsize end,
                              GError **error);

/* Sets a CT_ERROR_LAYOUT of three lines: the message, the text, a caret under byte `at` of it. What
 * cannot be printed is shown as '?', and of a long text the part around the caret. Returns FALSE.
 */
gboolean ct_layout_error_at(GError **error, const char *text, gsize at, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Writes the concrete `layout` as `pattern` writes it, where the pattern has it: a complex type and
 * its part type with an innermost axis `complex` are the same memory. FALSE, and nothing written,
 * where it does not match. `form` may be `layout`. */
gboolean ct_layout_match_form(CtLayout *form, const CtLayout *pattern, const CtLayout *layout);
