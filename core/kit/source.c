/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of recordings: their files, and the description of their streams. */
#include "cornerturn/kit/source.h"

#include "file-names.h"
#include "packets-chain.h"
#include "reserved.h"
#include "source-private.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
ct_source_close(CtRecording *recording)
{
    if (!recording)
        return;
    CtSourceOpened *opened = (CtSourceOpened *)recording;
    if (recording->source->clear)
        recording->source->clear(recording->self);
    ct_ahead_free(opened->ahead);
    for (guint i = 0; i < recording->n_files && opened->scans; i++)
        ct_packet_scan_free(opened->scans[i]);
    g_free(opened->scans);
    g_free(recording->headers);
    ct_source_clear_beside(opened);
    for (guint i = 0; i < recording->n_files; i++)
        if (recording->files[i].fd >= 0)
            close(recording->files[i].fd);
    g_free(recording->files);
    ct_source_close_pipes(opened);
    ct_reception_free(opened->reception);
    g_free(recording->self);
    g_free(recording->widths);
    ct_packets_free(recording->packets);
    g_clear_pointer(&opened->paths, g_ptr_array_unref);
    g_free(recording);
}

static gboolean
open_file(CtSourceFile *file, GError **error)
{
    struct stat status;
    file->fd = ct_file_open(file->path, error);
    if (file->fd < 0)
        return FALSE;
    if (fstat(file->fd, &status) == 0)
        file->length = status.st_size;
    return TRUE;
}

/* Adds to the error of a file without packets why its first bytes are not a header. */
static void
explain(const CtRecording *recording, const CtSourceFile *file, GError **error)
{
    const CtSource *source = recording->source;
    const gsize bytes = ct_source_format(source, recording->self).header_bytes;
    guint8 header[CT_PACKET_LONGEST_HEADER];
    if (bytes > sizeof header || !source->explain ||
        !g_error_matches(*error, CT_ERROR, CT_ERROR_DATA) ||
        !ct_file_read(file->path, file->fd, 0, header, bytes, NULL))
        return;
    const char *reason = source->explain(header, recording->self);
    if (!reason)
        return;
    g_autofree char *message = g_strdup((*error)->message);
    g_clear_error(error);
    g_set_error(error, CT_ERROR, CT_ERROR_DATA, "%s: its first header says %s", message, reason);
}

/* Takes the length of packets that a function of the plugin has found. */
static gboolean
check_bytes(CtRecording *recording, guint i, GError **error)
{
    const CtSourceFile *file = &recording->files[i];
    const GArray *packets = recording->packets->packets;
    const gboolean has_some =
        recording->source->find ||
        (packets->len > 0 && g_array_index(packets, CtPacket, packets->len - 1).file == i);
    if (file->packet_bytes == 0 && has_some) {
        g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                    "%s: the plugin for %s does not say how long its packets are", file->path,
                    recording->source->format.name);
        return FALSE;
    }
    ct_packets_add_file(recording->packets, i,
                        (CtScannedFile){file->path, file->fd, 0, file->packet_bytes});
    return TRUE;
}

static gboolean
find_in_file(CtRecording *recording, guint i, GError **error)
{
    return recording->source->find(recording, i, error) && check_bytes(recording, i, error);
}

/* The function of the format that finds the packets of a file one by one. */
static gboolean
find_next(gpointer recording, guint file, gint64 *at, CtPacket *packet, gboolean *found,
          GError **error)
{
    return ((CtRecording *)recording)->source->next(recording, file, at, packet, found, error);
}

static CtPacketScan *
new_scan(CtRecording *recording, guint i, gint64 limit, const CtPacketFormat *format,
         GError **error)
{
    const CtSource *source = recording->source;
    const CtSourceOpened *opened = (const CtSourceOpened *)recording;
    CtSourceFile *file = &recording->files[i];
    const CtScanWhere where = {.path = file->path,
                               .fd = file->fd,
                               .file = i,
                               .pipe = opened->pipes ? opened->pipes[i] : NULL,
                               .limit = limit};
    return source->next ? ct_packet_scan_new_next(
                              recording->packets, &where, format->name, find_next, recording,
                              i > 0 ? ct_packet_scan_n_passed(opened->scans[i - 1]) : 0, error)
                        : ct_packet_scan_new(recording->packets, &where, format, source->found,
                                             recording->self, recording->headers[i], error);
}

