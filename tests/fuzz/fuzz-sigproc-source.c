/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: SIGPROC files. The first byte chooses what the IFs are. */
#define _GNU_SOURCE
#include "fuzz-array-source.h"
#include "sigproc-source.c" /* the plugin exports only its description */

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const guint choice = data[0] % (g_strv_length((GStrv)sigproc_products));
    g_autofree char *params = g_strdup_printf(", products: %s", sigproc_products[choice]);
    fuzz_array_source(&sigproc_source_files, &sigproc_source, params, data + 1, size - 1);
    return 0;
}
