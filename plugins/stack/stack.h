/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the variants of stack: the inputs of a firing, and their positions in the
 * output. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    gint64 start, end; /* ticks; end G_MAXINT64: not known */
    gint64 offset;     /* on the stacked axis */
    gint64 length;
    gint place[CT_MAX_AXES]; /* positions of the output layout's axes in the input's layout; −1: the
                                new one */
} StackInput;

typedef struct {
    guint input;
    gint64 lane;
} StackLane;

typedef struct {
    guint n_inputs;
    StackInput *inputs;
    guint axis; /* position of the stacked axis in the output's layout */
    gint time;  /* of time */
    gint64 ticks_per_sample;
    gint64 tick; /* of the next output sample */
    gint64 n_lanes;
    StackLane *lanes; /* [lane of the output]: the source of its validity */
} StackState;

gboolean stack_state_init(StackState *state, const CtPrepare *prepare, GError **error);
void stack_state_clear(StackState *state);
gboolean stack_advance(gpointer state, CtAdvance *advance, GError **error);

extern const CtVariant stack_reference, stack_cpu, stack_cuda;
