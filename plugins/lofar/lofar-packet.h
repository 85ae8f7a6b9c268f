/* SPDX-License-Identifier: BSD-3-Clause */
/* CEP packets, the beamlets of LOFAR stations: header, time stamp, samples. */
#pragma once

#include <glib.h>

#define LOFAR_HEADER_BYTES     16
#define LOFAR_TICKS_PER_SAMPLE 1024 /* of the clock, in the subbands of a station's filter */
#define LOFAR_PARTS            4    /* Xr Xi Yr Yi */

typedef struct {
    guint version;
    guint board;    /* RSP board that sent it */
    gboolean error; /* the board says that the data are invalid */
    gint64 clock;   /* hertz */
    guint bits;     /* of a part: 16, 8 or 4 */
    guint configuration;
    guint station;
    guint n_beamlets;
    guint n_slots;  /* samples of each beamlet */
    guint32 second; /* unix */
    guint32
        sequence; /* samples since that second's first; a second has no more than clock / 1024 */
} LofarHeader;

/* Reads LOFAR_HEADER_BYTES; FALSE if they are not a header. */
gboolean lofar_header_parse(const guint8 *bytes, LofarHeader *header);

/* Bytes of a packet, header included. */
gsize lofar_packet_bytes(const LofarHeader *header);

/* The same with the signature that scanning wants. */
gsize lofar_header_size(const guint8 *bytes, gconstpointer unused);
gboolean lofar_header_alike(const guint8 *a, const guint8 *b, gconstpointer unused);

/* The name of a station by its number, "CS002", as LOFAR's StationInfo.dat has them
 * (git.astron.nl/ro/lofar, MAC/Deployment/data/StaticMetaData); FALSE if it is not known. */
gboolean lofar_station_name(guint station, char name[6]);

/* The number of the packet's first sample, counted from the unix epoch: ⌊(second · clock + 512) /
 * 1024⌋ + sequence. Sample n is taken at tick 1024 · n of the clock. */
gint64 lofar_packet_sample(const LofarHeader *header);

/* The memory for samples: bytes from one to the next along each axis. */
typedef struct {
    gint64 subband, time, pol;
} LofarStrides;

/* Writes samples begin … end − 1 of every beamlet of a payload [beamlet][slot][Xr Xi Yr Yi] as
 * ci16, ci8 or ci4. A 4-bit complex sample is a byte, with the real part in the high nibble, or in
 * the low one if `swapped`. */
void lofar_payload_unpack(const LofarHeader *header, const guint8 *payload, guint begin, guint end,
                          gboolean swapped, guint8 *out, const LofarStrides *strides);

/* The same, sample by sample, for tests. */
void lofar_payload_unpack_plain(const LofarHeader *header, const guint8 *payload, guint begin,
                                guint end, gboolean swapped, guint8 *out,
                                const LofarStrides *strides);
