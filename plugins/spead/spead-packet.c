/* SPDX-License-Identifier: BSD-3-Clause */
/* SPEAD-64-48: packets of heaps, and the items in their headers. */
#include "spead-packet.h"

#include <string.h>

/* Items of the protocol. */
enum { HEAP_COUNT = 1, HEAP_LENGTH, HEAP_OFFSET, PAYLOAD_LENGTH };

/* No packet is longer; headers that are written have whole units. */
enum { MOST_BYTES = 1 << 16, UNIT_BYTES = 32 };

static const guint8 flavour[6] = {0x53, 4, 2, 6, 0, 0};

/* An item of a header. */
typedef struct {
    gint number; /* −1: the stream has no such item */
    gboolean is_immediate;
    gsize at;            /* its value in SpeadHeader */
    const char *missing; /* what to say of a packet without it; NULL: it may lack it */
} Item;

enum { N_ITEMS = 8 };

/* All items, in the order in which they are written. */
static void
list_items(const SpeadItems *items, Item list[N_ITEMS])
{
#define VALUE(member) G_STRUCT_OFFSET(SpeadHeader, member)
    const Item all[N_ITEMS] = {
        {HEAP_COUNT, TRUE, VALUE(heap_count), NULL},
        {HEAP_LENGTH, TRUE, VALUE(heap_length), "no heap length"},
        {HEAP_OFFSET, TRUE, VALUE(heap_offset), "no offset in the heap"},
        {PAYLOAD_LENGTH, TRUE, VALUE(payload_length), "no payload"},
        {items->timestamp, TRUE, VALUE(timestamp), "no timestamp in each packet"},
        {items->station, TRUE, VALUE(station), "no number of the station in each packet"},
        {items->channel, TRUE, VALUE(channel), "no number of the channel in each packet"},
        {items->samples, FALSE, VALUE(address), "no samples"},
    };
#undef VALUE
    memcpy(list, all, sizeof all);
}

static guint64
read_big(const guint8 *bytes, guint n)
{
    guint64 value = 0;
    for (guint i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void
write_big(guint64 value, guint8 *bytes, guint n)
{
    for (guint i = n; i-- > 0; value >>= 8)
        bytes[i] = (guint8)value;
}

/* The item pointers of a packet; −1: this is none. */
static gint
count_items(const guint8 *bytes)
{
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
    Item list[N_ITEMS];
    list_items(items, list);
    *header = (SpeadHeader){.header_bytes = 8 + 8 * (gsize)MAX(n_items, 0)};
    if (n_items < 0)
        return "another protocol than SPEAD-64-48";
    if (spead_packet_bytes(bytes, SPEAD_HEADER_BYTES) <= header->header_bytes)
        return "no payload, or packets of more than 65536 bytes";
    for (guint i = 0; i < N_ITEMS; i++)
        if (list[i].number >= 0 &&
            !find_item(bytes, n, list[i].number, list[i].is_immediate,
                       G_STRUCT_MEMBER_P(header, list[i].at)) &&
            list[i].missing)
            return list[i].missing;
    if (header->heap_offset + header->payload_length > header->heap_length)
        return "pieces that are not in their heap";
    return NULL;
}

gsize
spead_header_bytes(const SpeadItems *items, gsize payload_length)
{
    Item list[N_ITEMS];
    gsize bytes = 8;
    list_items(items, list);
    for (guint i = 0; i < N_ITEMS; i++)
        bytes += list[i].number >= 0 ? 8 : 0;
    bytes = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    return bytes + payload_length < SPEAD_HEADER_BYTES ? SPEAD_HEADER_BYTES : bytes;
}

void
spead_header_write(const SpeadHeader *header, const SpeadItems *items, guint8 *bytes)
{
    Item list[N_ITEMS];
    guint8 *pointer = bytes + 8;
    list_items(items, list);
    memcpy(bytes, flavour, sizeof flavour);
    write_big(header->header_bytes / 8 - 1, bytes + 6, 2);
    for (guint i = 0; i < N_ITEMS; i++) {
        if (list[i].number < 0)
            continue;
        write_big((guint64)list[i].number | (list[i].is_immediate ? 0x8000 : 0), pointer, 2);
        write_big(G_STRUCT_MEMBER(guint64, header, list[i].at), pointer + 2, 6);
        pointer += 8;
    }
    /* An address of 0 would end the samples there, for receivers as spead2. */
    for (; pointer < bytes + header->header_bytes; pointer += 8)
        write_big((guint64)1 << 63, pointer, 8);
}
