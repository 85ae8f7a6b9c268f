/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of bytes on a device. */
#include "mover.h"

/* Threads of a block; blocks of a move, at most, which go over the rest in turns. */
#define THREADS 256
#define BLOCKS  2048
/* Bytes that a thread moves at a time, at most. */
#define WIDEST 16

/* As in kernel/move.cu. */
typedef struct {
    CtMove moves[CT_MAX_MOVES];
    gint32 width[CT_MAX_MOVES];
} Moves;

CtKernel *
ct_mover_kernel_new(CtDevice *device, GError **error)
{
    static const CtKernelSpec spec = {
        .name = "ct_move_rows",
        .source = "/cornerturn/kernel/move.cu",
    };
    return ct_kernel_new(device, &spec, error);
}

/* The largest power of two of which all addresses and distances are multiples. */
static gint32
width_of(const CtMove *move)
{
    guint64 bits = GPOINTER_TO_SIZE(move->to) | GPOINTER_TO_SIZE(move->from) | move->bytes | WIDEST;
    if (move->rows > 1)
        bits |= move->to_pitch | move->from_pitch;
    return (gint32)(bits & -bits);
}

static guint64
divide_up(guint64 n, guint64 by)
{
    return (n + by - 1) / by;
}

static gboolean
move_by_driver(CtQueue *queue, const CtMoves *moves, GError **error)
{
    for (guint m = 0; m < moves->n; m++) {
        const CtMove *move = &moves->moves[m];
        if (!ct_queue_copy_rows(queue, move->to, move->to_pitch, move->from, move->from_pitch,
                                move->bytes, move->rows, error))
            return FALSE;
    }
    return TRUE;
}

gboolean
ct_mover_move(const CtMover *mover, const CtMoves *moves, GError **error)
{
    Moves shape = {0};
    if (!mover->kernel)
        return move_by_driver(mover->queue, moves, error);
    guint64 words = 0, rows = 0;
    for (guint m = 0; m < moves->n; m++) {
        shape.moves[m] = moves->moves[m];
        shape.width[m] = width_of(&moves->moves[m]);
        words = MAX(words, moves->moves[m].bytes / (guint64)shape.width[m]);
        rows = MAX(rows, moves->moves[m].rows);
    }
    if (words == 0 || rows == 0)
        return TRUE;
    guint along = 1;
    while (along < THREADS && along < words)
        along *= 2;
    const guint across = THREADS / along;
    const guint wide = (guint)MIN(divide_up(words, along), BLOCKS);
    const CtLaunch launch = {
        .grid = {wide, (guint)MIN(divide_up(rows, across), BLOCKS / wide), moves->n},
        .block = {along, across, 1},
    };
    gpointer arguments[] = {&shape};
    return ct_queue_launch(mover->queue, mover->kernel, &launch, arguments, error);
}
