/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of transpose and of copy on the processor: strided boxes, each copied in tiles. */
#pragma once

#include "transpose-kernels.h"

#include <cornerturn/kit/boxes.h>

/* Tunables of the variants on the processor. */
enum { TRANSPOSE_RUN_IN, TRANSPOSE_RUN_OUT, TRANSPOSE_TILE, TRANSPOSE_STREAM };
#define TRANSPOSE_STREAM_TUNABLE                                                                   \
    {                                                                                              \
        "stream", CT_VALUES(0, 1, 2), 1,                                                           \
            "when it writes past the caches: 0 never, 1 in firings of more than 1 MiB, 2 always"   \
    }
#define TRANSPOSE_TUNABLES                                                                         \
    {                                                                                              \
        [TRANSPOSE_RUN_IN] = {"run_in", CT_VALUES(256, 512, 1024, 2048, 4096), 2048,               \
                              "contiguous bytes that a tile reads"},                               \
        [TRANSPOSE_RUN_OUT] = {"run_out", CT_VALUES(512, 1024, 2048, 4096), 1024,                  \
                               "contiguous bytes that it writes"},                                 \
        [TRANSPOSE_TILE] = {"tile", CT_VALUES(32, 64, 128, 256), 256, "the most KiB of a tile"},   \
        [TRANSPOSE_STREAM] = TRANSPOSE_STREAM_TUNABLE, {NULL},                                     \
    }

gboolean CT_ISA(transpose_prepare)(CtPrepare *prepare, gpointer *state, GError **error);
gboolean CT_ISA(transpose_work)(gpointer state, const CtWork *work, GError **error);
