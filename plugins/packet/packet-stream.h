/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams of packets whose headers have a counter, a station and a first channel: lanes, times, and
 * the description. What sources of such formats share; they add how a header is read. */
#pragma once

#include "packet-payload.h"

#include <cornerturn/kit/source.h>

/* Stations and channels have numbers below this one. */
enum { PACKET_MOST_NUMBERS = 65535 };

/* What the counter of a header counts; the order of the choices of `counts`. */
typedef enum { PACKET_COUNTS_SAMPLES, PACKET_COUNTS_PACKETS, PACKET_COUNTS_TICKS } PacketCounts;

/* Numbers in headers, in the order of an axis. */
typedef struct {
    guint n;
    guint *numbers; /* [n] */
    gint32 *places; /* [PACKET_MOST_NUMBERS] the index of each; −1: it is not one of them */
} PacketNumbers;

/* The first member of a source's struct. A lane of packets is a station and the channels of a
 * packet, the station fastest. */
typedef struct {
    PacketPayload payload;    /* of a packet */
    const char *channel_axis; /* "channel", or "subband" if the payload has it; NULL: packets have
                                 no channels */
    gboolean has_channels, has_stations; /* headers tell them */
    PacketCounts counts;
    guint counter_bits; /* a counter of 62 bits or more does not wrap */
    gint64 ticks_per_sample;
    PacketNumbers stations, channels; /* set by packet_stream_order */
    gint64 last, trusted; /* of packets that are placed one after another: their counter as it goes
                             on, that of the last one and of the last credible one */
    gboolean has_last;
    gint axis_of[CT_MAX_AXES]; /* [axis of the payload] that of the stream */
} PacketStream;

/* What a header says. */
typedef struct {
    guint64 counter, station, channel;
    gboolean flagged;
} PacketHeader;

/* ---- parameters ---- */

/* Reads those of the payload; `channel_axis` is found by its axes. */
gboolean packet_stream_read(PacketStream *stream, const CtParams *given, CtType type,
                            gboolean is_open, GError **error);

/* Rows of a stage's table, with further flags of those that may be wanted. */
#define PACKET_STREAM_PARAMS(flags_, rate_, ticks_)                                                \
    {.name = "sample_rate",                                                                        \
     .kind = CT_PARAM_QUANTITY,                                                                    \
     .flags = (flags_) | CT_PARAM_RANGED,                                                          \
     .unit = "Hz",                                                                                 \
     .minimum = 1e-6,                                                                              \
     .maximum = 1e12,                                                                              \
     .fallback = rate_,                                                                            \
     .help = "samples per second along time"},                                                     \
        {.name = "ticks_per_sample",                                                               \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 1,                                                                             \
         .maximum = 1e9,                                                                           \
         .fallback = ticks_,                                                                       \
         .help = "from a sample to the next, as the counter of headers counts them"},              \
        {.name = "epoch",                                                                          \
         .kind = CT_PARAM_STRING,                                                                  \
         .help = "UTC at which the counter is 0, 2022-06-29T01:30:00Z, or Unix seconds"},          \
        {.name = "stations",                                                                       \
         .kind = CT_PARAM_STRING,                                                                  \
         .flags = CT_PARAM_LIST,                                                                   \
         .help = "numbers of the stations in headers, in the order of the axis, as numbers and "   \
                 "ranges: [0..7, 12]; left out: those of the first packets"},                      \
        {.name = "channels",                                                                       \
         .kind = CT_PARAM_STRING,                                                                  \
         .flags = CT_PARAM_LIST,                                                                   \
         .help = "numbers of the channels, of whole packets, in the order of the axis: "           \
                 "[512..1023]; left out: those of the first packets"},                             \
        {.name = "channel_zero",                                                                   \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "frequency of the channel with number 0"},                                        \
        {.name = "channel_step",                                                                   \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "from a channel to the next; left out: the sample rate"},                         \
        {.name = "centre_frequency",                                                               \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "of the band of complex samples"},                                                \
        {.name = "first_frequency",                                                                \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .unit = "Hz",                                                                             \
         .help = "lower edge of the band of real samples"},                                        \
        {.name = "frequencies",                                                                    \
         .kind = CT_PARAM_QUANTITY,                                                                \
         .flags = CT_PARAM_LIST,                                                                   \
         .unit = "Hz",                                                                             \
         .help = "of each channel, in place of channel_zero"},                                     \
    {                                                                                              \
        .name = "max_gap", .kind = CT_PARAM_QUANTITY, .flags = CT_PARAM_RANGED, .unit = "s",       \
        .minimum = 0, .maximum = 86400, .fallback = "60 s",                                        \
        .help = "counters farther than this from all others are not used"                          \
    }

/* ---- functions of a source, under the names of CtSource ---- */

/* Sets stamp, lane and flag of a packet by its header, until it is ordered. */
void packet_stream_found(const PacketHeader *header, CtPacket *packet);
gboolean packet_stream_order(CtRecording *recording, const CtParams *given, GError **error);
gboolean packet_stream_place(const CtRecording *recording, CtPacket *packet, guint64 *counts);
gboolean packet_stream_describe(CtRecording *recording, const CtParams *given, CtStream *stream,
                                GError **error);
/* Unpack a packet whose payload begins so many bytes behind its header. */
void packet_stream_unpack(const CtRecording *recording, const CtPacketPart *part, gsize header);
void packet_stream_unpack_plain(const CtRecording *recording, const CtPacketPart *part,
                                gsize header);
void packet_stream_clear(gpointer self);
