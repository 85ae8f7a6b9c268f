/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: Mark 5B. The first byte chooses the number of channels and of bits. The others are
 * headers, whose frames make a recording, which is described. */
#include "fuzz-recording.h"
#include "mark5b-source.c" /* the plugin exports only its description */

enum { MOST_FRAMES = 24 };

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const guint bits = 1 + (data[0] & 1), n_channels = 1 << (data[0] >> 1) % 5;
    const gsize n = MIN((size - 1) / MARK5B_HEADER_BYTES, MOST_FRAMES);
    g_autofree guint8 *frames = g_malloc0(MAX(n, 1) * MARK5B_FRAME_BYTES);
    for (gsize i = 0; i < n; i++)
        memcpy(frames + i * MARK5B_FRAME_BYTES, data + 1 + i * MARK5B_HEADER_BYTES,
               MARK5B_HEADER_BYTES);
    g_autofree char *given =
        g_strdup_printf("bits: %u, n_channels: %u, year: 2014, max_gap: 10 s", bits, n_channels);
    describe_recording(&source, &mark5b_source, frames, n * MARK5B_FRAME_BYTES, given);
    g_autofree char *rated = g_strdup_printf("%s, sample_rate: 1 MHz", given);
    describe_recording(&source, &mark5b_source, data, size, rated);
    return 0;
}
