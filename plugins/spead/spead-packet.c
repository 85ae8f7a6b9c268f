/* SPDX-License-Identifier: BSD-3-Clause */
/* SPEAD-64-48: packets of heaps, and the items in their headers. */
#include "spead-packet.h"

#include <string.h>

/* Items that every packet has. */
enum { HEAP_LENGTH = 2, HEAP_OFFSET = 3, PAYLOAD_LENGTH = 4 };

/* No packet is longer. */
enum { MOST_BYTES = 1 << 16 };

static guint64
read_big(const guint8 *bytes, guint n)
{
    guint64 value = 0;
    for (guint i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* The item pointers of a packet; −1: this is none. */
static gint
count_items(const guint8 *bytes)
{
    static const guint8 flavour[6] = {0x53, 4, 2, 6, 0, 0};
    return memcmp(bytes, flavour, sizeof flavour) == 0 ? (gint)read_big(bytes + 6, 2) : -1;
}

/* Finds an item among the first `n`. An address is that of bytes in the heap. */
static gboolean
find_item(const guint8 *bytes, gint n, gint number, gboolean is_immediate, guint64 *value)
{
    for (gint i = 0; i < n; i++) {
        const guint8 *pointer = bytes + 8 + 8 * i;
        if ((gint)(read_big(pointer, 2) & 0x7fff) != number || pointer[0] >> 7 != is_immediate)
            continue;
        *value = read_big(pointer + 2, 6);
        return TRUE;
    }
    return FALSE;
}

gsize
spead_packet_bytes(const guint8 *bytes, gsize n)
{
    guint64 payload;
    const gint n_items = n < 8 ? -1 : count_items(bytes);
    const gint n_there = MIN(n_items, (gint)(n / 8) - 1);
    if (n_items < 0 || !find_item(bytes, n_there, PAYLOAD_LENGTH, TRUE, &payload))
        return 0;
    const guint64 all = 8 + 8 * (guint64)n_items + payload;
    return all <= MOST_BYTES ? (gsize)all : 0;
}

const char *
spead_header_parse(const guint8 *bytes, const SpeadItems *items, SpeadHeader *header)
{
    const gint n_items = count_items(bytes), n = MIN(n_items, SPEAD_MOST_ITEMS);
    const struct {
        gint number;
        gboolean is_immediate;
        guint64 *value;
        const char *missing;
    } wanted[] = {
        {HEAP_LENGTH, TRUE, &header->heap_length, "no heap length"},
        {HEAP_OFFSET, TRUE, &header->heap_offset, "no offset in the heap"},
        {items->timestamp, TRUE, &header->timestamp, "no timestamp in each packet"},
        {items->station, TRUE, &header->station, "no number of the station in each packet"},
        {items->channel, TRUE, &header->channel, "no number of the channel in each packet"},
        {items->samples, FALSE, &header->address, "no samples"},
    };
    *header = (SpeadHeader){.header_bytes = 8 + 8 * (gsize)MAX(n_items, 0)};
    if (n_items < 0)
        return "another protocol than SPEAD-64-48";
    if (spead_packet_bytes(bytes, SPEAD_HEADER_BYTES) <= header->header_bytes)
        return "no payload, or packets of more than 65536 bytes";
    find_item(bytes, n, PAYLOAD_LENGTH, TRUE, &header->payload_length);
    for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
        if (wanted[i].number >= 0 &&
            !find_item(bytes, n, wanted[i].number, wanted[i].is_immediate, wanted[i].value))
            return wanted[i].missing;
    if (header->heap_offset + header->payload_length > header->heap_length)
        return "pieces that are not in their heap";
    return NULL;
}