/* Whether packets are found only when the recording is ordered, or later. */
static gboolean
is_late(const CtSource *source)
{
    return (source->is_lane_a_file || source->place) && !source->find && !source->next;
}

/* Finds all packets of the files. */
static gboolean
search_files(CtRecording *recording, GError **error)
{
    CtPackets *packets = recording->packets;
    CtPacketChain chain = {.scans = ((CtSourceOpened *)recording)->scans,
                           .n_scans = recording->n_files};
    GError *failure = NULL;
    ct_packet_chain_seek(&chain, 0, &failure);
    if (!failure)
        ct_packet_chain_more(&chain, packets, packets->packets, G_MAXUINT, &failure);
    if (!failure)
        return TRUE;
    explain(recording, &recording->files[chain.at], &failure);
    g_propagate_error(error, failure);
    return FALSE;
}

gboolean
ct_source_scan_file(CtRecording *recording, guint i, gint64 limit, GError **error)
{
    const CtSource *source = recording->source;
    CtSourceFile *file = &recording->files[i];
    CtSourceOpened *opened = (CtSourceOpened *)recording;
    const CtPacketFormat format = ct_source_format(source, recording->self);
    GError *failure = NULL;
    CtPacketScan *scan = opened->scans[i] = new_scan(recording, i, limit, &format, &failure);
    const gboolean is_searched = is_late(source) && limit == G_MAXINT64;
    if (!scan ||
        (!is_searched && !ct_packet_scan_more(scan, recording->packets, recording->packets->packets,
                                              G_MAXUINT, &failure))) {
        explain(recording, file, &failure);
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (source->next)
        return check_bytes(recording, i, error);
    ct_source_take_header(recording, i, recording->headers[i], format.header_bytes);
    file->packet_bytes = format.size(recording->headers[i], format.data);
    if (!source->is_one_stream ||
        format.alike(recording->headers[0], recording->headers[i], format.data))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_SHAPE,
                "%s: wants %s like those of %s, but is given others", file->path, format.name,
                recording->files[0].path);
    return FALSE;
}

gboolean
ct_source_fault(const CtSource *source, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "the plugin for %s is at fault: %s",
                source->format.name, message);
    return FALSE;
}

/* Whether the source has the functions that it must have. */
static gboolean
check_functions(const CtSource *source, GError **error)
{
    const gboolean searches = !source->find && !source->next;
    const char *missing = searches && !source->format.size    ? "format.size"
                          : searches && !source->format.alike ? "format.alike"
                          : searches && !source->found        ? "found"
                          : !source->order                    ? "order"
                          : !source->describe                 ? "describe"
                          : !source->unpack                   ? "unpack"
                                                              : NULL;
    return !missing || ct_source_fault(source, error, "its CtSource has no %s", missing);
}

/* Whether `order` has set what it must set. */
static gboolean
check_order(const CtRecording *recording, GError **error)
{
    const struct {
        const char *name;
        gint64 value;
        gint64 least;
    } members[] = {{"n_lanes", recording->n_lanes, 1},
                   {"n_samples", recording->n_samples, 1},
                   {"max_gap", recording->max_gap, 0},
                   {"overlap", recording->overlap, 0}};
    for (guint m = 0; m < G_N_ELEMENTS(members); m++)
        if (members[m].value < members[m].least)
            return ct_source_fault(recording->source, error,
                                   "its order sets %s to %" G_GINT64_FORMAT, members[m].name,
                                   members[m].value);
    return TRUE;
}

