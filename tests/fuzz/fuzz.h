/* SPDX-License-Identifier: BSD-3-Clause */
/* The function of every fuzz target; libFuzzer calls it, or replay.c does with the files of a
 * corpus. */
#pragma once

#include <glib.h>

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size);
