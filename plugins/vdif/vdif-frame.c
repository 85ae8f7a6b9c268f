/* SPDX-License-Identifier: BSD-3-Clause */
/* VDIF frames: header of all extended versions, time, and samples to floating point. */
#include "vdif-frame.h"

#include <math.h>
#include <string.h>

enum { WORDS = VDIF_HEADER_BYTES / 4, SPREAD_PARTS = 2048 };

static guint32
little_32(const guint8 *bytes)
{
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (guint32)bytes[3] << 24;
}

/* Bits [low, low + n) of a word. */
static guint32
field(guint32 word, guint low, guint n)
{
    return word >> low & (((guint32)1 << n) - 1);
}

static const guint32 sync = 0xacabfeed;

/* Checks the fields that extended versions fix besides the common ones; returns the fault, or NULL.
 * Unknown versions fix none, and writers of version 0 do not keep to it. */
static const char *
check_extension(const guint32 *words, const VdifHeader *header)
{
    switch (header->edv) {
    case 1:
        return words[5] == sync ? NULL : "no sync word in a header of EDV 1";
    case 2:
        return field(words[4], 4, 20) == 0xa5ea5 ? NULL : "no sync word in a header of EDV 2";
    case 3:
        if (header->frame_bytes != 1032 && header->frame_bytes != 5032)
            return "frames of EDV 3 that are not 1032 or 5032 bytes long";
        return words[5] == sync ? NULL : "no sync word in a header of EDV 3";
    case VDIF_MARK5B:
        if (header->frame_bytes != 10032)
            return "frames of Mark 5B that are not 10032 bytes long";
        return header->bits <= 2 && !header->is_complex
                   ? NULL
                   : "frames of Mark 5B that are not real, of 1 or 2 bits";
    default:
        return NULL;
    }
}

/* Complete samples per frame; a complex value is never divided between words, and a sample of
 * several channels fills whole words. */
static gint64
count_samples(const VdifHeader *header)
{
    const guint n_parts = header->is_complex ? 2 : 1;
    const gint64 words = (header->frame_bytes - header->header_bytes) / 4;
    return words * (32 / header->bits / n_parts) / header->n_channels;
}

const char *
vdif_header_parse(const guint8 *bytes, guint bits, VdifHeader *header)
{
    guint32 words[WORDS];
    for (guint i = 0; i < WORDS; i++)
        words[i] = little_32(bytes + 4 * i);
    const gboolean legacy = field(words[0], 30, 1);
    VdifHeader read = {
        .invalid = field(words[0], 31, 1),
        .edv = legacy ? VDIF_LEGACY : (gint)field(words[4], 24, 8),
        .seconds = field(words[0], 0, 30),
        .ref_epoch = field(words[1], 24, 6),
        .frame = field(words[1], 0, 24),
        .version = field(words[2], 29, 3),
        .n_channels = (guint32)1 << field(words[2], 24, 5),
        .frame_bytes = 8 * (gsize)field(words[2], 0, 24),
        .header_bytes = legacy ? 16 : 32,
        .is_complex = field(words[3], 31, 1),
        .bits = bits ? bits : field(words[3], 26, 5) + 1,
        .thread = field(words[3], 16, 10),
        .station = field(words[3], 0, 16),
    };
    if (read.frame_bytes < VDIF_HEADER_BYTES || read.frame_bytes <= read.header_bytes)
        return "frames without payload";
    if (read.bits > VDIF_MAX_BITS)
        return "samples of more than 16 bits";
    if (read.n_channels > 1 && (read.bits & (read.bits - 1)) != 0)
        return "several channels of bits that are no power of two ('bits' gives the right number)";
    const char *reason = check_extension(words, &read);
    if (reason)
        return reason;
    read.n_samples = count_samples(&read);
    if (read.n_samples == 0)
        return "frames of less than one sample";
    if (read.edv == 1 || read.edv == 3)
        read.rate = (gint64)field(words[4], 0, 23) * (read.is_complex ? 1 : 2) *
                    (field(words[4], 23, 1) ? 1000000 : 1000);
    *header = read;
    return NULL;
}

gsize
vdif_header_size(const guint8 *bytes, gconstpointer data)
{
    VdifHeader header;
    return vdif_header_parse(bytes, *(const guint *)data, &header) ? 0 : header.frame_bytes;
}