static gboolean
check_members(const CtRecording *recording, GError **error)
{
    const char *name = recording->source->format.name;
    gboolean ok = CT_RESERVED_CHECK(name, CtRecording, recording, error);
    for (guint i = 0; ok && i < recording->n_files; i++)
        ok = CT_RESERVED_CHECK(name, CtSourceFile, &recording->files[i], error);
    return ok;
}

/* Reads the recording part by part, or arranges all its packets. */
static gboolean
arrange(CtSourceOpened *opened, const CtAheadSizes *sizes, GError **error)
{
    CtRecording *recording = &opened->recording;
    CtPackets *packets = recording->packets;
    const gboolean is_by_lane = is_late(recording->source) && recording->source->is_lane_a_file;
    const CtAheadOf of = {.scans = opened->scans,
                          .n_files = recording->n_files,
                          .n_lanes = recording->n_files,
                          .n_samples = recording->n_samples};
    GError *failure = NULL;
    packets->overlap = recording->overlap;
    if (is_by_lane && sizes)
        opened->ahead = ct_ahead_new(packets, &of, recording->max_gap, sizes, &failure);
    if (failure) {
        g_propagate_error(error, failure);
        return FALSE;
    }
    if (opened->ahead)
        return TRUE;
    if (is_by_lane && !search_files(recording, error))
        return FALSE;
    return ct_packets_arrange(packets, recording->n_lanes, recording->n_samples, recording->max_gap,
                              error);
}

gboolean
ct_source_place(gconstpointer recording, CtPacket *packet, guint64 *counts)
{
    return ((const CtRecording *)recording)->source->place(recording, packet, counts);
}

gboolean
ct_source_order(CtRecording *recording, const CtParams *given, GError **error)
{
    return recording->source->order(recording, given, error) && check_members(recording, error) &&
           check_order(recording, error);
}

/* Opens the files, and finds their packets. */
static gboolean
open_files(CtSourceOpened *opened, GError **error)
{
    CtRecording *recording = &opened->recording;
    for (guint i = 0; i < recording->n_files; i++)
        if (!open_file(&recording->files[i], error) || !ct_source_read_beside(opened, i, error) ||
            !(recording->source->find ? find_in_file(recording, i, error)
                                      : ct_source_scan_file(recording, i, G_MAXINT64, error)))
            return FALSE;
    return TRUE;
}

CtRecording *
ct_source_open(const CtSource *source, const CtParams *given, GError **error)
{
    return ct_source_open_ahead(source, given, &ct_ahead_sizes, error);
}

CtRecording *
ct_source_open_ahead(const CtSource *source, const CtParams *given, const CtAheadSizes *sizes,
                     GError **error)
{
    CtSourceOpened *opened = g_new0(CtSourceOpened, 1);
    g_autoptr(CtRecording) recording = &opened->recording;
    recording->source = source;
    recording->self = g_malloc0(MAX(source->self_bytes, 1));
    recording->packets = ct_packets_new();
    ct_stream_init(&opened->plain);
    opened->paths = ct_file_names(given, source->files, error);
    if (!opened->paths)
        return NULL;
    recording->n_files = opened->paths->len;
    recording->files = g_new0(CtSourceFile, recording->n_files);
    opened->scans = g_new0(CtPacketScan *, recording->n_files + 1);
    recording->headers = g_malloc0((recording->n_files + 1) * sizeof *recording->headers);
    opened->beside = g_new0(CtSourceBeside, recording->n_files + 1);
    for (guint i = 0; i < recording->n_files; i++) {
        recording->files[i].path = opened->paths->pdata[i];
        recording->files[i].fd = -1;
        ct_stream_init(&opened->beside[i].stream);
    }
    if (!CT_RESERVED_CHECK(source->format.name, CtSource, source, error) ||
        !check_functions(source, error))
        return NULL;
    if (source->begin)
        source->begin(recording->self, given);
    gboolean has_receivers, has_pipes;
    if (!ct_source_has_receivers(opened, given, &has_receivers, error))
        return NULL;
    if (has_receivers)
        return ct_source_open_receivers(opened, given, error) ? g_steal_pointer(&recording) : NULL;
    if (!ct_source_has_pipes(opened, given, &has_pipes, error) ||
        !(has_pipes ? ct_source_open_pipes(opened, given, sizes ? sizes : &ct_ahead_sizes, error)
                    : open_files(opened, error)))
        return NULL;
    const gboolean is_placed = is_late(source) && !source->is_lane_a_file;
    if (is_placed && sizes && !has_pipes)
        ct_source_open_long(opened, given, sizes);
    if (opened->ahead)
        return g_steal_pointer(&recording);
    if ((is_placed && !search_files(recording, error)) || !ct_source_order(recording, given, error))
        return NULL;
    ct_source_note_packets(opened);
    if (!arrange(opened, sizes, error))
        return NULL;
    return g_steal_pointer(&recording);
}

