/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a packet: an array of axes of one type, which is unpacked into any layout, and
 * packed from it. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    CtType type;
    gboolean is_little;             /* the byte order of parts of several bytes */
    gboolean is_low_first;          /* of ci4: the low half of a byte has the real part */
    guint n_axes;                   /* slowest first */
    const char *names[CT_MAX_AXES]; /* interned */
    gint64 length[CT_MAX_AXES];
    gint64 stride[CT_MAX_AXES]; /* bytes; set by packet_payload_pack */
    gint time;                  /* the number of the axis time; −1: a packet has one sample */
} PacketPayload;

/* Reads the parameters `payload`, "time 16" for each axis, `byte_order` and `real_nibble`. With
 * `is_open`, the first axis has no length yet: it becomes 1. */
gboolean packet_payload_read(PacketPayload *payload, const CtParams *given, CtType type,
                             gboolean is_open, GError **error);
/* Sets the strides by the lengths, and returns the bytes of all samples. */
gint64 packet_payload_pack(PacketPayload *payload);
/* The number of an axis; −1: there is none. */
gint packet_payload_axis(const PacketPayload *payload, const char *name);

/* Writes the samples begin … end − 1 along time of an array; `stride` of the output is that of each
 * axis of the payload, in bytes. */
void packet_payload_unpack(const PacketPayload *payload, const guint8 *from, gint64 begin,
                           gint64 end, guint8 *out, const gint64 *stride);
/* The same, value by value. */
void packet_payload_unpack_plain(const PacketPayload *payload, const guint8 *from, gint64 begin,
                                 gint64 end, guint8 *out, const gint64 *stride);
/* Writes n samples from `begin` on along time, from an array with a stride for each axis. */
void packet_payload_put(const PacketPayload *payload, const guint8 *from, const gint64 *stride,
                        gint64 n, gint64 begin, guint8 *out);

/* Rows of a stage's table, with further flags of those that may be wanted. */
extern const char *const packet_byte_orders[], *const packet_nibbles[];
#define PACKET_PAYLOAD_PARAMS(flags_, payload_, payload_help)                                      \
    {.name = "payload",                                                                            \
     .kind = CT_PARAM_STRING,                                                                      \
     .flags = (flags_) | CT_PARAM_LIST,                                                            \
     .fallback = payload_,                                                                         \
     .help = payload_help},                                                                        \
        {.name = "byte_order",                                                                     \
         .kind = CT_PARAM_CHOICE,                                                                  \
         .choices = packet_byte_orders,                                                            \
         .fallback = "big",                                                                        \
         .help = "of parts of samples that have several bytes"},                                   \
    {                                                                                              \
        .name = "real_nibble", .kind = CT_PARAM_CHOICE, .choices = packet_nibbles,                 \
        .fallback = "high", .help = "of ci4, the half of a byte that holds the real part"          \
    }
#define PACKET_TYPE_PARAM(flags_, type_)                                                           \
    {                                                                                              \
        .name = "type", .kind = CT_PARAM_TYPE, .flags = flags_, .fallback = type_,                 \
        .help = "of the samples"                                                                   \
    }