gboolean
vdif_header_alike(const guint8 *a, const guint8 *b, gconstpointer data)
{
    VdifHeader x, y;
    const guint bits = *(const guint *)data;
    return !vdif_header_parse(a, bits, &x) && !vdif_header_parse(b, bits, &y) && x.edv == y.edv &&
           x.version == y.version && x.n_channels == y.n_channels &&
           x.frame_bytes == y.frame_bytes && x.is_complex == y.is_complex && x.bits == y.bits &&
           x.rate == y.rate;
}

/* The Unix time of the beginning of a half year. */
static gint64
half_year(guint ref_epoch)
{
    GDate date, unix_epoch;
    g_date_clear(&date, 1);
    g_date_clear(&unix_epoch, 1);
    g_date_set_dmy(&date, 1, ref_epoch % 2 ? G_DATE_JULY : G_DATE_JANUARY, 2000 + ref_epoch / 2);
    g_date_set_dmy(&unix_epoch, 1, G_DATE_JANUARY, 1970);
    return (gint64)g_date_days_between(&unix_epoch, &date) * 86400;
}

gint64
vdif_unix_time(guint ref_epoch, gint64 seconds)
{
    /* The first second after each leap second since 2000: ends of 2005, 2008, June 2012, June 2015,
     * 2016. */
    static const gint64 leaps[] = {1136073600, 1230768000, 1341100800, 1435708800, 1483228800};
    const gint64 reference = half_year(ref_epoch);
    gint64 time = reference + seconds;
    for (gsize i = 0; i < G_N_ELEMENTS(leaps); i++)
        if (reference < leaps[i] && time > leaps[i])
            time--;
    return time;
}

gint
vdif_ref_epoch(gint64 unix_second)
{
    enum { N_EPOCHS = 64 };
    gint epoch = -1;
    while (epoch < N_EPOCHS && half_year((guint)epoch + 1) <= unix_second)
        epoch++;
    return epoch < N_EPOCHS ? epoch : -1;
}

guint32
vdif_seconds(guint ref_epoch, gint64 unix_second)
{
    gint64 seconds = unix_second - half_year(ref_epoch);
    while (vdif_unix_time(ref_epoch, seconds) < unix_second)
        seconds++;
    return (guint32)seconds;
}

/* The rate in words 4 and 5 of EDV 1, in kHz or MHz, of which real samples have half; FALSE: it has
 * none for it. */
static gboolean
write_rate(const VdifHeader *header, guint32 *words)
{
    const gint64 units[] = {1000, 1000000}, parts = header->is_complex ? 1 : 2;
    for (guint i = 0; i < G_N_ELEMENTS(units); i++) {
        const gint64 n = header->rate / (units[i] * parts);
        if (n == 0 || n >> 23 != 0 || n * units[i] * parts != header->rate)
            continue;
        words[4] = (guint32)n | i << 23 | (guint32)1 << 24;
        words[5] = sync;
        return TRUE;
    }
    return FALSE;
}

void
vdif_header_write(const VdifHeader *header, guint8 *bytes)
{
    guint32 words[WORDS] = {
        (guint32)(header->invalid != 0) << 31 | header->seconds,
        header->ref_epoch << 24 | header->frame,
        header->version << 29 | (guint32)g_bit_storage(header->n_channels - 1) << 24 |
            (guint32)(header->frame_bytes / 8),
        (guint32)(header->is_complex != 0) << 31 | (header->bits - 1) << 26 | header->thread << 16 |
            header->station,
    };
    /* g_bit_storage(0) is 1. */
    if (header->n_channels == 1)
        words[2] &= ~((guint32)0x1f << 24);
    write_rate(header, words);
    for (guint i = 0; i < WORDS; i++)
        for (guint k = 0; k < 4; k++)
            bytes[4 * i + k] = (guint8)(words[i] >> 8 * k);
}

/* Steps per unit of the codes of at least 3 bits. */
static gfloat
scale_of(guint bits)
{
    static const gfloat steps_per_unit[] = {
        [3] = 1.706f, [4] = 2.95f, [5] = 5.316f, [6] = 9.606f, [7] = 17.58f, [8] = 35.5f};
    return bits <= 8 ? steps_per_unit[bits] : 35.5f * (gfloat)(1 << (bits - 8));
}

