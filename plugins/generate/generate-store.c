/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores a sample of any type, given in doubles, for the reference of generate. */
#include "generate-store.h"

#include <cornerturn/kit/half.h>
#include <math.h>
#include <string.h>

static gint64
quantise(gdouble value, gint64 limit, guint *clipped)
{
    gdouble level = rint(value);
    if (fabs(level) <= (gdouble)limit && fabs(level) < 0x1p63)
        return (gint64)level;
    *clipped = 1;
    return level > 0 ? limit : -limit;
}

static void
store_part(guint8 *address, CtType part, gdouble value, guint *clipped)
{
    const CtTypeInfo *info = ct_type_info(part);
    if (part == CT_F64)
        memcpy(address, &value, sizeof value);
    else if (part == CT_F32)
        memcpy(address, &(gfloat){value}, sizeof(gfloat));
    else if (part == CT_F16)
        memcpy(address, &(guint16){ct_half_from_double(value)}, sizeof(guint16));
    else {
        gint64 limit = (gint64)(((guint64)1 << (info->part_bits - 1)) - 1);
        guint64 level = quantise(value, limit, clipped);
        if (!info->is_signed)
            level += (guint64)1 << (info->part_bits - 1);
        for (gsize i = 0; i < info->bytes; i++)
            address[G_BYTE_ORDER == G_LITTLE_ENDIAN ? i : info->bytes - 1 - i] = level >> (8 * i);
    }
}

guint
generate_store(guint8 *address, CtType type, gdouble re, gdouble im)
{
    const CtTypeInfo *info = ct_type_info(type);
    guint clipped = 0;
    if (type == CT_CI4) {
        guint high = quantise(re, 7, &clipped), low = quantise(im, 7, &clipped);
        *address = (guint8)((high << 4) | (low & 15));
    } else {
        store_part(address, info->part, re, &clipped);
        if (info->is_complex)
            store_part(address + ct_type_info(info->part)->bytes, info->part, im, &clipped);
    }
    return clipped;
}
