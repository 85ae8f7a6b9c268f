/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: headers of SIGPROC files. A header that is read is written, and read again, with the
 * same values. */
#include "fuzz.h"
#include "sigproc-header.h"

#include <string.h>

static void
compare(const SigprocHeader *a, const SigprocHeader *b)
{
    g_assert_cmpmem(a->number, sizeof a->number, b->number, sizeof b->number);
    for (guint k = 0; k < SIGPROC_N_KEYWORDS; k++) {
        g_assert_cmpstr(a->text[k] && *a->text[k] ? a->text[k] : NULL, ==, b->text[k]);
        g_assert_true(sigproc_has(a, k) == sigproc_has(b, k) || !b->text[k]);
    }
    g_assert_cmpmem(a->frequencies, a->n_frequencies * sizeof(gdouble), b->frequencies,
                    b->n_frequencies * sizeof(gdouble));
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    g_auto(SigprocHeader) header = {0}, again = {0};
    g_autoptr(GError) error = NULL;
    const gboolean good = sigproc_header_parse(&header, "input", data, size, &error);
    g_assert_true(good == !error);
    if (!good)
        return 0;
    g_assert_cmpuint(header.bytes, <=, size);
    g_autoptr(GBytes) bytes = sigproc_header_format(&header);
    g_assert_true(sigproc_header_parse(&again, "input", g_bytes_get_data(bytes, NULL),
                                       g_bytes_get_size(bytes), NULL));
    g_assert_cmpuint(again.bytes, ==, g_bytes_get_size(bytes));
    compare(&header, &again);
    return 0;
}