/* The code of the value 0, which may be between two. */
static gfloat
zero_of(guint bits)
{
    return bits == 4 ? 8 : (gfloat)((1 << bits) - 1) / 2;
}

#define HIGH_OF_2 3.316505f

guint
vdif_code(guint bits, gfloat value)
{
    if (bits == 1)
        return value >= 0;
    if (bits == 2) {
        const gfloat border = (1 + HIGH_OF_2) / 2;
        return value >= border ? 3 : value >= 0 ? 2 : value >= -border ? 1 : 0;
    }
    const gdouble most = (1 << bits) - 1;
    const gdouble code = rint((gdouble)value * scale_of(bits) + zero_of(bits));
    return code > 0 ? (guint)MIN(code, most) : 0;
}

gfloat
vdif_last_level(guint bits)
{
    if (bits <= 2)
        return bits == 1 ? INFINITY : HIGH_OF_2;
    return ((gfloat)((1 << bits) - 1) - zero_of(bits)) / scale_of(bits);
}

/* The value of a code: offset binary, in units in which the sampler's noise is best quantised. For
 * 1, 2, 4 and 8 bits these are the values of common readers; numbers of bits between have Max's
 * optimal spacing (1960), larger ones the full scale of 8 bits. */
static gfloat
level(const VdifDecoder *decoder, gboolean mark5b, guint code)
{
    static const gfloat levels_1[] = {-1, 1};
    static const gfloat levels_2[] = {-HIGH_OF_2, -1, 1, HIGH_OF_2};
    const guint bits = decoder->bits;
    if (bits == 1)
        return levels_1[mark5b ? 1 - code : code];
    /* Mark 5B has the sign in the lower of two bits. */
    if (bits == 2)
        return levels_2[mark5b ? code >> 1 | (code & 1) << 1 : code];
    return ((gfloat)code - zero_of(bits)) / scale_of(bits);
}

void
vdif_decoder_init(VdifDecoder *decoder, const VdifHeader *header)
{
    const guint n_parts = header->is_complex ? 2 : 1;
    *decoder = (VdifDecoder){
        .bits = header->bits,
        .n_channels = header->n_channels,
        .n_parts = n_parts,
        .parts_per_word = 32 / header->bits / n_parts * n_parts,
        .levels = g_new(gfloat, 1 << header->bits),
    };
    for (guint code = 0; code < (guint)1 << header->bits; code++)
        decoder->levels[code] = level(decoder, header->edv == VDIF_MARK5B, code);
    if (8 % header->bits != 0)
        return;
    const guint per_byte = 8 / header->bits;
    decoder->bytes = g_new(gfloat, 256 * per_byte);
    for (guint byte = 0; byte < 256; byte++)
        for (guint i = 0; i < per_byte; i++)
            decoder->bytes[byte * per_byte + i] =
                decoder->levels[field(byte, i * header->bits, header->bits)];
}

void
vdif_decoder_clear(VdifDecoder *decoder)
{
    g_clear_pointer(&decoder->levels, g_free);
    g_clear_pointer(&decoder->bytes, g_free);
}

/* Part `i` of a payload, counted over time, channels and parts. */
static gfloat
part(const VdifDecoder *decoder, const guint8 *payload, gint64 i)
{
    const guint32 word = little_32(payload + i / decoder->parts_per_word * 4);
    const guint low = i % decoder->parts_per_word * decoder->bits;
    return decoder->levels[field(word, low, decoder->bits)];
}

void
vdif_payload_decode_plain(const VdifDecoder *decoder, const guint8 *payload, gint64 begin,
                          gint64 end, guint8 *out, gint64 time_stride, gint64 channel_stride)
{
    for (gint64 t = begin; t < end; t++)
        for (guint c = 0; c < decoder->n_channels; c++) {
            gfloat *to = (gfloat *)(out + (t - begin) * time_stride + c * channel_stride);
            for (guint p = 0; p < decoder->n_parts; p++)
                to[p] =
                    part(decoder, payload, (t * decoder->n_channels + c) * decoder->n_parts + p);
        }
}

