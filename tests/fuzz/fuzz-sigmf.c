/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the metadata of SigMF recordings. */
#include "fuzz.h"
#include "sigmf-meta.h"

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    g_auto(SigmfMeta) meta = {0};
    g_autoptr(GError) error = NULL;
    if (sigmf_meta_parse(&meta, "x.sigmf-meta", (const char *)data, size, &error)) {
        g_assert_no_error(error);
        g_assert_cmpint(meta.type, !=, CT_TYPE_NONE);
        g_assert_cmpint(meta.n_channels, >=, 1);
    } else {
        g_assert_nonnull(error);
    }
    return 0;
}
