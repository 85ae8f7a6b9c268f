/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving rows of bytes on a queue: within the memory of its device by a kernel, since the driver's
 * copies of a few rows take longer than their bytes do; from and to elsewhere by the driver. */
#pragma once

#include "device.h"

/* Rows of `bytes` bytes, `to_pitch` and `from_pitch` apart. */
typedef struct {
    guint8 *to;
    const guint8 *from;
    guint64 to_pitch, from_pitch;
    guint64 bytes, rows;
} CtMove;

#define CT_MAX_MOVES 2

/* Moves that run beside each other; none writes what another reads. */
typedef struct {
    guint n;
    CtMove moves[CT_MAX_MOVES];
} CtMoves;

typedef struct {
    CtQueue *queue;
    const CtKernel *kernel; /* NULL: some of the memory is not the device's */
} CtMover;

/* Compiles the kernel. */
CtKernel *ct_mover_kernel_new(CtDevice *device, GError **error);
/* Enqueues the moves, if any. */
gboolean ct_mover_move(const CtMover *mover, const CtMoves *moves, GError **error);
