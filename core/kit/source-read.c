/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: the variants, which read packets into blocks. */
#include "packets-private.h"
#include "source-private.h"

#include <string.h>

/* Packets that follow one another in a file are read at once, up to this number of bytes. */
enum { READ_BYTES = 1 << 18 };

/* The user is warned if so many packets in a row to an address are not used. */
enum { MOST_UNUSED = 1000 };

typedef struct {
    CtRecording *recording;
    const CtSourceOpened *opened; /* the same */
    CtUnpack unpack;
    const CtParams *given;
    gint64 first;    /* of the stream */
    gint64 position; /* the next sample to produce */
    gint64 end;      /* that of the stream as it was described; a file may grow meanwhile */
    gint64 start, ticks_per_sample;
    CtReceivedCounts counted;    /* what the node's counters have */
    gboolean warned;             /* of packets that are not used */
    CtSourceAccounts *accounts;  /* of received packets; NULL: there are files */
    guint *first_lane;           /* [n_lanes] the first of `plain` of each lane of packets */
    gint64 n_stream_lanes;       /* of the stream, which may be more than those of `plain` */
    guint *lane_of;              /* [n_stream_lanes] its lane of packets, */
    gint64 *like;                /* and the first lane of the stream with the same one */
    guint n_axes;                /* of `plain` */
    gint64 lanes[CT_MAX_AXES];   /* [axis of `plain`] its length if it loses data; else 1 */
    gint positions[CT_MAX_AXES]; /* [axis of `plain`] its place in the layout; −1: it has none */
    guint8 *bytes;               /* [n_bytes] packets as they are in a file */
    gsize n_bytes;
    const CtPacket *held; /* the first of the packets that `bytes` has; NULL: none */
    guint n_held;
} Reader;

void
ct_source_finish(gpointer state)
{
    Reader *reader = state;
    if (!reader)
        return;
    ct_source_close(reader->recording);
    ct_source_accounts_free(reader->accounts);
    g_free(reader->first_lane);
    g_free(reader->lane_of);
    g_free(reader->like);
    g_free(reader->bytes);
    g_free(reader);
}

/* ---- preparing ---- */

/* Whether a recording's stream is the one of a graph, which may have given it an epoch. */
static gboolean
is_same(const CtStream *a, const CtStream *b)
{
    gboolean same = a->type == b->type && a->n_axes == b->n_axes && a->rate_num == b->rate_num &&
                    a->rate_den == b->rate_den && a->ticks_per_sample == b->ticks_per_sample &&
                    a->start == b->start && (a->epoch == CT_NO_EPOCH || a->epoch == b->epoch);
    for (guint i = 0; i < a->n_axes && same; i++)
        same = a->axes[i].name == b->axes[i].name && a->axes[i].loses == b->axes[i].loses &&
               (i == 0 || a->axes[i].length == b->axes[i].length);
    return same;
}

/* Checks that the recording is the one that the graph was planned with; it may be longer or
 * shorter. */
static gboolean
check_planned(const CtRecording *recording, const CtStream *stream, const CtStream *planned,
              GError **error)
{
    if (is_same(stream, planned))
        return TRUE;
    g_autofree char *is = ct_stream_describe(stream);
    g_autofree char *was = ct_stream_describe(planned);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants the recording that the graph was checked with (%s from tick "
                "%" G_GINT64_FORMAT "), but it has been replaced (%s from tick %" G_GINT64_FORMAT
                ")",
                recording->files[0].path, was, planned->start, is, stream->start);
    return FALSE;
}

static void
bind_axes(Reader *reader, const CtBinding *output)
{
    const CtStream *plain = &reader->opened->plain;
    reader->start = output->stream->start;
    reader->ticks_per_sample = output->stream->ticks_per_sample;
    reader->n_axes = plain->n_axes;
    for (guint i = 0; i < plain->n_axes; i++) {
        reader->lanes[i] = plain->axes[i].loses ? plain->axes[i].length : 1;
        reader->positions[i] = ct_layout_axis(&output->layout, plain->axes[i].name);
    }
}

