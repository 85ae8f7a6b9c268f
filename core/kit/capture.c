/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading captures packet by packet, with times that no damaged stamp misleads. */
#include "capture.h"

#include "cornerturn/error.h"
#include "packets-private.h"
#include "sender.h"
#include "source-private.h"

/* The packets of a file that are found at once, and those that are kept before the next one. */
enum { FOUND = 1024, BESIDE = 3 };
/* The most bytes of a datagram over IPv4. */
enum { MOST_BYTES = 65507 };

typedef struct {
    CtPacketScan *scan;
    guint8 pattern[CT_PACKET_LONGEST_HEADER];
    GArray *found; /* of CtPacket; the stamp of one that has no time is that of the one before */
    guint next;    /* of those */
} File;

struct CtCapture {
    CtRecording *recording;
    CtPacketFormat format;
    CtPackets *packets; /* what searches need */
    guint64 counts[CT_PACKETS_N_COUNTS];
    File *files;   /* [n_files] */
    guint8 *bytes; /* [CT_CAPTURE_KEPT + 1][packet_bytes] */
    gsize packet_bytes;
    guint n_read; /* packets */
    gint64 at;    /* the time of the last one */
};

static void
clear_file(File *file)
{
    ct_packet_scan_free(file->scan);
    g_clear_pointer(&file->found, g_array_unref);
    *file = (File){0};
}

void
ct_capture_close(CtCapture *self)
{
    if (!self)
        return;
    for (guint i = 0; self->files && i < self->recording->n_files; i++)
        clear_file(&self->files[i]);
    g_free(self->files);
    g_free(self->bytes);
    ct_packets_free(self->packets);
    ct_source_close(self->recording);
    g_free(self);
}

/* Whether the packets of the source are searched for, and have times one by one. */
static gboolean
check_source(const CtSource *source, GError **error)
{
    if (!source->find && !source->next && (source->is_lane_a_file || source->place))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PARAMETER,
                "wants a source of packets that can be sent one by one, but is given that of %s",
                source->format.name);
    return FALSE;
}

static gboolean
check_sizes(CtCapture *self, GError **error)
{
    const CtRecording *recording = self->recording;
    for (guint i = 0; i < recording->n_files; i++) {
        const gsize n = recording->files[i].packet_bytes;
        self->packet_bytes = MAX(self->packet_bytes, n);
        if (n <= MOST_BYTES)
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants packets of at most %d bytes, which datagrams can have, but is given "
                    "%" G_GSIZE_FORMAT,
                    recording->files[i].path, MOST_BYTES, n);
        return FALSE;
    }
    return TRUE;
}

CtCapture *
ct_capture_open(const CtSource *source, const CtParams *given, GError **error)
{
    if (!check_source(source, error))
        return NULL;
    g_autoptr(CtCapture) self = g_new0(CtCapture, 1);
    self->recording = ct_source_open(source, given, error);
    if (!self->recording || !check_sizes(self, error))
        return NULL;
    self->format = ct_source_format(source, self->recording->self);
    self->packets = ct_packets_new();
    self->files = g_new0(File, self->recording->n_files);
    self->bytes = g_malloc((CT_CAPTURE_KEPT + 1) * self->packet_bytes);
    return ct_capture_rewind(self, error) ? g_steal_pointer(&self) : NULL;
}

guint
ct_capture_n_files(const CtCapture *self)
{
    return self->recording->n_files;
}

gint64
ct_capture_length(const CtCapture *self)
{
    return self->recording->packets->end - self->recording->packets->first;
}

/* ---- finding packets ---- */

/* Whether the packet has a time within the recording: in samples, from its first one on. */
static gboolean
find_time(CtCapture *self, CtPacket *packet)
{
    const CtRecording *recording = self->recording;
    const CtPackets *packets = recording->packets;
    if (recording->source->place && !ct_source_place(recording, packet, self->counts))
        return FALSE;
    packet->stamp -= packets->first;
    return packet->lane < recording->n_lanes && packet->stamp >= 0 &&
           packet->stamp < ct_capture_length(self);
}

