/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: PSRDADA files. */
#define _GNU_SOURCE
#include "dada-source.c" /* the plugin exports only its description */
#include "fuzz-array-source.h"

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    fuzz_array_source(&dada_source_files, &dada_source, "", data, size);
    return 0;
}