/* Finds the lane of packets of each lane of the stream. */
static gboolean
bind_lanes(Reader *reader, const CtStream *stream, GError **error)
{
    const CtRecording *recording = reader->recording;
    const gint64 n = reader->n_stream_lanes = ct_stream_n_lanes(stream);
    reader->lane_of = CT_TABLE(guint, n, "lanes", error);
    reader->like = reader->lane_of ? CT_TABLE(gint64, n, "lanes", error) : NULL;
    if (!reader->like)
        return FALSE;
    g_autofree gint64 *first = g_new(gint64, MAX(recording->n_lanes, 1));
    g_autofree guint *lane_of = g_new(guint, MAX(ct_stream_n_lanes(&reader->opened->plain), 1));
    for (guint i = 0; i < recording->n_lanes; i++) {
        first[i] = -1;
        for (guint k = 0; k < ct_source_width(recording, i); k++)
            lane_of[reader->first_lane[i] + k * ct_source_lane_step(recording)] = i;
    }
    for (gint64 lane = 0; lane < n; lane++) {
        const guint of = lane_of[ct_source_plain_lane(reader->opened, stream, lane)];
        if (first[of] < 0)
            first[of] = lane;
        reader->lane_of[lane] = of;
        reader->like[lane] = first[of];
    }
    return TRUE;
}

static gboolean
allocate(Reader *reader, GError **error)
{
    const CtRecording *recording = reader->recording;
    reader->first_lane = ct_source_first_lanes(recording);
    reader->n_bytes = READ_BYTES;
    for (guint i = 0; i < recording->n_files; i++)
        reader->n_bytes = MAX(reader->n_bytes, recording->files[i].packet_bytes);
    reader->bytes = ct_table_new(reader->n_bytes, 1, "packets", error);
    return reader->bytes != NULL;
}

gboolean
ct_source_prepare(CtPrepare *prepare, gpointer *state, GError **error)
{
    const CtParams *given = prepare->nodes[0].params;
    const CtSource *source = prepare->variant->form;
    const CtBinding *output = &prepare->outputs[0];
    const gboolean is_plain = prepare->variant->backend == CT_REFERENCE && source->unpack_plain;
    if (!ct_source_check_counters(prepare->nodes[0].stage, FALSE, error))
        return FALSE;
    Reader *reader = g_new0(Reader, 1);
    CtRecording *recording = reader->recording = ct_source_open(source, given, error);
    *state = reader;
    if (!recording)
        return FALSE;
    reader->opened = (const CtSourceOpened *)recording;
    reader->given = given;
    CtStream stream;
    ct_stream_init(&stream);
    const gint64 skip = prepare->nodes[0].skip;
    gboolean good = ct_source_describe(recording, &prepare->nodes[0], &stream, error);
    stream.start += skip * stream.ticks_per_sample;
    good = good && check_planned(recording, &stream, output->stream, error);
    const gint64 length = good ? stream.axes[0].length : 0;
    ct_stream_clear(&stream);
    if (!good)
        return FALSE;
    reader->unpack = is_plain ? source->unpack_plain : source->unpack;
    reader->first = reader->position = reader->opened->first + skip;
    reader->end = length < 0 ? G_MAXINT64 : reader->opened->first + length;
    if (output->stream->axes[0].length >= 0)
        reader->end = MIN(reader->end, reader->position + output->stream->axes[0].length);
    bind_axes(reader, output);
    CtAhead *ahead = ct_source_ahead(recording);
    if (reader->opened->reception) {
        ct_reception_cut(reader->opened->reception, reader->first);
        reader->accounts = ct_source_accounts_new(reader->opened);
    }
    return allocate(reader, error) && bind_lanes(reader, output->stream, error) &&
           (!ahead || ct_ahead_cut(ahead, reader->first, reader->end, error));
}

/* ---- running ---- */

/* Loads the packets of up to *n samples of files that are read part by part, and sets *n to their
 * number. */
static gboolean
load_ahead(Reader *reader, gint64 *n, gboolean *ended, GError **error)
{
    CtAhead *ahead = ct_source_ahead(reader->recording);
    const gint64 position = reader->position;
    reader->held = NULL;
    return ct_ahead_wait(ahead, position, *n, n, ended, error) &&
           ct_ahead_load(ahead, position, position + *n, error);
}

