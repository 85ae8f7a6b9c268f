/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: stages that read files of packets (<cornerturn/packets.h>).
 *
 * A plugin knows its format: the bytes of a header, what its counters mean in samples, the axes of
 * the stream, and how a packet is unpacked. The kit does what all such sources do: it opens the
 * files, finds the packets and arranges them in time, checks that the recording is still the one
 * that the graph was planned with, reads ahead on a thread of its own, and gives validity, counts,
 * ticks and the end of the stream.
 *
 *     static const CtSource source = {
 *         .files = "path",
 *         .self_bytes = sizeof(Recording),
 *         .format = {.name = "toy packets", .header_bytes = 16, .size = size, .alike = alike},
 *         .is_one_stream = TRUE,
 *         .found = found,
 *         .order = order,
 *         .describe = describe,
 *         .unpack = unpack,
 *     };
 *
 *     static gboolean
 *     infer(CtNode *node, GError **error)
 *     {
 *         return ct_source_infer(&source, node, error);
 *     }
 *
 *     CT_STAGE_PLUGIN("toy", stage, CT_SOURCE_VARIANTS(source, "toy", CT_PORT_ROWS(0.1)));
 *
 * The stage has one output, the counters CT_PACKET_COUNTERS, and rows without blocked axes. The
 * functions are called in the order begin, found, order, describe, unpack, clear; for `infer`
 * without unpack, and again for each run that is prepared.
 *
 * What a PATH.json beside a file says completes what the packets say, as of sources of arrays
 * (<cornerturn/kit/array-source.h>): clock, frequencies, labels, observation, axes of one element,
 * and the first and the last sample. Both must agree; then PATH.json's is taken. Samples that it
 * lists are invalid. Samples without a packet are invalid in any case, and so are flagged packets
 * of which it lists no sample; of others, only the listed samples. Files that are a lane each
 * (`is_lane_a_file`) are read without PATH.json.
 *
 * A source with `place` or `is_lane_a_file`, whose `files` has CT_PARAM_PIPE, reads pipes: one, or
 * one for each lane. `begin` to `describe` are called with the packets of its first bytes, and the
 * length of the stream is not known, unless the pipe ends before. Packets are then decided on with
 * those near them, as of long recordings; the stretch of time that is used is the one of the first
 * packets, and goes on until the first pause of more than max_gap.
 *
 * A source with `place` or `is_lane_a_file`, without a `find` and a `next`, also receives packets
 * from the network, if its table has CT_SOURCE_RECEIVE_PARAMS: a path `udp://ADDRESS:PORT` stands
 * for a file. Each datagram is a packet. With `is_lane_a_file`, each address is a lane; with
 * `place`, any packets come to any address, and those of one address are alike. `begin` to
 * `describe` are called when the first packets have come. What is done with a packet then depends
 * on those that came before it.
 *
 * The kit has a second struct of the plugin, in a second recording, for the thread that receives.
 * For this one, `begin` and, with `place`, `order` are called with the same parameters, files and
 * packets as for the first; then, by the thread, `size`, `alike`, `found` and `place` for each
 * datagram, while functions are called for the first. So `place` must depend on nothing but what
 * `begin` and `order` have set from these, and on `newest`. If `order` fails, but by no parameter,
 * `clear`, `begin` and `order` may be called again with more packets. While packets are received,
 * `order` finds neither bytes nor ends of files, `place` no `offset`, and packets of a lane that
 * `order` has not found are stray; they must not overlap, and the stream must have a sample rate.
 */
#pragma once

#include <cornerturn/packets.h>
#include <cornerturn/stage.h>

G_BEGIN_DECLS

/* ---- recordings ---- */

typedef struct {
    const char *path; /* owned by the recording */
    int fd;
    gint64 length;                       /* in bytes */
    gsize packet_bytes;                  /* of each packet; `find` sets it */
    guint8 header[CT_PACKET_MAX_HEADER]; /* that of the file's stream, unless there is a `find`; of
                                            a longer one the beginning, see ct_source_header() */
    const CtStream *said;                /* the stream of PATH.json; NULL: there is none */
    guint64 reserved[1];                 /* 0 */
} CtSourceFile;

typedef struct CtSource CtSource;

/* The files of a source. */
typedef struct {
    const CtSource *source;
    gpointer self; /* the plugin's, self_bytes long, all 0 at first */
    guint n_files;
    CtSourceFile *files; /* [n_files] in the order of the parameter */
    CtPackets *packets;

    /* `order` sets these, for ct_packets_arrange(); n_lanes and n_samples are at least 1. */
    guint n_lanes;      /* of packets */
    guint *widths;      /* [n_lanes] the lanes of the stream that a lane of packets has, in their
                           order, if they are not one each; from g_new, freed by the kit */
    gint64 n_samples;   /* of each packet, without the overlap */
    gint64 max_gap;     /* in samples */
    gint64 overlap;     /* samples at the end of each packet that come again in the next one */
    const char *chosen; /* the axis whose indices are others than those of PATH.json, which then
                           says nothing of it; NULL: none */
    gboolean is_sample; /* set by the kit: `order` is given a sample of the packets of a long
                           recording (CtSource.place) */
    gboolean needs_all; /* `order` sets it if all packets might decide what the sample does not */
    guint64 lane_step;  /* lanes of the stream from one that a lane of packets has to the next one,
                           where `widths` are all the same, w: lane i · lane_step + j of packets has
                           those of (i · w + k) · lane_step + j, for k from 0 to w − 1. It divides
                           n_lanes. 0: 1 */
    guint8 (*headers)[CT_PACKET_LONGEST_HEADER]; /* set by the kit: ct_source_header() */
    const gint64 *newest; /* set by the kit while packets are received: for `place`, the time of the
                             newest one that was used, in samples; NULL: they are not received */
    guint64 reserved[2];  /* 0 */
} CtRecording;

