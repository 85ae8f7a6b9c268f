/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator on the processor: the kernels of one instruction set as a variant. */
#include "correlate-kernels.h"
#include "correlate.h"

static void
accumulate(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from, gint64 n,
           gint64 done, gpointer sums, gpointer scratch)
{
    CT_ISA(correlate_accumulate)
    (self->own, voltages, from->time, from->station, from->pol, (gsize)n, (gsize)done, sums,
     scratch);
}

static void
flush(const Correlate *self, gconstpointer sums, gint64 done, guint8 *visibilities,
      const CorrelateTo *to, gpointer scratch)
{
    CT_ISA(correlate_flush)
    (self->own, sums, (gsize)done, visibilities, to->baseline, to->p, to->q, scratch);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Correlate *self = *state = ct_correlate_new(prepare);
    CorrelateShape *shape = self->own = g_new0(CorrelateShape, 1);
    if (!CT_ISA(correlate_shape)(shape, self->input, self->output, (gsize)self->n_stations,
                                 (gsize)self->n_pols)) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "wants other types than %s to %s",
                    ct_type_info(self->input)->name, ct_type_info(self->output)->name);
        return FALSE;
    }
    self->method = (CorrelateMethod){
        .sums_bytes = shape->sums_bytes,
        .scratch_bytes = shape->scratch_bytes,
        .accumulate = accumulate,
        .flush = flush,
    };
    return ct_correlate_allocate(self, prepare, error);
}

/* Visibilities are few and scattered from the sums into any order. */
#define ROW(voltages, efficiency)                                                                  \
    {                                                                                              \
        "any: ci4|ci8|ci16|cf32|cf64" voltages                                                     \
        " -> cf32|cf64|ci64{time baseline ...}, u32{time baseline ...}",                           \
            efficiency                                                                             \
    }

const CtVariant CT_ISA(ct_correlate_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"correlate", NULL},
    .rows =
        (const CtRow[]){
            ROW("[... time station pol]", 0.75),
            ROW("[time ... station pol]", 0.7),
            ROW("[... time station]", 0.75),
            ROW("[time ... station]", 0.7),
            ROW("[... time beam pol]", 0.75),
            ROW("[time ... beam pol]", 0.7),
            ROW("[... time beam]", 0.75),
            ROW("[time ... beam]", 0.7),
            {NULL},
        },
    .split = "*",
    .prepare = prepare,
    .work = ct_correlate_work,
    .finish = ct_correlate_finish,
};
