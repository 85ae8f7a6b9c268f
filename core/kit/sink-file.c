/* SPDX-License-Identifier: BSD-3-Clause */
/* One file that a sink writes: bytes that are appended, PATH.json, and the end. */
#include "cornerturn/error.h"
#include "cornerturn/packets.h"
#include "pipe.h"
#include "reserved.h"
#include "sidecar-write.h"
#include "sink-private.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The bytes that wait for a write; more at once are written directly. */
enum { BUFFER_BYTES = 1 << 20 };

static CtSinkPart *
part_of(CtSinkFile *file)
{
    return (CtSinkPart *)file;
}

/* ---- appending ---- */

/* Fails if another process has cut the file: a hole would look like samples. */
static gboolean
check_length(const CtSinkPart *part, GError **error)
{
    struct stat status;
    if (fstat(part->file.fd, &status) != 0)
        return ct_file_error(error, part->file.path, "can't be read");
    if (status.st_size >= part->n_written)
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_IO,
                "%s: wants the %" G_GINT64_FORMAT " bytes that it was left with, but is given "
                "%" G_GINT64_FORMAT ": another process has cut it",
                part->file.path, part->n_written, (gint64)status.st_size);
    return FALSE;
}

static gboolean
write_bytes(CtSinkPart *part, const guint8 *bytes, gint64 n, GError **error)
{
    const CtSinkFile *file = &part->file;
    if (part->senders) {
        part->n_written += n;
        return ct_senders_flush(part->senders, error);
    }
    if (file->is_pipe) {
        part->n_written += n;
        return ct_sink_pipe_write(file->path, file->fd, bytes, n, error);
    }
    if (!check_length(part, error))
        return FALSE;
    const gint64 done = ct_file_write(file->path, file->fd, part->n_written, bytes, n, error);
    part->n_written += done;
    return done == n;
}

/* Writes what waits; after a failure, nothing waits any more. */
static gboolean
flush(CtSinkPart *part, GError **error)
{
    const gint64 n = part->n_buffered;
    part->n_buffered = 0;
    if (n > 0 && !write_bytes(part, part->buffer, n, error))
        return FALSE;
    part->whole_bytes = part->piece_bytes;
    part->whole_samples = part->piece_samples;
    return TRUE;
}

void
ct_sink_piece(CtSinkFile *file, gint64 sample)
{
    CtSinkPart *part = part_of(file);
    part->has_pieces = TRUE;
    part->piece_bytes = part->n_written + part->n_buffered;
    part->piece_samples = sample;
}

guint8 *
ct_sink_room(CtSinkFile *file, gint64 n, GError **error)
{
    CtSinkPart *part = part_of(file);
    part->appends = TRUE;
    if (part->n_buffered + n > part->n_room && !flush(part, error))
        return NULL;
    if (n > part->n_room || !part->buffer) {
        g_free(part->buffer);
        part->n_room = MAX(n, BUFFER_BYTES);
        part->buffer = ct_table_new((gsize)part->n_room, 1, "bytes to write", error);
        if (!part->buffer) {
            part->n_room = 0;
            return NULL;
        }
    }
    guint8 *at = part->buffer + part->n_buffered;
    part->n_buffered += n;
    return at;
}

gboolean
ct_sink_append(CtSinkFile *file, gconstpointer bytes, gint64 n, GError **error)
{
    CtSinkPart *part = part_of(file);
    if (n >= BUFFER_BYTES) {
        part->appends = TRUE;
        return flush(part, error) && write_bytes(part, bytes, n, error);
    }
    guint8 *at = ct_sink_room(file, n, error);
    if (at && n > 0)
        memcpy(at, bytes, (gsize)n);
    return at != NULL;
}

/* Sets n_samples and length to the samples that are in the file. */
static void
count_samples(CtSinkPart *part)
{
    CtSinkFile *file = &part->file;
    gint64 n = part->n_taken;
    if (part->has_pieces)
        n = part->whole_samples;
    else if (part->appends && file->sample_bytes > 0)
        n = MIN(n, (part->n_written - file->header_bytes) / file->sample_bytes);
    file->n_samples = file->length = n;
}

/* ---- PATH.json ---- */

/* The invalid samples by the lanes of PATH.json's stream; `made` is to be freed. */
static const CtGaps *
arrange_gaps(const CtSinkPart *part, CtGaps **made, GError **error)
{
    const gint64 *lanes = part->file.lanes;
    if (!lanes)
        return part->gaps;
    *made = ct_gaps_new(ct_stream_n_lanes(&part->file.stream), error);
    for (gint64 lane = 0; *made && lane < ct_gaps_n_lanes(*made); lane++) {
        gsize n;
        const CtGap *gaps = ct_gaps_of_lane(part->gaps, lanes[lane], &n);
        for (gsize i = 0; i < n; i++)
            ct_gaps_add(*made, lane, gaps[i].first, gaps[i].n);
    }
    return *made;
}

