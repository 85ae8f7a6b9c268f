/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions on layouts that are private to the core. */
#pragma once

#include <cornerturn/layout.h>

/* Whether the text is a valid axis name. */
gboolean ct_layout_is_axis_name(const char *text);
/* Parses text[begin … end). The error shows the whole `text`. */
gboolean ct_layout_parse_part(CtLayout *layout, const char *text, gsize begin, gsize end,
                              GError **error);

/* Sets a CT_ERROR_LAYOUT of three lines: the message, the text, and a caret under byte `at` of the
 * text. Characters that cannot be printed are shown as '?'; a long text is cut around the caret.
 * Returns FALSE. */
gboolean ct_layout_error_at(GError **error, const char *text, gsize at, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

/* Converts the concrete `layout` to the form that `pattern` uses. A complex type, and its part type
 * with an innermost axis `complex`, describe the same memory. Returns FALSE and writes nothing if
 * the layout does not match. `form` may be `layout`. */
gboolean ct_layout_match_form(CtLayout *form, const CtLayout *pattern, const CtLayout *layout);