gboolean
ct_source_read(const CtRecording *recording, guint file, gint64 offset, guint8 *bytes, gsize n,
               gsize *given, GError **error)
{
    return ct_packet_scan_read(((const CtSourceOpened *)recording)->scans[file], offset, bytes, n,
                               given, error);
}

const guint8 *
ct_source_header(const CtRecording *recording, guint file)
{
    return recording->headers[file];
}

void
ct_source_take_header(CtRecording *recording, guint i, const guint8 *header, gsize bytes)
{
    memmove(recording->headers[i], header, bytes);
    memcpy(recording->files[i].header, header, MIN(bytes, CT_PACKET_MAX_HEADER));
}

/* ---- lanes ---- */

guint
ct_source_width(const CtRecording *recording, guint lane)
{
    return recording->widths ? recording->widths[lane] : 1;
}

guint
ct_source_lane_step(const CtRecording *recording)
{
    return recording->lane_step > 0 ? (guint)recording->lane_step : 1;
}

guint *
ct_source_first_lanes(const CtRecording *recording)
{
    const guint step = ct_source_lane_step(recording);
    guint *first = g_new(guint, MAX(recording->n_lanes, 1));
    for (guint i = 0, begin = 0; i < recording->n_lanes; i++) {
        first[i] = begin + i % step;
        if (i % step == step - 1)
            begin += step * ct_source_width(recording, i);
    }
    return first;
}

/* Whether lanes of several steps have all the same width. */
static gboolean
check_lane_step(const CtRecording *recording, GError **error)
{
    const guint64 step = MAX(recording->lane_step, 1);
    gboolean good = step == 1 || recording->n_lanes % step == 0;
    for (guint i = 0; step > 1 && i < recording->n_lanes; i++)
        good = good && ct_source_width(recording, i) == ct_source_width(recording, 0);
    return good || ct_source_fault(recording->source, error,
                                   "its order sets lane_step to %" G_GUINT64_FORMAT
                                   ", but has %u lanes, or lanes of several widths",
                                   step, recording->n_lanes);
}

/* ---- the stream ---- */

/* Warns that a parameter has no effect: subbands or channels have frequencies of their own. */
static void
warn_of_frequency(const CtParams *given, const char *name, const CtStream *stream)
{
    static const char *const axes[] = {"subband", "channel"};
    for (guint i = 0; i < G_N_ELEMENTS(axes); i++) {
        const gint a = ct_stream_axis(stream, axes[i]);
        if (a >= 0 && g_strcmp0(stream->axes[a].coordinate.unit, "Hz") == 0)
            ct_params_warn(given, name, "does not change the frequencies that axis '%s' has",
                           axes[i]);
    }
}

