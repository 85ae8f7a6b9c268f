/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a packet: an array of axes of one type, which is unpacked into any layout, and
 * packed from it. */
#include "packet-payload.h"

#include <string.h>

const char *const packet_byte_orders[] = {"big", "little", NULL};
const char *const packet_nibbles[] = {"high", "low", NULL};

/* No packet is longer. */
static const gint64 MOST_BYTES = 1 << 24;

/* ---- parameters ---- */

/* "time 16", or without a length "channel". */
static gboolean
parse_axis(const char *text, gboolean is_open, const char **name, gint64 *length)
{
    g_auto(GStrv) words = g_strsplit(text, " ", 2);
    CtLayout layout;
    if (!words[0] || (words[1] == NULL) != is_open)
        return FALSE;
    g_autofree char *alone = g_strdup_printf("[%s]", words[0]);
    if (!ct_layout_parse(&layout, alone, NULL) || layout.n_axes != 1 || layout.axes[0].count > 0 ||
        strcmp(layout.axes[0].name, "...") == 0 || strcmp(layout.axes[0].name, "complex") == 0)
        return FALSE;
    guint64 n = 1;
    if (!is_open && !g_ascii_string_to_unsigned(words[1], 10, 1, (guint64)MOST_BYTES, &n, NULL))
        return FALSE;
    *name = layout.axes[0].name;
    *length = (gint64)n;
    return TRUE;
}

static gboolean
read_axes(PacketPayload *payload, const CtParams *given, gboolean is_open, GError **error)
{
    const guint n = ct_params_count(given, "payload");
    if (n > CT_MAX_AXES - 3)
        return ct_params_error(given, "payload", error, "wants at most %d axes, but is given %u",
                               CT_MAX_AXES - 3, n);
    for (guint a = 0; a < n; a++) {
        const char *text = ct_params_string_at(given, "payload", a), *name;
        gint64 length;
        if (!parse_axis(text, is_open && a == 0, &name, &length))
            return ct_params_error(given, "payload", error,
                                   is_open && a == 0
                                       ? "wants first the axis that packets divide, without a "
                                         "length as 'channel', but is given '%s'"
                                       : "wants an axis and its length as 'time 16', but is given "
                                         "'%s'",
                                   text);
        if (packet_payload_axis(payload, name) >= 0)
            return ct_params_error(given, "payload", error,
                                   "wants each axis once, but is given "
                                   "'%s' twice",
                                   name);
        payload->names[a] = name;
        payload->length[a] = length;
        payload->n_axes++;
    }
    return TRUE;
}

gboolean
packet_payload_read(PacketPayload *payload, const CtParams *given, CtType type, gboolean is_open,
                    GError **error)
{
    *payload = (PacketPayload){.type = type};
    const CtTypeInfo *info = ct_type_info(type);
    if (payload->type == CT_CI4)
        payload->is_low_first = ct_params_choice(given, "real_nibble") == 1;
    else if (info->part_bits > 8)
        payload->is_little = ct_params_choice(given, "byte_order") == 1;
    if (!read_axes(payload, given, is_open, error))
        return FALSE;
    payload->time = packet_payload_axis(payload, "time");
    gint64 n = (gint64)info->bytes;
    for (guint a = 0; a < payload->n_axes && n <= MOST_BYTES; a++)
        n *= payload->length[a];
    if (n > MOST_BYTES)
        return ct_params_error(given, "payload", error,
                               "wants packets of at most %" G_GINT64_FORMAT " bytes", MOST_BYTES);
    packet_payload_pack(payload);
    return TRUE;
}

gint64
packet_payload_pack(PacketPayload *payload)
{
    gint64 bytes = (gint64)ct_type_info(payload->type)->bytes;
    for (guint a = payload->n_axes; a-- > 0;) {
        payload->stride[a] = bytes;
        bytes *= payload->length[a];
    }
    return bytes;
}

gint
packet_payload_axis(const PacketPayload *payload, const char *name)
{
    for (guint a = 0; a < payload->n_axes; a++)
        if (strcmp(payload->names[a], name) == 0)
            return (gint)a;
    return -1;
}

/* ---- runs of bytes ---- */

static gboolean
is_swapped(const PacketPayload *payload)
{
    return payload->is_little != (G_BYTE_ORDER == G_LITTLE_ENDIAN) && payload->type != CT_CI4 &&
           ct_type_info(payload->type)->part_bits > 8;
}

static inline guint8
swap_nibbles(guint8 x)
{
    return (guint8)(x << 4 | x >> 4);
}

/* Copies elements of `bytes` each; `part` is the bytes of what is swapped, 1 for ci4, or 0. Called
 * with constants, so that compilers unroll the loops. */
static inline void
copy_elements(gint64 n, gsize bytes, gsize part, const guint8 *from, gint64 from_step, guint8 *to,
              gint64 to_step)
{
    for (gint64 i = 0; i < n; i++, from += from_step, to += to_step) {
        if (part == 0)
            memcpy(to, from, bytes);
        for (gsize k = 0; part == 1 && k < bytes; k++)
            to[k] = swap_nibbles(from[k]);
        for (gsize k = 0; part > 1 && k < bytes; k += part)
            for (gsize b = 0; b < part; b++)
                to[k + b] = from[k + part - 1 - b];
    }
}

#define RUN(bytes_, part_)                                                                         \
    if (bytes == (bytes_) && part == (part_)) {                                                    \
        copy_elements(n, bytes_, part_, from, from_step, to, to_step);                             \
        return;                                                                                    \
    }

