/* SPDX-License-Identifier: BSD-3-Clause */
/* SPEAD-64-48: packets of heaps, and the items in their headers.
 *
 * Follows the SPEAD protocol, revision of 2012: a header of 8 bytes, then item pointers of 64 bits:
 * 1 bit says whether the item is immediate, 15 are its number, and 48 its value or its address in
 * the heap. */
#pragma once

#include <glib.h>

enum {
    SPEAD_HEADER_BYTES = 128, /* that are read of a packet: 15 item pointers */
    SPEAD_MOST_ITEMS = 15,
    SPEAD_FIRST_ITEM = 5, /* the least number of an item that is not the protocol's */
    SPEAD_LAST_ITEM = 0x7fff,
};

/* The numbers of items that each packet of a stream has; −1: none. */
typedef struct {
    gint timestamp, station, channel, samples;
} SpeadItems;

typedef struct {
    gsize header_bytes;
    guint64 heap_count; /* the number of the heap; 0: it has none */
    guint64 heap_length, heap_offset, payload_length;
    guint64 timestamp, station, channel;
    guint64 address; /* of the samples in the heap */
} SpeadHeader;

/* The bytes of a whole packet, whatever it has; 0: this is none. `n` bytes are there. */
gsize spead_packet_bytes(const guint8 *bytes, gsize n);
/* Reads the header of a packet of samples from SPEAD_HEADER_BYTES. Returns NULL, or why these bytes
 * are none. */
const char *spead_header_parse(const guint8 *bytes, const SpeadItems *items, SpeadHeader *header);

/* The bytes of a header with these items before so many bytes of samples: whole 32 bytes, as
 * MeerKAT's have them, and so many that the packet has SPEAD_HEADER_BYTES. */
gsize spead_header_bytes(const SpeadItems *items, gsize payload_length);
/* Writes header->header_bytes: the items, and immediate ones without a number behind them. Items
 * are the lowest 48 bits. */
void spead_header_write(const SpeadHeader *header, const SpeadItems *items, guint8 *bytes);
