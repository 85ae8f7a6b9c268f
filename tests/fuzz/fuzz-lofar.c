/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: LOFAR's packets. The fast code and the plain code unpack a payload to the same
 * samples. */
#include "fuzz.h"
#include "lofar-packet.h"

#include <string.h>

enum { LARGEST_PACKET = 1 << 14 };

int
LLVMFuzzerTestOneInput(const guint8 *data, gsize size)
{
    LofarHeader header;
    if (size < LOFAR_HEADER_BYTES || !lofar_header_parse(data, &header))
        return 0;
    lofar_packet_sample(&header);
    const gsize packet_bytes = lofar_packet_bytes(&header);
    if (packet_bytes > LARGEST_PACKET)
        return 0;
    const gsize payload_bytes = packet_bytes - LOFAR_HEADER_BYTES;
    g_autofree guint8 *payload = g_malloc0(payload_bytes);
    memcpy(payload, data + LOFAR_HEADER_BYTES, MIN(size - LOFAR_HEADER_BYTES, payload_bytes));

    /* [slot][beamlet][pol], of complex values */
    const gint64 value = header.bits / 4, pols = 2;
    const LofarStrides strides = {pols * value, header.n_beamlets * pols * value, value};
    const gsize bytes = header.n_slots * strides.time;
    for (guint swapped = 0; swapped < 2; swapped++) {
        g_autofree guint8 *fast = g_malloc0(bytes), *plain = g_malloc0(bytes);
        lofar_payload_unpack(&header, payload, 0, header.n_slots, swapped, fast, &strides);
        lofar_payload_unpack_plain(&header, payload, 0, header.n_slots, swapped, plain, &strides);
        g_assert_cmpmem(fast, bytes, plain, bytes);
    }
    return 0;
}