/* Finds more packets, and forgets those that have been read, but for BESIDE. */
static gboolean
find_more(CtCapture *self, File *file, GError **error)
{
    const guint past = file->next > BESIDE ? file->next - BESIDE : 0;
    g_array_remove_range(file->found, 0, past);
    file->next -= past;
    const guint n = file->found->len;
    if (!ct_packet_scan_more(file->scan, self->packets, file->found, FOUND, error))
        return FALSE;
    for (guint i = n; i < file->found->len; i++) {
        CtPacket *packet = &g_array_index(file->found, CtPacket, i);
        if (!find_time(self, packet))
            packet->stamp = i > 0 ? packet[-1].stamp : 0;
    }
    return TRUE;
}

gboolean
ct_capture_rewind(CtCapture *self, GError **error)
{
    const CtRecording *recording = self->recording;
    self->at = 0;
    for (guint i = 0; i < recording->n_files; i++) {
        File *file = &self->files[i];
        const CtScanWhere where = {
            .path = recording->files[i].path, .fd = recording->files[i].fd, .file = i};
        clear_file(file);
        file->found = g_array_new(FALSE, FALSE, sizeof(CtPacket));
        file->scan =
            ct_packet_scan_new(self->packets, &where, &self->format, recording->source->found,
                               recording->self, file->pattern, error);
        if (!file->scan || !find_more(self, file, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- their order ---- */

static gint64
median(gint64 a, gint64 b, gint64 c)
{
    return MAX(MIN(a, b), MIN(MAX(a, b), c));
}

static gint64
stamp_of(const File *file, guint i)
{
    return g_array_index(file->found, CtPacket, i).stamp;
}

static gint64
middle(const File *file, guint i)
{
    return median(stamp_of(file, i - 1), stamp_of(file, i), stamp_of(file, i + 1));
}

/* The time of the next packet of a file: the median of three in the order of the file, so that a
 * single one that is late or wrong moves no other; at both ends, of its own, of its neighbour's,
 * and of one that goes on as both neighbours do (Tukey's rule). */
static gint64
time_of(const File *file)
{
    const guint n = file->found->len, i = file->next;
    if (n < 4)
        return stamp_of(file, i);
    if (i > 0 && i + 1 < n)
        return middle(file, i);
    const gint64 near = middle(file, i == 0 ? 1 : n - 2), far = middle(file, i == 0 ? 2 : n - 3);
    const __int128 onward = near + 2 * ((__int128)near - far);
    return median(stamp_of(file, i), near, (gint64)CLAMP(onward, G_MININT64, G_MAXINT64));
}

static gboolean
fill(CtCapture *self, File *file, GError **error)
{
    return file->next + 1 < file->found->len || ct_packet_scan_is_over(file->scan) ||
           find_more(self, file, error);
}

/* The file whose packet comes next; −1: all have ended; −2 with an error. */
static gint
choose_file(CtCapture *self, GError **error)
{
    gint chosen = -1;
    gint64 earliest = 0;
    for (guint i = 0; i < self->recording->n_files; i++) {
        File *file = &self->files[i];
        if (!fill(self, file, error))
            return -2;
        if (file->next == file->found->len)
            continue;
        const gint64 at = time_of(file);
        if (chosen >= 0 && at >= earliest)
            continue;
        chosen = (gint)i;
        earliest = at;
    }
    if (chosen >= 0)
        self->at = MAX(self->at, earliest);
    return chosen;
}

gboolean
ct_capture_next(CtCapture *self, CtCaptured *packet, gboolean *ended, GError **error)
{
    const gint chosen = choose_file(self, error);
    *ended = chosen == -1;
    if (chosen < 0)
        return chosen == -1;
    File *file = &self->files[chosen];
    const CtSourceFile *of = &self->recording->files[chosen];
    const CtPacket *found = &g_array_index(file->found, CtPacket, file->next++);
    guint8 *bytes = self->bytes + (self->n_read++ % (CT_CAPTURE_KEPT + 1)) * self->packet_bytes;
    *packet = (CtCaptured){bytes, of->packet_bytes, (guint)chosen, found->offset, self->at};
    return ct_file_read(of->path, of->fd, found->offset, bytes, packet->n, error);
}
