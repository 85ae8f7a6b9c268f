/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: headers of .npy files. A header that parses can be written and parsed to the
 * same. */
#include "fuzz.h"

#include <cornerturn/npy.h>

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    CtNpyHeader header, again;
    g_autoptr(GError) error = NULL;
    if (!ct_npy_header_parse(data, size, &header, &error)) {
        g_assert_nonnull(error);
        return 0;
    }
    g_assert_no_error(error);
    g_assert_cmpuint(header.header_bytes, <=, size);
    g_assert_cmpuint(header.n_axes, <=, CT_NPY_MAX_AXES);
    header.big_endian = FALSE;
    g_autoptr(GBytes) written = ct_npy_header_format(&header);
    gsize length;
    const guint8 *bytes = g_bytes_get_data(written, &length);
    g_assert_true(ct_npy_header_parse(bytes, length, &again, &error));
    g_assert_cmpuint(again.n_items, ==, header.n_items);
    g_assert_cmpuint(again.header_bytes, ==, length);
    g_assert_cmpint(again.kind, ==, header.kind);
    return 0;
}
