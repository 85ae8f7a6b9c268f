/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of transpose and of copy on the processor: strided boxes, each walked in tiles. */
#pragma once

#include "../boxes.h"
#include "transpose-kernels.h"

gboolean CT_ISA(transpose_prepare)(CtPrepare *prepare, gpointer *state, GError **error);
gboolean CT_ISA(transpose_work)(gpointer state, const CtWork *work, GError **error);
