/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of a header: where a number stands, and of how many bits. */
#pragma once

#include <cornerturn/stage.h>

typedef struct {
    guint bits;         /* 1 to 64; 0: there is none */
    gboolean is_little; /* the byte order: bit 0 of a byte is its lowest one; else its highest */
    guint first;        /* the first bit, from the beginning of the header on */
} PacketField;

/* A number that every header has. */
typedef struct {
    PacketField field;
    guint64 value;
} PacketConstant;

/* Reads "u32 at 8", "u12 little at 8 bit 4": bits, byte order, byte, bit in that byte. */
gboolean packet_field_parse(const char *text, PacketField *field);
/* Reads "u32 at 0 = 0x1234abcd". */
gboolean packet_constant_parse(const char *text, PacketConstant *constant);
/* The bytes of the header up to the end of the field. */
gsize packet_field_end(const PacketField *field);
/* The number; 0 if there is no field. */
guint64 packet_field_get(const PacketField *field, const guint8 *header);
