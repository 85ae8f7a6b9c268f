/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: opening pipes. */
#include "packets-private.h"
#include "source-private.h"

#include <string.h>

/* Packets of each pipe that the description of the stream needs, at least. */
enum { LEAST_PACKETS = 3 };

/* The first packet is looked for in so many bytes, and the others in so many. */
static const gint64 MOST_SEARCHED_BYTES = (gint64)1 << 26, MOST_PACKET_BYTES = (gint64)1 << 32;

gboolean
ct_source_has_pipes(const CtSourceOpened *opened, const CtParams *given, gboolean *has_pipes,
                    GError **error)
{
    const CtRecording *recording = &opened->recording;
    const CtSource *source = recording->source;
    const char *pipe = NULL;
    guint n_pipes = 0;
    *has_pipes = FALSE;
    if (source->find || (!source->is_lane_a_file && !source->place))
        return TRUE;
    for (guint i = 0; i < recording->n_files; i++)
        if (ct_pipe_is(recording->files[i].path)) {
            pipe = recording->files[i].path;
            n_pipes++;
        }
    *has_pipes = n_pipes > 0;
    const gboolean may_be_several = source->is_lane_a_file && n_pipes == recording->n_files;
    return n_pipes == 0 || recording->n_files == 1 || may_be_several ||
           ct_params_error(
               given, source->files, error, "wants %s, but is given '%s' among %u paths",
               source->is_lane_a_file ? "pipes alone or files alone" : "one pipe or files", pipe,
               recording->n_files);
}

void
ct_source_close_pipes(CtSourceOpened *opened)
{
    for (guint i = 0; opened->pipes && i < opened->recording.n_files; i++)
        ct_pipe_free(opened->pipes[i]);
    g_free(opened->pipes);
}

static gboolean
open_pipe(CtSourceOpened *opened, guint i, GError **error)
{
    CtSourceFile *file = &opened->recording.files[i];
    opened->pipes[i] = ct_pipe_get(file->path, error);
    if (!opened->pipes[i])
        return FALSE;
    file->path = ct_pipe_name(file->path, FALSE);
    file->fd = ct_pipe_head(opened->pipes[i], &file->length, error);
    return file->fd >= 0;
}

/* ---- the first packets ---- */

/* Reads until each pipe has more than `n` bytes, or has ended. Sets *are_over if all have, with no
 * more than these. */
static gboolean
fill(const CtSourceOpened *opened, gint64 n, gint64 lead, gboolean *are_over, GError **error)
{
    const guint n_pipes = opened->recording.n_files;
    for (gboolean filled, lacks = TRUE; lacks;) {
        lacks = FALSE;
        *are_over = TRUE;
        for (guint i = 0; i < n_pipes; i++) {
            gboolean ended;
            const gint64 length = ct_pipe_length(opened->pipes[i], &ended);
            lacks = lacks || (length <= n && !ended);
            *are_over = *are_over && length <= n && ended;
        }
        if (lacks && !ct_pipes_fill(opened->pipes, n_pipes, n + lead, -1, &filled, error))
            return FALSE;
    }
    return TRUE;
}

static void
forget_packets(CtSourceOpened *opened)
{
    CtRecording *recording = &opened->recording;
    for (guint i = 0; i < recording->n_files; i++)
        g_clear_pointer(&opened->scans[i], ct_packet_scan_free);
    ct_packets_free(recording->packets);
    recording->packets = ct_packets_new();
}

/* Finds the packets of each pipe below an offset. Sets *are_enough unless more bytes are wanted. */
static gboolean
scan_all(CtSourceOpened *opened, gint64 limit, gboolean *are_enough, GError **error)
{
    CtRecording *recording = &opened->recording;
    *are_enough = TRUE;
    for (guint i = 0, before = 0; i < recording->n_files; i++) {
        GError *failure = NULL;
        gboolean ended;
        const gboolean is_cut = ct_pipe_length(opened->pipes[i], &ended) > limit || !ended;
        recording->files[i].length = ct_pipe_length(opened->pipes[i], &ended);
        const gboolean good = ct_source_scan_file(recording, i, limit, &failure);
        const guint n = recording->packets->packets->len;
        if (!good && (!is_cut || opened->scans[i])) {
            g_propagate_error(error, failure);
            return FALSE;
        }
        g_clear_error(&failure);
        *are_enough = *are_enough && (good && (n - before >= LEAST_PACKETS || !is_cut));
        before = n;
    }
    return TRUE;
}

static gboolean
check_limit(const CtSourceOpened *opened, gint64 limit, GError **error)
{
    const CtRecording *recording = &opened->recording;
    for (guint i = 0; i < recording->n_files; i++) {
        const CtSourceFile *file = &recording->files[i];
        if (limit < (opened->scans[i] ? MOST_PACKET_BYTES : MOST_SEARCHED_BYTES))
            continue;
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants %s, but is given %" G_GINT64_FORMAT " bytes without %s", file->path,
                    recording->source->format.name, limit, opened->scans[i] ? "several" : "any");
        return FALSE;
    }
    return TRUE;
}

