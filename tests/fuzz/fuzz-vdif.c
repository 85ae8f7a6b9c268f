/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: VDIF. The first byte is the number of bits to assume (0: the headers'), the rest is
 * a recording. Its frames are found and ordered in time; the fast code and the plain code decode
 * the payload of the first header to the same samples. */
#include "fuzz-recording.h"
#include "vdif-source.c" /* the plugin exports only its description */

enum { LARGEST_PAYLOAD = 1 << 14 };

static void
check_decoders(const guint8 *data, gsize size, guint bits)
{
    VdifHeader header;
    if (size < VDIF_HEADER_BYTES || vdif_header_parse(data, bits, &header))
        return;
    vdif_unix_time(header.ref_epoch, header.seconds);
    const gsize payload_bytes = header.frame_bytes - header.header_bytes;
    if (payload_bytes > LARGEST_PAYLOAD)
        return;
    g_autofree guint8 *payload = g_malloc0(payload_bytes);
    memcpy(payload, data + header.header_bytes, MIN(size - header.header_bytes, payload_bytes));

    const gsize value_bytes = header.is_complex ? 8 : 4;
    const gsize bytes = header.n_samples * header.n_channels * value_bytes;
    g_autofree guint8 *fast = g_malloc(bytes), *plain = g_malloc(bytes);
    VdifDecoder decoder;
    vdif_decoder_init(&decoder, &header);
    vdif_payload_decode(&decoder, payload, 0, header.n_samples, fast,
                        header.n_channels * value_bytes, value_bytes);
    vdif_payload_decode_plain(&decoder, payload, 0, header.n_samples, plain,
                              header.n_channels * value_bytes, value_bytes);
    vdif_decoder_clear(&decoder);
    g_assert_cmpmem(fast, bytes, plain, bytes);
}

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    if (size < 1)
        return 0;
    const guint bits = data[0] % (VDIF_MAX_BITS + 1);
    check_decoders(data + 1, size - 1, bits);
    g_autofree char *override = bits ? g_strdup_printf("bits: %u, ", bits) : g_strdup("");
    g_autofree char *given = g_strdup_printf("%ssample_rate: 1 MHz, max_gap: 10 s", override);
    describe_recording(&vdif_source_files, &vdif_source, data + 1, size - 1, given);
    return 0;
}