/* The part of a packet that goes into a block. */
typedef struct {
    const guint8 *packet; /* all its bytes, with the header; with a `find`, from its offset on */
    const CtPacket *of;
    gint64 begin, end;    /* the packet's samples begin … end − 1 are wanted */
    guint8 *out;          /* where sample `begin` goes, at index 0 of the other axes that lose no
                             data, and in the first lane of the packet's lane */
    const gint64 *stride; /* [axis of the stream, as ct_stream_axis() counts] in bytes; 0 is time */
    guint64 reserved[2];  /* 0 */
} CtPacketPart;

typedef void (*CtUnpack)(const CtRecording *recording, const CtPacketPart *part);

/* How a source reads its recording; the plugin fills it in. */
struct CtSource {
    const char *files; /* the parameter, a path or a list of them, that names the files; a path
                          with *, ? or [ ] stands for all files that match, in the order of their
                          names */
    gsize self_bytes;
    gboolean is_one_stream; /* all files have headers that are alike; else `order` compares them */
    /* Each file is one lane, in the order of the parameter: `found` sets `lane` to the number of
     * the file, and `stamp` in samples, from the header alone, and `order` uses no packets (it may
     * be given none). Long recordings are then read without an index of all their packets: part by
     * part, in which packets are arranged with those near them in the file. */
    gboolean is_lane_a_file;

    /* `data` stays NULL here: the kit passes the plugin's struct to the functions. With a `find`,
     * only the name is used. */
    CtPacketFormat format;
    /* Reads the parameters on which the functions of the format depend. May be NULL. */
    void (*begin)(gpointer self, const CtParams *given);
    /* Called for each packet; `data` is the plugin's struct. */
    CtPacketFunc found;
    /* Why the first bytes of a file without packets are no header, for the message: "frames without
     * payload". The function may be NULL, and may return NULL if it does not know. */
    const char *(*explain)(const guint8 *header, gconstpointer self);

    /* Finds the packets without a search: for files whose headers are long, or tell where the next
     * one is, or that have one header at their beginning. Appends the
     * packets of file number `file` to `packets->packets`, with `file` and the `offset` of their
     * first byte of samples; sets packet_bytes; counts CT_PACKETS_READ, and what is cut off as
     * CT_PACKETS_TRUNCATED. NULL: the kit searches by the format. */
    gboolean (*find)(CtRecording *recording, guint file, GError **error);

    /* Checks the files, sets the members of the recording that `order` must set, and sets `lane`
     * and `stamp` (in samples) of all packets, where `found` has not done so. Packets with a lane
     * of n_lanes or more count as stray. */
    gboolean (*order)(CtRecording *recording, const CtParams *given, GError **error);

    /* Describes the stream of the arranged packets, which has the axis time already: type, other
     * axes, of which those with `loses` have as many lanes as all lanes of packets together, clock,
     * and start, the tick of sample packets->first. */
    gboolean (*describe)(CtRecording *recording, const CtParams *given, CtStream *stream,
                         GError **error);

    CtUnpack unpack;
    CtUnpack unpack_plain; /* for the variant `reference`, value by value; NULL: the same */
    /* Frees what the plugin's struct has, which may be half made. NULL: nothing. */
    void (*clear)(gpointer self);

    /* Sets lane and stamp of a packet as `order` has set those that it was given. FALSE: the packet
     * is not used, and has been counted. Of a lane that `order` has not seen, the packet gets
     * n_lanes. NULL: `order` needs all packets.
     *
     * With it, recordings are read from pipes, where `order` is given the first packets. Without a
     * `find` and a `next`, they are also read without an index of all packets, if they have more
     * than 65536 packets and no PATH.json: `order` is then given a sample, which is the first 8
     * MiB, both ends of each file, 32 places in between and 4 where stamps jump most. If it fails
     * or sets needs_all, or if at one of the places packets of a lane are missing, others have been
     * added, or the time is not that of all packets before it, `clear` and `begin` are called, and
     * `order` is given all packets, which are then arranged by an index. */
    gboolean (*place)(const CtRecording *recording, CtPacket *packet, guint64 *counts);
    /* As `find`, packet by packet: finds the packet at byte *at of file number `file`, and moves
     * *at behind its last byte, beyond the end of the file if that cuts it off. Sets `offset`, and
     * `stamp`, which is the number of packets before; sets packet_bytes of the file. Without
     * *found, there is no packet, which counts as corrupt. Reads with ct_source_read(), and fails
     * if that fails: it is then called again when a pipe has given more bytes. What it notes in the
     * plugin's struct may therefore be noted twice. In place of `find`. */
    gboolean (*next)(CtRecording *recording, guint file, gint64 *at, CtPacket *packet,
                     gboolean *found, GError **error);
    /* The end of the stream of a pipe that has ended, as stamps count samples, of packets that were
     * all found; it is in the last packet. NULL: that of the last packet. */
    gint64 (*ends)(const CtRecording *recording);
    /* The bytes of a header, where parameters that `begin` has read decide them. NULL: those of the
     * format. */
    gsize (*header_bytes)(gconstpointer self);
    guint64 reserved[4]; /* 0 */
};

