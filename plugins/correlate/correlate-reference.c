/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlator by its equation: integers in 64-bit integers, else in double precision, for any
 * order of axes. */
#include "../parts.h"
#include "correlate.h"

static void
add_integer(const Correlate *self, const guint8 *a, const guint8 *b, gint64 *sum)
{
    const gint64 a_re = (gint64)part_read(a, self->input, 0);
    const gint64 a_im = (gint64)part_read(a, self->input, 1);
    const gint64 b_re = (gint64)part_read(b, self->input, 0);
    const gint64 b_im = (gint64)part_read(b, self->input, 1);
    sum[0] += a_re * b_re + a_im * b_im;
    sum[1] += a_im * b_re - a_re * b_im;
}

static void
add_real(const Correlate *self, const guint8 *a, const guint8 *b, gdouble *sum)
{
    const gdouble a_re = part_read(a, self->input, 0), a_im = part_read(a, self->input, 1);
    const gdouble b_re = part_read(b, self->input, 0), b_im = part_read(b, self->input, 1);
    sum[0] += a_re * b_re + a_im * b_im;
    sum[1] += a_im * b_re - a_re * b_im;
}

/* Both kinds of sums take 16 bytes: [baseline][p][q] of two gint64 or two gdouble. */
static void
accumulate(const Correlate *self, const guint8 *voltages, const CorrelateFrom *from, gint64 n,
           gint64 done, gpointer sums, G_GNUC_UNUSED gpointer scratch)
{
    const gboolean is_float = ct_type_info(self->input)->is_float;
    guint8 *sum = sums;
    for (gint64 i = 0; i < self->n_stations; i++)
        for (gint64 j = 0; j <= i; j++)
            for (gint64 p = 0; p < self->n_pols; p++)
                for (gint64 q = 0; q < self->n_pols; q++, sum += 16) {
                    const guint8 *a = voltages + i * from->station + p * from->pol;
                    const guint8 *b = voltages + j * from->station + q * from->pol;
                    if (done == 0)
                        ((gint64 *)sum)[0] = ((gint64 *)sum)[1] = 0;
                    for (gint64 t = 0; t < n; t++, a += from->time, b += from->time)
                        if (is_float)
                            add_real(self, a, b, (gdouble *)sum);
                        else
                            add_integer(self, a, b, (gint64 *)sum);
                }
}

static void
write_part(const Correlate *self, const guint8 *sum, guint part, guint8 *to)
{
    const gboolean is_float = ct_type_info(self->input)->is_float;
    const gint64 integer = ((const gint64 *)sum)[part];
    const gdouble real = ((const gdouble *)sum)[part];
    if (self->output == CT_CI64)
        ((gint64 *)to)[part] = integer;
    else if (self->output == CT_CF64)
        ((gdouble *)to)[part] = is_float ? real : (gdouble)integer;
    else
        ((gfloat *)to)[part] = is_float ? (gfloat)real : (gfloat)integer;
}

static void
flush(const Correlate *self, gconstpointer sums, G_GNUC_UNUSED gint64 done, guint8 *visibilities,
      const CorrelateTo *to, G_GNUC_UNUSED gpointer scratch)
{
    const guint8 *sum = sums;
    for (gint64 b = 0; b < self->n_baselines; b++)
        for (gint64 p = 0; p < self->n_pols; p++)
            for (gint64 q = 0; q < self->n_pols; q++, sum += 16)
                for (guint part = 0; part < 2; part++)
                    write_part(self, sum, part,
                               visibilities + b * to->baseline + p * to->p + q * to->q);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    Correlate *self = *state = ct_correlate_new(prepare);
    self->method = (CorrelateMethod){
        .sums_bytes = (gsize)(self->n_baselines * self->n_pols * self->n_pols) * 16,
        .accumulate = accumulate,
        .flush = flush,
    };
    return ct_correlate_allocate(self, prepare, error);
}

const CtVariant ct_correlate_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"correlate", NULL},
    .rows = CT_REFERENCE_ROWS,
    .split = "*",
    .prepare = prepare,
    .work = ct_correlate_work,
    .finish = ct_correlate_finish,
};
