/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in .npy and raw files: their elements, axes and order. */
#pragma once

#include "file.h"

/* `open` of CtArraySource. */
gboolean file_array_open(CtArrayFile *file, const CtParams *given, CtStream *stream,
                         GError **error);
