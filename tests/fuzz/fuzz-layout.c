/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: layout strings. A layout that parses is printed as a text that parses to the same
 * layout. */
#include "fuzz.h"

#include <cornerturn/layout.h>

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    g_autofree char *text = g_strndup(size > 0 ? (const char *)data : "", size);
    CtLayout layout, again;
    g_autoptr(GError) error = NULL;
    if (!ct_layout_parse(&layout, text, &error)) {
        g_assert_nonnull(error);
        return 0;
    }
    g_assert_no_error(error);
    g_autofree char *printed = ct_layout_to_string(&layout);
    g_assert_true(ct_layout_parse(&again, printed, &error));
    g_assert_true(ct_layout_equal(&layout, &again));
    if (ct_layout_is_concrete(&layout))
        ct_layout_type(&layout);
    return 0;
}
