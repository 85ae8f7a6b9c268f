/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides a firing into strided boxes and copies them; compiled once per instruction set. */
#include "transpose-work.h"

/* A firing of more bytes is written past the caches, which would not hold it until it is read. */
#define STREAM_BYTES ((gsize)1 << 20)

typedef struct {
    CtBoxes boxes;
    TransposeTuning tuning;
    gsize stream_bytes; /* firings of more bytes are streamed */
} Transpose;

typedef struct {
    const Transpose *self;
    gboolean stream;
} Job;

gboolean
CT_ISA(transpose_prepare)(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    static const gsize stream_bytes[] = {G_MAXSIZE, STREAM_BYTES, 0};
    Transpose *self = *state = g_new0(Transpose, 1);
    CtBoxes *boxes = &self->boxes;
    self->tuning = (TransposeTuning){
        .run_in = (gsize)prepare->tuning[TRANSPOSE_RUN_IN],
        .run_out = (gsize)prepare->tuning[TRANSPOSE_RUN_OUT],
        .tile = (gsize)prepare->tuning[TRANSPOSE_TILE] << 10,
    };
    self->stream_bytes = stream_bytes[prepare->tuning[TRANSPOSE_STREAM]];
    ct_boxes_init(boxes, &prepare->inputs[0], &prepare->outputs[0], prepare->n_items);
    prepare->scratch_bytes = TRANSPOSE_SCRATCH_BYTES;
    return TRUE;
}

static void
walk(gpointer data, const CtBox *box, gpointer scratch)
{
    const Job *job = data;
    TransposeAxis axes[G_N_ELEMENTS(box->axes)];
    TransposePlan plan;
    for (guint a = 0; a < box->n_axes; a++)
        axes[a] = (TransposeAxis){(gsize)box->axes[a].length, box->axes[a].in, box->axes[a].out};
    transpose_plan(&plan, ct_type_info(job->self->boxes.in_type)->bytes, axes, box->n_axes,
                   job->stream, &job->self->tuning);
    CT_ISA(transpose_walk)(&plan, box->in, box->out, scratch);
}

gboolean
CT_ISA(transpose_work)(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const Transpose *self = state;
    const CtBoxes *boxes = &self->boxes;
    Job job = {self,
               ct_boxes_bytes(boxes, &work->outputs[0], boxes->out_type) > self->stream_bytes};
    ct_boxes_each(boxes, work, walk, &job);
    return TRUE;
}
