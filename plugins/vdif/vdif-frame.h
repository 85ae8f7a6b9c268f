/* SPDX-License-Identifier: BSD-3-Clause */
/* VDIF frames: header of all extended versions, time, and samples to floating point.
 *
 * Follows the VDIF specification, release 1.1.1 (vlbi.org/vdif); levels as in the Python package
 * baseband. */
#pragma once

#include <glib.h>

enum {
    VDIF_HEADER_BYTES = 32, /* bytes that are read of a frame; legacy headers have 16 */
    VDIF_MAX_BITS = 16,
    VDIF_LEGACY = -1, /* extended data versions with a meaning of their own */
    VDIF_MARK5B = 0xab,
};

typedef struct {
    gboolean invalid;
    gint edv; /* extended data version */
    guint version;
    guint32 seconds; /* since the reference epoch, including leap seconds */
    guint ref_epoch; /* half years since 2000 */
    guint32 frame;   /* within the second */
    guint n_channels;
    gsize frame_bytes; /* including the header */
    gsize header_bytes;
    gboolean is_complex;
    guint bits; /* of a part */
    guint thread;
    guint station;
    gint64 rate;      /* samples per second from an extended header; 0: not given */
    gint64 n_samples; /* of each channel in a frame */
} VdifHeader;

/* Reads VDIF_HEADER_BYTES. `bits`, unless 0, replaces the header's number, which some writers get
 * wrong. Returns NULL, or why these bytes are not a header of frames that can be decoded. */
const char *vdif_header_parse(const guint8 *bytes, guint bits, VdifHeader *header);

/* The same with the signature that scanning wants; `data` points to a guint, the bits. Time, thread
 * and station may differ within a stream: a thread's clock may be wrong, a file may hold many
 * stations. */
gsize vdif_header_size(const guint8 *bytes, gconstpointer data);
gboolean vdif_header_alike(const guint8 *a, const guint8 *b, gconstpointer data);

/* Unix time of a frame's second; VDIF counts leap seconds, which unix time does not. */
gint64 vdif_unix_time(guint ref_epoch, gint64 seconds);

/* The reference epoch of a Unix time, the half year that it is in; −1: a header can't have it. */
gint vdif_ref_epoch(gint64 unix_second);
/* The seconds from the reference epoch to a Unix time that is not before it. */
guint32 vdif_seconds(guint ref_epoch, gint64 unix_second);
/* Writes VDIF_HEADER_BYTES: a header of EDV 1, if that can have the rate, else of EDV 0. */
void vdif_header_write(const VdifHeader *header, guint8 *bytes);
/* The code of 1, 2, 4, 8 or 16 bits whose value is nearest; NaN has code 0. Values beyond the last
 * level have its code. */
guint vdif_code(guint bits, gfloat value);
/* The value of the last level above 0; infinite for 1 bit, which has the sign alone. */
gfloat vdif_last_level(guint bits);

/* The decoding of a stream's payloads. A payload consists of words of 32 bits, little-endian, each
 * filled from its low end with as many whole values as fit; time is slowest, then channel, then
 * real and imaginary. */
typedef struct {
    guint bits;
    guint n_channels;
    guint n_parts;        /* 2 for complex values */
    guint parts_per_word; /* that fit a word of 32 bits */
    gfloat *levels;       /* [2^bits] */
    gfloat *bytes;        /* [256][8 / bits] if bytes hold whole parts; else NULL */
} VdifDecoder;

void vdif_decoder_init(VdifDecoder *decoder, const VdifHeader *header);
void vdif_decoder_clear(VdifDecoder *decoder);

/* Writes samples begin … end − 1 of every channel as f32 or cf32; strides in bytes. */
void vdif_payload_decode(const VdifDecoder *decoder, const guint8 *payload, gint64 begin,
                         gint64 end, guint8 *out, gint64 time_stride, gint64 channel_stride);

/* The same, value by value. */
void vdif_payload_decode_plain(const VdifDecoder *decoder, const guint8 *payload, gint64 begin,
                               gint64 end, guint8 *out, gint64 time_stride, gint64 channel_stride);
