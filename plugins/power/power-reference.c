/* SPDX-License-Identifier: BSD-3-Clause */
/* Powers sample by sample in double precision. */
#include "../parts.h"
#include "power.h"

#include <complex.h>

typedef double complex Number;

typedef struct {
    CtBoxes boxes;
    PowerStokes stokes;
    PowerFeed feed;
    gint in_pol, out_stokes; /* axes of the layouts, −1 without stokes */
    gint64 pol, stride;      /* bytes from pol 0 to pol 1, and from a parameter to the next */
} Power;

static Number
read_number(const guint8 *x, CtType type)
{
    const union {
        gdouble parts[2];
        Number number;
    } read = {{part_read(x, type, 0), ct_type_info(type)->is_complex ? part_read(x, type, 1) : 0}};
    return read.number;
}

static gdouble
square(Number x)
{
    return creal(x) * creal(x) + cimag(x) * cimag(x);
}

static void
write_number(guint8 *to, CtType type, gdouble value)
{
    if (type == CT_F64)
        *(gdouble *)to = value;
    else
        *(gfloat *)to = (gfloat)value;
}

/* I Q U V of the two samples; see README.md for the signs. */
static void
find_stokes(PowerFeed feed, Number x, Number y, gdouble parameters[4])
{
    const Number cross = x * conj(y);
    const gdouble difference = square(x) - square(y);
    parameters[0] = square(x) + square(y);
    parameters[1] = feed == POWER_LINEAR ? difference : 2 * creal(cross);
    parameters[2] = feed == POWER_LINEAR ? 2 * creal(cross) : 2 * cimag(cross);
    parameters[3] = feed == POWER_LINEAR ? 2 * cimag(cross) : difference;
}

static void
power_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
          const CtBoxAxis *run)
{
    const Power *self = data;
    const CtType type = self->boxes.in_type;
    for (gint64 i = 0; i < run->length; i++, in += run->in, out += run->out) {
        gdouble parameters[4];
        if (self->stokes == POWER_NONE) {
            write_number(out, self->boxes.out_type, square(read_number(in, type)));
            continue;
        }
        find_stokes(self->feed, read_number(in, type), read_number(in + self->pol, type),
                    parameters);
        for (guint s = 0; s < (self->stokes == POWER_I ? 1 : 4); s++)
            write_number(out + s * self->stride, self->boxes.out_type, parameters[s]);
    }
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    Power *self = *state = g_new0(Power, 1);
    const CtParams *params = prepare->nodes[0].params;
    ct_boxes_init(&self->boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    self->stokes = ct_params_choice(params, "stokes");
    self->feed = ct_params_choice(params, "feed");
    self->in_pol = self->out_stokes = -1;
    if (self->stokes != POWER_NONE) {
        self->in_pol = ct_layout_axis(&prepare->inputs[0].layout, "pol");
        self->out_stokes = ct_layout_axis(&prepare->outputs[0].layout, "stokes");
    }
    return TRUE;
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    Power *self = state;
    self->pol = self->in_pol < 0 ? 0 : work->inputs[0].stride[self->in_pol];
    self->stride = self->out_stokes < 0 ? 0 : work->outputs[0].stride[self->out_stokes];
    ct_boxes_each_run(&self->boxes, work, power_run, self);
    return TRUE;
}

const CtVariant ct_power_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"power", NULL},
    .rows = CT_REFERENCE_ROWS,
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