/* Converts whole bytes to floats `stride` bytes apart. */
static inline void
expand_bytes(const gfloat *table, const guint8 *bytes, gint64 n, guint8 *out, gint64 stride,
             guint per_byte)
{
    for (gint64 i = 0; i < n; i++)
        for (guint k = 0; k < per_byte; k++, out += stride)
            memcpy(out, table + bytes[i] * per_byte + k, sizeof *table);
}

/* One function for each number of parts in a byte, so that it is a constant. */
#define DEFINE_EXPAND(per_byte)                                                                    \
    static void expand_##per_byte(const gfloat *table, const guint8 *bytes, gint64 n, guint8 *out, \
                                  gint64 stride)                                                   \
    {                                                                                              \
        if (stride == sizeof *table)                                                               \
            expand_bytes(table, bytes, n, out, sizeof *table, per_byte);                           \
        else                                                                                       \
            expand_bytes(table, bytes, n, out, stride, per_byte);                                  \
    }
DEFINE_EXPAND(1)
DEFINE_EXPAND(2)
DEFINE_EXPAND(4)
DEFINE_EXPAND(8)

/* Converts parts begin … end − 1 to floats `stride` bytes apart, by whole bytes where possible. */
static void
decode_run(const VdifDecoder *decoder, const guint8 *payload, gint64 begin, gint64 end, guint8 *out,
           gint64 stride)
{
    static void (*const expand[])(const gfloat *, const guint8 *, gint64, guint8 *, gint64) = {
        [1] = expand_1, [2] = expand_2, [4] = expand_4, [8] = expand_8};
    const gint64 per_byte = 8 / decoder->bits;
    gint64 i = begin;
    for (; i < end && i % per_byte; i++, out += stride)
        *(gfloat *)out = part(decoder, payload, i);
    const gint64 n = (end - i) / per_byte;
    expand[per_byte](decoder->bytes, payload + i / per_byte, n, out, stride);
    i += n * per_byte;
    out += n * per_byte * stride;
    for (; i < end; i++, out += stride)
        *(gfloat *)out = part(decoder, payload, i);
}

/* Decodes to a buffer, from which whole values are scattered. */
static void
decode_spread(const VdifDecoder *decoder, const guint8 *payload, gint64 begin, gint64 end,
              guint8 *out, gint64 time_stride, gint64 channel_stride)
{
    gfloat buffer[SPREAD_PARTS];
    const guint n_channels = decoder->n_channels, per_sample = n_channels * decoder->n_parts;
    const gint64 step = SPREAD_PARTS / per_sample;
    for (gint64 t = begin; t < end; t += step) {
        const gint64 n = MIN(step, end - t);
        decode_run(decoder, payload, t * per_sample, (t + n) * per_sample, (guint8 *)buffer,
                   sizeof *buffer);
        const gfloat *from = buffer;
        for (gint64 i = 0; i < n; i++, out += time_stride)
            for (guint c = 0; c < n_channels; c++, from += decoder->n_parts)
                if (decoder->n_parts == 2)
                    memcpy(out + c * channel_stride, from, 2 * sizeof *from);
                else
                    memcpy(out + c * channel_stride, from, sizeof *from);
    }
}

void
vdif_payload_decode(const VdifDecoder *decoder, const guint8 *payload, gint64 begin, gint64 end,
                    guint8 *out, gint64 time_stride, gint64 channel_stride)
{
    const guint per_sample = decoder->n_channels * decoder->n_parts;
    const gint64 value_bytes = decoder->n_parts * sizeof(gfloat);
    const gboolean packed = time_stride == decoder->n_channels * value_bytes &&
                            (decoder->n_channels == 1 || channel_stride == value_bytes);
    if (decoder->bytes && packed)
        decode_run(decoder, payload, begin * per_sample, end * per_sample, out, sizeof(gfloat));
    else if (decoder->bytes && per_sample == 1)
        decode_run(decoder, payload, begin, end, out, time_stride);
    else if (decoder->bytes && per_sample <= SPREAD_PARTS)
        decode_spread(decoder, payload, begin, end, out, time_stride, channel_stride);
    else
        vdif_payload_decode_plain(decoder, payload, begin, end, out, time_stride, channel_stride);
}
