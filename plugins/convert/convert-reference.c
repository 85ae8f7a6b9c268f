/* SPDX-License-Identifier: BSD-3-Clause */
/* The conversion element by element, over 64-bit integers or double precision. */
#include "convert.h"

#include <cornerturn/kit/boxes.h>
#include <cornerturn/kit/half.h>
#include <math.h>
#include <string.h>

/* A real number of any type, exactly. */
typedef struct {
    gboolean is_float;
    gint64 integer;
    gdouble real;
} Number;

#define READ_INTEGER(type)                                                                         \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return (Number){FALSE, value, 0};                                                          \
    }
#define READ_REAL(type)                                                                            \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        return (Number){TRUE, 0, value};                                                           \
    }

static Number
read_number(const guint8 *from, CtType type)
{
    guint16 half;
    switch (type) {
    case CT_I8:
        READ_INTEGER(gint8)
    case CT_I16:
        READ_INTEGER(gint16)
    case CT_I32:
        READ_INTEGER(gint32)
    case CT_I64:
        READ_INTEGER(gint64)
    case CT_U8:
        READ_INTEGER(guint8)
    case CT_U32:
        READ_INTEGER(guint32)
    case CT_F32:
        READ_REAL(gfloat)
    case CT_F64:
        READ_REAL(gdouble)
    default:
        memcpy(&half, from, sizeof half);
        return (Number){TRUE, 0, ct_half_to_float(half)};
    }
}

/* Rounds half to even and clips to the limits; NaN becomes 0. */
static gint64
round_within(Number number, gint64 least, gint64 most)
{
    if (!number.is_float)
        return CLAMP(number.integer, least, most);
    if (isnan(number.real))
        return 0;
    if (number.real <= (gdouble)least)
        return least;
    if (number.real >= (gdouble)most)
        return most;
    return (gint64)nearbyint(number.real);
}

#define WRITE(type, expression)                                                                    \
    {                                                                                              \
        const type value = (type)(expression);                                                     \
        memcpy(to, &value, sizeof value);                                                          \
        break;                                                                                     \
    }

static void
write_number(guint8 *to, CtType type, Number number)
{
    const gdouble real = number.is_float ? number.real : (gdouble)number.integer;
    switch (type) {
    case CT_I8:
        WRITE(gint8, round_within(number, G_MININT8, G_MAXINT8))
    case CT_I16:
        WRITE(gint16, round_within(number, G_MININT16, G_MAXINT16))
    case CT_I32:
        WRITE(gint32, round_within(number, G_MININT32, G_MAXINT32))
    case CT_I64:
        WRITE(gint64, round_within(number, G_MININT64, G_MAXINT64))
    case CT_U8:
        WRITE(guint8, round_within(number, 0, G_MAXUINT8))
    case CT_U32:
        WRITE(guint32, round_within(number, 0, G_MAXUINT32))
    case CT_F32:
        if (!number.is_float)
            WRITE(gfloat, number.integer)
        WRITE(gfloat, real)
    case CT_F64:
        WRITE(gdouble, real)
    default:
        WRITE(guint16, ct_half_from_double(real))
    }
}

/* Converts a whole element; ci4 has its parts in one byte. */
static void
convert_element(const guint8 *from, CtType in_type, guint8 *to, CtType out_type)
{
    const CtTypeInfo *in = ct_type_info(in_type), *out = ct_type_info(out_type);
    const guint n_parts = in->is_complex ? 2 : 1;
    Number parts[2];
    for (guint i = 0; i < n_parts; i++) {
        if (in_type == CT_CI4)
            parts[i] = (Number){FALSE, (gint8)(guint8)(i == 0 ? *from & 0xf0 : *from << 4) / 16, 0};
        else
            parts[i] = read_number(from + i * in->bytes / n_parts, in->part);
    }
    if (out_type == CT_CI4) {
        const gint64 real = round_within(parts[0], -8, 7),
                     imaginary = round_within(parts[1], -8, 7);
        *to = (guint8)((guint)real << 4 | ((guint)imaginary & 15));
        return;
    }
    for (guint i = 0; i < n_parts; i++)
        write_number(to + i * out->bytes / n_parts, out->part, parts[i]);
}

static gboolean
prepare(CtPrepare *prepare, gpointer *state, G_GNUC_UNUSED GError **error)
{
    CtBoxes *boxes = *state = g_new0(CtBoxes, 1);
    ct_boxes_init(boxes, &prepare->inputs[0], &prepare->outputs[0], 1);
    return TRUE;
}

static void
convert_run(gpointer data, const guint8 *in, G_GNUC_UNUSED const guint8 *table, guint8 *out,
            const CtBoxAxis *run)
{
    const CtBoxes *boxes = data;
    for (gint64 i = 0; i < run->length; i++)
        convert_element(in + i * run->in, boxes->in_type, out + i * run->out, boxes->out_type);
}

static gboolean
work(gpointer state, const CtWork *work, G_GNUC_UNUSED GError **error)
{
    ct_boxes_each_run(state, work, convert_run, state);
    return TRUE;
}

const CtVariant ct_convert_reference = {
    .name = "reference",
    .backend = CT_REFERENCE,
    .isa = CT_ISA_BASELINE,
    .covers = (const char *const[]){"convert", NULL},
    .rows =
        (const CtRow[]){
            {"any: [...] -> [...]", 0.01},
            {NULL},
        },
    .prepare = prepare,
    .work = work,
    .finish = g_free,
};