/* Finds the first packets of each pipe. Sets *are_over if they are all that there are. */
static gboolean
find_first(CtSourceOpened *opened, const CtAheadSizes *sizes, gboolean *are_over, GError **error)
{
    CtRecording *recording = &opened->recording;
    gboolean are_enough = FALSE;
    for (gint64 limit = sizes->head_bytes; !are_enough; limit *= 2) {
        forget_packets(opened);
        if (!fill(opened, limit, sizes->lead_bytes, are_over, error))
            return FALSE;
        if (*are_over)
            break;
        if (!scan_all(opened, limit, &are_enough, error) ||
            (!are_enough && !check_limit(opened, limit, error)))
            return FALSE;
    }
    for (guint i = 0; i < recording->n_files && *are_over; i++) {
        gboolean ended;
        recording->files[i].length = ct_pipe_length(opened->pipes[i], &ended);
        if (!ct_source_scan_file(recording, i, G_MAXINT64, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- the packets that follow ---- */

/* The packets as they were found, [file]. */
static GPtrArray *
split(const CtRecording *recording)
{
    const GArray *packets = recording->packets->packets;
    GPtrArray *raw = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (guint i = 0; i < recording->n_files; i++)
        g_ptr_array_add(raw, g_array_new(FALSE, FALSE, sizeof(CtPacket)));
    for (guint i = 0; i < packets->len; i++) {
        const CtPacket *packet = &g_array_index(packets, CtPacket, i);
        g_array_append_vals(raw->pdata[packet->file], packet, 1);
    }
    return raw;
}

/* Has the first packets described: where the stream begins. */
static gboolean
arrange_first(CtRecording *recording, const CtParams *given, GError **error)
{
    CtPackets *packets = recording->packets;
    if (!ct_source_order(recording, given, error))
        return FALSE;
    packets->overlap = recording->overlap;
    if (!ct_packets_arrange(packets, recording->n_lanes, recording->n_samples, recording->max_gap,
                            error))
        return FALSE;
    if (packets->end > packets->first)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                "%s: wants %s that can be used among the first, but is given none",
                recording->files[0].path, recording->source->format.name);
    return FALSE;
}

static gint64
find_end(gconstpointer recording)
{
    return ((const CtRecording *)recording)->source->ends(recording);
}

static void
place_all(const CtRecording *recording, GArray *raw)
{
    guint kept = 0;
    for (guint i = 0; i < raw->len; i++) {
        CtPacket packet = g_array_index(raw, CtPacket, i);
        if (ct_source_place(recording, &packet, recording->packets->counts))
            g_array_index(raw, CtPacket, kept++) = packet;
    }
    g_array_set_size(raw, kept);
}

/* The first packets, and those that follow, are read one part after another. */
static gboolean
read_on(CtSourceOpened *opened, const CtParams *given, const CtAheadSizes *sizes, GError **error)
{
    CtRecording *recording = &opened->recording;
    CtPackets *packets = recording->packets;
    const CtSource *source = recording->source;
    g_autoptr(GPtrArray) raw = split(recording);
    guint64 counts[CT_PACKETS_N_COUNTS];
    gint64 bytes = 1;
    memcpy(counts, packets->counts, sizeof counts);
    if (!arrange_first(recording, given, error))
        return FALSE;
    memcpy(packets->counts, counts, sizeof counts);
    g_array_set_size(packets->packets, 0);
    g_clear_pointer(&packets->flagged, g_array_unref);
    for (guint i = 0; i < recording->n_files; i++) {
        ct_packet_scan_unlimit(opened->scans[i]);
        bytes = MAX(bytes, (gint64)recording->files[i].packet_bytes);
        if (source->place)
            place_all(recording, raw->pdata[i]);
    }
    const CtAheadOf of = {.scans = opened->scans,
                          .n_files = recording->n_files,
                          .n_lanes = recording->n_lanes,
                          .n_samples = recording->n_samples,
                          .place = source->place ? ct_source_place : NULL,
                          .ends = source->ends ? find_end : NULL,
                          .recording = recording};
    opened->ahead = ct_ahead_new_pipes(packets, &of, opened->pipes, (GArray *const *)raw->pdata,
                                       bytes, recording->max_gap, sizes);
    return TRUE;
}

gboolean
ct_source_open_pipes(CtSourceOpened *opened, const CtParams *given, const CtAheadSizes *sizes,
                     GError **error)
{
    gboolean are_over;
    opened->pipes = g_new0(CtPipe *, opened->recording.n_files + 1);
    for (guint i = 0; i < opened->recording.n_files; i++)
        if (!open_pipe(opened, i, error))
            return FALSE;
    return find_first(opened, sizes, &are_over, error) &&
           (are_over || read_on(opened, given, sizes, error));
}