/* Reads up to n bytes of a file or pipe at an offset that `next` is given, or behind it; fewer only
 * at the end: *given. */
CT_EXPORT gboolean ct_source_read(const CtRecording *recording, guint file, gint64 offset,
                                  guint8 *bytes, gsize n, gsize *given, GError **error);

/* The header of the stream of file number `file`: all its bytes. */
CT_EXPORT const guint8 *ct_source_header(const CtRecording *recording, guint file);

/* Opens the files that the parameters name, and arranges their packets. Fails with the messages of
 * <cornerturn/packets.h>, which begin with a file's path. */
CT_EXPORT CtRecording *ct_source_open(const CtSource *source, const CtParams *given,
                                      GError **error);
CT_EXPORT void ct_source_close(CtRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtRecording, ct_source_close)

/* The `infer` of the stage: opens the recording, and describes its stream. */
CT_EXPORT gboolean ct_source_infer(const CtSource *source, CtNode *node, GError **error);

/* Sets the frequencies of a stream, whose type and axes are known, from the parameters of the
 * stage: `centre_frequency` for complex or `first_frequency` for real samples, a quantity in hertz,
 * and `frequencies`, a list of such, of each subband or, without subbands, channel. Sources of
 * arrays may call it as well. */
CT_EXPORT gboolean ct_source_set_frequencies(const CtParams *given, CtStream *stream,
                                             GError **error);

/* Parameters of sources that receive packets from the network: rows of the stage's table. */
#define CT_SOURCE_RECEIVE_PARAMS                                                                   \
    {.name = "window",                                                                             \
     .kind = CT_PARAM_QUANTITY,                                                                    \
     .flags = CT_PARAM_RANGED,                                                                     \
     .unit = "s",                                                                                  \
     .minimum = 0,                                                                                 \
     .maximum = 60,                                                                                \
     .fallback = "20 ms",                                                                          \
     .help = "of packets from the network, by how much the newest may be ahead of one that is "    \
             "used"},                                                                              \
        {.name = "skip",                                                                           \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 0,                                                                             \
         .maximum = 256,                                                                           \
         .fallback = "0",                                                                          \
         .help =                                                                                   \
             "bytes of each datagram from the network before its packet, as a sequence number"},   \
        {.name = "busy",                                                                           \
         .kind = CT_PARAM_BOOL,                                                                    \
         .fallback = "false",                                                                      \
         .help = "receive from the network without waiting for packets: takes a whole core"},      \
        {.name = "core",                                                                           \
         .kind = CT_PARAM_INT,                                                                     \
         .flags = CT_PARAM_RANGED,                                                                 \
         .minimum = 0,                                                                             \
         .maximum = 1023,                                                                          \
         .help = "the machine's core that receives from the network; left out: any"},              \
    {                                                                                              \
        .name = "buffer", .kind = CT_PARAM_QUANTITY, .flags = CT_PARAM_RANGED, .unit = "B",        \
        .minimum = 65536, .maximum = 1099511627776, .fallback = "256 MiB",                         \
        .help = "memory for packets from the network that wait for the graph"                      \
    }

/* ---- variants ---- */

CT_EXPORT gboolean ct_source_prepare(CtPrepare *prepare, gpointer *state, GError **error);
CT_EXPORT gboolean ct_source_advance(gpointer state, CtAdvance *advance, GError **error);
CT_EXPORT gboolean ct_source_work(gpointer state, const CtWork *work, GError **error);
CT_EXPORT void ct_source_finish(gpointer state);

#define CT_SOURCE_VARIANT(source_, stage_, rows_, backend_, name_)                                 \
    &(const CtVariant)                                                                             \
    {                                                                                              \
        .name = name_, .backend = backend_, .covers = (const char *const[]){stage_, NULL},         \
        .rows = rows_, .waits = TRUE, .form = &source_, .prepare = ct_source_prepare,              \
        .advance = ct_source_advance, .work = ct_source_work, .finish = ct_source_finish,          \
    }

/* The variants of a source, `cpu` and `reference`. */
#define CT_SOURCE_VARIANTS(source_, stage_, rows_)                                                 \
    CT_SOURCE_VARIANT(source_, stage_, rows_, CT_CPU, "cpu"),                                      \
        CT_SOURCE_VARIANT(source_, stage_, rows_, CT_REFERENCE, "reference")

G_END_DECLS