/* Warns once of an address of which nothing is used any more: after a pause or a change of its
 * sender, or of its clock or that of another. */
static void
warn_of_unused(Reader *reader, guint64 n_unused, guint address)
{
    if (reader->warned || n_unused < MOST_UNUSED)
        return;
    reader->warned = TRUE;
    ct_params_warn(reader->given, reader->recording->source->files,
                   "the last %d packets to %s are not used: they are late, of another stream, or "
                   "farther than 'max_gap' from those before them",
                   MOST_UNUSED, reader->recording->files[address].path);
}

/* Warns once of files of which most packets are mistimed: their counters are not what the graph
 * takes them for. */
static void
warn_of_mistimed(Reader *reader, const guint64 *counts)
{
    const guint64 n = counts[CT_PACKETS_MISTIMED];
    if (reader->warned || n < MOST_UNUSED || n <= counts[CT_PACKETS_READ] / 2)
        return;
    reader->warned = TRUE;
    ct_params_warn(reader->given, reader->recording->source->files,
                   "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " packets are mistimed: their "
                   "times are farther than 'max_gap' from the others', or contradict their order",
                   n, counts[CT_PACKETS_READ]);
}

/* Loads the packets of up to *n samples that are received, and sets *n to their number. */
static gboolean
load_received(Reader *reader, gint64 *n, GError **error)
{
    CtReception *reception = reader->opened->reception;
    const gint64 position = reader->position;
    guint address = 0;
    ct_reception_start(reception);
    if (!ct_reception_wait(reception, position, *n, n, error))
        return FALSE;
    const guint64 n_unused =
        ct_reception_load(reception, reader->recording->packets, position, position + *n,
                          ct_source_accounts_rows(reader->accounts), &address);
    warn_of_unused(reader, n_unused, address);
    return TRUE;
}

/* Loads the packets of up to *n samples, and sets *n to their number, and `counts`. */
static gboolean
load(Reader *reader, gint64 *n, CtAdvance *advance, gboolean *ended, CtReceivedCounts *counts,
     GError **error)
{
    const CtPackets *packets = reader->recording->packets;
    if (reader->accounts) {
        if (!load_received(reader, n, error))
            return FALSE;
        ct_source_accounts_tell(reader->accounts, advance, counts);
        return TRUE;
    }
    if (ct_source_ahead(reader->recording) && !load_ahead(reader, n, ended, error))
        return FALSE;
    memcpy(counts->n, packets->counts, sizeof packets->counts);
    warn_of_mistimed(reader, packets->counts);
    return TRUE;
}

/* Adds what has been counted since the last time to the node's counters. */
static void
count(Reader *reader, const CtReceivedCounts *counts, guint64 *counters)
{
    const guint n = reader->opened->reception ? CT_PACKETS_N_RECEIVED_COUNTS : CT_PACKETS_N_COUNTS;
    for (guint i = 0; i < n; i++) {
        counters[i] += counts->n[i] - reader->counted.n[i];
        reader->counted.n[i] = counts->n[i];
    }
}

gboolean
ct_source_advance(gpointer state, CtAdvance *advance, GError **error)
{
    Reader *reader = state;
    CtRecording *recording = reader->recording;
    const CtPackets *packets = recording->packets;
    CtDeparture *out = &advance->outputs[0];
    gint64 n = MIN(out->room, reader->end - reader->position);
    gboolean ended = FALSE;
    CtReceivedCounts counts;
    for (guint i = 0; reader->opened->pipes && i < recording->n_files; i++)
        ct_pipe_start(reader->opened->pipes[i]);
    if (!load(reader, &n, advance, &ended, &counts, error))
        return FALSE;
    count(reader, &counts, advance->counters);
    for (gint64 lane = 0; lane < reader->n_stream_lanes; lane++) {
        guint8 *to = out->validity + lane * out->validity_stride;
        if (reader->like[lane] < lane)
            memcpy(to, out->validity + reader->like[lane] * out->validity_stride, (gsize)n);
        else
            out->invalid |=
                ct_packets_validity(packets, reader->lane_of[lane], reader->position, n, to);
    }
    if (reader->opened->gaps)
        out->invalid |=
            ct_gaps_apply(reader->opened->gaps, reader->position - reader->opened->first, n,
                          out->validity, out->validity_stride);
    out->produced = n;
    out->start = reader->start + (reader->position - reader->first) * reader->ticks_per_sample;
    reader->position += n;
    advance->ended = ended || reader->position == reader->end;
    return TRUE;
}