/* Coordinates of subbands or channels from the parameter 'frequencies'. */
static gboolean
set_table(const CtParams *given, CtStream *stream, GError **error)
{
    const guint n = ct_params_count(given, "frequencies");
    if (n == 0)
        return TRUE;
    gint a = ct_stream_axis(stream, "subband");
    const char *which = a < 0 ? "channels" : "subbands";
    a = a < 0 ? ct_stream_axis(stream, "channel") : a;
    if (a < 0 || stream->axes[a].length != n)
        return ct_params_error(given, "frequencies", error,
                               "wants one for each of %" G_GINT64_FORMAT " %s, but is given %u",
                               a < 0 ? 0 : stream->axes[a].length,
                               a < 0 ? "subbands or channels" : which, n);
    g_autofree gdouble *table = g_new(gdouble, n);
    for (guint i = 0; i < n; i++)
        table[i] = ct_params_real_at(given, "frequencies", i);
    CtCoordinate *coordinate = &stream->axes[a].coordinate;
    g_clear_pointer(&coordinate->table, g_bytes_unref);
    *coordinate = (CtCoordinate){.unit = g_intern_static_string("Hz"),
                                 .table = g_bytes_new(table, n * sizeof *table)};
    return TRUE;
}

gboolean
ct_source_set_frequencies(const CtParams *given, CtStream *stream, GError **error)
{
    const gboolean is_complex = ct_type_info(stream->type)->is_complex;
    const char *name = is_complex ? "centre_frequency" : "first_frequency";
    const char *other = is_complex ? "first_frequency" : "centre_frequency";
    if (ct_params_has(given, other))
        return ct_params_error(given, other, error, "wants %s samples: give '%s' for these",
                               is_complex ? "real" : "complex", name);
    if (ct_params_has(given, name)) {
        stream->has_frequency = TRUE;
        stream->frequency = ct_params_real(given, name);
    }
    if (!set_table(given, stream, error))
        return FALSE;
    if (ct_params_has(given, name))
        warn_of_frequency(given, name, stream);
    return TRUE;
}

gboolean
ct_source_describe(CtRecording *recording, const CtNode *node, CtStream *stream, GError **error)
{
    CtSourceOpened *opened = (CtSourceOpened *)recording;
    const CtPackets *packets = recording->packets;
    CtStream *plain = &opened->plain;
    gint64 n_lanes = 0;
    const gboolean has_end = packets->end != G_MAXINT64;
    ct_stream_add_axis(plain, "time", has_end ? packets->end - packets->first : -1);
    if (!recording->source->describe(recording, node->params, plain, error))
        return FALSE;
    if (opened->reception && !ct_source_receive(opened, node->params, error))
        return FALSE;
    if (!check_lane_step(recording, error))
        return FALSE;
    for (guint i = 0; i < recording->n_lanes; i++)
        n_lanes += ct_source_width(recording, i);
    if (n_lanes == ct_stream_n_lanes(plain))
        return ct_source_merge_beside(opened, node, stream, error);
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "the plugin for %s describes a stream of %" G_GINT64_FORMAT
                " lanes, but its packets have %" G_GINT64_FORMAT,
                recording->source->format.name, ct_stream_n_lanes(plain), n_lanes);
    return FALSE;
}

gboolean
ct_source_check_counters(const CtStage *stage, gboolean receives, GError **error)
{
    const char *const *wanted = CT_PACKET_COUNTERS, *const *has = stage->counters;
    guint n = 0;
    while (has && has[n] && wanted[n] && strcmp(has[n], wanted[n]) == 0)
        n++;
    if (has && !has[n] && (!wanted[n] || (n == CT_PACKETS_N_COUNTS && !receives)))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN, "stage '%s' %s .counters = CT_PACKET_COUNTERS",
                stage->name, stage->counters ? "has other counters than" : "lacks");
    return FALSE;
}

gboolean
ct_source_infer(const CtSource *source, CtNode *node, GError **error)
{
    node->seeks = TRUE;
    if (!ct_source_check_counters(node->stage, FALSE, error))
        return FALSE;
    g_autoptr(CtRecording) recording = ct_source_open(source, node->params, error);
    const gboolean receives = recording && ((CtSourceOpened *)recording)->reception;
    return recording && ct_source_check_counters(node->stage, receives, error) &&
           ct_source_describe(recording, node, &node->outputs[0], error);
}
