/* SPDX-License-Identifier: BSD-3-Clause */
/* The beamformer by its equation, in double precision, for any order of axes. */
#include "../parts.h"
#include "beamform.h"

/* Packs weights into a set [beam][station][re, im]. */
static void
pack(const Beamform *self, const guint8 *weights, gint64 beam_stride, gint64 station_stride,
     gpointer set)
{
    gfloat *to = set;
    for (gint64 b = 0; b < self->n_beams; b++)
        for (gint64 s = 0; s < self->n_stations; s++, to += 2) {
            const gfloat *w = (const gfloat *)(weights + b * beam_stride + s * station_stride);
            to[0] = w[0];
            to[1] = w[1];
        }
}

static void
sum(const Beamform *self, const void *const *sets, const guint8 *voltages,
    const BeamformStrides *from, guint8 *beams, const BeamformStrides *to, gint64 n,
    G_GNUC_UNUSED const guint8 *next, G_GNUC_UNUSED gpointer scratch)
{
    for (gint64 t = 0; t < n; t++)
        for (gint64 p = 0; p < self->n_pols; p++) {
            const gfloat *w = sets[p];
            for (gint64 b = 0; b < self->n_beams; b++) {
                const guint8 *x = voltages + t * from->time + p * from->pol;
                gfloat *y = (gfloat *)(beams + t * to->time + b * to->across + p * to->pol);
                gdouble re = 0, im = 0;
                for (gint64 s = 0; s < self->n_stations; s++, w += 2, x += from->across) {
                    const gdouble x_re = part_read(x, self->type, 0);
                    const gdouble x_im = part_read(x, self->type, 1);
                    re += w[0] * x_re - w[1] * x_im;
                    im += w[0] * x_im + w[1] * x_re;
                }
                y[0] = (gfloat)re;
                y[1] = (gfloat)im;
            }
        }
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Beamform *self = *state = ct_beamform_new(prepare, error);
    if (!self)
        return FALSE;
    self->method = (BeamformMethod){
        .set_bytes = (gsize)(self->n_beams * self->n_stations) * 8,
        .pack = pack,
        .sum = sum,
    };
    return ct_beamform_allocate(self, prepare, error);
}

const CtVariant ct_beamform_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"beamform", NULL},
    .rows = CT_REFERENCE_ROWS,
    .split = "*",
    .prepare = prepare,
    .advance = ct_beamform_advance,
    .work = ct_beamform_work,
    .finish = ct_beamform_finish,
};
