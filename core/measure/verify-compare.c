/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison of two blocks, element by element, in any layouts. */
#include "verify-private.h"

#include <math.h>
#include <string.h>

/* Elements that are compared at a time. */
enum { CHUNK = 256 };

/* The parts of elements, and their bits: integers of 64 bits may differ where they are the same
 * number in double precision. */
typedef struct {
    gdouble parts[2][CHUNK];
    guint64 bits[2][CHUNK];
} Chunk;

static gdouble
half_to_double(guint16 half)
{
    const int exponent = half >> 10 & 31, mantissa = half & 1023;
    const gdouble value = exponent == 0    ? ldexp(mantissa, -24)
                          : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                           : ldexp(mantissa + 1024, exponent - 25);
    return half & 0x8000 ? -value : value;
}

static gdouble
read_part(const guint8 *from, CtType part, guint64 *bits)
{
    *bits = 0;
    memcpy(bits, from, ct_type_info(part)->bytes);
    switch (part) {
    case CT_I8:
        return (gint8)*bits;
    case CT_I16:
        return (gint16)*bits;
    case CT_I32:
        return (gint32)*bits;
    case CT_I64:
        return (gdouble)(gint64)*bits;
    case CT_F16:
        return half_to_double((guint16)*bits);
    case CT_F32: {
        gfloat value;
        memcpy(&value, from, sizeof value);
        return (gdouble)value;
    }
    case CT_F64: {
        gdouble value;
        memcpy(&value, from, sizeof value);
        return value;
    }
    default:
        return (gdouble)*bits;
    }
}

static void
read_chunk(Chunk *chunk, const CtTypeInfo *type, const guint8 *from, gint64 stride, gint64 n)
{
    const guint n_parts = type->is_complex ? 2 : 1;
    for (gint64 i = 0; i < n; i++, from += stride)
        for (guint p = 0; p < n_parts; p++) {
            if (type->part == CT_TYPE_NONE) /* ci4: the nibble, at the top of a byte, has a sign */
                chunk->parts[p][i] = (gint8)(guint8)(p == 0 ? *from & 0xf0 : *from << 4) / 16;
            else
                chunk->parts[p][i] =
                    read_part(from + p * type->bytes / n_parts, type->part, &chunk->bits[p][i]);
        }
}

static gdouble
difference_of(gdouble a, gdouble b, gboolean same_bits)
{
    if (a == b)
        return same_bits ? 0 : 1;
    if (isnan(a) && isnan(b))
        return 0;
    const gdouble difference = fabs(a - b);
    return isnan(difference) ? INFINITY : difference;
}

/* Adds a chunk. Returns the index of its element with the largest difference so far; −1: it has
 * none. */
static gint64
add_chunk(CtComparison *self, const CtTypeInfo *type, const Chunk chunks[2], gint64 n)
{
    const gboolean is_wide = !type->is_float && type->part_bits == 64;
    gint64 worst = -1;
    for (gint64 i = 0; i < n; i++) {
        gdouble difference = 0, value = 0; /* squares */
        for (guint p = 0; p < (type->is_complex ? 2 : 1); p++) {
            const gdouble a = chunks[0].parts[p][i], b = chunks[1].parts[p][i];
            const gboolean same = !is_wide || chunks[0].bits[p][i] == chunks[1].bits[p][i];
            const gdouble part = difference_of(a, b, same);
            difference += part * part;
            value += b * b;
        }
        if (difference > self->largest * self->largest) {
            self->largest = sqrt(difference);
            worst = i;
        }
        self->squares += difference;
        if (!isfinite(value))
            continue;
        if (value > self->value_largest * self->value_largest)
            self->value_largest = sqrt(value);
        self->value_squares += value;
    }
    self->n += n;
    return worst;
}

static void
add_validity(CtComparison *self, const CtStream *stream, const CtBlock *const blocks[2])
{
    const gint64 n_lanes = ct_stream_n_lanes(stream);
    if (!blocks[0]->validity && !blocks[1]->validity) {
        self->n_valid += n_lanes * blocks[0]->n_samples;
        return;
    }
    for (gint64 lane = 0; lane < n_lanes; lane++)
        for (gint64 t = 0; t < blocks[0]->n_samples; t++) {
            gboolean valid[2];
            for (guint k = 0; k < 2; k++)
                valid[k] = !blocks[k]->validity ||
                           blocks[k]->validity[lane * blocks[k]->validity_stride + t];
            self->n_validity += valid[0] != valid[1];
            self->n_valid += valid[0] && valid[1];
        }
}

/* Notes the place of the largest difference: `index` in the second layout's axes. */
static void
keep_place(CtComparison *self, const CtStream *stream, const CtLayout *layout, const gint64 *index,
           gint64 sample)
{
    self->worst_sample = sample;
    for (guint a = 0; a < stream->n_axes; a++) {
        const gint place = ct_layout_axis(layout, stream->axes[a].name);
        self->worst[a] = index[place];
        if (strcmp(stream->axes[a].name, "time") == 0)
            self->worst_sample += index[place];
    }
}

void
ct_comparison_add(CtComparison *self, const CtStream *stream, const CtLayout *const layouts[2],
                  const CtBlock *const blocks[2], gint64 sample)
{
    const CtTypeInfo *type = ct_type_info(stream->type);
    const CtBlock *block = blocks[1];
    const guint n_axes = block->n_axes, run = n_axes - 1;
    gint64 index[CT_MAX_AXES] = {0}, stride[2][CT_MAX_AXES];
    for (guint a = 0; a < n_axes; a++) {
        stride[1][a] = block->stride[a];
        stride[0][a] = blocks[0]->stride[ct_layout_axis(layouts[0], layouts[1]->axes[a].name)];
        if (block->length[a] == 0)
            return;
    }
    Chunk chunks[2];
    guint a;
    do {
        for (index[run] = 0; index[run] < block->length[run]; index[run] += CHUNK) {
            const gint64 n = MIN(CHUNK, block->length[run] - index[run]);
            for (guint k = 0; k < 2; k++) {
                const guint8 *from = blocks[k]->data;
                for (a = 0; a < n_axes; a++)
                    from += index[a] * stride[k][a];
                read_chunk(&chunks[k], type, from, stride[k][run], n);
            }
            const gint64 worst = add_chunk(self, type, chunks, n);
            if (worst < 0)
                continue;
            gint64 place[CT_MAX_AXES];
            memcpy(place, index, sizeof place);
            place[run] += worst;
            keep_place(self, stream, layouts[1], place, sample);
        }
        index[run] = 0;
        for (a = run; a > 0 && ++index[a - 1] == block->length[a - 1]; a--)
            index[a - 1] = 0;
    } while (a > 0);
    add_validity(self, stream, blocks);
}

char *
ct_comparison_place(const CtStream *stream, const CtComparison *found)
{
    g_autoptr(GString) text = g_string_new("at");
    for (guint a = 0; a < stream->n_axes; a++)
        if (strcmp(stream->axes[a].name, "time") != 0)
            g_string_append_printf(text, "%s %s %" G_GINT64_FORMAT, text->len > 2 ? "," : "",
                                   stream->axes[a].name, found->worst[a]);
    if (ct_stream_axis(stream, "time") >= 0)
        g_string_append_printf(text, "%s sample %" G_GINT64_FORMAT, text->len > 2 ? " of" : "",
                               found->worst_sample);
    return g_string_free(g_steal_pointer(&text), FALSE);
}