/* The address in the block of sample 0 of a lane of the stream, at index 0 of the other axes. */
static guint8 *
find_lane(const Reader *reader, const CtBlock *out, const gint64 *stride, gint64 lane)
{
    guint8 *at = out->data;
    for (guint i = reader->n_axes; i-- > 0; lane /= reader->lanes[i])
        at += lane % reader->lanes[i] * stride[i];
    return at;
}

/* The number of packets, from `packet` on, that follow one another in a file and begin before
 * sample `end`; as many as are read at once. */
static guint
count_together(const Reader *reader, const CtPacket *packet, const CtPacket *last, gint64 end)
{
    const gsize bytes = reader->recording->files[packet->file].packet_bytes;
    if (reader->opened->reception)
        return 1;
    const guint most = (guint)(reader->n_bytes / bytes);
    guint n = 1;
    while (n < most && packet + n < last && packet[n].stamp < end &&
           packet[n].file == packet->file &&
           packet[n].offset == packet[n - 1].offset + (gint64)bytes)
        n++;
    return n;
}

/* Packets that follow one another in a file; NULL on failure. They may be there already: a packet
 * of many samples is read once for all the blocks that it is in. */
static const guint8 *
read_together(Reader *reader, const CtPacket *packet, guint n, GError **error)
{
    const CtSourceFile *file = &reader->recording->files[packet->file];
    if (reader->opened->reception)
        return ct_reception_bytes(reader->opened->reception, packet);
    if (reader->held && packet >= reader->held && packet + n <= reader->held + reader->n_held)
        return reader->bytes + (packet - reader->held) * file->packet_bytes;
    reader->held = NULL;
    if (!ct_file_read(file->path, file->fd, packet->offset, reader->bytes, n * file->packet_bytes,
                      error))
        return NULL;
    reader->held = packet;
    reader->n_held = n;
    return reader->bytes;
}

gboolean
ct_source_work(gpointer state, const CtWork *work, GError **error)
{
    Reader *reader = state;
    const CtRecording *recording = reader->recording;
    const CtPackets *packets = recording->packets;
    const CtBlock *out = &work->outputs[0];
    const gint64 begin = reader->first + out->index, end = begin + out->n_samples;
    gint64 stride[CT_MAX_AXES];
    for (guint i = 0; i < reader->n_axes; i++)
        stride[i] = reader->positions[i] < 0 ? 0 : out->stride[reader->positions[i]];
    for (guint i = 0; i < recording->n_lanes; i++) {
        guint8 *lane = find_lane(reader, out, stride, reader->first_lane[i]);
        const CtPacket *last, *packet = ct_packets_find(packets, i, begin, &last);
        for (guint n; packet < last && packet->stamp < end; packet += n) {
            const CtSourceFile *file = &recording->files[packet->file];
            n = count_together(reader, packet, last, end);
            const guint8 *bytes = read_together(reader, packet, n, error);
            if (!bytes)
                return FALSE;
            for (guint k = 0; k < n; k++) {
                gint64 from, to;
                ct_packets_bounds(packets, &packet[k], &from, &to);
                from = MAX(from, begin);
                to = MIN(to, end);
                if (to <= from)
                    continue;
                const CtPacketPart part = {
                    .packet = bytes + k * file->packet_bytes,
                    .of = &packet[k],
                    .begin = from - packet[k].stamp,
                    .end = to - packet[k].stamp,
                    .out = lane + (from - begin) * stride[0],
                    .stride = stride,
                };
                reader->unpack(recording, &part);
            }
        }
    }
    return TRUE;
}
