/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages with wrong variants for the processor, each wrong in another way. */
#include "pass.h"

#include <string.h>

static gboolean
work_copy(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *in = &work->inputs[0], *out = &work->outputs[0];
    gint64 n = 1;
    for (guint a = 0; a < out->n_axes; a++)
        n *= out->length[a];
    for (gint64 i = 0; i < n; i++) {
        const guint8 *from = in->data;
        guint8 *to = out->data;
        gint64 rest = i;
        for (guint a = out->n_axes; a-- > 0; rest /= out->length[a]) {
            from += rest % out->length[a] * in->stride[a];
            to += rest % out->length[a] * out->stride[a];
        }
        memcpy(to, from, ct_type_info(out->type)->bytes);
    }
    return TRUE;
}

/* Copies the samples, but adds one to the first byte of the firing's last sample. */
static gboolean
work_off(G_GNUC_UNUSED gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    const CtBlock *out = &work->outputs[0];
    work_copy(state, work, error);
    if (out->n_samples > 0)
        out->data[(out->n_samples - 1) * out->stride[0]]++;
    return TRUE;
}

/* The first sample of every firing is invalid. */
static gboolean
advance_invalid(G_GNUC_UNUSED gpointer state, CtAdvance *advance, GError **error)
{
    if (!ct_advance_default(advance, error))
        return FALSE;
    CtDeparture *out = &advance->outputs[0];
    if (out->produced > 0) {
        memset(out->validity, 1, (gsize)out->produced);
        out->validity[0] = 0;
        out->invalid = TRUE;
    }
    return TRUE;
}

static const CtStage off_stage = {PASS_STAGE("wrong.off", "Is off by one"), .infer = pass_infer};
static const CtStage invalid_stage = {PASS_STAGE("wrong.invalid", "Loses samples"),
                                      .infer = pass_infer};

#define VARIANT(variable, stage, name_, backend_, ...)                                             \
    static const CtVariant variable = {                                                            \
        .name = name_,                                                                             \
        .backend = backend_,                                                                       \
        .covers = (const char *const[]){stage, NULL},                                              \
        .rows = pass_rows,                                                                         \
        .prepare = pass_prepare,                                                                   \
        __VA_ARGS__,                                                                               \
    }

VARIANT(off_cpu, "wrong.off", "cpu", CT_CPU, .work = work_off);
VARIANT(off_reference, "wrong.off", "reference", CT_REFERENCE, .work = work_copy);
VARIANT(invalid_cpu, "wrong.invalid", "cpu", CT_CPU, .work = work_copy, .advance = advance_invalid);
VARIANT(invalid_reference, "wrong.invalid", "reference", CT_REFERENCE, .work = work_copy);

CT_PLUGIN("wrong", ((const CtStage *const[]){&off_stage, &invalid_stage, NULL}),
          ((const CtVariant *const[]){&off_cpu, &off_reference, &invalid_cpu, &invalid_reference,
                                      NULL}));
