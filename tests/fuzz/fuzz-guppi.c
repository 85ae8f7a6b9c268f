/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: GUPPI RAW. The bytes are a recording, which is described. The fast code and the
 * plain code unpack the first block to the same samples. */
#include "fuzz-recording.h"
#include "guppi-source.c" /* the plugin exports only its description */

enum { LARGEST_BLOCK = 1 << 14 };

static void
check_unpacking(const guint8 *data, gsize size)
{
    GuppiHeader header;
    const gssize n_cards = guppi_cards_find_end(data, MIN(size, GUPPI_MAX_HEADER));
    if (n_cards <= 0)
        return;
    g_strfreev(guppi_header_stations(data, n_cards));
    if (!guppi_header_parse(data, n_cards, &header, NULL) || header.block_bytes > LARGEST_BLOCK)
        return;
    g_autofree guint8 *block = g_malloc0(header.block_bytes);
    if (size > header.bytes)
        memcpy(block, data + header.bytes, MIN(size - header.bytes, (gsize)header.block_bytes));

    /* [time][channel][station][pol] */
    const gint64 value = header.bits == 2 ? 8 : header.bits / 4;
    const GuppiStrides strides = {
        .pol = value,
        .station = value * header.n_pols,
        .channel = value * header.n_pols * header.n_stations,
        .time = value * header.n_pols * header.n_stations * header.n_channels,
    };
    const gsize bytes = header.n_samples * strides.time;
    for (guint is_low = 0; is_low < 2; is_low++) {
        g_autofree guint8 *fast = g_malloc0(bytes), *plain = g_malloc0(bytes);
        guppi_block_unpack(&header, is_low, block, 0, header.n_samples, fast, &strides);
        guppi_block_unpack_plain(&header, is_low, block, 0, header.n_samples, plain, &strides);
        g_assert_cmpmem(fast, bytes, plain, bytes);
    }
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    check_unpacking(data, size);
    describe_recording(&guppi_source_files, &guppi_source, data, size, "max_gap: 10 s");
    return 0;
}
