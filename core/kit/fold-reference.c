/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference of a fold: one element after the other, in any layout, in double precision. */
#include "fold-across.h"

#include <cornerturn/kit/convert.h>
#include <string.h>

typedef struct {
    CtFoldState fold;
    const CtFold *by_hand;
    CtConvert load, store; /* from and to numbers of double precision */
    gsize out_bytes;
    gdouble *states; /* [group][fast element][number] */
} State;

gboolean
ct_fold_prepare_reference(CtPrepare *prepare, gpointer *state, GError **error)
{
    if (ct_fold_axis(prepare->variant->form, &prepare->nodes[0]))
        return ct_fold_across_prepare(prepare, state, error);
    State *self = *state = g_new0(State, 1);
    CtFoldState *fold = &self->fold;
    const CtType in = ct_layout_type(&prepare->inputs[0].layout);
    const CtType out = ct_layout_type(&prepare->outputs[0].layout);
    self->by_hand = prepare->variant->form;
    self->load =
        ct_convert_steps(CT_ISA_BASELINE, in, ct_type_info(in)->is_complex ? CT_CF64 : CT_F64);
    self->store =
        ct_convert_steps(CT_ISA_BASELINE, ct_type_info(out)->is_complex ? CT_CF64 : CT_F64, out);
    self->out_bytes = ct_type_info(out)->bytes;
    if (!ct_form_choose(&self->by_hand->form, &prepare->nodes[0], &fold->form.choice, error) ||
        !ct_form_check(&self->by_hand->form, &fold->form.choice, error) ||
        !ct_fold_init(fold, prepare, error))
        return FALSE;
    prepare->n_items = fold->n_groups * fold->n_fast;
    self->states = CT_TABLE(gdouble, (gsize)prepare->n_items * self->by_hand->n_numbers,
                            "unfinished sums", error);
    return self->states != NULL;
}

void
ct_fold_finish_reference(gpointer state)
{
    State *self = state;
    if (!self)
        return;
    if (self->fold.is_across) {
        ct_fold_across_finish(state);
        return;
    }
    ct_fold_clear(&self->fold);
    g_free(self->states);
    g_free(self);
}

/* Writes sample `o` of the element at `place`, and clears its state. */
static void
give(const State *self, const CtWork *work, const CtFoldPlace *place, gint64 o, gdouble *state)
{
    const CtFoldState *fold = &self->fold;
    const CtBlock *out = &work->outputs[0];
    gdouble y[2] = {0};
    gdouble scratch[CT_CONVERT_SCRATCH(1) / sizeof(gdouble)], made[2];
    const guint32 n = fold->counts[o * fold->n_lanes + place->lane];
    if (!self->by_hand->give(fold->form.choice.settings.bytes, state, n, y) &&
        (n > 0 || fold->is_marked))
        ct_block_mark(out, place->mark, o);
    ct_convert(&self->store, y, made, 1, (guint8 *)scratch);
    memcpy(out->data + place->out + o * out->stride[fold->out_time], made, self->out_bytes);
    memset(state, 0, self->by_hand->n_numbers * sizeof *state);
}

gboolean
ct_fold_work_reference(gpointer state, const CtWork *work, GError **error)
{
    const State *self = state;
    const CtFoldState *fold = &self->fold;
    const CtBlock *in = &work->inputs[0];
    if (fold->is_across)
        return ct_fold_across_work(state, work, error);
    if (work->begin == 0)
        ct_fold_write_weights(fold, work);
    if (!work->outputs[0].data)
        return TRUE;
    for (gint64 item = work->begin; item < work->end; item++) {
        const CtFoldPlace place =
            ct_fold_place(fold, work, item / fold->n_fast, item % fold->n_fast);
        gdouble *sums = self->states + item * self->by_hand->n_numbers;
        gint64 position = in->index % fold->hop, o = 0;
        for (gint64 t = 0; t < in->n_samples; t++) {
            gdouble x[2] = {0};
            gdouble scratch[CT_CONVERT_SCRATCH(1) / sizeof(gdouble)];
            ct_convert(&self->load, in->data + place.in + t * in->stride[fold->in_time], x, 1,
                       (guint8 *)scratch);
            if (!in->validity || in->validity[place.lane * in->validity_stride + t])
                self->by_hand->add(fold->form.choice.settings.bytes, sums, x,
                                   (guint)self->load.n_parts);
            if (++position == fold->hop) {
                give(self, work, &place, o++, sums);
                position = 0;
            }
        }
        if (work->ended && position > 0)
            give(self, work, &place, o, sums);
    }
    return TRUE;
}
