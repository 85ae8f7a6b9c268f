/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: PSRFITS files. The first byte chooses what values and weights mean. */
#define _GNU_SOURCE
#include "fuzz-array-source.h"
#include "psrfits-source.c" /* the plugin exports only its description */

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const guint value = data[0] % (G_N_ELEMENTS(values) - 1);
    const guint weight = data[0] / 16 % (G_N_ELEMENTS(weights) - 1);
    g_autofree char *params =
        g_strdup_printf(", values: %s, weights: %s", values[value], weights[weight]);
    fuzz_array_source(&psrfits_source_files, &psrfits_source, params, data + 1, size - 1);
    return 0;
}