static void
copy_run(gint64 n, gsize bytes, gsize part, const guint8 *from, gint64 from_step, guint8 *to,
         gint64 to_step)
{
    RUN(1, 0)
    RUN(2, 0)
    RUN(4, 0)
    RUN(8, 0)
    RUN(16, 0)
    RUN(1, 1)
    RUN(2, 2)
    RUN(4, 2)
    RUN(8, 2)
    RUN(4, 4)
    RUN(8, 4)
    RUN(8, 8)
    RUN(16, 8)
    if (part == 2)
        copy_elements(n, bytes, 2, from, from_step, to, to_step);
    else if (part == 4)
        copy_elements(n, bytes, 4, from, from_step, to, to_step);
    else
        copy_elements(n, bytes, part, from, from_step, to, to_step);
}

/* ---- arrays ---- */

/* An axis that is gone along. */
typedef struct {
    gint64 n, from, to; /* bytes from one index to the next */
} Loop;

/* The axes of more than one element, with the smallest strides of the output last. */
static guint
make_loops(const PacketPayload *payload, gint64 n_samples, const gint64 *from, const gint64 *to,
           Loop *loops)
{
    guint n_loops = 0;
    for (guint a = 0; a < payload->n_axes; a++) {
        const gint64 n = (gint)a == payload->time ? n_samples : payload->length[a];
        guint at = n_loops;
        if (n == 1)
            continue;
        for (; at > 0 && loops[at - 1].to < to[a]; at--)
            loops[at] = loops[at - 1];
        loops[at] = (Loop){n, from[a], to[a]};
        n_loops++;
    }
    return n_loops;
}

/* Goes to the next element of the outer loops; FALSE: there is none. */
static gboolean
go_on(const Loop *loops, guint n_loops, gint64 *at, const guint8 **from, guint8 **out)
{
    for (guint a = n_loops; a-- > 0;) {
        *from += loops[a].from;
        *out += loops[a].to;
        if (++at[a] < loops[a].n)
            return TRUE;
        at[a] = 0;
        *from -= loops[a].n * loops[a].from;
        *out -= loops[a].n * loops[a].to;
    }
    return FALSE;
}

/* Copies samples between arrays, of which one has the order of bytes of the payload, and the other
 * one that of blocks. */
static void
copy_samples(const PacketPayload *payload, gint64 n_samples, const guint8 *from,
             const gint64 *from_stride, guint8 *to, const gint64 *to_stride)
{
    const CtTypeInfo *info = ct_type_info(payload->type);
    const gsize part = payload->type == CT_CI4 ? (guint)payload->is_low_first
                       : is_swapped(payload)   ? info->part_bits / 8
                                               : 0;
    Loop loops[CT_MAX_AXES + 1];
    gint64 at[CT_MAX_AXES + 1] = {0}, bytes = (gint64)info->bytes;
    guint n_loops = make_loops(payload, n_samples, from_stride, to_stride, loops);
    /* What is packed on both sides is one element. */
    for (; n_loops > 0 && loops[n_loops - 1].from == bytes && loops[n_loops - 1].to == bytes;)
        bytes *= loops[--n_loops].n;
    const Loop run = n_loops > 0 ? loops[--n_loops] : (Loop){1, 0, 0};
    do
        copy_run(run.n, (gsize)bytes, part, from, run.from, to, run.to);
    while (go_on(loops, n_loops, at, &from, &to));
}

/* Bytes from the first sample of the payload to another one. */
static gint64
find_sample(const PacketPayload *payload, gint64 sample)
{
    return payload->time < 0 ? 0 : sample * payload->stride[payload->time];
}

void
packet_payload_unpack(const PacketPayload *payload, const guint8 *from, gint64 begin, gint64 end,
                      guint8 *out, const gint64 *stride)
{
    copy_samples(payload, end - begin, from + find_sample(payload, begin), payload->stride, out,
                 stride);
}

void
packet_payload_put(const PacketPayload *payload, const guint8 *from, const gint64 *stride, gint64 n,
                   gint64 begin, guint8 *out)
{
    copy_samples(payload, n, from, stride, out + find_sample(payload, begin), payload->stride);
}

void
packet_payload_unpack_plain(const PacketPayload *payload, const guint8 *from, gint64 begin,
                            gint64 end, guint8 *out, const gint64 *stride)
{
    const gsize bytes = ct_type_info(payload->type)->bytes;
    const gsize part = bytes / (ct_type_info(payload->type)->is_complex ? 2 : 1);
    gint64 n = 1;
    for (guint a = 0; a < payload->n_axes; a++)
        n *= (gint)a == payload->time ? end - begin : payload->length[a];
    for (gint64 i = 0; i < n; i++) {
        gint64 rest = i, in = 0, at = 0;
        for (guint a = payload->n_axes; a-- > 0;) {
            const gint64 length = (gint)a == payload->time ? end - begin : payload->length[a];
            const gint64 index = rest % length;
            in += (index + ((gint)a == payload->time ? begin : 0)) * payload->stride[a];
            at += index * stride[a];
            rest /= length;
        }
        for (gsize b = 0; b < bytes; b++) {
            const gsize other = b / MAX(part, 1) * part + part - 1 - b % MAX(part, 1);
            out[at + (gint64)b] = from[in + (gint64)(is_swapped(payload) ? other : b)];
        }
        if (payload->is_low_first)
            out[at] = swap_nibbles(out[at]);
    }
}
