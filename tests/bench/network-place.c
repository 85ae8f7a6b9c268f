/* SPDX-License-Identifier: BSD-3-Clause */
/* The function that tells the package spead2 where the heaps of network.py go: one after another in
 * chunks of HEAPS, by their timestamps. Its documents define the struct (spead2.recv,
 * chunk_place_data). */
#include <stddef.h>
#include <stdint.h>

enum { HEAPS = 16 };

typedef struct {
    const uint8_t *packet;
    size_t packet_size;
    const int64_t *items; /* of the packet: timestamp, bytes of the heap */
    int64_t chunk;
    size_t heap_index;
    size_t heap_offset;
} Place;

__attribute__((visibility("default"))) void place(void *data, size_t n_bytes);

void
place(void *data, size_t n_bytes)
{
    Place *at = data;
    (void)n_bytes;
    if (at->items[0] < 0)
        return;
    const int64_t heap = at->items[0] >> 21; /* 256 spectra of 8192 ticks */
    at->chunk = heap / HEAPS;
    at->heap_index = (size_t)(heap % HEAPS);
    at->heap_offset = at->heap_index * (size_t)at->items[1];
}
