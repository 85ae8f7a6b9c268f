/* SPDX-License-Identifier: BSD-3-Clause */
/* What every fuzz target defines; libFuzzer calls it, or replay.c with the files of a corpus. */
#pragma once

#include <glib.h>

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size);
