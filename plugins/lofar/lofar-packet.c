/* SPDX-License-Identifier: BSD-3-Clause */
/* CEP packets, the beamlets of LOFAR stations: header, time stamp, samples. */
#include "lofar-packet.h"

#include <string.h>

static guint
little_16(const guint8 *bytes)
{
    return bytes[0] | bytes[1] << 8;
}

static guint32
little_32(const guint8 *bytes)
{
    return little_16(bytes) | (guint32)little_16(bytes + 2) << 16;
}

gboolean
lofar_header_parse(const guint8 *bytes, LofarHeader *header)
{
    static const guint bits[] = {16, 8, 4, 0};
    const guint source = little_16(bytes + 1);
    const LofarHeader read = {
        .version = bytes[0],
        .board = source & 31,
        .error = source >> 6 & 1,
        .clock = source & 1 << 7 ? 200000000 : 160000000,
        .bits = bits[source >> 8 & 3],
        .configuration = bytes[3],
        .station = little_16(bytes + 4) / 32,
        .n_beamlets = bytes[6],
        .n_slots = bytes[7],
        .second = little_32(bytes + 8),
        .sequence = little_32(bytes + 12),
    };
    if (read.version < 2 || read.version > 3 || read.bits == 0 || read.n_beamlets == 0 ||
        read.n_slots == 0 ||
        (gint64)read.sequence * LOFAR_TICKS_PER_SAMPLE >= read.clock + LOFAR_TICKS_PER_SAMPLE)
        return FALSE;
    *header = read;
    return TRUE;
}

gsize
lofar_packet_bytes(const LofarHeader *header)
{
    return LOFAR_HEADER_BYTES +
           (gsize)header->n_beamlets * header->n_slots * LOFAR_PARTS * header->bits / 8;
}

gsize
lofar_header_size(const guint8 *bytes, gconstpointer unused G_GNUC_UNUSED)
{
    LofarHeader header;
    return lofar_header_parse(bytes, &header) ? lofar_packet_bytes(&header) : 0;
}

gboolean
lofar_header_alike(const guint8 *a, const guint8 *b, gconstpointer unused G_GNUC_UNUSED)
{
    LofarHeader x, y;
    return lofar_header_parse(a, &x) && lofar_header_parse(b, &y) && x.version == y.version &&
           x.board == y.board && x.clock == y.clock && x.bits == y.bits &&
           x.configuration == y.configuration && little_16(a + 4) == little_16(b + 4) &&
           x.n_beamlets == y.n_beamlets && x.n_slots == y.n_slots;
}

gboolean
lofar_station_name(guint station, char name[6])
{
    /* Stations that are numbered one after another, from `first` on; `number` is that of the name
     * of the first. */
    static const struct {
        guint first, last, number;
        const char *country;
    } runs[] = {
        {1, 32, 1, "CS"},      {101, 103, 101, "CS"}, {104, 109, 104, "RS"}, {121, 121, 201, "CS"},
        {122, 130, 202, "RS"}, {141, 142, 301, "CS"}, {143, 150, 303, "RS"}, {161, 161, 401, "CS"},
        {162, 173, 402, "RS"}, {181, 181, 501, "CS"}, {182, 189, 502, "RS"}, {201, 205, 601, "DE"},
        {206, 206, 606, "FR"}, {207, 207, 607, "SE"}, {208, 208, 608, "UK"}, {210, 210, 609, "DE"},
        {211, 213, 610, "PL"}, {214, 214, 613, "IE"}, {215, 215, 614, "LV"}, {901, 901, 901, "FI"},
    };
    for (gsize i = 0; i < G_N_ELEMENTS(runs); i++)
        if (station >= runs[i].first && station <= runs[i].last) {
            g_snprintf(name, 6, "%s%03u", runs[i].country,
                       runs[i].number + (station - runs[i].first));
            return TRUE;
        }
    return FALSE;
}

gint64
lofar_packet_sample(const LofarHeader *header)
{
    return (header->second * header->clock + LOFAR_TICKS_PER_SAMPLE / 2) / LOFAR_TICKS_PER_SAMPLE +
           header->sequence;
}

void
lofar_payload_unpack_plain(const LofarHeader *header, const guint8 *payload, guint begin, guint end,
                           gboolean swapped, guint8 *out, const LofarStrides *strides)
{
    const guint sample_bytes = header->bits / 4;
    for (guint b = 0; b < header->n_beamlets; b++)
        for (guint t = begin; t < end; t++)
            for (guint p = 0; p < 2; p++) {
                const guint8 *from = payload + ((b * header->n_slots + t) * 2 + p) * sample_bytes;
                guint8 *to =
                    out + b * strides->subband + (t - begin) * strides->time + p * strides->pol;
                if (header->bits == 4)
                    to[0] = swapped ? (guint8)(from[0] << 4 | from[0] >> 4) : from[0];
                else if (header->bits == 8)
                    memcpy(to, from, 2);
                else {
                    const gint16 parts[2] = {little_16(from), little_16(from + 2)};
                    memcpy(to, parts, 4);
                }
            }
}

/* Copies both polarisations of a beamlet's slots at once, if they are contiguous. */
#define DEFINE_COPY_PAIRS(type)                                                                    \
    static void copy_pairs_##type(const guint8 *from, gsize n, guint8 *to, gint64 stride)          \
    {                                                                                              \
        for (gsize i = 0; i < n; i++) {                                                            \
            type pair;                                                                             \
            memcpy(&pair, from + i * sizeof pair, sizeof pair);                                    \
            memcpy(to + (gint64)i * stride, &pair, sizeof pair);                                   \
        }                                                                                          \
    }
DEFINE_COPY_PAIRS(guint16)
DEFINE_COPY_PAIRS(guint32)
DEFINE_COPY_PAIRS(guint64)

void
lofar_payload_unpack(const LofarHeader *header, const guint8 *payload, guint begin, guint end,
                     gboolean swapped, guint8 *out, const LofarStrides *strides)
{
    const guint sample_bytes = header->bits / 4, pair_bytes = 2 * sample_bytes;
    const gboolean as_is = header->bits == 8 || (header->bits == 4 && !swapped) ||
                           (header->bits == 16 && G_BYTE_ORDER == G_LITTLE_ENDIAN);
    if (!as_is || strides->pol != sample_bytes) {
        lofar_payload_unpack_plain(header, payload, begin, end, swapped, out, strides);
        return;
    }
    void (*const copy_pairs)(const guint8 *, gsize, guint8 *, gint64) =
        pair_bytes == 2   ? copy_pairs_guint16
        : pair_bytes == 4 ? copy_pairs_guint32
                          : copy_pairs_guint64;
    for (guint b = 0; b < header->n_beamlets; b++) {
        const guint8 *from = payload + ((gsize)b * header->n_slots + begin) * pair_bytes;
        guint8 *to = out + b * strides->subband;
        if (strides->time == pair_bytes)
            memcpy(to, from, (gsize)(end - begin) * pair_bytes);
        else
            copy_pairs(from, end - begin, to, strides->time);
    }
}