/* The text of PATH.json now; `array` has what only the end knows. */
static char *
format_text(CtSinkPart *part, CtSidecarArray array, GError **error)
{
    CtSinkFile *file = &part->file;
    const gint time = ct_stream_axis(&file->stream, "time");
    struct stat status;
    g_autoptr(CtGaps) made = NULL;
    if (fstat(file->fd, &status) != 0) {
        ct_file_error(error, file->path, "can't be read");
        return NULL;
    }
    if (time >= 0)
        file->stream.axes[time].length = file->length;
    array.bytes = status.st_size;
    array.generation = part->generation;
    array.origin = part->origin;
    array.n_samples = file->n_samples;
    array.is_one_of = part->is_one_of;
    array.number = file->number;
    array.first = part->first;
    if (!array.is_partial)
        array.gaps = arrange_gaps(part, &made, error);
    return array.gaps || array.is_partial ? ct_sidecar_format(&file->stream, &file->layout, &array)
                                          : NULL;
}

gboolean
ct_sink_describe(CtSinkFile *file, GError **error)
{
    CtSinkPart *part = part_of(file);
    if (file->is_pipe)
        return TRUE;
    g_autofree char *text = format_text(part, (CtSidecarArray){.is_partial = TRUE}, error);
    return text && ct_sink_files_describe(&part->files, text, error);
}

gboolean
ct_sink_part_mark(CtSinkPart *part, GError **error)
{
    CtSinkFile *file = &part->file;
    if (!flush(part, error))
        return FALSE;
    count_samples(part);
    return (file->is_pipe || !file->sink->mark || file->sink->mark(file, error)) &&
           ct_sink_describe(file, error);
}

/* ---- the beginning ---- */

/* Sets what PATH.json says to the input, from a sample on. */
static void
describe_input(CtSinkPart *part)
{
    CtSinkFile *file = &part->file;
    gint64 length[CT_MAX_AXES], stride[CT_MAX_AXES];
    ct_stream_copy(&file->stream, file->input->stream);
    file->stream.start += part->first * file->stream.ticks_per_sample;
    file->layout = file->input->layout;
    file->sample_bytes = (gint64)ct_layout_strides(&file->layout, &file->stream, 1, length, stride);
}

/* Opens PATH.partial and its like, or the pipe, or the address. */
static gboolean
open_files(CtSinkPart *part, const char *path, const CtSinkSend *send, GError **error)
{
    CtSinkFile *file = &part->file;
    file->is_pipe = ct_sink_is_pipe(file->given);
    if (file->is_pipe) {
        /* For as long as the file: `path` is the caller's. */
        file->path = ct_pipe_name(ct_params_string(file->given, "path"), TRUE);
        if (ct_sink_is_address(file->given))
            return ct_sink_send_open(part, path, send, error);
        file->fd = ct_pipe_open(path, TRUE, error);
        return file->fd >= 0;
    }
    if (!ct_sink_files_open(&part->files, path, error))
        return FALSE;
    file->path = part->files.partial;
    file->fd = part->files.fd;
    return TRUE;
}

/* Has the header written. */
static gboolean
open_format(CtSinkPart *part, GError **error)
{
    CtSinkFile *file = &part->file;
    const CtSink *sink = file->sink;
    if (sink->by_name) {
        file->fd = -1;
        if (!ct_sink_files_lend(&part->files, error))
            return FALSE;
    }
    if (sink->open && !sink->open(file, error))
        return FALSE;
    if (sink->by_name) {
        if (!ct_sink_files_take_back(&part->files, error))
            return FALSE;
        file->fd = part->files.fd;
    }
    part->is_open = TRUE;
    if (!flush(part, error))
        return FALSE;
    if (part->appends)
        file->header_bytes = part->n_written;
    return TRUE;
}

static gboolean
check_described(const CtSinkPart *part, GError **error)
{
    const CtSinkFile *file = &part->file;
    if (!CT_RESERVED_CHECK(file->sink->name, CtSinkFile, file, error))
        return FALSE;
    if (file->lanes || ct_stream_n_lanes(&file->stream) == ct_gaps_n_lanes(part->gaps))
        return TRUE;
    g_set_error(error, CT_ERROR, CT_ERROR_PLUGIN,
                "the plugin for %s describes an array of other lanes than the stream's, and does "
                "not say which",
                file->sink->name);
    return FALSE;
}

CtSinkPart *
ct_sink_part_open(const CtSinkWhich *which, GError **error)
{
    const CtSink *sink = which->sink;
    const CtStream *stream = which->input->stream;
    const char *path = ct_params_string(which->given, "path");
    g_autoptr(CtSinkPart) part = g_new0(CtSinkPart, 1);
    CtSinkFile *file = &part->file;
    *file = (CtSinkFile){.sink = sink, .given = which->given, .input = which->input, .fd = -1};
    part->files = (CtSinkFiles){.fd = -1, .json_fd = -1, .folder_fd = -1};
    file->self = g_malloc0(MAX(sink->self_bytes, 1));
    file->number = which->number;
    file->expected = which->expected;
    part->first = which->first;
    part->is_one_of = which->is_one_of;
    part->wants_digest = ct_params_choice(which->given, "digest") != 0;
    part->generation = g_uuid_string_random();
    part->origin = which->origin;
    file->version = CT_VERSION;
    file->node = which->origin.node;
    file->graph = which->origin.graph;
    part->gaps = ct_gaps_new(ct_stream_n_lanes(stream), error);
    if (!part->gaps)
        return NULL;
    describe_input(part);
    g_autofree char *name =
        which->is_one_of ? ct_sink_name(path, stream, file->stream.start, file->number, error)
                         : g_strdup(path);
    if (!name || !open_files(part, name, which->send, error))
        return NULL;
    if (!open_format(part, error))
        return NULL;
    return check_described(part, error) && ct_sink_part_mark(part, error) ? g_steal_pointer(&part)
                                                                          : NULL;
}

