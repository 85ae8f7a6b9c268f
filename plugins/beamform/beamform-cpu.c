/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer on the processor: the kernels of one instruction set as a variant. */
#include "beamform-kernels.h"

static void
pack(const Beamform *self, const guint8 *weights, gint64 beam_stride, gint64 station_stride,
     gpointer set)
{
    CT_ISA(beamform_pack)(self->own, weights, beam_stride, station_stride, set);
}

static void
sum(const Beamform *self, const void *const *sets, const guint8 *voltages,
    const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gint64 n,
    const guint8 *next, gpointer scratch)
{
    CT_ISA(beamform_sum)(self->own, sets, voltages, from, beams, to, (gsize)n, next, scratch);
}

/* There are registers for eight rows of sums if the processor has 32 of them, for four if it has
 * 16. */
enum { ROWS, CHUNK };
static const CtTunable tunables[] = {
    [ROWS] = {"rows", CT_VALUES(4, 8), CT_VECTOR_BYTES == 64 ? 8 : 4,
              "times and polarisations that are summed in registers at once"},
    [CHUNK] = {"chunk", CT_VALUES(8, 16, 32, 64), 16,
               "KiB of voltages from which some beams are computed before the next beams"},
    {NULL},
};

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Beamform *self = *state = ct_beamform_new(prepare, error);
    if (!self)
        return FALSE;
    BeamformShape *shape = self->own = g_new(BeamformShape, 1);
    *shape = (BeamformShape){
        .n_beams = (gsize)self->n_beams,
        .n_stations = (gsize)self->n_stations,
        .n_pols = (gsize)self->n_pols,
        .type = self->type,
        .paired = self->n_pols == 2 && !self->weights_have_pol && self->to_pol > self->to_beam,
        .rows = (gsize)prepare->tuning[ROWS],
        .chunk_bytes = (gsize)prepare->tuning[CHUNK] << 10,
    };
    if (!CT_ISA(beamform_shape)(shape)) {
        g_set_error(error, CT_ERROR, CT_ERROR_LAYOUT, "wants voltages of another type than %s",
                    ct_type_info(self->type)->name);
        return FALSE;
    }
    self->method = (BeamformMethod){
        .set_bytes = shape->panels_bytes,
        .scratch_bytes = shape->scratch_bytes,
        .pack = pack,
        .sum = sum,
    };
    return ct_beamform_allocate(self, prepare, error);
}

/* The share of the efficiency that a number of beams reaches: the last vector may be partly empty,
 * and the voltages are read for few sums. */
static gdouble
share(const CtNode *nodes, G_GNUC_UNUSED const CtLayout *inputs,
      G_GNUC_UNUSED const CtLayout *outputs)
{
    const gint64 n_beams = ct_stream_length(&nodes[0].outputs[0], "beam");
    const gint64 few = ct_stream_length(&nodes[0].inputs[0], "pol") == 2 ? CT_VECTOR_BYTES / 16
                                                                         : CT_VECTOR_BYTES / 8;
    const gdouble filled = (gdouble)n_beams / (gdouble)((n_beams + few - 1) / few * few);
    return filled * (0.6 + 0.4 * MIN(1, (gdouble)n_beams / 16));
}

/* Weights are repacked once, from any order. */
#define ROW(voltages, beams, efficiency)                                                           \
    {                                                                                              \
        "any: ci4|ci8|ci16|cf32" voltages ", cf32{beam station ...} -> cf32" beams, efficiency     \
    }

const CtVariant CT_ISA(ct_beamform_cpu) = {
    .name = "cpu-" CT_ISA_NAME,
    .backend = CT_CPU,
    .isa = CT_ISA_THIS,
    .covers = (const char *const[]){"beamform", NULL},
    .rows =
        (const CtRow[]){
            BEAMFORM_ROWS,
            {NULL},
        },
    .share = share,
    .tunables = tunables,
    .split = "*",
    .prepare = prepare,
    .advance = ct_beamform_advance,
    .work = ct_beamform_work,
    .finish = ct_beamform_finish,
};
