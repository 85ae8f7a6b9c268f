/* SPDX-License-Identifier: BSD-3-Clause */
/* The parameters of heaps that source and sink share: their items, and the axes of their samples.
 */
#pragma once

#include "../packet/packet-stream.h"
#include "spead-packet.h"

/* Reads the parameters of SPEAD_HEAP_PARAMS. The first axis of the payload has no length yet. */
gboolean spead_heaps_read(PacketStream *stream, SpeadItems *items, const CtParams *given,
                          CtType type, GError **error);
/* Whether packets divide their heap along time: then each has a time of its own. */
gboolean spead_divides_time(const PacketStream *stream);

/* Rows of a stage's table. */
#define SPEAD_HEAP_PARAMS                                                                          \
    {.name = "timestamp_item",                                                                     \
     .kind = CT_PARAM_STRING,                                                                      \
     .fallback = "0x1600",                                                                         \
     .help = "number of the item that has the time of the heap in ticks"},                         \
        {.name = "station_item",                                                                   \
         .kind = CT_PARAM_STRING,                                                                  \
         .fallback = "0x4101",                                                                     \
         .help = "that has the number of the station; none: there is one"},                        \
        {.name = "channel_item",                                                                   \
         .kind = CT_PARAM_STRING,                                                                  \
         .fallback = "0x4103",                                                                     \
         .help = "that has the number of the heap's first channel; none: heaps have all"},         \
        {.name = "samples_item",                                                                   \
         .kind = CT_PARAM_STRING,                                                                  \
         .fallback = "0x4300",                                                                     \
         .help = "that has the samples"},                                                          \
        PACKET_PAYLOAD_PARAMS(0, "[channel, time 256, pol 2]",                                     \
                              "the axes of a heap with their lengths, slowest first, without "     \
                              "that of the first one, which packets divide")