/* ---- samples ---- */

/* Forgets the samples of a stream without time, of which only the last array is kept. */
static gboolean
begin_again(CtSinkPart *part, GError **error)
{
    if (part->n_taken > 0 && part->file.is_pipe) {
        g_set_error(error, CT_ERROR, CT_ERROR_DATA,
                    "%s: wants the only array of a stream without time, but is given a second one",
                    part->file.path);
        return FALSE;
    }
    part->n_buffered = part->n_taken = 0;
    if (part->appends)
        part->n_written = part->file.header_bytes;
    ct_gaps_clear(part->gaps);
    return TRUE;
}

gboolean
ct_sink_part_write(CtSinkPart *part, const CtBlock *blocks, guint64 *counters, GError **error)
{
    if (ct_stream_axis(part->file.input->stream, "time") < 0 && !begin_again(part, error))
        return FALSE;
    CtBlock placed = blocks[0];
    part->file.counters = counters;
    part->file.others = blocks + 1;
    placed.index = part->n_taken;
    ct_gaps_add_block(part->gaps, &placed);
    part->n_taken += placed.n_samples;
    /* No datagram waits for the next block. */
    return part->file.sink->write(&part->file, &placed, error) &&
           (!part->senders || flush(part, error));
}

/* ---- the end ---- */

/* Frees what the plugin has, on the thread of its other functions. */
static void
clear_self(CtSinkFile *file)
{
    if (file->self && file->sink->clear)
        file->sink->clear(file->self);
    g_clear_pointer(&file->self, g_free);
}

/* Cuts off what is not a whole sample, or a whole piece, after a failure. */
static void
cut_to_samples(CtSinkPart *part)
{
    const CtSinkFile *file = &part->file;
    const gint64 bytes = part->has_pieces
                             ? part->whole_bytes
                             : file->header_bytes + file->n_samples * file->sample_bytes;
    if (!file->is_pipe && part->appends && bytes < part->n_written &&
        ftruncate(file->fd, bytes) == 0)
        part->n_written = bytes;
}

gboolean
ct_sink_part_close(CtSinkPart *part, gboolean interrupted, GError **error)
{
    CtSinkFile *file = &part->file;
    part->is_closed = TRUE;
    part->interrupted = interrupted;
    const CtSink *sink = file->sink;
    gboolean good = !error || !file->is_pipe || !sink->end || sink->end(file, error);
    good = good && flush(part, error);
    if (part->faults)
        good = ct_faults_end(part->faults, good ? error : NULL) && good;
    count_samples(part);
    if (!good)
        cut_to_samples(part);
    if (!file->is_pipe && !check_length(part, good ? error : NULL)) {
        file->n_samples = file->length = 0;
        good = FALSE;
    }
    if (!file->is_pipe && sink->close && !sink->close(file, good ? error : NULL))
        good = FALSE;
    clear_self(file);
    return ct_sink_describe(file, good ? error : NULL) && good;
}

gboolean
ct_sink_part_seal(CtSinkPart *part, GError **error)
{
    if (part->file.is_pipe)
        return TRUE;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    if (part->wants_digest && !ct_sink_files_digest(&part->files, checksum, error))
        return FALSE;
    const CtSidecarArray array = {
        .interrupted = part->interrupted,
        .sha256 = part->wants_digest ? g_checksum_get_string(checksum) : NULL,
    };
    g_autofree char *text = format_text(part, array, error);
    return text && ct_sink_files_seal(&part->files, text, error);
}

gboolean
ct_sink_part_commit(CtSinkPart *part, GError **error)
{
    return part->file.is_pipe || ct_sink_files_commit(&part->files, error);
}

void
ct_sink_part_free(CtSinkPart *part)
{
    if (!part)
        return;
    CtSinkFile *file = &part->file;
    if (part->is_open && !part->is_closed)
        ct_sink_part_close(part, FALSE, NULL);
    clear_self(file);
    if (file->is_pipe && file->fd >= 0)
        close(file->fd);
    ct_faults_free(part->faults);
    ct_senders_free(part->senders);
    ct_sink_files_close(&part->files);
    ct_stream_clear(&file->stream);
    ct_gaps_free(part->gaps);
    g_free(file->lanes);
    g_free(part->generation);
    g_free(part->buffer);
    g_free(part);
}
